//! Dataspaces: shapes, and how far they may grow.

use crate::{cursor::Cursor, error::Result};

/// The shape of a data set or an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Space {
    /// How many elements along each axis; none for a single value.
    pub shape: Vec<u64>,
    /// How far each axis may grow; `None` is without end.
    pub max: Vec<Option<u64>>,
    /// There are no elements at all, not even one.
    pub null: bool,
}

/// Axes that the format allows.
const MOST_AXES: u8 = 32;

impl Space {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Space> {
        let version = cursor.version(1..=2)?;
        let (rank, flags) = (cursor.u8()?, cursor.u8()?);
        if rank > MOST_AXES {
            return Err(cursor.wrong("more than 32 axes"));
        }
        let null = if version == 1 {
            cursor.skip(5)?;
            false
        } else {
            cursor.u8()? == 2
        };
        let shape = (0..rank).map(|_| cursor.length()).collect::<Result<Vec<u64>>>()?;
        let mut max: Vec<Option<u64>> = shape.iter().map(|&n| Some(n)).collect();
        if flags & 1 != 0 {
            for most in &mut max {
                // Undefined lengths look like undefined addresses, whatever their width.
                let (before, len) = (cursor.position(), cursor.length()?);
                let width = (cursor.position() - before) * 8;
                *most = (len != u64::MAX >> (64 - width)).then_some(len);
            }
        }
        if max.iter().zip(&shape).any(|(most, n)| most.is_some_and(|most| most < *n)) {
            return Err(cursor.wrong("a shape is larger than its largest"));
        }
        let space = Space { shape, max, null };
        space.elements().ok_or_else(|| cursor.wrong("more elements than can be counted"))?;
        Ok(space)
    }

    /// How many elements there are; `None` if nobody can count them.
    pub fn elements(&self) -> Option<u64> {
        if self.null {
            return Some(0);
        }
        // A zero anywhere makes it nothing, however long the other axes are.
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape.iter().try_fold(1u64, |all, &n| all.checked_mul(n))
    }
}
