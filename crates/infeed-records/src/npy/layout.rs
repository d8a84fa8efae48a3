//! Elements in full: structured types and texts, which [`Header`](super::Header) does not know.

use super::{
    Fault, dtype, few_dimensions,
    literal::{self, Descr, Described},
    text,
};
use crate::preview::preview;
use infeed_core::Dtype;

/// Bytes of one element: more than that is no element but an array that was saved as one.
const LARGEST: usize = 1 << 31;

/// What a member of an element is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Element {
    /// A number.
    Number {
        /// Its type.
        dtype: Dtype,
        /// Whether it is big-endian; always false for one byte.
        big_endian: bool,
    },
    /// A text of fixed length, filled up with zeros.
    Text {
        /// Characters.
        count: usize,
        /// Whether a character has four bytes (UCS-4), or one.
        wide: bool,
        /// Whether wide characters are big-endian.
        big_endian: bool,
    },
}

impl Element {
    /// Returns its size in bytes.
    pub fn size(&self) -> usize {
        match self {
            Element::Number { dtype, .. } => dtype.size(),
            Element::Text { count, wide, .. } => count.saturating_mul(if *wide { 4 } else { 1 }),
        }
    }
}

/// A member of every element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name; members of members are joined by dots. Empty if elements have no members.
    pub name: String,
    /// Where it begins in the element.
    pub offset: usize,
    /// What it is.
    pub element: Element,
    /// The shape of the array that it is; empty for one value.
    pub shape: Vec<usize>,
}

/// The contents of a header, with elements of any supported kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The members of an element, one without a name if the element is a single value.
    pub members: Vec<Member>,
    /// Bytes of an element.
    pub item: usize,
    /// Whether the first dimension varies fastest.
    pub fortran: bool,
    /// Lengths of the dimensions; empty for a single element.
    pub shape: Vec<usize>,
    /// Offset of the elements.
    pub data_at: usize,
}

impl Layout {
    /// Parses a header of versions 1 to 3. `bytes` are the file or its beginning. Does not check whether all elements
    /// are present; [`Layout::data_len`] returns how many bytes there must be.
    pub fn read(bytes: &[u8]) -> Result<Layout, Fault> {
        let (text_at, text) = text(bytes)?;
        let fault = |what: String| Fault { at: text_at, what };
        let unreadable =
            || fault(format!("NumPy array with a header that cannot be read: {}", preview(text)));
        let (descr, fortran, shape) = literal::read_full(text).ok_or_else(unreadable)?;
        few_dimensions(&shape, text_at)?;
        let (mut members, item) = match &descr {
            Descr::Plain(descr) => {
                let element = element(descr).map_err(fault)?;
                let size = element.size();
                (vec![Member { name: String::new(), offset: 0, element, shape: vec![] }], size)
            }
            Descr::Members(list) => {
                let mut members = Vec::new();
                let size = gather(list, "", 0, &mut members).map_err(fault)?;
                (members, size)
            }
        };
        members.sort_by_key(|member| member.offset);
        if members.is_empty() || item == 0 {
            return Err(fault("NumPy array whose elements have no bytes".to_owned()));
        }
        Ok(Layout { members, item, fortran, shape, data_at: text_at + text.len() })
    }

    /// Returns the size of all elements in bytes; `None` on overflow.
    pub fn data_len(&self) -> Option<usize> {
        let mut sides = self.shape.iter().filter(|side| **side != 0);
        let whole = sides.try_fold(self.item, |n, side| n.checked_mul(*side));
        let whole = whole.filter(|n| *n <= isize::MAX as usize)?;
        Some(if self.shape.contains(&0) { 0 } else { whole })
    }
}

fn element(descr: &[u8]) -> Result<Element, String> {
    if let Some((count, wide, big_endian)) = dtype::text(descr) {
        return Ok(Element::Text { count, wide, big_endian });
    }
    dtype::parse(Some(descr)).map(|(dtype, big_endian)| Element::Number { dtype, big_endian })
}

/// Collects members and returns the bytes of all of them. `at` is where they begin.
fn gather(list: &[Described<'_>], above: &str, at: usize, out: &mut Vec<Member>) -> Result<usize, String> {
    let huge = || format!("NumPy array with elements above {LARGEST} bytes");
    let mut size = 0usize;
    for one in list {
        let own = String::from_utf8_lossy(one.name);
        let name = if above.is_empty() { own.into_owned() } else { format!("{above}.{own}") };
        let count = one.shape.iter().try_fold(1usize, |n, side| n.checked_mul(*side)).ok_or_else(huge)?;
        let offset = at.checked_add(size).ok_or_else(huge)?;
        let bytes = match &one.descr {
            Descr::Plain(descr) => match dtype::filler(descr) {
                // Bytes between members, which NumPy writes without a name.
                Some(bytes) if one.name.is_empty() => bytes,
                _ => {
                    let element = element(descr).map_err(|what| format!("field `{name}`: {what}"))?;
                    let bytes = element.size();
                    out.push(Member { name, offset, element, shape: one.shape.clone() });
                    bytes
                }
            },
            Descr::Members(list) if count == 1 && one.shape.is_empty() => gather(list, &name, offset, out)?,
            Descr::Members(_) => {
                return Err(format!(
                    "NumPy array whose field `{name}` is an array of records: save its fields as arrays"
                ));
            }
        };
        let bytes = bytes.checked_mul(count).ok_or_else(huge)?;
        size = size.checked_add(bytes).filter(|size| *size <= LARGEST).ok_or_else(huge)?;
    }
    Ok(size)
}
