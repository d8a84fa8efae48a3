//! Launchers that give rank and size in plain variables, as a table.

use super::reading::{Lookup, Ranks, Reading, Says, Vars, local, pair};

/// The names of a launcher's variables. Of several alternatives, the first that is set counts.
#[derive(Debug)]
pub(super) struct Launcher {
    pub(super) name: &'static str,
    rank: &'static [&'static str],
    size: &'static [&'static str],
    local_rank: &'static [&'static str],
    local_size: &'static [&'static str],
    /// How to treat an incomplete answer.
    half: Half,
}

/// How to treat a rank without a size, or a size without a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    /// An error.
    Wrong,
    /// A rank alone is an error. A size alone is common in job scripts, with the rank coming from another launcher.
    SizeMayStandAlone,
    /// The launcher does not always give the size; another one may.
    RankMayStandAlone,
}

/// Rank and size set by the user.
pub(super) const BY_HAND: Launcher = Launcher {
    name: "by hand",
    rank: &["INFEED_RANK"],
    size: &["INFEED_WORLD_SIZE"],
    local_rank: &["INFEED_LOCAL_RANK"],
    local_size: &["INFEED_LOCAL_WORLD_SIZE"],
    half: Half::Wrong,
};

/// torchrun and compatible launchers: accelerate, deepspeed (which sets LOCAL_SIZE), Ray.
pub(super) const TORCHRUN: Launcher = Launcher {
    name: "torchrun",
    rank: &["RANK"],
    size: &["WORLD_SIZE"],
    local_rank: &["LOCAL_RANK"],
    local_size: &["LOCAL_WORLD_SIZE", "LOCAL_SIZE"],
    half: Half::SizeMayStandAlone,
};

/// MPI launchers, in order of precedence. MPICH comes before PMIx and PALS because only it always has a size.
pub(super) const MPI: &[Launcher] = &[
    Launcher {
        name: "Open MPI",
        rank: &["OMPI_COMM_WORLD_RANK"],
        size: &["OMPI_COMM_WORLD_SIZE"],
        local_rank: &["OMPI_COMM_WORLD_LOCAL_RANK"],
        local_size: &["OMPI_COMM_WORLD_LOCAL_SIZE"],
        half: Half::Wrong,
    },
    Launcher {
        name: "MPICH",
        rank: &["PMI_RANK"],
        size: &["PMI_SIZE"],
        // The first names are set by Hydra and Intel MPI, the second by Cray.
        local_rank: &["MPI_LOCALRANKID", "PMI_LOCAL_RANK"],
        local_size: &["MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"],
        half: Half::RankMayStandAlone,
    },
    Launcher {
        name: "PMIx",
        rank: &["PMIX_RANK"],
        size: &["PMIX_SIZE"],
        local_rank: &["PMIX_LOCAL_RANK"],
        local_size: &["PMIX_LOCAL_SIZE"],
        // A PMIx client asks its server for the size; only some servers also set it in the environment.
        half: Half::RankMayStandAlone,
    },
    Launcher {
        name: "MVAPICH2",
        rank: &["MV2_COMM_WORLD_RANK"],
        size: &["MV2_COMM_WORLD_SIZE"],
        local_rank: &["MV2_COMM_WORLD_LOCAL_RANK"],
        local_size: &["MV2_COMM_WORLD_LOCAL_SIZE"],
        half: Half::Wrong,
    },
    Launcher {
        name: "PALS",
        rank: &["PALS_RANKID"],
        size: &["PALS_SIZE"],
        local_rank: &["PALS_LOCAL_RANKID"],
        local_size: &["PALS_LOCAL_SIZE"],
        // Its mpiexec leaves the size to PMI.
        half: Half::RankMayStandAlone,
    },
];

impl Launcher {
    /// Reads this launcher's variables; `None` if they are not set.
    pub(super) fn read(&self, env: Lookup<'_>) -> Option<Reading> {
        let mut vars = Vars::new(env);
        let (rank, size) = (vars.first(self.rank), vars.first(self.size));
        let says = match (rank, size) {
            (None, None) => return None,
            (Some(rank), Some(size)) => {
                let (local_rank, local_size) = (vars.first(self.local_rank), vars.first(self.local_size));
                let names = (self.local_rank[0], self.local_size[0]);
                let whole = pair(&rank, &size).and_then(|(r, s)| {
                    let (local, note) = local(local_rank.as_ref(), local_size.as_ref(), names, &size)?;
                    Ok(Ranks { rank: r, size: s, local, note })
                });
                whole.map_or_else(Says::Wrong, Says::Ranks)
            }
            (Some(rank), None) => {
                let why =
                    format!("{rank} says which rank this is, but {} does not say of how many", self.size[0]);
                if self.half == Half::RankMayStandAlone { Says::Half(why) } else { Says::Wrong(why) }
            }
            // A single process needs no rank.
            (None, Some(size)) if size.number() == Ok(1) && self.half != Half::Wrong => {
                Says::Nothing(format!("{size} without {}", self.rank[0]))
            }
            (None, Some(size)) => {
                let why =
                    format!("{size} says how many ranks there are, but {} does not say which", self.rank[0]);
                if self.half == Half::Wrong { Says::Wrong(why) } else { Says::Half(why) }
            }
        };
        Some(Reading { launcher: self.name, variables: vars.found, says })
    }
}
