//! Environments as set by launchers, based on their documentation and on real outputs of `env`.

use super::*;
use infeed_core::Result;

fn find(env: &str) -> Result<FoundWorld> {
    detect(&|name| {
        let pairs = env.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).next_back()
    })
}

/// `rank/size local_rank/local_size from`.
fn short(env: &str) -> String {
    match find(env) {
        Ok(FoundWorld { world: w, .. }) => {
            format!("{}/{} {}/{} {}", w.rank, w.size, w.local_rank, w.local_size, w.from)
        }
        Err(error) => format!("error: {error}"),
    }
}

fn error(env: &str) -> String {
    find(env).map(|found| found.to_string()).unwrap_err().to_string()
}

const TORCHRUN: &str = "LOCAL_RANK=1 RANK=3 GROUP_RANK=1 ROLE_RANK=3 ROLE_NAME=default LOCAL_WORLD_SIZE=2 WORLD_SIZE=4 \
    GROUP_WORLD_SIZE=2 ROLE_WORLD_SIZE=4 MASTER_ADDR=node1 MASTER_PORT=29500 TORCHELASTIC_RESTART_COUNT=0 \
    TORCHELASTIC_MAX_RESTARTS=0 TORCHELASTIC_RUN_ID=none OMP_NUM_THREADS=1";

const DEEPSPEED: &str = "MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 WORLD_SIZE=16 CROSS_RANK=1 CROSS_SIZE=2 LOCAL_SIZE=8 \
    RANK=9 LOCAL_RANK=1";

const OPEN_MPI: &str = "OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_LOCAL_SIZE=4 \
    OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_NODE_RANK=1 OMPI_UNIVERSE_SIZE=8 PMIX_RANK=5 \
    PMIX_NAMESPACE=prterun-node1-2741@1 PMIX_SERVER_URI41=prterun-node1-2741@0.0;tcp4://127.0.0.1:43207";

const HYDRA: &str =
    "PMI_RANK=4 PMI_FD=9 PMI_SIZE=5 MPI_LOCALNRANKS=2 MPI_LOCALRANKID=1 MPIR_CVAR_CH3_INTERFACE_HOSTNAME=n2";

const MVAPICH2: &str = "MV2_COMM_WORLD_RANK=2 MV2_COMM_WORLD_SIZE=4 MV2_COMM_WORLD_LOCAL_RANK=0 \
    MV2_COMM_WORLD_LOCAL_SIZE=2 PMI_ID=2";

const PALS: &str = "PALS_RANKID=7 PALS_NODEID=1 PALS_LOCAL_RANKID=3 PALS_LOCAL_SIZE=4 PALS_DEPTH=8 PALS_APID=a1 \
    PMI_RANK=7 PMI_SIZE=8 PMI_LOCAL_RANK=3 PMI_LOCAL_SIZE=4";

/// `sbatch --nodes=3 --ntasks=11`, without the variables of a step.
const JOB: &str = "SLURM_JOB_ID=200505 SLURM_JOBID=200505 SLURM_JOB_NUM_NODES=3 SLURM_NNODES=3 SLURM_NTASKS=11 \
    SLURM_NPROCS=11 SLURM_TASKS_PER_NODE=4(x2),3 SLURM_JOB_CPUS_PER_NODE=32(x3) SLURM_CPUS_ON_NODE=32";

const STEP: &str = "SLURM_STEP_ID=0 SLURM_STEPID=0 SLURM_STEP_NUM_NODES=3 SLURM_STEP_NUM_TASKS=11 \
    SLURM_STEP_TASKS_PER_NODE=4(x2),3 SLURM_STEP_NODELIST=node[1-3] SLURM_LAUNCH_NODE_IPADDR=10.0.205.134";

#[test]
fn every_launcher() {
    let cases = [
        ("HOME=/root PATH=/bin", "0/1 0/1 nobody"),
        ("INFEED_RANK=2 INFEED_WORLD_SIZE=3", "2/3 0/1 by hand"),
        (
            "INFEED_RANK=2 INFEED_WORLD_SIZE=4 INFEED_LOCAL_RANK=0 INFEED_LOCAL_WORLD_SIZE=2",
            "2/4 0/2 by hand",
        ),
        (TORCHRUN, "3/4 1/2 torchrun"),
        (DEEPSPEED, "9/16 1/8 torchrun"),
        ("WORLD_SIZE=4 NODE_RANK=0 LOCAL_RANK=2 MASTER_ADDR=127.0.0.1", "2/4 0/1 Lightning"),
        (OPEN_MPI, "5/8 1/4 Open MPI"),
        (HYDRA, "4/5 1/2 MPICH"),
        ("PMI_RANK=4 PMI_SIZE=8", "4/8 0/1 MPICH"),
        ("PMIX_RANK=1 PMIX_SIZE=2 PMIX_LOCAL_RANK=0 PMIX_LOCAL_SIZE=1", "1/2 0/1 PMIx"),
        (MVAPICH2, "2/4 0/2 MVAPICH2"),
        (PALS, "7/8 3/4 MPICH"),
        ("PALS_RANKID=7 PALS_SIZE=8 PALS_LOCAL_RANKID=3 PALS_LOCAL_SIZE=4", "7/8 3/4 PALS"),
    ];
    for (env, want) in cases {
        assert_eq!(short(env), want, "{env}");
    }
}

#[test]
fn slurm_in_a_step() {
    let task = |more: &str| short(&format!("{JOB} {STEP} {more}"));
    assert_eq!(task("SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0"), "0/11 0/4 SLURM");
    assert_eq!(task("SLURM_PROCID=7 SLURM_LOCALID=3 SLURM_NODEID=1"), "7/11 3/4 SLURM");
    assert_eq!(task("SLURM_PROCID=10 SLURM_LOCALID=2 SLURM_NODEID=2"), "10/11 2/3 SLURM");
    // A small step in a large job: the step's variables count.
    let small = format!(
        "{JOB} SLURM_STEP_ID=4 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_TASKS_PER_NODE=1(x2) SLURM_PROCID=1 SLURM_LOCALID=0 \
         SLURM_NODEID=1"
    );
    assert_eq!(short(&small), "1/2 0/1 SLURM");
    // `srun --pty bash`: one task, and it is the shell.
    let shell = "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=1 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 \
        SLURM_TASKS_PER_NODE=1 SLURM_PTY_PORT=39900";
    assert_eq!(short(shell), "0/1 0/1 SLURM");
    let wide = find(&format!("{JOB} {STEP} SLURM_PROCID=0 SLURM_PTY_PORT=39900")).unwrap().to_string();
    assert!(wide.contains("--pty") && wide.contains("INFEED_WORLD_SIZE=1"), "{wide}");
    // PMIx gives the rank only; SLURM provides the rest.
    assert_eq!(
        task("SLURM_PROCID=7 SLURM_LOCALID=3 SLURM_NODEID=1 PMIX_RANK=7 SLURM_MPI_TYPE=pmix"),
        "7/11 3/4 SLURM"
    );
}

#[test]
fn slurm_outside_a_step_is_one_process() {
    let batch = "SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_GTIDS=0 SLURM_TASK_PID=16360";
    for (what, more) in [
        ("salloc", ""),
        ("sbatch", batch),
        ("sbatch with its step", &format!("{batch} SLURM_STEP_ID=4294967291")),
        ("sbatch before 20.11", &format!("{batch} SLURM_STEP_ID=4294967294")),
        ("salloc with an interactive step", &format!("{batch} SLURM_STEP_ID=4294967290 SLURM_PTY_PORT=1")),
        ("ssh into a node", "SLURM_STEP_ID=4294967292"),
        ("signed", "SLURM_STEP_ID=-5"),
    ] {
        let found = find(&format!("{JOB} {more}")).unwrap();
        assert_eq!(found.world, World::alone(), "{what}");
        assert!(found.seen[0].verdict.contains("one process"), "{what}: {found}");
    }
    // Number 3 can only come from a step: ignoring it would make every rank act as the only process.
    let lost = error(&format!("{JOB} SLURM_PROCID=3"));
    assert!(lost.contains("SLURM_PROCID=3") && lost.contains("SLURM_STEP_ID"), "{lost}");
}

#[test]
fn the_inner_launcher_wins() {
    // srun starts one torchrun on each node, which starts the processes.
    let slurm = "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_LOCALID=0 SLURM_NODEID=1 \
        SLURM_STEP_TASKS_PER_NODE=1(x2)";
    let found = find(&format!("{TORCHRUN} {slurm}")).unwrap();
    assert_eq!((found.world.rank, found.world.size, found.world.from.as_str()), (3, 4, "torchrun"));
    assert_eq!(
        found.to_string(),
        "rank 3 of 4 (local 1 of 2), from torchrun: RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2: taken\n  \
         SLURM: SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_ID=0 SLURM_LOCALID=0 SLURM_NODEID=1 \
         SLURM_STEP_TASKS_PER_NODE=1(x2): passed over: torchrun comes first; here it would be rank 1 of 2"
    );
    // mpirun starts its daemons with srun.
    assert_eq!(short(&format!("{OPEN_MPI} {slurm}")), "5/8 1/4 Open MPI");
    assert_eq!(short(&format!("{OPEN_MPI} {TORCHRUN}")), "3/4 1/2 torchrun");
    assert_eq!(short(&format!("{TORCHRUN} INFEED_RANK=0 INFEED_WORLD_SIZE=1")), "0/1 0/1 by hand");
    let found = find(&format!("{OPEN_MPI} PMI_RANK=5 PMI_SIZE=8")).unwrap().to_string();
    assert!(
        found.contains("MPICH: PMI_RANK=5 PMI_SIZE=8: passed over: Open MPI comes first, and they agree")
    );
    // Invalid variables of a later launcher do no harm.
    assert_eq!(short(&format!("{TORCHRUN} PMI_RANK=x PMI_SIZE=2")), "3/4 1/2 torchrun");
}

#[test]
fn local_ranks_are_borrowed_from_who_agrees() {
    let slurm = format!("{JOB} {STEP} SLURM_PROCID=7 SLURM_LOCALID=3 SLURM_NODEID=1");
    let found = find(&format!("{slurm} RANK=7 WORLD_SIZE=11 MASTER_ADDR=node1")).unwrap();
    assert_eq!((found.world.local_rank, found.world.local_size), (3, 4));
    assert!(found.seen[0].verdict.contains("that of SLURM"), "{found}");
    // One that disagrees is not used for the local rank, and the verdict says so.
    let found = find(&format!("{slurm} RANK=6 WORLD_SIZE=11")).unwrap();
    assert_eq!((found.world.local_rank, found.world.local_size), (0, 1));
    assert!(found.seen[0].verdict.contains("LOCAL_RANK is not set: assumed"), "{found}");
    // A size alone, as in many job scripts, is neither an answer nor an error if another launcher has more.
    assert_eq!(short(&format!("{slurm} WORLD_SIZE=11")), "7/11 3/4 SLURM");
}

#[test]
fn lightning() {
    let node = "WORLD_SIZE=11 NODE_RANK=1 LOCAL_RANK=3";
    assert!(error(node).contains("NODE_RANK=1 LOCAL_RANK=3"), "{}", error(node));
    let slurm = format!("{JOB} {STEP} SLURM_PROCID=7 SLURM_LOCALID=3 SLURM_NODEID=1");
    assert_eq!(short(&format!("{slurm} {node}")), "7/11 3/4 SLURM", "the tasks are the processes");
    let one = "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0";
    assert_eq!(short(&format!("{one} WORLD_SIZE=4 NODE_RANK=0 LOCAL_RANK=2")), "2/4 0/1 Lightning");
    assert!(
        error("WORLD_SIZE=2 NODE_RANK=0 LOCAL_RANK=2").contains("LOCAL_RANK=2 is too large for WORLD_SIZE=2")
    );
}

#[test]
fn errors_name_the_variables_and_the_cure() {
    for (env, names) in [
        ("RANK=1", "RANK=1 WORLD_SIZE"),
        ("WORLD_SIZE=4", "WORLD_SIZE=4 RANK"),
        ("RANK=x WORLD_SIZE=4", "RANK=x"),
        ("RANK=-1 WORLD_SIZE=4", "RANK=-1"),
        ("RANK=0 WORLD_SIZE=1.5", "WORLD_SIZE=1.5"),
        ("RANK=4 WORLD_SIZE=4", "RANK=4 WORLD_SIZE=4"),
        ("RANK=0 WORLD_SIZE=0", "WORLD_SIZE=0"),
        ("RANK=0 WORLD_SIZE=4 LOCAL_RANK=2 LOCAL_WORLD_SIZE=2", "LOCAL_RANK=2 LOCAL_WORLD_SIZE=2"),
        ("RANK=0 WORLD_SIZE=4 LOCAL_RANK=2 LOCAL_WORLD_SIZE=8", "LOCAL_WORLD_SIZE=8 WORLD_SIZE=4"),
        ("RANK=99999999999999999999 WORLD_SIZE=4", "RANK=99999999999999999999"),
        ("INFEED_RANK=1", "INFEED_RANK=1"),
        ("INFEED_WORLD_SIZE=1", "INFEED_WORLD_SIZE=1"),
        // Even if another launcher has an answer: it was set on purpose.
        ("INFEED_RANK=1 RANK=0 WORLD_SIZE=2", "INFEED_RANK=1"),
        ("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE"),
        ("PMIX_RANK=3 PMIX_NAMESPACE=x", "PMIX_RANK=3 PMIX_SIZE"),
        ("PALS_RANKID=3 PALS_LOCAL_SIZE=4", "PALS_RANKID=3"),
        ("SLURM_STEP_ID=0 SLURM_PROCID=1", "SLURM_PROCID=1 SLURM_STEP_NUM_TASKS"),
        ("SLURM_STEP_ID=0 SLURM_PROCID=2 SLURM_NTASKS=2", "SLURM_PROCID=2 SLURM_NTASKS=2"),
        (
            "SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_TASKS_PER_NODE=2x",
            "SLURM_TASKS_PER_NODE=2x",
        ),
    ] {
        let text = error(env);
        for name in names.split(' ').chain(["INFEED_RANK and INFEED_WORLD_SIZE"]) {
            assert!(text.contains(name), "{env}: {text}");
        }
    }
}

#[test]
fn empty_and_spaced_values() {
    let empty = |name: &str| Some(if name == "RANK" { " " } else { "" }.to_owned());
    assert_eq!(detect(&empty).unwrap(), FoundWorld { world: World::alone(), seen: vec![] });
    let spaced = |name: &str| match name {
        "RANK" => Some(" 1\n".to_owned()),
        "WORLD_SIZE" => Some("2".to_owned()),
        _ => None,
    };
    assert_eq!(detect(&spaced).unwrap().world.rank, 1);
    // A single process needs no rank.
    assert_eq!(short("WORLD_SIZE=1"), "0/1 0/1 nobody");
}

#[test]
fn worlds_by_hand() {
    let world = World::new(1, 2).unwrap();
    assert_eq!((world.rank, world.size, world.local_rank, world.local_size), (1, 2, 0, 1));
    assert!(World::new(0, 0).unwrap_err().to_string().contains("at least one rank"));
    assert!(World::new(2, 2).unwrap_err().to_string().contains("ranks go from 0 to 1"));
}

#[test]
fn as_json() {
    let json = serde_json::to_value(find("RANK=0 WORLD_SIZE=2").unwrap()).unwrap();
    assert_eq!(json["world"]["from"], "torchrun");
    assert_eq!(json["seen"][0]["variables"][1], serde_json::json!(["WORLD_SIZE", "2"]));
    assert!(find("").unwrap().to_string().starts_with("rank 0 of 1 (local 0 of 1)"));
}
