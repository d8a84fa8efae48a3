//! Fields of footers that writers made up for themselves.

use super::thrift::{Found, Input, kind};

/// The footer without fields whose numbers are others' in newer versions of the format; `None` where there is none of them.
pub(super) fn without(footer: &[u8]) -> Option<Vec<u8>> {
    let mut input = Input { rest: footer };
    let mut out = vec![];
    copy(&mut input, Part::File, &mut out).ok()?;
    (out.len() < footer.len()).then_some(out)
}

/// Structs on the way from the footer to the description of a column.
#[derive(Clone, Copy)]
enum Part {
    File,
    RowGroup,
    Chunk,
    Column,
}

impl Part {
    /// What lies in a field of it, where it is one of those.
    fn inside(self, id: i16) -> Option<Part> {
        match (self, id) {
            (Part::File, 4) => Some(Part::RowGroup),
            (Part::RowGroup, 1) => Some(Part::Chunk),
            (Part::Chunk, 3) => Some(Part::Column),
            _ => None,
        }
    }

    /// Whether a field is not what its number says: where and how long the Bloom filter is, and statistics of sizes.
    fn is_strange(self, id: i16, kind: u8) -> bool {
        let right = match id {
            14 => kind::I64,
            15 => kind::I32,
            16 => kind::STRUCT,
            _ => return false,
        };
        matches!(self, Part::Column) && kind != right
    }
}

/// Copies a struct, field by field, without those that are strange.
fn copy(input: &mut Input<'_>, part: Part, out: &mut Vec<u8>) -> Found<()> {
    let (mut id, mut last) = (0, 0);
    while let Some(kind) = input.field(&mut id)? {
        if part.is_strange(id, kind) {
            input.skip(kind)?;
            continue;
        }
        match id.wrapping_sub(last) {
            step @ 1..=15 => out.push((step as u8) << 4 | kind),
            _ => {
                out.push(kind);
                put(u64::from(((id << 1) ^ (id >> 15)) as u16), out);
            }
        }
        last = id;
        let before = input.rest;
        match (part.inside(id), kind) {
            (Some(inside), kind::STRUCT) => copy(input, inside, out)?,
            (Some(inside), kind::LIST) => {
                let (kind, count) = input.list()?;
                if kind != kind::STRUCT {
                    return Err("a list should have structs".to_owned());
                }
                out.extend_from_slice(&before[..before.len() - input.rest.len()]);
                for _ in 0..count {
                    copy(input, inside, out)?;
                }
            }
            _ => {
                input.skip(kind)?;
                out.extend_from_slice(&before[..before.len() - input.rest.len()]);
            }
        }
    }
    out.push(kind::STOP);
    Ok(())
}

fn put(mut number: u64, out: &mut Vec<u8>) {
    while number > 127 {
        out.push(number as u8 & 127 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strange_fields_are_left_out() {
        // A footer with one row group of one column, whose description ends in the fields given.
        let with = |fields: &[u8]| {
            let mut out = vec![0x15, 2, 0x49 - 0x10, 0x1c, 0x19, 0x1c, 0x3c];
            // Type 1, then a field far away, then those.
            out.extend([0x15, 2, 0xc6, 9]);
            out.extend_from_slice(fields);
            // The ends of column, chunk and row group, a creator, the end.
            out.extend([0, 0, 0, 0x28, 1, b'w', 0]);
            out
        };
        // Number 15 as a list of numbers, then number 17 as a number.
        let strange = with(&[0x29, 0x25, 2, 4, 0x25, 6]);
        assert_eq!(without(&strange), Some(with(&[0x45, 6])));
        // Number 15 as it should be.
        assert_eq!(without(&with(&[0x25, 6])), None);
        assert_eq!(without(&strange[..10]), None);
    }
}
