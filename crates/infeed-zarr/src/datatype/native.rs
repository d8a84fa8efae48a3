//! Makes numbers of a store into numbers of this machine, in place.

use super::{Class, Datatype, Order};

/// What must be done to every element. It is settled once per reader, so that the work per element is a loop over few steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Native {
    size: usize,
    /// Where numbers of which size must be turned around.
    turns: Vec<(usize, usize)>,
    /// The element is nothing but numbers of this many bytes, all turned around.
    even: Option<usize>,
}

/// Elements with more parts than this are refused: they are meant to be few numbers.
const MOST: usize = 1 << 16;

impl Native {
    /// What must be done to elements of a data type; `None` if it has too many parts to be sensible.
    pub fn of(datatype: &Datatype) -> Option<Native> {
        let mut turns = Vec::new();
        if !gather(datatype, 0, &mut turns) {
            return None;
        }
        let size = datatype.size;
        let even = turns.first().map(|turn| turn.1).filter(|&width| {
            turns.len() * width == size
                && turns.iter().enumerate().all(|(n, turn)| *turn == (n * width, width))
        });
        Some(Native { size, turns, even })
    }

    /// Whether the bytes are right as they are.
    pub fn is_nothing(&self) -> bool {
        self.turns.is_empty()
    }

    /// Changes whole elements in place.
    pub fn apply(&self, elements: &mut [u8]) {
        match self.even {
            Some(2) => elements.as_chunks_mut::<2>().0.iter_mut().for_each(|n| n.reverse()),
            Some(4) => elements.as_chunks_mut::<4>().0.iter_mut().for_each(|n| n.reverse()),
            Some(8) => elements.as_chunks_mut::<8>().0.iter_mut().for_each(|n| n.reverse()),
            _ if self.turns.is_empty() => {}
            _ => {
                for element in elements.chunks_exact_mut(self.size) {
                    self.turns.iter().for_each(|&(at, size)| element[at..at + size].reverse());
                }
            }
        }
    }
}

/// Whether numbers of this order must be turned around here.
pub(crate) fn foreign(order: Order) -> bool {
    (order == Order::Big) != cfg!(target_endian = "big")
}

/// Collects the turns of a data type; `false` if there are too many.
fn gather(datatype: &Datatype, at: usize, turns: &mut Vec<(usize, usize)>) -> bool {
    let mut several = |width: usize, order: Order| {
        let count = datatype.size / width;
        if foreign(order) && width > 1 {
            if turns.len().saturating_add(count) > MOST {
                return false;
            }
            turns.extend((0..count).map(|n| (at + n * width, width)));
        }
        true
    };
    match &datatype.class {
        Class::Number(scalar, order) | Class::Complex(scalar, order) => several(scalar.size(), *order),
        Class::Time { order, .. } => several(8, *order),
        Class::Unicode(order) => several(4, *order),
        Class::Bytes | Class::Raw => true,
        Class::Structure(fields) => {
            fields.iter().all(|field| gather(&field.datatype, at + field.offset, turns))
        }
        Class::Array { base, .. } => {
            let count = datatype.size.checked_div(base.size).unwrap_or(0);
            let before = turns.len();
            if count == 0 || !gather(base, at, turns) {
                return count == 0;
            }
            let one = turns[before..].to_vec();
            if one.len().saturating_mul(count) > MOST {
                return false;
            }
            for n in 1..count {
                turns.extend(one.iter().map(|(place, size)| (place + n * base.size, *size)));
            }
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{Field, Scalar};

    #[test]
    fn turned_numbers_in_structures_and_arrays() {
        let big = Datatype::number(Scalar::I16, Order::Big);
        let pair = Datatype { size: 4, class: Class::Array { shape: vec![2], base: Box::new(big.clone()) } };
        let field = |name: &str, offset, datatype| Field { name: name.to_owned(), offset, datatype };
        let byte = Datatype::number(Scalar::U8, Order::Little);
        let all =
            Datatype { size: 6, class: Class::Structure(vec![field("a", 1, pair), field("b", 0, byte)]) };
        let mut bytes = [9, 1, 2, 3, 4, 7, 9, 5, 6, 7, 8, 7];
        Native::of(&all).unwrap().apply(&mut bytes);
        assert_eq!(bytes, [9, 2, 1, 4, 3, 7, 9, 6, 5, 8, 7, 7]);
        assert_eq!(Native::of(&big).unwrap().even, Some(2));
        assert!(Native::of(&Datatype::number(Scalar::F64, Order::Little)).unwrap().is_nothing());
    }
}
