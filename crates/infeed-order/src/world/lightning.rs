//! Lightning's own launcher: it starts the other processes of a node as copies of the first, with `WORLD_SIZE`,
//! `NODE_RANK` and `LOCAL_RANK`. The rank must be derived from these.

use super::reading::{Lookup, Ranks, Reading, Says, Var, Vars, pair};

pub(super) fn read(env: Lookup<'_>) -> Option<Reading> {
    if Vars::new(env).first(&["RANK"]).is_some() {
        return None;
    }
    let mut vars = Vars::new(env);
    let size = vars.first(&["WORLD_SIZE"])?;
    let node = vars.first(&["NODE_RANK"])?;
    let local = vars.first(&["LOCAL_RANK"])?;
    let says = rank(&size, &node, &local).map_or_else(Says::Wrong, Says::Ranks);
    Some(Reading { launcher: "Lightning", variables: vars.found, says })
}

fn rank(size: &Var, node: &Var, local: &Var) -> Result<Ranks, String> {
    if node.number()? > 0 {
        // The number of ranks on earlier nodes is unknown.
        return Err(format!("{node} {local} leave the rank open, and RANK is not set"));
    }
    // On the first node both ranks are the same.
    let (rank, size) = pair(local, size)?;
    Ok(Ranks { rank, size, local: None, note: "it does not say how many ranks this node has".to_owned() })
}
