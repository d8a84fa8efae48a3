//! Decides whether a filter can hold for any row of a block, given only ranges of its values.

use super::{
    Bound, Scalar,
    node::{Compare, List, Node},
};
use std::cmp::Ordering;

/// What is known about the values of a column in a block of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// Bounds of the values present; `None` if no row has a value.
    bounds: Option<(Scalar<'static>, Scalar<'static>)>,
    /// Whether a row may lack a value.
    none: bool,
}

impl Range {
    /// Creates the range of values between these two, bounds included; `none` says whether a row may lack a value.
    /// Returns `None` if the bounds are invalid.
    pub fn new(min: Scalar<'static>, max: Scalar<'static>, none: bool) -> Option<Self> {
        match min.compare(&max) {
            Ok(Some(Ordering::Less | Ordering::Equal)) => Some(Range { bounds: Some((min, max)), none }),
            _ => None,
        }
    }

    /// Creates the range of a column in which no row has a value.
    pub fn empty() -> Self {
        Range { bounds: None, none: true }
    }
}

/// The possible results of a condition for some row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct May {
    hold: bool,
    fail: bool,
    none: bool,
}

const ANYTHING: May = May { hold: true, fail: true, none: true };

impl Bound {
    /// Returns whether the filter may hold for a row with values in these ranges, given in column order. A column
    /// without a range is unknown. False only if the filter certainly holds for no row.
    pub fn may_hold(&self, ranges: &[Option<Range>]) -> bool {
        self.node.may(ranges).hold
    }
}

impl Node {
    fn may(&self, ranges: &[Option<Range>]) -> May {
        match self {
            Node::Const(Scalar::Bool(known)) => May { hold: *known, fail: !known, none: false },
            Node::And(all) => all.iter().map(|node| node.may(ranges)).fold(
                May { hold: true, fail: false, none: false },
                // The operands may be decided by different rows, so only their separate possibilities are known.
                |a, b| May { hold: a.hold && b.hold, fail: a.fail || b.fail, none: a.none || b.none },
            ),
            Node::Or(all) => all.iter().map(|node| node.may(ranges)).fold(
                May { hold: false, fail: true, none: false },
                |a, b| May { hold: a.hold || b.hold, fail: a.fail && b.fail, none: a.none || b.none },
            ),
            Node::Not(item) => {
                let item = item.may(ranges);
                May { hold: item.fail, fail: item.hold, none: item.none }
            }
            Node::IsNone { item, not } => match item.range(ranges) {
                Some(range) => {
                    let (is, other) = (range.none, range.bounds.is_some());
                    let (hold, fail) = if *not { (other, is) } else { (is, other) };
                    May { hold, fail, none: false }
                }
                None => ANYTHING,
            },
            Node::Compare(first, rest) => {
                let mut left = first.range(ranges);
                let mut all = May { hold: true, fail: false, none: false };
                for (op, node) in rest {
                    let right = node.range(ranges);
                    let one = match (&left, &right) {
                        (Some(left), Some(right)) => compare(left, *op, right),
                        _ => ANYTHING,
                    };
                    all = May {
                        hold: all.hold && one.hold,
                        fail: all.fail || one.fail,
                        none: all.none || one.none,
                    };
                    left = right;
                }
                all
            }
            Node::In { item, list, not } => {
                let Some(item) = item.range(ranges) else { return ANYTHING };
                let hits: Vec<May> = match list {
                    List::Any(all) => all
                        .iter()
                        .map(|node| match node.range(ranges) {
                            Some(other) => compare(&item, Compare::Equal, &other),
                            None => ANYTHING,
                        })
                        .collect(),
                    List::Ints(all) => {
                        all.iter().map(|x| compare(&item, Compare::Equal, &point(Scalar::Int(*x)))).collect()
                    }
                    List::Texts(all) => {
                        let text = |x: &std::sync::Arc<str>| point(Scalar::Text(x.to_string().into()));
                        all.iter().map(|x| compare(&item, Compare::Equal, &text(x))).collect()
                    }
                };
                let hold = hits.iter().any(|hit| hit.hold);
                let fail = hits.iter().all(|hit| hit.fail);
                let none = hits.iter().any(|hit| hit.none) || item.none;
                if *not { May { hold: fail, fail: hold, none } } else { May { hold, fail, none } }
            }
            _ => ANYTHING,
        }
    }

    /// Returns the range of a name or a constant.
    fn range(&self, ranges: &[Option<Range>]) -> Option<Range> {
        match self {
            Node::Name(_, slot) => ranges.get(*slot)?.clone(),
            Node::Const(Scalar::None) => Some(Range::empty()),
            Node::Const(value) => {
                let value = owned(value);
                // NaN has no range.
                Range::new(value.clone(), value, false)
            }
            Node::Minus(item) => match item.range(ranges)? {
                Range { bounds: Some((Scalar::Int(a), Scalar::Int(b))), none } => {
                    Range::new(Scalar::Int(b.checked_neg()?), Scalar::Int(a.checked_neg()?), none)
                }
                Range { bounds: Some((Scalar::Float(a), Scalar::Float(b))), none } => {
                    Range::new(Scalar::Float(-b), Scalar::Float(-a), none)
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn owned(value: &Scalar<'_>) -> Scalar<'static> {
    match value {
        Scalar::Int(x) => Scalar::Int(*x),
        Scalar::Float(x) => Scalar::Float(*x),
        Scalar::Bool(x) => Scalar::Bool(*x),
        Scalar::Text(x) => Scalar::Text(x.to_string().into()),
        Scalar::None => Scalar::None,
    }
}

fn point(value: Scalar<'static>) -> Range {
    Range { bounds: Some((value.clone(), value)), none: false }
}

fn compare(left: &Range, op: Compare, right: &Range) -> May {
    let none = left.none || right.none;
    let (Some((a, b)), Some((c, d))) = (&left.bounds, &right.bounds) else {
        return May { hold: false, fail: false, none: true };
    };
    // Bounds do not cover NaN, which is unequal to everything and neither smaller nor larger.
    let odd = [a, b, c, d].iter().any(|x| matches!(x, Scalar::Float(_)));
    let (Ok(Some(least)), Ok(Some(most))) = (a.compare(d), b.compare(c)) else { return ANYTHING };
    let apart = least == Ordering::Greater || most == Ordering::Less;
    let same = a == b && c == d && !apart;
    let (less, more) = (least == Ordering::Less, most == Ordering::Greater);
    let (hold, fail) = match op {
        Compare::Equal => (!apart, !same || odd),
        Compare::Unequal => (!same || odd, !apart),
        Compare::Less => (less, most != Ordering::Less || odd),
        Compare::LessEqual => (least != Ordering::Greater, more || odd),
        Compare::Greater => (more, least != Ordering::Greater || odd),
        Compare::GreaterEqual => (most != Ordering::Less, less || odd),
    };
    May { hold, fail, none }
}

#[cfg(test)]
mod tests {
    use super::{super::Expr, *};
    use proptest::prelude::*;

    fn may(text: &str, x: Option<Range>, y: Option<Range>) -> bool {
        Expr::parse(text).unwrap().bind(&["x", "y"]).unwrap().may_hold(&[x, y])
    }

    fn ints(min: i64, max: i64) -> Option<Range> {
        Range::new(Scalar::Int(min), Scalar::Int(max), false)
    }

    #[test]
    fn what_is_outside_of_a_range_is_known() {
        for (text, want) in [
            ("x > 5", false),
            ("x >= 5", true),
            ("x < 1", false),
            ("x <= 1", true),
            ("x == 6", false),
            ("x == 3", true),
            ("not x <= 5", false),
            ("x in (7, 8, 9)", false),
            ("x in (7, 3)", true),
            ("x not in (7, 8)", true),
            ("x > 5 or y > 5", true),
            ("x > 5 and y > 5", false),
            ("x is none", false),
            ("x is not none", true),
            ("6 < x < 9", false),
            ("x + 1 > 100", true),
            ("x == 'text'", true),
            ("-x > 0", false),
        ] {
            assert_eq!(may(text, ints(1, 5), None), want, "{text}");
        }
        // One operand that fails is enough for the negation to hold, and for `or` both must fail.
        assert!(may("not (x > 5 and y > 5)", ints(6, 9), ints(0, 3)));
        assert!(may("not (y > 5 and x > 5)", ints(6, 9), ints(0, 3)));
        assert!(!may("not (x > 5 and y > 5)", ints(6, 9), ints(6, 9)));
        assert!(!may("not (x > 5 or y > 5)", ints(6, 9), ints(0, 3)));
        assert!(may("not (x > 5 or y > 5)", ints(0, 3), ints(0, 3)));
        assert!(!may("x != 3", ints(3, 3), None));
        // NaN is not equal to 3 either.
        assert!(may("x != 3", Range::new(Scalar::Float(3.0), Scalar::Float(3.0), false), None));
        assert!(may("not x < 9", Range::new(Scalar::Float(3.0), Scalar::Float(3.0), false), None));
        assert!(!may("x == 1", Some(Range::empty()), None));
        assert!(may("x is none", Some(Range::empty()), None));
        let text = |a: &str, b: &str| {
            Range::new(Scalar::Text(a.to_owned().into()), Scalar::Text(b.to_owned().into()), true)
        };
        assert!(!may("x == 'DE'", text("FR", "US"), None));
        assert!(may("x == 'GB'", text("FR", "US"), None));
    }

    proptest! {
        /// A block is never skipped if one of its rows would be kept.
        #[test]
        fn no_row_is_lost(
            rows in prop::collection::vec((prop::option::of(-4i64..4), prop::option::of(-4i64..4)), 1..6),
            a in -5i64..5, b in -5i64..5,
            form in 0usize..12,
        ) {
            let text = [
                format!("x < {a}"), format!("x <= {a} and y > {b}"), format!("x == {a} or y != {b}"),
                format!("not (x > {a} or y == {b})"), format!("x in ({a}, {b})"), format!("x not in ({a}, {b})"),
                format!("{a} <= x < {b}"), "x is none or y is not none".to_owned(), "x < y".to_owned(),
                "not x >= y".to_owned(), format!("-x == {a}"), format!("x not in ({a}, y)"),
            ][form].clone();
            let bound = Expr::parse(&text).unwrap().bind(&["x", "y"]).unwrap();
            let scalar = |x: Option<i64>| x.map_or(Scalar::None, Scalar::Int);
            let kept = rows.iter().any(|(x, y)| bound.eval(&[scalar(*x), scalar(*y)]).unwrap());
            let range = |first: bool| {
                let all: Vec<i64> = rows.iter().filter_map(|(x, y)| if first { *x } else { *y }).collect();
                match (all.iter().min(), all.iter().max()) {
                    (Some(a), Some(b)) => Range::new(Scalar::Int(*a), Scalar::Int(*b), all.len() < rows.len()),
                    _ => Some(Range::empty()),
                }
            };
            let may = bound.may_hold(&[range(true), range(false)]);
            prop_assert!(may || !kept, "{} {:?}", text, rows);
        }
    }
}
