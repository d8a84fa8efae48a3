//! The headers of pages, looked at before the library reads them.

use super::thrift::{Input, kind};

/// Fields of the struct `PageHeader`.
const PLAIN_SIZE: i16 = 2;
const SIZE: i16 = 3;
const V1: i16 = 5;
const V2: i16 = 8;
/// Fields of the structs `DataPageHeader` and `DataPageHeaderV2`; the last one only of the latter.
const VALUES: i16 = 1;
const IS_COMPRESSED: i16 = 7;

/// Goes from page to page through a column of a row group, until there are as many values as it should have. How many bytes
/// the pages claim to have once they are unpacked. Headers that make no sense end the walk: reading them says what is wrong.
///
/// Pages of version 2 can say that they are not compressed although the column is. Old writers said so of pages that are:
/// then both sizes differ, and the bytes are not what they seem to be.
pub(super) fn check(chunk: &[u8], values: u64) -> Result<u64, String> {
    let mut input = Input { rest: chunk };
    let (mut total, mut seen) = (0u64, 0u64);
    while seen < values && !input.rest.is_empty() {
        let Ok(page) = header(&mut input) else { break };
        if page.says_plain && page.size != page.plain_size {
            return Err(format!(
                "a page has {} bytes, should have {} once it is unpacked, and says that it is not compressed",
                page.size, page.plain_size
            ));
        }
        total = total.saturating_add(page.plain_size);
        seen = seen.saturating_add(page.values);
        if input.step(page.size).is_err() {
            break;
        }
    }
    Ok(total)
}

#[derive(Default)]
struct Header {
    size: u64,
    plain_size: u64,
    values: u64,
    /// Whether it says of itself that it is not compressed.
    says_plain: bool,
}

fn header(input: &mut Input<'_>) -> Result<Header, String> {
    let (mut page, mut id) = (Header::default(), 0);
    while let Some(of) = input.field(&mut id)? {
        match (id, of) {
            (SIZE, kind::I16..=kind::I64) => page.size = number(input)?,
            (PLAIN_SIZE, kind::I16..=kind::I64) => page.plain_size = number(input)?,
            (V1 | V2, kind::STRUCT) => {
                let version = id;
                let mut id = 0;
                while let Some(of) = input.field(&mut id)? {
                    if id == VALUES && (kind::I16..=kind::I64).contains(&of) {
                        page.values = number(input)?;
                        continue;
                    }
                    if version == V2 && id == IS_COMPRESSED {
                        page.says_plain = of == kind::FALSE;
                    }
                    input.skip(of)?;
                }
            }
            _ => input.skip(of)?,
        }
    }
    Ok(page)
}

fn number(input: &mut Input<'_>) -> Result<u64, String> {
    let number = input.varint()?;
    if number & 1 == 1 { Err("a page has a negative size".to_owned()) } else { Ok(number >> 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of version 2 with so many bytes, as it is and unpacked, that says whether it is compressed.
    fn page(size: u8, plain: u8, compressed: bool) -> Vec<u8> {
        let flag = if compressed { 0x11 } else { 0x12 };
        let inside = [0x15, 2, 0x15, 0, 0x15, 2, 0x15, 0, 0x15, 0, 0x15, 0, flag, 0];
        let mut out = vec![0x15, 6, 0x15, plain * 2, 0x15, size * 2, 0x5c];
        out.extend(inside);
        out.push(0);
        out.extend(vec![9; usize::from(size)]);
        out
    }

    #[test]
    fn pages_that_contradict_themselves() {
        assert_eq!(check(&[page(5, 8, true), page(8, 8, false), page(8, 8, true)].concat(), 3), Ok(24));
        let error = check(&[page(5, 8, true), page(5, 8, false)].concat(), 2).unwrap_err();
        assert!(error.contains("not compressed"), "{error}");
        // Nothing behind the last value is looked at, and what makes no sense is for others to tell.
        assert_eq!(check(&[page(5, 8, true), page(5, 8, false)].concat(), 1), Ok(8));
        assert_eq!(check(&[0xff; 40], 1), Ok(0));
        assert_eq!(check(&page(5, 8, true)[..10], 1), Ok(0));
    }
}
