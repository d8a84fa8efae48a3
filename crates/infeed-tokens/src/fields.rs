//! Per-token fields besides the id: position in the document, loss mask, document number, attention mask.
//!
//! All follow from where documents begin in a sample. `starts` are the indices from 1 on at which a new document
//! begins, ascending. A start at the very end means that the last token ends its document.

/// A field of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Tokens,
    Labels,
    Positions,
    LossMask,
    Documents,
    AttentionMask,
}

impl Field {
    pub(crate) const ALL: [(Field, &'static str); 6] = [
        (Field::Tokens, "tokens"),
        (Field::Labels, "labels"),
        (Field::Positions, "position_ids"),
        (Field::LossMask, "loss_mask"),
        (Field::Documents, "document_ids"),
        (Field::AttentionMask, "attention_mask"),
    ];

    pub(crate) fn parse(name: &str) -> Option<Field> {
        Field::ALL.iter().find(|(_, n)| *n == name).map(|(field, _)| *field)
    }
}

/// Returns the documents of a sample of `len` tokens, as index ranges.
fn documents(starts: &[usize], len: usize) -> impl Iterator<Item = (usize, usize)> {
    let begin = std::iter::once(0).chain(starts.iter().copied().filter(move |s| *s < len));
    let end = starts.iter().copied().filter(move |s| *s < len).chain([len]);
    begin.zip(end)
}

/// Writes positions counted from the start of each document, or of the sample without `reset`;
/// elements of four or eight bytes.
pub(crate) fn positions(starts: &[usize], reset: bool, wide: bool, out: &mut [u8]) {
    if wide {
        let out = out.as_chunks_mut::<8>().0;
        for (from, to) in documents(if reset { starts } else { &[] }, out.len()) {
            (0i64..).zip(&mut out[from..to]).for_each(|(n, place)| *place = n.to_ne_bytes());
        }
    } else {
        let out = out.as_chunks_mut::<4>().0;
        for (from, to) in documents(if reset { starts } else { &[] }, out.len()) {
            (0i32..).zip(&mut out[from..to]).for_each(|(n, place)| *place = n.to_ne_bytes());
        }
    }
}

/// Writes 1, and 0 where a document ends: the token after it cannot be predicted.
pub(crate) fn loss_mask(starts: &[usize], out: &mut [u8]) {
    let out = out.as_chunks_mut::<4>().0;
    out.fill(1f32.to_ne_bytes());
    for start in starts {
        if let Some(last) = out.get_mut(start.wrapping_sub(1)) {
            *last = 0f32.to_ne_bytes();
        }
    }
}

/// Writes the number of each token's document within the sample.
pub(crate) fn document_ids(starts: &[usize], out: &mut [u8]) {
    let out = out.as_chunks_mut::<4>().0;
    for (n, (from, to)) in (0i32..).zip(documents(starts, out.len())) {
        out[from..to].fill(n.to_ne_bytes());
    }
}

/// Writes, row by row, which tokens a token may attend to: itself and those before it; with `reset` only
/// those of its own document.
pub(crate) fn attention_mask(starts: &[usize], reset: bool, len: usize, out: &mut [u8]) {
    for (from, to) in documents(if reset { starts } else { &[] }, len) {
        for row in from..to {
            let line = &mut out[row * len..(row + 1) * len];
            line[..from].fill(0);
            line[from..=row].fill(1);
            line[row + 1..].fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(bytes: &[u8]) -> Vec<i32> {
        bytes.as_chunks::<4>().0.iter().map(|b| i32::from_ne_bytes(*b)).collect()
    }

    #[test]
    fn documents_cut_all_fields() {
        let starts = [2, 5, 6];
        let mut out = vec![9; 24];
        positions(&starts, true, false, &mut out);
        assert_eq!(ints(&out), [0, 1, 0, 1, 2, 0]);
        positions(&starts, false, false, &mut out);
        assert_eq!(ints(&out), [0, 1, 2, 3, 4, 5]);
        document_ids(&starts, &mut out);
        assert_eq!(ints(&out), [0, 0, 1, 1, 1, 2]);
        loss_mask(&starts, &mut out);
        let floats: Vec<f32> = out.as_chunks::<4>().0.iter().map(|b| f32::from_ne_bytes(*b)).collect();
        assert_eq!(floats, [1.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
        let mut wide = vec![9; 48];
        positions(&starts, true, true, &mut wide);
        assert_eq!((wide[32], wide[40]), (2, 0));
        let mut mask = vec![9; 16];
        attention_mask(&[1, 3], true, 4, &mut mask);
        assert_eq!(mask, [1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1]);
        attention_mask(&[1, 3], false, 4, &mut mask);
        assert_eq!(mask, [1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn names_are_known() {
        assert_eq!(Field::parse("loss_mask"), Some(Field::LossMask));
        assert_eq!(Field::parse("mask"), None);
    }
}
