//! An order-independent fingerprint of a multiset of rows.

use infeed_core::rng::mix;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;

/// The sums of two hashes over all rows. Rows can be added and removed in any order and two multisets can be merged,
/// so ranks and restarts can be compared afterwards without coordination.
///
/// The hash functions are frozen: older ledgers must remain readable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowHash {
    first: u64,
    second: u64,
}

/// The second hash: the finaliser of MurmurHash3, so that rows that collide in one half do not collide in both.
const fn mix_again(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Both hashes map 0 to 0, which would hide row 0.
const APART: u64 = 0x9e37_79b9_7f4a_7c15;

impl RowHash {
    /// Returns the fingerprint of these rows.
    pub fn of(rows: &[u64]) -> Self {
        let (mut first, mut second) = (0u64, 0u64);
        for row in rows {
            let row = row.wrapping_add(APART);
            first = first.wrapping_add(mix(row));
            second = second.wrapping_add(mix_again(row));
        }
        RowHash { first, second }
    }

    /// Adds rows.
    #[must_use]
    pub fn plus(self, other: RowHash) -> Self {
        RowHash {
            first: self.first.wrapping_add(other.first),
            second: self.second.wrapping_add(other.second),
        }
    }

    /// Removes rows.
    #[must_use]
    pub fn minus(self, other: RowHash) -> Self {
        RowHash {
            first: self.first.wrapping_sub(other.first),
            second: self.second.wrapping_sub(other.second),
        }
    }
}

impl fmt::Display for RowHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.first, self.second)
    }
}

impl Serialize for RowHash {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RowHash {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wrong = || D::Error::custom(format!("`{text}` is no fingerprint: it has 32 hexadecimal digits"));
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let both = u128::from_str_radix(&text, 16).map_err(|_| wrong())?;
        Ok(RowHash { first: (both >> 64) as u64, second: both as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned() {
        assert_eq!(RowHash::of(&[0, 1, 41_000]).to_string(), PINNED, "older ledgers could not be verified");
    }

    const PINNED: &str = "92fed40f73a6d1ccfc92b7ad53d41486";

    #[test]
    fn order_does_not_matter_but_rows_do() {
        assert_eq!(RowHash::of(&[3, 5, 9]), RowHash::of(&[9, 3, 5]));
        assert_eq!(
            RowHash::of(&[3, 5, 9]).minus(RowHash::of(&[5])),
            RowHash::of(&[3]).plus(RowHash::of(&[9]))
        );
        for other in [&[3, 5][..], &[3, 5, 5], &[3, 5, 9, 0], &[2, 6, 9], &[]] {
            assert_ne!(RowHash::of(&[3, 5, 9]), RowHash::of(other));
        }
    }

    #[test]
    fn text_is_checked() {
        let hash = RowHash::of(&[7]);
        let text = serde_json::to_string(&hash).unwrap();
        assert_eq!(serde_json::from_str::<RowHash>(&text).unwrap(), hash);
        for wrong in ["\"\"", "\"12\"", "\"+1234567890123456789012345678901\"", "\"ééééééééééééééééé\"", "5"]
        {
            assert!(serde_json::from_str::<RowHash>(wrong).is_err(), "{wrong}");
        }
    }
}
