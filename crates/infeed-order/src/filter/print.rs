//! Prints a filter as text, with as few parentheses as possible.

use super::{
    Scalar,
    node::{Arith, Compare, Function, List, Node},
};
use std::fmt::{self, Display};

impl Node {
    /// Returns the precedence: see the table in the parent module.
    fn strength(&self) -> u8 {
        match self {
            Node::Or(_) => 1,
            Node::And(_) => 2,
            Node::Not(_) => 3,
            Node::Compare(..) | Node::In { .. } | Node::Like { .. } | Node::IsNone { .. } => 4,
            Node::Arith(_, rest) if matches!(rest.first(), Some((Arith::Plus | Arith::Minus, _))) => 5,
            Node::Arith(..) => 6,
            Node::Minus(_) => 7,
            Node::Const(_) | Node::Name(..) | Node::Call(..) => 8,
        }
    }

    /// Prints an operand, in parentheses if its precedence is below `least`.
    fn part(&self, f: &mut fmt::Formatter<'_>, least: u8) -> fmt::Result {
        if self.strength() >= least { self.fmt(f) } else { write!(f, "({self})") }
    }
}

impl Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = |not: &bool| if *not { "not " } else { "" };
        match self {
            Node::Const(value) => value.fmt(f),
            Node::Name(name, _) => f.write_str(name),
            Node::Or(all) => parts(f, all, " or ", 2),
            Node::And(all) => parts(f, all, " and ", 3),
            Node::Not(item) => {
                f.write_str("not ")?;
                item.part(f, 3)
            }
            Node::Compare(first, rest) => {
                first.part(f, 5)?;
                for (op, node) in rest {
                    write!(f, " {op} ")?;
                    node.part(f, 5)?;
                }
                Ok(())
            }
            Node::In { item, list, not: no } => {
                item.part(f, 5)?;
                write!(f, " {}in (", not(no))?;
                match list {
                    List::Any(all) => parts(f, all, ", ", 5)?,
                    List::Ints(all) => joined(f, all.iter())?,
                    List::Texts(all) => joined(f, all.iter().map(|text| Scalar::Text((&**text).into())))?,
                }
                f.write_str(")")
            }
            Node::Like { item, pattern, not: no } => {
                item.part(f, 5)?;
                write!(f, " {}like {}", not(no), Scalar::Text((&**pattern).into()))
            }
            Node::IsNone { item, not: no } => {
                item.part(f, 5)?;
                write!(f, " is {}none", not(no))
            }
            Node::Arith(first, rest) => {
                let least = self.strength() + 1;
                first.part(f, least)?;
                for (op, node) in rest {
                    write!(f, " {op} ")?;
                    node.part(f, least)?;
                }
                Ok(())
            }
            // `-5` is a literal; the negation of the literal 5 is a different tree.
            Node::Minus(item) if matches!(**item, Node::Const(_)) => write!(f, "-({item})"),
            Node::Minus(item) => {
                f.write_str("-")?;
                item.part(f, 7)
            }
            Node::Call(function, all) => {
                let name =
                    Function::ALL.iter().find(|known| known.0 == *function).map_or("", |known| known.1);
                write!(f, "{name}(")?;
                parts(f, all, ", ", 1)?;
                f.write_str(")")
            }
        }
    }
}

fn parts(f: &mut fmt::Formatter<'_>, all: &[Node], between: &str, least: u8) -> fmt::Result {
    for (n, node) in all.iter().enumerate() {
        f.write_str(if n == 0 { "" } else { between })?;
        node.part(f, least)?;
    }
    Ok(())
}

fn joined(f: &mut fmt::Formatter<'_>, all: impl Iterator<Item = impl Display>) -> fmt::Result {
    for (n, item) in all.enumerate() {
        write!(f, "{}{item}", if n == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl Display for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compare::Equal => "==",
            Compare::Unequal => "!=",
            Compare::Less => "<",
            Compare::LessEqual => "<=",
            Compare::Greater => ">",
            Compare::GreaterEqual => ">=",
        })
    }
}

impl Display for Arith {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arith::Plus => "+",
            Arith::Minus => "-",
            Arith::Times => "*",
            Arith::Divide => "/",
            Arith::Rest => "%",
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::filter::Expr;

    #[test]
    fn no_needless_parentheses() {
        for text in [
            "a * b + c",
            "(a + b) * c",
            "a - (b - c)",
            "a / (b * c)",
            "-a * b",
            "-(a + b)",
            "a or b and not c",
            "(a or b) and c",
            "not (a or b)",
            "a + 1 < b * 2",
            "(a < b) == c",
            "a + 1 in (b - 1, 3)",
        ] {
            assert_eq!(Expr::parse(text).unwrap().to_string(), text);
            let spaced = text.replace('(', "( (").replace(')', ") )");
            if !text.contains(" in ") {
                assert_eq!(Expr::parse(&spaced).unwrap().to_string(), text);
            }
        }
    }
}
