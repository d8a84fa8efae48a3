//! What the leaves of branches are as fields.

use super::{Tree, branch::Branch, leaf::Leaf};
use crate::table::Refused;
use infeed_core::{Dim, Dtype, FieldSpec};
use std::sync::Arc;

/// Bytes before the elements of a vector: its length in bytes, a version, and how many elements.
pub(crate) const VECTOR_HEAD: usize = 10;
/// Elements of a fixed array in one entry.
const LARGEST_ARRAY: usize = 1 << 28;

/// How the elements of an entry lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `width` bytes, `at` bytes into an entry of `stride`.
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

    /// Whether its cells keep the byte order of the file until they are copied, which costs less than to do it before.
    pub(crate) fn is_turned_later(&self) -> bool {
        let alone = matches!(self.layout, Layout::Flat { width, stride, .. } if width == stride);
        alone && self.dtype != Dtype::Bool
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
                let width = bytes(dtype, &sides)?;
                parts.push((leaf, dtype, sides, stride, width));
                stride = stride.checked_add(width).ok_or("its entries are endless")?;
            }
            let column = |(leaf, dtype, sides, at, width): (&Leaf, Dtype, Vec<usize>, usize, usize)| Column {
                name: format!("{name}.{}", leaf.name).into(),
                branch: number,
                dtype,
                layout: Layout::Flat { at, width, stride },
                spec: spec(dtype, false, &sides),
            };
            Ok(parts.into_iter().map(column).collect())
        }
    }
}

/// The column of the only leaf of a branch.
fn alone(branch: &Branch, leaf: &Leaf, name: &str, number: usize) -> Result<Column, Why> {
    let made = |dtype, layout, spec| Column { name: name.into(), branch: number, dtype, layout, spec };
    if leaf.class == "TLeafC" {
        return Ok(made(Dtype::U8, Layout::Text, FieldSpec::text()));
    }
    if let Some(class) = &branch.class
        && let Some(element) = vector(class)
        && (branch.split == 0 || branch.split == -1)
    {
        let dtype = element.ok_or_else(|| format!("objects of class {class} are not read"))?;
        let layout = Layout::Jagged { head: VECTOR_HEAD, item: dtype.size() };
        return Ok(made(dtype, layout, spec(dtype, true, &[])));
    }
    if let Some(class) = &branch.class
        && branch.split != 0
    {
        return Err(format!("objects of class {class} that were split (type {}) are not read", branch.split));
    }
    let (dtype, dims) = (basic(leaf)?, dimensions(leaf)?);
    let width = bytes(dtype, &dims.sides)?;
    let layout = match dims.counted {
        true => Layout::Jagged { head: 0, item: width },
        false => Layout::Flat { at: 0, width, stride: width },
    };
    Ok(made(dtype, layout, spec(dtype, dims.counted, &dims.sides)))
}

fn spec(dtype: Dtype, counted: bool, sides: &[usize]) -> FieldSpec {
    let free = counted.then_some(Dim::Any);
    FieldSpec::array(dtype, free.into_iter().chain(sides.iter().map(|side| Dim::Fixed(*side))).collect())
}

fn bytes(dtype: Dtype, sides: &[usize]) -> Result<usize, Why> {
    let count = sides.iter().try_fold(1usize, |all, side| all.checked_mul(*side));
    match count {
        Some(count) if (1..=LARGEST_ARRAY).contains(&count) => Ok(count * dtype.size()),
        _ => Err(format!("an entry would have {sides:?} elements")),
    }
}

/// The type of the elements of a leaf.
fn basic(leaf: &Leaf) -> Result<Dtype, Why> {
    let signed = |no: Dtype, yes: Dtype| if leaf.unsigned { no } else { yes };
    Ok(match leaf.class.as_str() {
        "TLeafO" => Dtype::Bool,
        "TLeafB" => signed(Dtype::U8, Dtype::I8),
        "TLeafS" => signed(Dtype::U16, Dtype::I16),
        "TLeafI" => signed(Dtype::U32, Dtype::I32),
        "TLeafL" | "TLeafG" => signed(Dtype::U64, Dtype::I64),
        "TLeafF" => Dtype::F32,
        "TLeafD" => Dtype::F64,
        "TLeafF16" => return Err("Float16_t is not read".to_owned()),
        "TLeafD32" => return Err("Double32_t is not read".to_owned()),
        "TLeafElement" => return member(leaf.member),
        other => return Err(format!("leaves of class {other} are not read")),
    })
}

/// The type of a member of a class, as streamers number them; 20 more is an array of it.
fn member(code: i32) -> Result<Dtype, Why> {
    let plain = if (21..40).contains(&code) { code - 20 } else { code };
    Ok(match plain {
        1 => Dtype::I8,
        2 => Dtype::I16,
        3 | 6 => Dtype::I32,
        4 | 16 => Dtype::I64,
        5 => Dtype::F32,
        8 => Dtype::F64,
        11 => Dtype::U8,
        12 => Dtype::U16,
        13 | 15 => Dtype::U32,
        14 | 17 => Dtype::U64,
        18 => Dtype::Bool,
        9 => return Err("Double32_t is not read".to_owned()),
        19 => return Err("Float16_t is not read".to_owned()),
        _ => return Err(format!("members of the type {code} are not read")),
    })
}

/// Whether a class is a vector, and of what; `Some(None)` if not of numbers.
fn vector(class: &str) -> Option<Option<Dtype>> {
    let plain = class.replace("std::", "");
    let inner = plain.strip_prefix("vector<")?.strip_suffix('>')?.trim();
    Some(match inner {
        "bool" | "Bool_t" => Some(Dtype::Bool),
        "char" | "signed char" | "Char_t" | "int8_t" => Some(Dtype::I8),
        "unsigned char" | "UChar_t" | "uint8_t" => Some(Dtype::U8),
        "short" | "Short_t" | "int16_t" => Some(Dtype::I16),
        "unsigned short" | "UShort_t" | "uint16_t" => Some(Dtype::U16),
        "int" | "Int_t" | "int32_t" => Some(Dtype::I32),
        "unsigned int" | "UInt_t" | "uint32_t" => Some(Dtype::U32),
        "long" | "long long" | "Long_t" | "Long64_t" | "int64_t" => Some(Dtype::I64),
        "unsigned long" | "unsigned long long" | "ULong_t" | "ULong64_t" | "uint64_t" => Some(Dtype::U64),
        "float" | "Float_t" => Some(Dtype::F32),
        "double" | "Double_t" => Some(Dtype::F64),
        _ => None,
    })
}

/// The dimensions of a leaf: whether another leaf counts the first one, and those that are fixed.
struct Dims {
    counted: bool,
    sides: Vec<usize>,
}

fn dimensions(leaf: &Leaf) -> Result<Dims, Why> {
    let title = &leaf.title;
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
