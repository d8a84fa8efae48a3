//! What the leaves of branches are as fields.

use super::{
    Tree,
    branch::Branch,
    leaf::Leaf,
    small::{Small, without_range},
    types::{basic, vector},
};
use crate::{table::Refused, turn::turn};
use infeed_core::{Dim, Dtype, FieldSpec};
use std::sync::Arc;

/// Bytes before the elements of a vector: its length in bytes, a version, and how many elements.
pub(crate) const VECTOR_HEAD: usize = 10;
/// Elements of a fixed array in one entry.
const LARGEST_ARRAY: usize = 1 << 28;

/// How the elements of an entry lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `width` bytes, `at` bytes into an entry of `stride`; all as they are stored.
    Flat {
        /// Where they begin.
        at: usize,
        /// How many bytes.
        width: usize,
        /// Bytes of the whole entry.
        stride: usize,
    },
    /// Items of `item` bytes up to the end of the entry, behind a head of so many bytes.
    Jagged {
        /// Bytes of the head.
        head: usize,
        /// Bytes of an item.
        item: usize,
    },
    /// A text, with its length before it.
    Text,
}

/// A field.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: Arc<str>,
    /// The number of its branch.
    pub(crate) branch: usize,
    pub(crate) dtype: Dtype,
    /// How numbers are stored that have fewer bits there.
    pub(crate) small: Option<Small>,
    pub(crate) layout: Layout,
    pub(crate) spec: FieldSpec,
}

impl Column {
    /// Bytes of an entry in a basket, if all have as many.
    pub(crate) fn spread(&self) -> usize {
        match self.layout {
            Layout::Flat { stride, .. } => stride,
            _ => 0,
        }
    }

    /// Bytes in memory of what has so many bytes in a basket.
    pub(crate) fn in_memory(&self, stored: usize) -> usize {
        self.small.map_or(stored, |small| stored / small.size() * self.dtype.size())
    }

    /// Writes elements into memory.
    pub(crate) fn write(&self, from: &[u8], to: &mut [u8]) {
        match self.small {
            Some(small) => small.write(self.dtype, from, to),
            None => turn(self.dtype, from, to),
        }
    }

    /// Whether its cells keep the byte order of the file until they are copied, which costs less than to do it before.
    pub(crate) fn is_turned_later(&self) -> bool {
        let alone = matches!(self.layout, Layout::Flat { width, stride, .. } if width == stride);
        alone && self.dtype != Dtype::Bool && self.small.is_none()
    }
}

/// Why a leaf is no column.
type Why = String;

/// Adds the columns of a branch and of those below it.
pub(crate) fn add(tree: &mut Tree, mut branch: Branch, above: &str) {
    let below = std::mem::take(&mut branch.branches);
    let name = match above.is_empty() || branch.name.starts_with(&format!("{above}.")) {
        true => branch.name.to_string(),
        false => format!("{above}.{}", branch.name),
    };
    if below.is_empty() {
        add_leaves(tree, branch, &name);
        return;
    }
    for branch in below {
        add(tree, branch, &name);
    }
}

fn add_leaves(tree: &mut Tree, branch: Branch, name: &str) {
    let number = tree.branches.len();
    let (damaged, found) = if branch.held != tree.entries {
        let what = format!("its baskets hold {} entries, and the tree has {}", branch.held, tree.entries);
        (true, Err(what))
    } else if branch.elsewhere.is_empty() {
        (false, columns(&branch, name, number))
    } else {
        (false, Err(format!("its baskets are in another file, `{}`", branch.elsewhere)))
    };
    match found {
        Ok(columns) => {
            tree.columns.extend(columns);
            tree.branches.push(branch);
        }
        Err(why) => tree.refused.push(Refused { name: name.to_owned(), why, damaged }),
    }
}

fn columns(branch: &Branch, name: &str, number: usize) -> Result<Vec<Column>, Why> {
    match branch.leaves.as_slice() {
        [] => Err("it has no leaves".to_owned()),
        [leaf] => Ok(vec![alone(branch, leaf, name, number)?]),
        leaves => {
            // Entries are structures, with all leaves one after the other.
            let mut parts = Vec::new();
            let mut stride = 0usize;
            for leaf in leaves {
                let (dtype, dims) = (basic(leaf)?, dimensions(leaf)?);
                let Dims { counted: false, sides } = dims else {
                    return Err(format!(
                        "its leaf `{}` has a length of its own among other leaves",
                        leaf.name
                    ));
                };
                let small = small(leaf, dtype)?;
                let width = bytes(dtype, small, &sides)?;
                parts.push((leaf, (dtype, small), sides, stride, width));
                stride = stride.checked_add(width).ok_or("its entries are endless")?;
            }
            let parts = parts.into_iter();
            let columns = parts.map(|(leaf, (dtype, small), sides, at, width)| Column {
                name: format!("{name}.{}", leaf.name).into(),
                branch: number,
                dtype,
                small,
                layout: Layout::Flat { at, width, stride },
                spec: spec(dtype, false, &sides),
            });
            Ok(columns.collect())
        }
    }
}

/// The column of the only leaf of a branch.
fn alone(branch: &Branch, leaf: &Leaf, name: &str, number: usize) -> Result<Column, Why> {
    let made = |dtype, layout, spec| {
        let small = small(leaf, dtype)?;
        Ok(Column { name: name.into(), branch: number, dtype, small, layout, spec })
    };
    if leaf.class == "TLeafC" {
        return made(Dtype::U8, Layout::Text, FieldSpec::text());
    }
    if let Some(class) = &branch.class
        && let Some(element) = vector(class)
        && (branch.split == 0 || branch.split == -1)
    {
        let dtype = element.ok_or_else(|| format!("objects of class {class} are not read"))?;
        let layout = Layout::Jagged { head: VECTOR_HEAD, item: dtype.size() };
        return made(dtype, layout, spec(dtype, true, &[]));
    }
    if let Some(class) = &branch.class
        && branch.split != 0
    {
        return Err(format!("objects of class {class} that were split (type {}) are not read", branch.split));
    }
    let (dtype, dims) = (basic(leaf)?, dimensions(leaf)?);
    let width = bytes(dtype, small(leaf, dtype)?, &dims.sides)?;
    let layout = match dims.counted {
        true => Layout::Jagged { head: 0, item: width },
        false => Layout::Flat { at: 0, width, stride: width },
    };
    made(dtype, layout, spec(dtype, dims.counted, &dims.sides))
}

fn spec(dtype: Dtype, counted: bool, sides: &[usize]) -> FieldSpec {
    let free = counted.then_some(Dim::Any);
    FieldSpec::array(dtype, free.into_iter().chain(sides.iter().map(|side| Dim::Fixed(*side))).collect())
}

/// How the numbers of a leaf are stored, if they have fewer bits there.
fn small(leaf: &Leaf, dtype: Dtype) -> Result<Option<Small>, Why> {
    match leaf.class.as_str() {
        "TLeafF16" | "TLeafD32" => Small::new(&leaf.title, dtype).map(Some),
        _ => Ok(None),
    }
}

/// Bytes of an array, as it is stored.
fn bytes(dtype: Dtype, small: Option<Small>, sides: &[usize]) -> Result<usize, Why> {
    let count = sides.iter().try_fold(1usize, |all, side| all.checked_mul(*side));
    match count {
        Some(count) if (1..=LARGEST_ARRAY).contains(&count) => {
            Ok(count * small.map_or(dtype.size(), Small::size))
        }
        _ => Err(format!("an entry would have {sides:?} elements")),
    }
}

/// The dimensions of a leaf: whether another leaf counts the first one, and those that are fixed.
struct Dims {
    counted: bool,
    sides: Vec<usize>,
}

fn dimensions(leaf: &Leaf) -> Result<Dims, Why> {
    let title = &match leaf.class.as_str() {
        "TLeafF16" | "TLeafD32" => without_range(&leaf.title),
        _ => leaf.title.clone(),
    };
    let len = usize::try_from(leaf.len).ok().filter(|len| *len > 0);
    let len = len.ok_or_else(|| format!("its leaf `{title}` has {} elements", leaf.len))?;
    let mut sides = Vec::new();
    let mut named = 0;
    for (at, part) in title.split('[').skip(1).enumerate() {
        let inner = part.split(']').next().unwrap_or("");
        match inner.parse::<usize>() {
            Ok(side) => sides.push(side),
            Err(_) if at == 0 => named += 1,
            Err(_) => {
                return Err(format!("its leaf `{title}` is counted in another dimension than the first"));
            }
        }
    }
    let counted = leaf.counter.is_some();
    if named > 0 && !counted {
        return Err(format!("nothing counts its leaf `{title}`"));
    }
    // Titles are for people too: lengths decide.
    let product = sides.iter().try_fold(1usize, |all, side| all.checked_mul(*side));
    if product != Some(len) {
        sides = if len == 1 { Vec::new() } else { vec![len] };
    }
    Ok(Dims { counted, sides })
}
