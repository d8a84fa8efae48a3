//! Stamps: 128 bits over what makes data what it is.

use crate::{Shard, rng::mix};

/// Computes a stamp. Equal parts in equal order give equal stamps, on every machine; others differ for all that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    low: u64,
    high: u64,
}

impl Default for Stamp {
    fn default() -> Self {
        Stamp { low: 0x9e37_79b9_7f4a_7c15, high: 0xc2b2_ae3d_27d4_eb4f }
    }
}

impl Stamp {
    /// Of an object of a store. `None` for one that could be replaced without notice: it has neither version nor time.
    pub fn of(shard: &Shard) -> Option<Stamp> {
        shard.version.or(shard.modified)?;
        let known = |number: Option<u64>| (u64::from(number.is_some()), number.unwrap_or(0));
        let ((has_time, time), (has_version, version)) = (known(shard.modified), known(shard.version));
        let numbers = [shard.size, has_time, time, has_version, version];
        Some(numbers.into_iter().fold(Stamp::default().text(&shard.name), Stamp::number))
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, number: u64) -> Self {
        Stamp {
            low: mix(self.low.rotate_left(5) ^ number).wrapping_add(self.high),
            high: mix(self.high.rotate_left(7) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) ^ self.low,
        }
    }

    /// Adds another stamp.
    #[must_use]
    pub fn wide(self, number: u128) -> Self {
        self.number(number as u64).number((number >> 64) as u64)
    }

    /// Adds bytes.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        let whole =
            words.iter().fold(self.number(bytes.len() as u64), |s, w| s.number(u64::from_le_bytes(*w)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        whole.number(u64::from_le_bytes(last))
    }

    /// Adds a text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// The number.
    pub fn get(self) -> u128 {
        let end = self.number(1).number(2);
        (u128::from(end.high) << 64) | u128::from(end.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn everything_counts() {
        let shard = Shard { name: "a".into(), size: 1, modified: Some(2), version: None };
        let others = [
            shard.clone(),
            Shard { name: "b".into(), ..shard.clone() },
            Shard { size: 2, ..shard.clone() },
            Shard { modified: Some(3), ..shard.clone() },
            Shard { version: Some(2), ..shard.clone() },
            Shard { modified: None, version: Some(2), ..shard.clone() },
        ];
        let stamps: HashSet<u128> = others.iter().map(|shard| Stamp::of(shard).unwrap().get()).collect();
        assert_eq!(stamps.len(), others.len());
        assert_eq!(Stamp::of(&shard), Stamp::of(&shard.clone()));
        assert_eq!(Stamp::of(&Shard { modified: None, ..shard }), None);
        let texts = ["", "\0", "a", "a\0", "aaaaaaaa", "aaaaaaaa\0", "baaaaaaa"];
        let stamps: HashSet<u128> = texts.iter().map(|text| Stamp::default().text(text).get()).collect();
        assert_eq!(stamps.len(), texts.len());
        let rows: HashSet<u128> = (0..100_000).map(|row| Stamp::default().number(row).get()).collect();
        assert_eq!(rows.len(), 100_000);
    }
}
