//! The syntax tree of a filter. Chains are flat (`a + b - c` is one node), so only parentheses make it deep.

use super::Scalar;
use std::sync::Arc;

/// Lists of constants from this length on are sorted for binary search.
pub(super) const SORTED_FROM: usize = 17;

/// A node of the tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Const(Scalar<'static>),
    /// A name and its index in the list of values.
    Name(Arc<str>, usize),
    Or(Vec<Node>),
    And(Vec<Node>),
    Not(Box<Node>),
    /// `1 < x <= 5`
    Compare(Box<Node>, Vec<(Compare, Node)>),
    In {
        item: Box<Node>,
        list: List,
        not: bool,
    },
    Like {
        item: Box<Node>,
        pattern: Arc<str>,
        not: bool,
    },
    IsNone {
        item: Box<Node>,
        not: bool,
    },
    /// `a + b - c`, or `a * b / c`: operators of equal precedence.
    Arith(Box<Node>, Vec<(Arith, Node)>),
    Minus(Box<Node>),
    Call(Function, Vec<Node>),
}

/// The right-hand side of `in`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum List {
    Any(Vec<Node>),
    /// Many integers, ascending.
    Ints(Vec<i64>),
    /// Many texts, ascending.
    Texts(Vec<Arc<str>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arith {
    Plus,
    Minus,
    Times,
    Divide,
    Rest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Len,
    Lower,
    Abs,
    Min,
    Max,
}

impl Function {
    /// All functions with their names and their minimum and maximum number of arguments.
    pub(super) const ALL: [(Function, &'static str, usize, usize); 5] = [
        (Function::Len, "len", 1, 1),
        (Function::Lower, "lower", 1, 1),
        (Function::Abs, "abs", 1, 1),
        (Function::Min, "min", 2, usize::MAX),
        (Function::Max, "max", 2, usize::MAX),
    ];
}

impl List {
    /// Builds a list, sorted where that pays off.
    pub(super) fn of(nodes: Vec<Node>) -> Self {
        if nodes.len() < SORTED_FROM {
            return List::Any(nodes);
        }
        let int = |node: &Node| if let Node::Const(Scalar::Int(x)) = node { Some(*x) } else { None };
        let text = |node: &Node| match node {
            Node::Const(Scalar::Text(x)) => Some(Arc::from(&**x)),
            _ => None,
        };
        if let Some(mut ints) = nodes.iter().map(int).collect::<Option<Vec<i64>>>() {
            ints.sort_unstable();
            return List::Ints(ints);
        }
        if let Some(mut texts) = nodes.iter().map(text).collect::<Option<Vec<Arc<str>>>>() {
            texts.sort_unstable();
            return List::Texts(texts);
        }
        List::Any(nodes)
    }
}

impl Node {
    /// Replaces the index of each name by `slots[old]`.
    pub(super) fn renumber(&mut self, slots: &[usize]) {
        match self {
            Node::Name(_, slot) => *slot = slots.get(*slot).copied().unwrap_or(usize::MAX),
            Node::Const(_) => {}
            Node::Or(all) | Node::And(all) | Node::Call(_, all) => {
                all.iter_mut().for_each(|node| node.renumber(slots));
            }
            Node::Not(item) | Node::Minus(item) | Node::Like { item, .. } | Node::IsNone { item, .. } => {
                item.renumber(slots);
            }
            Node::Compare(first, rest) => {
                first.renumber(slots);
                rest.iter_mut().for_each(|(_, node)| node.renumber(slots));
            }
            Node::Arith(first, rest) => {
                first.renumber(slots);
                rest.iter_mut().for_each(|(_, node)| node.renumber(slots));
            }
            Node::In { item, list, .. } => {
                item.renumber(slots);
                if let List::Any(all) = list {
                    all.iter_mut().for_each(|node| node.renumber(slots));
                }
            }
        }
    }
}
