//! Evaluates a filter for one row.

use super::{
    Scalar, glob,
    node::{Compare, Function, List, Node},
    number,
};
use infeed_core::{Error, Result};
use std::cmp::Ordering;

impl Node {
    /// Returns whether the whole filter is true.
    pub(super) fn holds(&self, values: &[Scalar<'_>]) -> Result<bool> {
        Ok(self.truth(values, "a filter")? == Some(true))
    }

    /// Evaluates to true, false, or `None` for unknown.
    fn truth(&self, values: &[Scalar<'_>], who: &str) -> Result<Option<bool>> {
        match self.value(values)? {
            Scalar::Bool(x) => Ok(Some(x)),
            Scalar::None => Ok(None),
            other => Err(fault(format!("{who} needs true or false, and `{self}` is {}", other.words()))),
        }
    }

    fn value<'v>(&'v self, values: &'v [Scalar<'_>]) -> Result<Scalar<'v>> {
        Ok(match self {
            Node::Const(value) => value.borrow(),
            Node::Name(name, slot) => match values.get(*slot) {
                Some(value) => value.borrow(),
                None => return Err(fault(format!("`{name}` has no value"))),
            },
            Node::Or(all) => any(all.iter().map(|node| node.truth(values, "`or`")))?,
            Node::And(all) => every(all.iter().map(|node| node.truth(values, "`and`")))?,
            Node::Not(item) => truth(item.truth(values, "`not`")?.map(|x| !x)),
            Node::Compare(first, rest) => {
                let mut left = first.value(values)?;
                every(rest.iter().map(|(op, node)| {
                    let right = node.value(values)?;
                    let holds = compare(&left, *op, &right);
                    left = right;
                    holds.map_err(|what| fault(format!("{what} in `{self}`")))
                }))?
            }
            Node::In { item, list, not } => {
                let item = item.value(values)?;
                let found = match list {
                    _ if item == Scalar::None => Scalar::None,
                    List::Any(all) => any(all.iter().map(|node| {
                        let other = node.value(values)?;
                        let same = compare(&item, Compare::Equal, &other);
                        same.map_err(|what| fault(format!("{what} in `{self}`")))
                    }))?,
                    List::Ints(all) => {
                        let found = all.binary_search_by(|x| {
                            // NaN equals nothing; any result other than `Equal` will do.
                            Scalar::Int(*x).compare(&item).unwrap_or(None).unwrap_or(Ordering::Less)
                        });
                        if !matches!(item, Scalar::Int(_) | Scalar::Float(_)) {
                            return Err(fault(format!(
                                "{} cannot be among numbers in `{}`",
                                item.words(),
                                self.short()
                            )));
                        }
                        Scalar::Bool(found.is_ok())
                    }
                    List::Texts(all) => match &item {
                        Scalar::Text(text) => Scalar::Bool(all.binary_search_by(|x| (**x).cmp(text)).is_ok()),
                        item => {
                            return Err(fault(format!(
                                "{} cannot be among texts in `{}`",
                                item.words(),
                                self.short()
                            )));
                        }
                    },
                };
                negated(found, *not)
            }
            Node::Like { item, pattern, not } => match item.value(values)? {
                Scalar::Text(text) => Scalar::Bool(glob::matches(pattern, &text) != *not),
                Scalar::None => Scalar::None,
                other => return Err(fault(format!("`like` needs text, and `{item}` is {}", other.words()))),
            },
            Node::IsNone { item, not } => Scalar::Bool((item.value(values)? == Scalar::None) != *not),
            Node::Arith(first, rest) => {
                let mut sum = first.value(values)?;
                for (op, node) in rest {
                    let next = node.value(values)?;
                    if sum == Scalar::None || next == Scalar::None {
                        sum = Scalar::None;
                        continue;
                    }
                    sum = number::arith(*op, &sum, &next).map_err(|what| {
                        fault(format!("{what}: {} {op} {} in `{self}`", sum.words(), next.words()))
                    })?;
                }
                sum
            }
            Node::Minus(item) => match item.value(values)? {
                Scalar::Int(x) => {
                    Scalar::Int(x.checked_neg().ok_or_else(|| fault(format!("`{self}` is too large")))?)
                }
                Scalar::Float(x) => Scalar::Float(-x),
                Scalar::None => Scalar::None,
                other => return Err(fault(format!("`-` needs a number, and `{item}` is {}", other.words()))),
            },
            Node::Call(function, args) => self.call(*function, args, values)?,
        })
    }

    fn call<'v>(&self, function: Function, args: &'v [Node], values: &'v [Scalar<'_>]) -> Result<Scalar<'v>> {
        let mut args = args.iter().map(|node| node.value(values));
        let first = args.next().unwrap_or(Ok(Scalar::None))?;
        let wrong = |what: &str, got: &Scalar<'_>| {
            Err(fault(format!("`{self}` needs {what}, found {}", got.words())))
        };
        Ok(match (function, first) {
            (Function::Len | Function::Lower | Function::Abs, Scalar::None) => Scalar::None,
            (Function::Len, Scalar::Text(text)) => Scalar::Int(text.chars().count() as i64),
            (Function::Lower, Scalar::Text(text)) => Scalar::Text(text.to_lowercase().into()),
            (Function::Len | Function::Lower, other) => return wrong("text", &other),
            (Function::Abs, Scalar::Int(x)) => {
                Scalar::Int(x.checked_abs().ok_or_else(|| fault(format!("`{self}` is too large")))?)
            }
            (Function::Abs, Scalar::Float(x)) => Scalar::Float(x.abs()),
            (Function::Abs, other) => return wrong("a number", &other),
            (Function::Min | Function::Max, mut best) => {
                let want = if function == Function::Min { Ordering::Less } else { Ordering::Greater };
                for next in args {
                    let next = next?;
                    if best == Scalar::None || next == Scalar::None {
                        best = Scalar::None;
                        continue;
                    }
                    match next.compare(&best) {
                        Ok(order) if order == Some(want) => best = next,
                        Ok(_) => {}
                        Err(()) => return wrong(&format!("values of one kind ({})", best.words()), &next),
                    }
                }
                best
            }
        })
    }

    /// Returns the filter for messages, shortened.
    fn short(&self) -> String {
        let whole = self.to_string();
        match whole.char_indices().nth(60) {
            Some((at, _)) => format!("{}...", &whole[..at]),
            None => whole,
        }
    }
}

fn fault(what: String) -> Error {
    Error::sample(format!("filter: {what}"))
}

fn truth<'v>(known: Option<bool>) -> Scalar<'v> {
    known.map_or(Scalar::None, Scalar::Bool)
}

fn negated(found: Scalar<'_>, not: bool) -> Scalar<'_> {
    if let Scalar::Bool(x) = found { Scalar::Bool(x != not) } else { found }
}

/// False as soon as one is false; otherwise unknown if one is unknown.
fn every<'v>(all: impl Iterator<Item = Result<Option<bool>>>) -> Result<Scalar<'v>> {
    let mut known = true;
    for one in all {
        match one? {
            Some(false) => return Ok(Scalar::Bool(false)),
            Some(true) => {}
            None => known = false,
        }
    }
    Ok(if known { Scalar::Bool(true) } else { Scalar::None })
}

/// True as soon as one is true; otherwise unknown if one is unknown.
fn any<'v>(all: impl Iterator<Item = Result<Option<bool>>>) -> Result<Scalar<'v>> {
    let opposite = every(all.map(|one| Ok(one?.map(|x| !x))))?;
    Ok(negated(opposite, true))
}

/// Returns whether a comparison holds, `None` for unknown, or an error message if the kinds differ.
fn compare(left: &Scalar<'_>, op: Compare, right: &Scalar<'_>) -> Result<Option<bool>, String> {
    if *left == Scalar::None || *right == Scalar::None {
        return Ok(None);
    }
    let order = left
        .compare(right)
        .map_err(|()| format!("cannot compare {} with {}", left.words(), right.words()))?;
    Ok(Some(match op {
        Compare::Equal => order == Some(Ordering::Equal),
        Compare::Unequal => order != Some(Ordering::Equal),
        Compare::Less => order == Some(Ordering::Less),
        Compare::LessEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Compare::Greater => order == Some(Ordering::Greater),
        Compare::GreaterEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }))
}
