//! SLURM, whose variables describe ranks only inside a step started by `srun`.
//!
//! A batch script and the shell of `salloc` are one process each, yet their environment describes all tasks of the
//! allocation: `SLURM_NTASKS=8` is the planned number there, and in a batch script `SLURM_PROCID=0` is set as well.
//! They can be told apart by `SLURM_STEP_ID`: unset, or one of the numbers above [`LAST_STEP`] that SLURM reserves
//! for batch scripts (`0xfffffffb`), interactive shells (`0xfffffffa`) and the like.

use super::reading::{Lookup, Ranks, Reading, Says, Var, Vars, pair};

/// The largest step number that `srun` assigns (`SLURM_MAX_NORMAL_STEP_ID` in `slurm.h`).
const LAST_STEP: u64 = 0xffff_fff0;

pub(super) fn read(env: Lookup<'_>) -> Option<Reading> {
    let mut vars = Vars::new(env);
    let rank = vars.first(&["SLURM_PROCID"]);
    let size = vars.first(&["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"]);
    if rank.is_none() && size.is_none() {
        return None;
    }
    let step = vars.first(&["SLURM_STEP_ID", "SLURM_STEPID"]);
    // Negative if a program printed the reserved numbers as signed ones.
    let in_step = step.as_ref().is_some_and(|step| step.number().is_ok_and(|n| n <= LAST_STEP));
    let says = match (rank, size) {
        (rank, _) if !in_step => outside(rank.as_ref(), step.as_ref()),
        (None, Some(size)) => {
            Says::Half(format!("{size} says how many ranks there are, but not which this is"))
        }
        (Some(rank), Some(size)) => inside(&rank, &size, &mut vars).map_or_else(Says::Wrong, Says::Ranks),
        (Some(rank), None) => Says::Wrong(format!(
            "{rank} says which rank this is, but SLURM_STEP_NUM_TASKS does not say of how many"
        )),
        (None, None) => return None,
    };
    Some(Reading { launcher: "SLURM", variables: vars.found, says })
}

/// The answer for a process that is not part of a step.
fn outside(rank: Option<&Var>, step: Option<&Var>) -> Says {
    match (rank, step) {
        // Batch scripts have number 0, so this was a step, and part of its environment is lost.
        (Some(rank), None) if rank.number() != Ok(0) => Says::Wrong(format!(
            "{rank} is a task of a step, but SLURM_STEP_ID is not set; a container or wrapper must pass all SLURM_* on"
        )),
        (_, None) => {
            Says::Nothing("not a step of srun but a batch script or a shell: one process".to_owned())
        }
        (_, Some(step)) => {
            Says::Nothing(format!("{step} is the step of a batch script or a shell: one process"))
        }
    }
}

/// The answer for a task of a step.
fn inside(rank: &Var, size: &Var, vars: &mut Vars<'_>) -> Result<Ranks, String> {
    let (r, s) = pair(rank, size)?;
    let local = vars.first(&["SLURM_LOCALID"]);
    let node = vars.first(&["SLURM_NODEID"]);
    let tasks = vars.first(&["SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"]);
    let mut ranks = Ranks { rank: r, size: s, local: None, note: String::new() };
    match (local, node, tasks) {
        (Some(local), Some(node), Some(tasks)) => {
            let counts = tasks_per_node(&tasks.value)
                .ok_or_else(|| format!("{tasks} is not a list of numbers like 4(x2),3"))?;
            let (l, n) = (local.number()?, node.number()?);
            match counts_at(&counts, n) {
                Some(count) if l < count => ranks.local = Some((l, count)),
                _ => ranks.note = format!("{local} {node} do not fit {tasks}"),
            }
        }
        (local, node, _) => {
            let missing = match (local, node) {
                (None, _) => "SLURM_LOCALID",
                (_, None) => "SLURM_NODEID",
                _ => "SLURM_STEP_TASKS_PER_NODE",
            };
            ranks.note = format!("{missing} is not set");
        }
    }
    if s > 1 && vars.first(&["SLURM_PTY_PORT"]).is_some() {
        let cure = "set INFEED_RANK=0 INFEED_WORLD_SIZE=1 if this is the only process";
        let stop = if ranks.note.is_empty() { "" } else { "; " };
        ranks.note += &format!("{stop}a step with a terminal (--pty): {cure}");
    }
    Ok(ranks)
}

/// Parses task counts of runs of nodes: `4(x2),3` is `[(4, 2), (3, 1)]`.
fn tasks_per_node(text: &str) -> Option<Vec<(u64, u64)>> {
    text.split(',')
        .map(|part| match part.trim().split_once("(x") {
            Some((tasks, nodes)) => Some((tasks.parse().ok()?, nodes.strip_suffix(')')?.parse().ok()?)),
            None => Some((part.trim().parse().ok()?, 1)),
        })
        .collect()
}

/// Returns the number of tasks of a node.
fn counts_at(runs: &[(u64, u64)], mut node: u64) -> Option<u64> {
    for (tasks, nodes) in runs {
        match node.checked_sub(*nodes) {
            Some(rest) => node = rest,
            None => return Some(*tasks),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_tasks() {
        let runs = tasks_per_node("4(x2),3").unwrap();
        let all: Vec<_> = (0..4).map(|node| counts_at(&runs, node)).collect();
        assert_eq!(all, [Some(4), Some(4), Some(3), None]);
        assert_eq!(tasks_per_node("8"), Some(vec![(8, 1)]));
        assert_eq!(tasks_per_node("1(x100000000000),2").unwrap().len(), 2, "without counting that far");
        for bad in ["", "4(x", "4(x2", "a", "4,,3", "(x2)", "4(x-1)"] {
            assert_eq!(tasks_per_node(bad), None, "{bad}");
        }
    }
}
