//! The subset of protocol buffers that `tf.train.Example` needs.
//!
//! ```text
//! Example { 1: Features { 1: entry { 1: name, 2: Feature { 1: BytesList | 2: FloatList | 3: Int64List { 1: values } } } } }
//! ```

use infeed_core::{Error, Result, memory};
use std::ops::Range;

/// The values of a feature.
#[derive(Debug, Clone, PartialEq)]
pub enum Feature<'a> {
    /// No list is set.
    Nothing,
    /// Byte strings, as ranges in the record.
    Bytes(Vec<Range<usize>>),
    /// Little-endian f32 numbers, in one piece or several.
    Floats(Vec<&'a [u8]>),
    /// Integers.
    Ints(Vec<i64>),
}

fn wrong(at: usize) -> Error {
    Error::sample(format!("the record is not a tf.train.Example: byte {at} is invalid"))
}

/// A message or a part of one, as a range in the record.
#[derive(Debug, Clone)]
struct Message<'a> {
    record: &'a [u8],
    at: usize,
    end: usize,
}

/// One field of a message.
enum Field<'a> {
    Number(u64),
    Part(Message<'a>),
    Four(&'a [u8]),
    Eight,
}

impl<'a> Message<'a> {
    fn varint(&mut self) -> Result<u64> {
        let start = self.at;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.record[..self.end].get(self.at).ok_or_else(|| wrong(start))?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(wrong(start))
    }

    fn bytes(&mut self, len: u64) -> Result<Range<usize>> {
        let end = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len));
        let end = end.filter(|end| *end <= self.end).ok_or_else(|| wrong(self.at))?;
        let range = self.at..end;
        self.at = end;
        Ok(range)
    }

    /// Returns the next field and its number.
    fn next(&mut self) -> Result<Option<(u64, Field<'a>)>> {
        if self.at == self.end {
            return Ok(None);
        }
        let start = self.at;
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Number(self.varint()?),
            1 => self.bytes(8).map(|_| Field::Eight)?,
            2 => {
                let len = self.varint()?;
                let range = self.bytes(len)?;
                Field::Part(Message { record: self.record, at: range.start, end: range.end })
            }
            5 => self.bytes(4).map(|range| Field::Four(&self.record[range]))?,
            _ => return Err(wrong(start)),
        };
        Ok(Some((tag >> 3, field)))
    }
}

/// Calls `each` with the name of every feature and a function that parses its values on demand.
pub fn features<'a>(
    record: &'a [u8],
    mut each: impl FnMut(&'a [u8], &mut dyn FnMut() -> Result<Feature<'a>>) -> Result<()>,
) -> Result<()> {
    let mut example = Message { record, at: 0, end: record.len() };
    while let Some((number, field)) = example.next()? {
        let (1, Field::Part(mut all)) = (number, field) else { continue };
        while let Some((number, field)) = all.next()? {
            let (1, Field::Part(mut entry)) = (number, field) else { continue };
            let (mut name, mut value) = (&record[..0], None);
            while let Some((number, field)) = entry.next()? {
                match (number, field) {
                    (1, Field::Part(part)) => name = &record[part.at..part.end],
                    (2, Field::Part(part)) => value = Some(part),
                    _ => {}
                }
            }
            each(name, &mut || value.clone().map_or(Ok(Feature::Nothing), feature))?;
        }
    }
    Ok(())
}

fn feature(mut message: Message<'_>) -> Result<Feature<'_>> {
    let mut found = Feature::Nothing;
    while let Some((kind, field)) = message.next()? {
        let Field::Part(mut list) = field else { continue };
        let start = list.at;
        // Of several lists the last kind counts, as for a protobuf oneof; lists of the same kind are concatenated.
        found = match (kind, found) {
            (1, Feature::Bytes(all)) => Feature::Bytes(all),
            (1, _) => Feature::Bytes(vec![]),
            (2, Feature::Floats(all)) => Feature::Floats(all),
            (2, _) => Feature::Floats(vec![]),
            (3, Feature::Ints(all)) => Feature::Ints(all),
            (3, _) => Feature::Ints(vec![]),
            (_, other) => {
                found = other;
                continue;
            }
        };
        while let Some((number, field)) = list.next()? {
            if number != 1 {
                continue;
            }
            match (&mut found, field) {
                (Feature::Bytes(all), Field::Part(part)) => all.push(part.at..part.end),
                (Feature::Floats(all), Field::Part(part)) if (part.end - part.at).is_multiple_of(4) => {
                    all.push(&part.record[part.at..part.end]);
                }
                (Feature::Floats(all), Field::Four(one)) => all.push(one),
                (Feature::Ints(all), Field::Number(one)) => all.push(one as i64),
                (Feature::Ints(all), Field::Part(mut packed)) => {
                    // A number has at least one byte, so this is bounded by the size of the record.
                    memory::reserve(all, packed.end - packed.at)?;
                    while packed.at < packed.end {
                        all.push(packed.varint()? as i64);
                    }
                }
                _ => return Err(wrong(start)),
            }
        }
    }
    Ok(found)
}

/// Feeds arbitrary bytes to the parser of examples: it must not panic, and everything it returns
/// must lie within the record.
pub fn fuzz_example(data: &[u8]) {
    let _ = features(data, |name, values| {
        assert!(name.len() <= data.len());
        match values()? {
            Feature::Bytes(all) => {
                all.iter().for_each(|range| assert!(range.start <= range.end && range.end <= data.len()))
            }
            Feature::Floats(all) => assert!(all.iter().map(|piece| piece.len()).sum::<usize>() <= data.len()),
            Feature::Ints(all) => assert!(all.len() <= data.len()),
            Feature::Nothing => {}
        }
        Ok(())
    });
}
