//! The answer of one launcher, before deciding whether to use it.

/// Looks up an environment variable.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The meaning of a launcher's variables.
#[derive(Debug)]
pub(super) enum Says {
    /// A complete answer.
    Ranks(Ranks),
    /// Invalid: an error, unless an earlier launcher gave a complete answer.
    Wrong(String),
    /// Incomplete: an error, unless any other launcher gave a complete answer.
    Half(String),
    /// No answer, for this reason.
    Nothing(String),
}

/// A complete answer.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    pub(super) rank: u64,
    pub(super) size: u64,
    /// Rank and size within the node, if both are known.
    pub(super) local: Option<(u64, u64)>,
    /// A further remark; may be empty.
    pub(super) note: String,
}

/// A launcher and its answer.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) launcher: &'static str,
    pub(super) variables: Vec<(String, String)>,
    pub(super) says: Says,
}

impl Reading {
    /// Returns the number of ranks, if the answer is complete or has at least that.
    pub(super) fn size(&self) -> Option<u64> {
        match &self.says {
            Says::Ranks(ranks) => Some(ranks.size),
            Says::Wrong(_) | Says::Half(_) => {
                let (_, size) = self.variables.iter().find(|(name, _)| name == "WORLD_SIZE")?;
                size.parse().ok()
            }
            Says::Nothing(_) => None,
        }
    }
}

/// Reads the variables of one launcher and records those that are set.
pub(super) struct Vars<'a> {
    env: Lookup<'a>,
    pub(super) found: Vec<(String, String)>,
}

/// A variable that is set.
#[derive(Debug, Clone)]
pub(super) struct Var {
    pub(super) name: &'static str,
    pub(super) value: String,
}

impl<'a> Vars<'a> {
    pub(super) fn new(env: Lookup<'a>) -> Self {
        Vars { env, found: vec![] }
    }

    /// Returns the first of these variables with a non-empty value.
    pub(super) fn first(&mut self, names: &[&'static str]) -> Option<Var> {
        let (name, value) = names.iter().find_map(|name| {
            let value = (self.env)(name)?.trim().to_owned();
            (!value.is_empty()).then_some((*name, value))
        })?;
        self.found.push((name.to_owned(), value.clone()));
        Some(Var { name, value })
    }
}

impl Var {
    /// Parses the value as a number, or says what is wrong with it.
    pub(super) fn number(&self) -> Result<u64, String> {
        self.value.parse().map_err(|_| format!("{self} is not a whole number of at least 0"))
    }
}

impl std::fmt::Display for Var {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// Parses rank and size and checks them against each other.
pub(super) fn pair(rank: &Var, size: &Var) -> Result<(u64, u64), String> {
    let (r, s) = (rank.number()?, size.number()?);
    if s == 0 {
        return Err(format!("{size}: there must be at least one rank"));
    }
    if r >= s {
        return Err(format!("{rank} is too large for {size}: ranks go from 0 to {}", s - 1));
    }
    Ok((r, s))
}

/// Parses rank and size within the node, with a note if they are unknown.
pub(super) fn local(
    rank: Option<&Var>,
    size: Option<&Var>,
    names: (&str, &str),
    world: &Var,
) -> Result<(Option<(u64, u64)>, String), String> {
    let (Some(rank), Some(size)) = (rank, size) else {
        let missing = if rank.is_none() { names.0 } else { names.1 };
        return Ok((None, format!("{missing} is not set")));
    };
    let pair = pair(rank, size)?;
    if pair.1 > world.number()? {
        return Err(format!("{size} is more than {world}"));
    }
    Ok((Some(pair), String::new()))
}
