//! Passes arbitrary bytes through every parser of this crate.

use crate::{Drift, Index, list};

/// Parses bytes as an index and as a file list, and checks the results. Panics if something invalid is accepted.
pub fn fuzz(data: &[u8]) {
    // The first bytes choose the size of the .bin, so that matching indices can be found.
    let (head, rest) = data.split_at(data.len().min(3));
    let pick = |i: usize| head.get(i).copied().unwrap_or(0);
    let bin_len = u64::from(pick(0)) << (pick(1) % 24);
    let drift = [Drift::Error, Drift::Repair, Drift::Ignore][usize::from(pick(2) % 3)];
    for bytes in [data, rest] {
        if let Ok(index) = Index::from_bytes(bytes.to_vec(), "fuzz.idx", bin_len, drift) {
            check(&index, bin_len);
        }
        let samples = Some(u64::from(pick(0))).filter(|_| pick(1) % 2 == 1);
        if let Ok(corpora) = list::plan(&String::from_utf8_lossy(bytes), "fuzz.txt", samples) {
            check_list(&corpora, samples);
        }
    }
}

fn check(index: &Index, bin_len: u64) {
    let size = index.dtype().size() as u64;
    let mut tokens = 0;
    for sequence in 0..index.sequences() {
        assert_eq!(index.first_token(sequence), tokens, "sequence {sequence}");
        assert!(index.byte(sequence) + index.size(sequence) * size <= bin_len, "sequence {sequence}");
        if index.size(sequence) > 0 {
            assert_eq!(index.sequence_of(tokens), sequence);
        }
        tokens += index.size(sequence);
    }
    assert_eq!((index.tokens(), index.first_token(index.sequences())), (tokens, tokens));
    let mut next = 0;
    for document in 0..index.documents() {
        let sequences = index.document(document);
        assert_eq!(sequences.start, next, "document {document}");
        next = sequences.end;
    }
    assert_eq!(next, index.sequences());
}

fn check_list(corpora: &[list::Corpus], samples: Option<u64>) {
    assert!(corpora.is_sorted_by(|a, b| a.name < b.name));
    let files: Vec<&list::File> = corpora.iter().flat_map(|corpus| &corpus.files).collect();
    assert!(files.iter().all(|file| !file.prefix.is_empty() && file.weight.is_finite()));
    assert!(files.iter().all(|file| file.samples.is_some() == samples.is_some()));
    // Rounded up per file: never less than requested.
    let all: u64 = files.iter().filter_map(|file| file.samples).sum();
    assert!(all >= samples.unwrap_or(0), "{all} samples instead of {samples:?}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idx::{Arrays, legacy_bytes, mmid_bytes};
    use infeed_core::Dtype;
    use proptest::prelude::*;

    proptest! {
        /// Valid files with bytes changed, cut and added: damage is detected or harmless.
        #[test]
        fn damage_does_no_harm(
            sizes in prop::collection::vec(0u32..5, 0..6),
            legacy in any::<bool>(),
            head in any::<[u8; 3]>(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let arrays = Arrays { dtype: Dtype::U16, sizes: &sizes, documents: None };
            let made = if legacy { legacy_bytes(arrays) } else { mmid_bytes(arrays) }.unwrap();
            let mut data = head.to_vec();
            data.extend(made);
            for (at, byte) in changes {
                let at = at.index(data.len());
                data[at] = byte;
            }
            if let Some(cut) = cut {
                data.truncate(cut.index(data.len()));
            }
            fuzz(&data);
        }

        #[test]
        fn nonsense_does_no_harm(data in prop::collection::vec(any::<u8>(), 0..300)) {
            fuzz(&data);
        }
    }
}
