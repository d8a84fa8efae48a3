//! What one launcher says, before anybody decides whether to believe it.

/// Looks a variable up.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What one launcher's variables amount to.
#[derive(Debug)]
pub(super) enum Says {
    /// A whole answer.
    Ranks(Ranks),
    /// Nonsense: an error, unless a launcher before it gave a whole answer.
    Wrong(String),
    /// Half an answer: an error, unless any other launcher gave a whole one.
    Half(String),
    /// Nothing about ranks, for this reason.
    Nothing(String),
}

/// A whole answer.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    pub(super) rank: u64,
    pub(super) size: u64,
    /// Rank and size within the node, where both are known.
    pub(super) local: Option<(u64, u64)>,
    /// What else there is to know, or nothing.
    pub(super) note: String,
}

/// One launcher and what it says.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) launcher: &'static str,
    pub(super) variables: Vec<(String, String)>,
    pub(super) says: Says,
}

impl Reading {
    /// How many ranks there are, where the launcher gives a whole answer or says at least this.
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

/// The variables of one launcher: remembers those that are set.
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

    /// The first of these variables that is set to something.
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
    /// The value as a number, or what is wrong with it.
    pub(super) fn number(&self) -> Result<u64, String> {
        self.value.parse().map_err(|_| format!("{self} is not a whole number of at least 0"))
    }
}

impl std::fmt::Display for Var {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// Rank and size, checked against each other.
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

/// Rank and size within the node, and a note where they are not known.
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
