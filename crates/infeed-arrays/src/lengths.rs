//! Which arrays of a file or store become fields, if nobody says it.

use crate::source::axis_of;
use infeed_core::{Error, Result};
use std::collections::BTreeMap;

/// Arrays that were taken, and those that were left out because they have another length.
#[derive(Debug, Default)]
pub(crate) struct ByLength {
    pub(crate) taken: Vec<String>,
    pub(crate) others: Vec<String>,
}

/// Takes the arrays whose axis has the length that most of them have. `name` is the file, `what` its arrays in a sentence.
pub(crate) fn by_length(
    name: &str,
    what: &str,
    axis: i64,
    arrays: impl IntoIterator<Item = Result<(String, Vec<u64>)>>,
) -> Result<ByLength> {
    let mut out = ByLength::default();
    let mut lengths: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for array in arrays {
        let (path, shape) = array?;
        match axis_of(Some(axis), shape.len()) {
            Some(axis) => lengths.entry(shape[axis]).or_default().push(path),
            None => out.others.push(path),
        }
    }
    let most = lengths.values().map(Vec::len).max().unwrap_or(0);
    let chosen: Vec<u64> =
        lengths.iter().filter(|(_, paths)| paths.len() == most).map(|(len, _)| *len).collect();
    let listed = || {
        let one = |(len, paths): (&u64, &Vec<String>)| format!("{} of {len}", paths.join(", "));
        lengths.iter().take(8).map(one).collect::<Vec<_>>().join("; ")
    };
    let [length] = chosen.as_slice() else {
        let what = match chosen.is_empty() {
            true => format!("no {what} has an axis {axis}"),
            false => format!("{what}s have different lengths along axis {axis}: {}", listed()),
        };
        return Err(Error::argument(format!("`{name}`: {what}; say which to read with variables=[...]")));
    };
    out.others.extend(lengths.iter().filter(|(len, _)| *len != length).flat_map(|(_, paths)| paths.clone()));
    out.taken = lengths.remove(length).unwrap_or_default();
    Ok(out)
}

/// What `explain` says of what was left out.
pub(crate) fn notes(others: &[String]) -> String {
    match others {
        [] => String::new(),
        others => format!("; other lengths, left out: {}", others.join(", ")),
    }
}
