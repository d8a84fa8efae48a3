//! Makes numbers of a file into numbers of this machine, in place.

use super::{Class, Datatype, Order};

/// What must be done to every element. It is settled once per read, so that the work per element is a loop over few steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Native {
    size: usize,
    steps: Vec<Step>,
    /// The element is nothing but numbers of this many bytes, all turned around.
    even: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    at: usize,
    size: usize,
    turn: bool,
    /// Bits below, bits in use, sign: for numbers that do not use all of their bits.
    bits: Option<(u16, u16, bool)>,
}

/// Elements with more steps than this are refused by [`Native::of`]: an array of them is meant to be few numbers.
const MOST_STEPS: usize = 1 << 16;

impl Native {
    /// What must be done to elements of a datatype; `None` if it has too many parts to be sensible.
    pub fn of(datatype: &Datatype) -> Option<Native> {
        let mut steps = Vec::new();
        if !gather(datatype, 0, &mut steps) {
            return None;
        }
        let size = datatype.size as usize;
        let even = steps.first().map(|step| step.size).filter(|width| {
            let mut at = (0..).step_by(*width);
            steps.len() * width == size
                && steps
                    .iter()
                    .all(|s| s.bits.is_none() && s.turn && s.size == *width && Some(s.at) == at.next())
        });
        Some(Native { size, steps, even })
    }

    /// Whether the bytes are right as they are.
    pub fn is_nothing(&self) -> bool {
        self.steps.is_empty()
    }

    /// Changes whole elements in place.
    pub fn apply(&self, elements: &mut [u8]) {
        match self.even {
            Some(2) => elements
                .as_chunks_mut::<2>()
                .0
                .iter_mut()
                .for_each(|n| *n = u16::from_be_bytes(*n).to_ne_bytes()),
            Some(4) => elements
                .as_chunks_mut::<4>()
                .0
                .iter_mut()
                .for_each(|n| *n = u32::from_be_bytes(*n).to_ne_bytes()),
            Some(8) => elements
                .as_chunks_mut::<8>()
                .0
                .iter_mut()
                .for_each(|n| *n = u64::from_be_bytes(*n).to_ne_bytes()),
            _ if self.steps.is_empty() => {}
            _ => {
                for element in elements.chunks_exact_mut(self.size) {
                    self.steps.iter().for_each(|step| step.apply(element));
                }
            }
        }
    }
}

impl Step {
    fn apply(&self, element: &mut [u8]) {
        let Some(number) = element.get_mut(self.at..self.at + self.size) else { return };
        if self.turn {
            number.reverse();
        }
        let Some((below, used, signed)) = self.bits else { return };
        // Here the number is in this machine's order, which is little-endian where it matters: see `gather`.
        let mut wide = [0; 8];
        wide[..self.size].copy_from_slice(number);
        let left = 64 - u32::from(below) - u32::from(used);
        let raw = u64::from_le_bytes(wide) << left;
        let value = if signed {
            (raw as i64 >> (64 - u32::from(used))) as u64
        } else {
            raw >> (64 - u32::from(used))
        };
        number.copy_from_slice(&value.to_le_bytes()[..self.size]);
    }
}

/// Collects the steps of a datatype; `false` if there are too many.
fn gather(datatype: &Datatype, at: usize, steps: &mut Vec<Step>) -> bool {
    let size = datatype.size as usize;
    match &datatype.class {
        Class::Integer { order, precision, shift, .. } | Class::Bits { order, precision, shift } => {
            let signed = matches!(datatype.class, Class::Integer { signed: true, .. });
            let partly = usize::from(*precision) != size * 8 && size <= 8;
            let turn = foreign(*order) && size > 1;
            if turn || partly {
                steps.push(Step { at, size, turn, bits: partly.then_some((*shift, *precision, signed)) });
            }
        }
        Class::Float { order, .. } if foreign(*order) => {
            steps.push(Step { at, size, turn: true, bits: None })
        }
        Class::Enum { base, .. } => return gather(base, at, steps),
        Class::Array { base, .. } => {
            let before = steps.len();
            if !gather(base, at, steps) {
                return false;
            }
            let one: Vec<Step> = steps[before..].to_vec();
            let count = size / base.size.max(1) as usize;
            if one.len().saturating_mul(count) > MOST_STEPS {
                return false;
            }
            for n in 1..count {
                steps.extend(one.iter().map(|step| Step { at: step.at + n * base.size as usize, ..*step }));
            }
        }
        Class::Compound(fields) => {
            return fields.iter().all(|field| gather(&field.datatype, at + field.offset as usize, steps));
        }
        _ => {}
    }
    steps.len() <= MOST_STEPS
}

fn foreign(order: Order) -> bool {
    (order == Order::Big) != cfg!(target_endian = "big")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Field;

    fn integer(size: u32, order: Order, precision: u16, shift: u16) -> Datatype {
        Datatype { size, class: Class::Integer { signed: true, order, precision, shift } }
    }

    #[test]
    fn turned_numbers_in_compounds_and_arrays() {
        let big = integer(2, Order::Big, 16, 0);
        let pair = Datatype { size: 4, class: Class::Array { shape: vec![2], base: Box::new(big.clone()) } };
        let little = integer(1, Order::Little, 8, 0);
        let field = |name: &str, offset, datatype| Field { name: name.to_owned(), offset, datatype };
        let all =
            Datatype { size: 6, class: Class::Compound(vec![field("a", 1, pair), field("b", 0, little)]) };
        let mut bytes = [9, 1, 2, 3, 4, 7, 9, 5, 6, 7, 8, 7];
        Native::of(&all).unwrap().apply(&mut bytes);
        assert_eq!(bytes, [9, 2, 1, 4, 3, 7, 9, 6, 5, 8, 7, 7]);
        assert!(Native::of(&integer(4, Order::Little, 32, 0)).unwrap().is_nothing());
        assert_eq!(Native::of(&big).unwrap().even, Some(2));
    }

    #[test]
    fn bits_that_are_not_in_use() {
        let odd = integer(4, Order::Little, 17, 4);
        let mut bytes = ((-5i32 as u32 & 0x1ffff) << 4 | 15).to_le_bytes();
        Native::of(&odd).unwrap().apply(&mut bytes);
        assert_eq!(i32::from_le_bytes(bytes), -5);
    }
}
