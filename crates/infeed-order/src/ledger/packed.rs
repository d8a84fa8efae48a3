//! Encodes rows as text, one or two bytes each: sorted, delta-encoded as variable-length integers, in base64.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// For `#[serde(with = ...)]`.
pub(super) fn serialize<S: Serializer>(rows: &Option<Vec<u64>>, to: S) -> Result<S::Ok, S::Error> {
    match rows {
        Some(rows) => to.serialize_str(&pack(rows)),
        None => to.serialize_none(),
    }
}

/// For `#[serde(with = ...)]`.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u64>>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| unpack(&text).ok_or_else(|| D::Error::custom("the list of rows is damaged"))).transpose()
}

fn pack(rows: &[u64]) -> String {
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    let mut bytes = Vec::with_capacity(sorted.len() * 2);
    let mut before = 0;
    for row in sorted {
        let mut gap = row - before;
        before = row;
        while gap >= 0x80 {
            bytes.push(gap as u8 | 0x80);
            gap >>= 7;
        }
        bytes.push(gap as u8);
    }
    to_base64(&bytes)
}

/// Returns `None` if the text was not made by [`pack`].
fn unpack(text: &str) -> Option<Vec<u64>> {
    let (mut rows, mut row) = (Vec::new(), 0u64);
    let (mut gap, mut shift) = (0u64, 0u32);
    for byte in from_base64(text)? {
        let bits = u64::from(byte & 0x7f);
        if shift > 63 || (shift == 63 && bits > 1) {
            return None;
        }
        gap |= bits << shift;
        shift += 7;
        if byte < 0x80 {
            row = row.checked_add(gap)?;
            rows.push(row);
            (gap, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(rows)
}

fn to_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
        let all = at(0) << 16 | at(1) << 8 | at(2);
        for n in 0..4 {
            let digit = char::from(DIGITS[(all >> (18 - 6 * n) & 63) as usize]);
            out.push(if n > three.len() { '=' } else { digit });
        }
    }
    out
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for four in digits.chunks(4) {
        let mut all = 0u32;
        for n in 0..4 {
            let value = match four.get(n) {
                None => 0,
                Some(c @ b'A'..=b'Z') => c - b'A',
                Some(c @ b'a'..=b'z') => c - b'a' + 26,
                Some(c @ b'0'..=b'9') => c - b'0' + 52,
                Some(b'+') => 62,
                Some(b'/') => 63,
                Some(_) => return None,
            };
            all = all << 6 | u32::from(value);
        }
        let bytes = all.to_be_bytes();
        // Four digits encode three bytes, three encode two, two encode one.
        out.extend_from_slice(&bytes[1..four.len()]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn base64_is_the_one_that_others_write() {
        for (plain, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(to_base64(plain.as_bytes()), text);
            assert_eq!(from_base64(text).unwrap(), plain.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(rows in proptest::collection::vec(any::<u64>(), 0..50)) {
            let mut sorted = rows.clone();
            sorted.sort_unstable();
            prop_assert_eq!(unpack(&pack(&rows)), Some(sorted));
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "[A-Za-z0-9+/=é]{0,40}") {
            let _ = unpack(&text);
        }
    }
}
