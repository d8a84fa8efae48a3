//! The tensors of a pickle, by the names that they become fields of.

use super::{
    pickle::{Fault, Pickle},
    values::{Id, Tensor, Value},
};
use std::collections::HashSet;

/// What a tensor alone is called.
const DATA: &str = "data";
/// How deep dicts and lists may lie in each other.
const DEEPEST: usize = 64;
/// Values that are looked at: a list can be in another many times.
const MOST: usize = 1 << 21;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In the order of the pickle.
    pub(super) tensors: Vec<(String, Tensor)>,
    /// What has no tensors in it.
    pub(super) others: Vec<String>,
}

impl Found {
    /// Finds the tensors of a pickle.
    pub(super) fn read(bytes: &[u8]) -> Result<Found, Fault> {
        let pickle = Pickle::read(bytes)?;
        let mut walk = Walk { pickle: &pickle, found: Found::default(), seen: 0 };
        let end = |what| Fault { at: bytes.len() as u64, what };
        walk.value(pickle.root, "", 0).map_err(end)?;
        let found = walk.found;
        let mut names = HashSet::with_capacity(found.tensors.len());
        match found.tensors.iter().find(|(name, _)| !names.insert(name.as_str())) {
            Some((twice, _)) => Err(end(format!("two tensors are called `{twice}`"))),
            None => Ok(found),
        }
    }
}

struct Walk<'a> {
    pickle: &'a Pickle,
    found: Found,
    seen: usize,
}

impl Walk<'_> {
    fn value(&mut self, id: Id, name: &str, depth: usize) -> Result<(), String> {
        self.seen += 1;
        if depth > DEEPEST {
            return Err(format!("`{name}` lies more than {DEEPEST} dicts and lists deep"));
        }
        if self.seen > MOST {
            return Err(
                "the pickle holds too many values; save tensors instead of lists of numbers".to_owned()
            );
        }
        let (tensors, others) = (self.found.tensors.len(), self.found.others.len());
        match self.pickle.value(id) {
            Value::Tensor(tensor) => {
                let name = if name.is_empty() { DATA } else { name };
                self.found.tensors.push((name.to_owned(), Tensor::clone(tensor)));
                return Ok(());
            }
            Value::Dict(items) => {
                for (key, value) in items {
                    let key = match self.pickle.value(*key) {
                        Value::Text(text) => text.clone(),
                        Value::Int(number) => number.to_string(),
                        _ => return Err(format!("a key in {} is no text and no number", shown(name))),
                    };
                    self.value(*value, &joined(name, &key), depth + 1)?;
                }
            }
            Value::List(items) | Value::Tuple(items) => {
                for (at, value) in items.iter().enumerate() {
                    self.value(*value, &joined(name, &at.to_string()), depth + 1)?;
                }
            }
            _ => {}
        }
        // One name for all that has no tensors in it.
        if self.found.tensors.len() == tensors {
            self.found.others.truncate(others);
            self.found.others.push(name.to_owned());
        }
        Ok(())
    }
}

fn joined(name: &str, key: &str) -> String {
    if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") }
}

fn shown(name: &str) -> String {
    if name.is_empty() { "the outermost dict".to_owned() } else { format!("`{name}`") }
}

/// Reads arbitrary bytes as a pickle. Panics if something impossible is accepted.
pub fn fuzz_pickle(data: &[u8]) {
    let Ok(found) = Found::read(data) else { return };
    for (name, tensor) in &found.tensors {
        assert!(!name.is_empty() && tensor.shape.len() == tensor.strides.len());
        let Some(size) = tensor.kind.size() else { continue };
        let unit = tensor.storage.kind.size().unwrap_or(0);
        let last: u64 = tensor.shape.iter().zip(&tensor.strides).map(|(n, s)| n.saturating_sub(1) * s).sum();
        assert!(
            tensor.shape.contains(&0) || (tensor.offset + last + 1) * size <= tensor.storage.elements * unit
        );
    }
}
