//! A cache of words. Natural text repeats its words, and a lookup costs a tenth of merging one.

use std::collections::HashMap;

/// Longest word in the small table, in bytes.
const SMALL: usize = 15;
/// Maximum tokens of a word in the small table.
const FEW: usize = 3;
/// Slots of the small table, 32 bytes each.
const PLACES: usize = 1 << 16;
/// Slots that are tried for a word.
const WAYS: usize = 4;
/// Longer words: maximum size of words and tokens before the table is cleared.
const LARGE_BYTES: usize = 4 << 20;
/// Longer words rarely recur and are not cached.
const LONGEST: usize = 128;

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// The bytes of the word, with its length in the uppermost byte; zero is an empty slot.
    key: u128,
    tokens: [u32; FEW],
    count: u32,
}

/// The word cache of one thread.
#[derive(Debug)]
pub(super) struct Words {
    slots: Vec<Slot>,
    large: HashMap<Box<[u8]>, Box<[u32]>>,
    bytes: usize,
    /// Which of the slots of a word is evicted next.
    turn: usize,
}

impl Words {
    pub(super) fn new() -> Self {
        Words { slots: vec![Slot::default(); PLACES], large: HashMap::new(), bytes: 0, turn: 0 }
    }

    /// Appends the tokens of `text[from..to]`; returns `false` if the word is not cached.
    #[inline(always)]
    pub(super) fn look(&self, text: &[u8], from: usize, to: usize, out: &mut Vec<u32>) -> bool {
        if to - from <= SMALL {
            let key = key(text, from, to);
            let start = place(key);
            for slot in &self.slots[start..start + WAYS] {
                if slot.key == key {
                    // Most words are one token.
                    if slot.count == 1 {
                        out.push(slot.tokens[0]);
                    } else {
                        out.extend_from_slice(&slot.tokens[..(slot.count as usize).min(FEW)]);
                    }
                    return true;
                }
            }
        }
        self.look_far(&text[from..to], out)
    }

    #[inline(never)]
    fn look_far(&self, word: &[u8], out: &mut Vec<u32>) -> bool {
        match self.large.get(word) {
            Some(tokens) if word.len() <= LONGEST => {
                out.extend_from_slice(tokens);
                true
            }
            _ => false,
        }
    }

    /// Caches the tokens of a word.
    pub(super) fn keep(&mut self, text: &[u8], from: usize, to: usize, tokens: &[u32]) {
        let len = to - from;
        if len <= SMALL && tokens.len() <= FEW {
            let key = key(text, from, to);
            let start = place(key);
            let free = (start..start + WAYS).find(|at| self.slots[*at].key == 0);
            // A full set evicts its slots in turn.
            self.turn = (self.turn + 1) % WAYS;
            let at = free.unwrap_or(start + self.turn);
            let mut kept = [0; FEW];
            kept[..tokens.len()].copy_from_slice(tokens);
            self.slots[at] = Slot { key, tokens: kept, count: tokens.len() as u32 };
        } else if len <= LONGEST {
            self.bytes += len + tokens.len() * 4 + 64;
            if self.bytes > LARGE_BYTES {
                self.large.clear();
                self.bytes = 0;
            }
            self.large.insert(text[from..to].into(), tokens.into());
        }
    }
}

/// Encodes a short word as a number. Reads beyond the word if there is text, which is faster than copying a few bytes.
#[inline(always)]
fn key(text: &[u8], from: usize, to: usize) -> u128 {
    let len = to - from;
    let bytes = match text.get(from..from + 16).and_then(|b| <[u8; 16]>::try_from(b).ok()) {
        Some(bytes) => bytes,
        None => {
            let mut bytes = [0; 16];
            bytes[..len].copy_from_slice(&text[from..to]);
            bytes
        }
    };
    (u128::from_le_bytes(bytes) & ((1u128 << (8 * len)) - 1)) | (len as u128) << 120
}

/// Returns the first slot of a word.
#[inline(always)]
fn place(key: u128) -> usize {
    let mixed = ((key as u64) ^ ((key >> 64) as u64).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 40) as usize & (PLACES - 1) & !(WAYS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_found_or_forgotten_but_never_mixed_up() {
        let mut words = Words::new();
        let text: Vec<u8> = (0..400_000u32).flat_map(|n| n.to_string().into_bytes()).collect();
        let tokens = |word: &[u8]| -> Vec<u32> { word.iter().map(|b| u32::from(*b)).step_by(5).collect() };
        let mut found = 0;
        for round in 0..2 {
            for from in (0..text.len() - 200).step_by(7) {
                let to = from + 1 + from % 150;
                let mut out = vec![];
                if words.look(&text, from, to, &mut out) {
                    assert_eq!(out, tokens(&text[from..to]), "{round} {from}");
                    found += 1;
                } else {
                    words.keep(&text, from, to, &tokens(&text[from..to]));
                }
            }
        }
        assert!(found > 1000, "{found}");
        // The end of the text is handled too.
        words.keep(b"xab", 1, 3, &[7]);
        let mut out = vec![];
        assert!(words.look(b"ab", 0, 2, &mut out) && out == [7]);
    }
}
