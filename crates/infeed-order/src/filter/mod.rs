//! Filter expressions: `label in (3, 5) and bytes < 2_000_000`.
//!
//! ```text
//! or, ||                      and, &&                     not, !
//! == = != < <= > >=           1 < x <= 5                  in (3, 5), not in ("a", "b")
//! like "n01*", not like       is none, is not none        + - * / %
//! len(text) lower(text)       abs(x) min(x, y) max(x, y)  true false
//! 2_000_000  1.5  1e6         64KB 2MB 1GB 4KiB 1.5MiB    'text' "text"
//! ```
//!
//! The table is ordered by precedence, from loose to tight; parentheses work as usual. `!` is a synonym of `not`, so
//! `!x == 3` is `not (x == 3)`. `/` is true division, and `%` has the sign of its right operand, as in Python. In
//! `like`, `*` matches any text and `?` one character.
//!
//! A value is none if the row lacks the field. Any expression over none is none, except where `and` and `or` are
//! decided by the other side. A row is kept only if the whole expression is true. So neither `x < 3` nor `not x < 3`
//! keeps a row without `x`; `x is none` does.

mod eval;
mod glob;
mod lex;
mod node;
mod number;
mod parse;
mod print;
mod ranges;
mod scalar;

#[cfg(test)]
mod tests;

pub use ranges::Range;
pub use scalar::Scalar;

use infeed_core::{Error, Result, registry};
use node::Node;
use std::{fmt, sync::Arc};

/// A parsed filter. Its printed form parses to the same filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    node: Node,
    names: Vec<Arc<str>>,
}

impl Expr {
    /// Parses a filter. Errors show the position.
    pub fn parse(text: &str) -> Result<Self> {
        let (node, names) = parse::parse(text)?;
        Ok(Expr { node, names })
    }

    /// Returns the names it uses, each once, in order of appearance.
    pub fn names(&self) -> Vec<String> {
        self.names.iter().map(|name| name.to_string()).collect()
    }

    /// Returns whether the filter holds. `value` returns the value of a name, or `None` for an unknown name.
    ///
    /// Fails if kinds do not match (text and numbers), if numbers overflow, and on division by zero.
    pub fn eval<'v>(&self, value: &dyn Fn(&str) -> Option<Scalar<'v>>) -> Result<bool> {
        let values = self.names.iter().map(|name| value(name).ok_or_else(|| unknown(name, &[])));
        self.node.holds(&values.collect::<Result<Vec<_>>>()?)
    }

    /// Binds the filter to rows whose values come as a list in the order of `columns`, so that names
    /// are not looked up per row.
    pub fn bind(&self, columns: &[&str]) -> Result<Bound> {
        let slot = |name: &Arc<str>| {
            columns.iter().position(|column| **column == **name).ok_or_else(|| unknown(name, columns))
        };
        let slots = self.names.iter().map(slot).collect::<Result<Vec<usize>>>()?;
        let mut node = self.node.clone();
        node.renumber(&slots);
        Ok(Bound { node, columns: columns.len() })
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.fmt(f)
    }
}

/// A filter for rows whose values come as a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    node: Node,
    columns: usize,
}

impl Bound {
    /// Returns whether the filter holds for a row; see [`Expr::eval`].
    pub fn eval(&self, values: &[Scalar<'_>]) -> Result<bool> {
        if values.len() != self.columns {
            let (got, want) = (values.len(), self.columns);
            return Err(Error::argument(format!("filter: {got} values for {want} columns")));
        }
        self.node.holds(values)
    }
}

fn unknown(name: &str, columns: &[&str]) -> Error {
    let near = registry::nearest(name, columns).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
    let there =
        if columns.is_empty() { String::new() } else { format!(" (there are: {})", columns.join(", ")) };
    Error::argument(format!("filter: there is no `{name}`{near}{there}"))
}
