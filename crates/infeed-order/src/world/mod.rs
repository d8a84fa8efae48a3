//! Determines the rank of this process and the world size, as told by the launcher.
//!
//! Every launcher passes them through the environment, each in variables of its own. Launchers are tried in a fixed
//! order, and the first with a complete answer wins:
//!
//! | launcher | variables |
//! |---|---|
//! | by hand | `INFEED_RANK`, `INFEED_WORLD_SIZE` |
//! | torchrun, accelerate, deepspeed | `RANK`, `WORLD_SIZE` |
//! | Open MPI | `OMPI_COMM_WORLD_RANK`, ... |
//! | MPICH, Intel MPI | `PMI_RANK`, `PMI_SIZE` |
//! | PMIx | `PMIX_RANK` |
//! | MVAPICH2 | `MV2_COMM_WORLD_RANK`, ... |
//! | PALS | `PALS_RANKID` |
//! | Lightning | `WORLD_SIZE`, `NODE_RANK`, `LOCAL_RANK`, without `RANK` |
//! | SLURM | `SLURM_PROCID`, inside a step of `srun` only |
//!
//! Launchers can be nested (`srun` starts one `torchrun` per node, `mpirun` starts its daemons with `srun`). The
//! table goes from launchers that start the training processes themselves to launchers that start other launchers, so
//! the innermost wins. A wrong answer means wrong data (every rank reading everything, or some rows read by nobody),
//! so an incomplete answer is an error, never a guess.

mod cpus;
mod detect;
mod launchers;
mod lightning;
mod reading;
mod slurm;
#[cfg(test)]
mod tests;

pub use cpus::{machine_cpus, share_of_cpus};
pub use detect::{detect, here};

use infeed_core::{Error, Result};
use serde::Serialize;
use std::fmt;

/// The rank of this process among the processes that train together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct World {
    /// Rank among all, below `size`.
    pub rank: u64,
    /// Number of ranks.
    pub size: u64,
    /// Rank among those of this node, below `local_size`.
    pub local_rank: u64,
    /// Number of ranks on this node; 1 if unknown.
    pub local_size: u64,
    /// The launcher that provided it.
    pub from: String,
}

impl World {
    /// Returns the world of a single process.
    pub fn alone() -> World {
        World { rank: 0, size: 1, local_rank: 0, local_size: 1, from: "nobody".to_owned() }
    }

    /// Creates a world by hand, with a single rank on the node.
    pub fn new(rank: u64, size: u64) -> Result<World> {
        if size == 0 {
            return Err(Error::argument("a world needs at least one rank, got a size of 0"));
        }
        if rank >= size {
            return Err(Error::argument(format!(
                "there is no rank {rank} in a world of size {size}: ranks go from 0 to {}",
                size - 1
            )));
        }
        Ok(World { rank, size, from: "by hand".to_owned(), ..World::alone() })
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let World { rank, size, local_rank, local_size, .. } = self;
        write!(f, "rank {rank} of {size} (local {local_rank} of {local_size})")
    }
}

/// A launcher whose variables were found in the environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// Its name.
    pub launcher: String,
    /// Its variables, with their values.
    pub variables: Vec<(String, String)>,
    /// Why it was used or skipped.
    pub verdict: String,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.launcher)?;
        for (name, value) in &self.variables {
            write!(f, " {name}={value}")?;
        }
        write!(f, ": {}", self.verdict)
    }
}

/// What the environment contains. As text: the world, then one line per launcher found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundWorld {
    /// The world.
    pub world: World,
    /// Every launcher found, including the one that was used.
    pub seen: Vec<Seen>,
}

impl fmt::Display for FoundWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = &self.world.from;
        let taken = self.seen.iter().find(|seen| seen.launcher == *from);
        match taken {
            Some(taken) => write!(f, "{}, from {taken}", self.world)?,
            None => write!(f, "{}: no launcher says otherwise", self.world)?,
        }
        for other in self.seen.iter().filter(|seen| seen.launcher != *from) {
            write!(f, "\n  {other}")?;
        }
        Ok(())
    }
}
