//! Reads the variables of every launcher and decides which to use.

use super::{
    FoundWorld, Seen, World,
    launchers::{BY_HAND, MPI, TORCHRUN},
    lightning,
    reading::{Lookup, Ranks, Reading, Says},
    slurm,
};
use infeed_core::{Error, Result};

/// Detects the world from the environment of this process.
pub fn here() -> Result<FoundWorld> {
    detect(&|name| std::env::var(name).ok())
}

/// Detects the world from an environment: that of the first launcher with a complete answer, or a single process. An
/// inconsistent answer, or an incomplete one that no other launcher completes, is an error.
pub fn detect(env: &dyn Fn(&str) -> Option<String>) -> Result<FoundWorld> {
    let readings = read_all(env);
    let mut taken: Option<(usize, &Ranks)> = None;
    for (at, reading) in readings.iter().enumerate() {
        match &reading.says {
            Says::Ranks(ranks) => {
                taken = Some((at, ranks));
                break;
            }
            Says::Wrong(why) => return Err(wrong(reading.launcher, why)),
            Says::Half(_) | Says::Nothing(_) => {}
        }
    }
    let Some((at, ranks)) = taken else {
        if let Some((launcher, why)) = readings.iter().find_map(half) {
            return Err(wrong(launcher, why));
        }
        let verdict = |reading: &Reading| match &reading.says {
            Says::Nothing(why) => format!("passed over: {why}"),
            _ => "passed over".to_owned(),
        };
        return Ok(FoundWorld { world: World::alone(), seen: seen(readings, |_, reading| verdict(reading)) });
    };
    let by = readings[at].launcher;
    let (local, verdict) = settle_local(&readings, ranks);
    let world = World { local_rank: local.0, local_size: local.1, ..World::new(ranks.rank, ranks.size)? };
    let world = World { from: by.to_owned(), ..world };
    let seen =
        seen(readings, |n, reading| if n == at { verdict.clone() } else { passed(reading, by, &world) });
    Ok(FoundWorld { world, seen })
}

fn read_all(env: Lookup<'_>) -> Vec<Reading> {
    let (slurm, lightning) = (slurm::read(env), lightning::read(env));
    // Lightning's processes have half of torchrun's variables; do not report them twice.
    let torchrun = if lightning.is_some() { None } else { TORCHRUN.read(env) };
    // Lightning starts processes within an srun task, or uses the tasks themselves as its processes. In the second
    // case the sizes are equal, and SLURM knows the ranks of all nodes.
    let last = match (slurm, lightning) {
        (Some(slurm), Some(lightning)) if slurm.size() == lightning.size() => [Some(slurm), Some(lightning)],
        (slurm, lightning) => [lightning, slurm],
    };
    [BY_HAND.read(env), torchrun]
        .into_iter()
        .chain(MPI.iter().map(|launcher| launcher.read(env)))
        .chain(last)
        .flatten()
        .collect()
}

fn half(reading: &Reading) -> Option<(&'static str, &str)> {
    match &reading.says {
        Says::Half(why) => Some((reading.launcher, why)),
        _ => None,
    }
}

fn wrong(launcher: &str, why: &str) -> Error {
    Error::argument(format!(
        "cannot tell which rank this is ({launcher}): {why}; correct or unset these variables, or say it by hand with \
         INFEED_RANK and INFEED_WORLD_SIZE (for a single process: INFEED_RANK=0 INFEED_WORLD_SIZE=1)"
    ))
}

/// Determines rank and size within the node, and the verdict on the launcher that was used.
fn settle_local(readings: &[Reading], taken: &Ranks) -> ((u64, u64), String) {
    let stop = if taken.note.is_empty() { String::new() } else { format!("; {}", taken.note) };
    if let Some(local) = taken.local {
        return (local, format!("taken{stop}"));
    }
    if taken.size == 1 {
        return ((0, 1), "taken".to_owned());
    }
    // `export RANK=$SLURM_PROCID` is common; SLURM then provides the rest.
    let lender = readings.iter().find_map(|reading| match &reading.says {
        Says::Ranks(ranks) if (ranks.rank, ranks.size) == (taken.rank, taken.size) => {
            Some((ranks.local?, reading.launcher))
        }
        _ => None,
    });
    match lender {
        Some((local, launcher)) => (local, format!("taken{stop}: the local rank is that of {launcher}")),
        None => ((0, 1), format!("taken{stop}: assumed to be the only rank of its node")),
    }
}

/// Returns the verdict on a launcher that was skipped.
fn passed(reading: &Reading, by: &str, world: &World) -> String {
    match &reading.says {
        Says::Ranks(ranks) if (ranks.rank, ranks.size) == (world.rank, world.size) => {
            format!("passed over: {by} comes first, and they agree")
        }
        Says::Ranks(ranks) => {
            format!("passed over: {by} comes first; here it would be rank {} of {}", ranks.rank, ranks.size)
        }
        Says::Wrong(why) | Says::Half(why) | Says::Nothing(why) => format!("passed over: {why}"),
    }
}

fn seen(readings: Vec<Reading>, verdict: impl Fn(usize, &Reading) -> String) -> Vec<Seen> {
    let verdicts: Vec<String> = readings.iter().enumerate().map(|(n, reading)| verdict(n, reading)).collect();
    readings
        .into_iter()
        .zip(verdicts)
        .map(|(Reading { launcher, variables, .. }, verdict)| Seen {
            launcher: launcher.to_owned(),
            variables,
            verdict,
        })
        .collect()
}
