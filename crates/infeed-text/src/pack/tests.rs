//! Nothing is lost, nothing is doubled, and a resumed packer goes on as if nothing had been.

use super::*;
use proptest::prelude::*;

/// Documents whose tokens tell where they come from.
fn documents() -> impl Strategy<Value = Vec<Vec<i64>>> {
    prop::collection::vec(0usize..40, 0..30).prop_map(|sizes| {
        sizes
            .iter()
            .enumerate()
            .map(|(d, n)| (0..*n as i64).map(|i| (d as i64 + 1) * 1000 + i).collect())
            .collect()
    })
}

/// What holds for every row.
fn check(row: &Packed<i64>, length: usize, pad: i64) {
    assert_eq!((row.tokens.len(), row.segments.len(), row.positions.len()), (length, length, length));
    assert_eq!(row.documents.len() + 1, row.cu_seqlens.len());
    for (n, span) in row.cu_seqlens.windows(2).enumerate() {
        assert!(span[0] < span[1]);
        for at in span[0]..span[1] {
            assert_eq!(row.segments[at as usize], n as i32 + 1);
            assert_eq!(row.positions[at as usize], at - span[0]);
        }
    }
    for at in row.used()..length {
        assert_eq!((row.tokens[at], row.segments[at], row.positions[at]), (pad, 0, 0));
    }
}

fn concat(documents: &[Vec<i64>], packer: &mut Concat<i64>) -> Vec<Packed<i64>> {
    let mut out = vec![];
    documents.iter().for_each(|d| packer.push(d, &mut out));
    packer.finish(&mut out);
    out
}

proptest! {
    #[test]
    fn concat_keeps_every_token(documents in documents(), length in 1usize..50, eod in any::<bool>()) {
        let eod = eod.then_some(-1);
        let rows = concat(&documents, &mut Concat::new(length, eod, Some(-2)));
        rows.iter().for_each(|row| check(row, length, -2));
        let given: Vec<i64> = rows.iter().flat_map(|r| r.tokens[..r.used()].to_vec()).collect();
        let wanted: Vec<i64> = documents.iter().flat_map(|d| d.iter().copied().chain(eod)).collect();
        prop_assert_eq!(given, wanted);
        let dropping = concat(&documents, &mut Concat::new(length, eod, None));
        prop_assert_eq!(&dropping[..], &rows[..dropping.len()]);
        prop_assert!(dropping.iter().all(|r| r.used() == length));
    }

    #[test]
    fn concat_resumes_anywhere(documents in documents(), length in 1usize..50, stop in 0usize..30) {
        let all = concat(&documents, &mut Concat::new(length, Some(-1), Some(0)));
        let mut packer = Concat::new(length, Some(-1), Some(0));
        let mut rows = vec![];
        documents.iter().take(stop).for_each(|d| packer.push(d, &mut rows));
        let place = packer.state();
        let mut resumed = Concat::resume(length, Some(-1), Some(0), place);
        rows.extend(concat(&documents[(place.document as usize).min(documents.len())..], &mut resumed));
        prop_assert_eq!(rows, all);
    }

    #[test]
    fn fits_keep_every_document(
        documents in documents(), length in 1usize..50, best in any::<bool>(), group in 1usize..40, long in 0usize..3,
    ) {
        let kind = if best { FitKind::Best } else { FitKind::First };
        let long = [Long::Split, Long::Truncate, Long::Drop][long];
        let mut packer = Fit::new(length, kind, long, None, -2, group);
        let mut rows = vec![];
        documents.iter().for_each(|d| packer.push(d, &mut rows));
        packer.finish(&mut rows);
        rows.iter().for_each(|row| check(row, length, -2));
        let mut given: Vec<i64> = rows.iter().flat_map(|r| r.tokens[..r.used()].to_vec()).collect();
        given.sort_unstable();
        let cut = |d: &Vec<i64>| match long {
            Long::Truncate => d[..d.len().min(length)].to_vec(),
            Long::Drop if d.len() > length => vec![],
            _ => d.clone(),
        };
        let mut wanted: Vec<i64> = documents.iter().flat_map(cut).collect();
        wanted.sort_unstable();
        prop_assert_eq!(given, wanted);
        for row in &rows {
            for (n, span) in row.cu_seqlens.windows(2).enumerate() {
                let part = &row.tokens[span[0] as usize..span[1] as usize];
                prop_assert!(part.iter().all(|t| *t / 1000 == row.documents[n] as i64 + 1));
                prop_assert!(part.windows(2).all(|w| w[0] + 1 == w[1]), "a document stays together");
            }
        }
        // A group's beginning is a place to go on from.
        let mut again = vec![];
        let mut resumed = Fit::new(length, kind, long, None, -2, group);
        let start = documents.len() / group * group;
        resumed.resume(start as u64);
        documents[start..].iter().for_each(|d| resumed.push(d, &mut again));
        resumed.finish(&mut again);
        prop_assert_eq!(&again[..], &rows[rows.len() - again.len()..]);
    }

    #[test]
    fn trees_place_like_searches(lengths in prop::collection::vec(1usize..20, 0..60), best in any::<bool>()) {
        let documents: Vec<Vec<i64>> = lengths.iter().map(|n| vec![1; *n]).collect();
        let kind = if best { FitKind::Best } else { FitKind::First };
        let mut packer = Fit::new(20, kind, Long::Drop, None, 0, 1000);
        let mut rows = vec![];
        documents.iter().for_each(|d| packer.push(d, &mut rows));
        packer.finish(&mut rows);
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(lengths[*i]));
        let mut plain: Vec<(usize, Vec<u64>)> = vec![];
        for item in order {
            let fitting = (0..plain.len()).filter(|r| plain[*r].0 >= lengths[item]);
            let row = if best { fitting.min_by_key(|r| plain[*r].0) } else { fitting.min() };
            let row = row.unwrap_or_else(|| {
                plain.push((20, vec![]));
                plain.len() - 1
            });
            plain[row].0 -= lengths[item];
            plain[row].1.push(item as u64);
        }
        let got: Vec<Vec<u64>> = rows.iter().map(|r| r.documents.clone()).collect();
        let wanted: Vec<Vec<u64>> = plain.into_iter().map(|(_, items)| items).collect();
        prop_assert_eq!(got, wanted);
    }

    #[test]
    fn windows_cover(tokens in 0usize..100, length in 1usize..20, stride in 1usize..20, keep in any::<bool>()) {
        let found: Vec<_> = windows(tokens, length, stride, keep).collect();
        for (n, window) in found.iter().enumerate() {
            prop_assert_eq!(window.start, n * stride);
            prop_assert!(window.end <= tokens && !window.is_empty());
            prop_assert!(window.len() == length || (keep && n + 1 == found.len() && window.end == tokens));
        }
        if keep && stride <= length {
            prop_assert_eq!(found.last().map_or(0, |w| w.end), tokens);
        }
        let full = found.iter().filter(|w| w.len() == length).count();
        prop_assert!(full * stride + length > tokens, "no full window is missing");
    }
}

#[test]
fn state_is_where_the_next_row_begins() {
    let mut packer = Concat::new(4, Some(0), None);
    let mut out = vec![];
    packer.push(&[1, 2], &mut out);
    assert_eq!((packer.state(), out.len()), (Place { document: 0, offset: 0 }, 0));
    packer.push(&[3, 4, 5], &mut out);
    assert_eq!((packer.state(), out.len()), (Place { document: 1, offset: 1 }, 1));
    packer.push(&[6], &mut out);
    assert_eq!((packer.state(), out.len()), (Place { document: 2, offset: 1 }, 2));
    assert_eq!(out[1].tokens, [4, 5, 0, 6]);
    assert_eq!(
        (out[1].segments.as_slice(), out[1].positions.as_slice()),
        (&[1, 1, 1, 2][..], &[0, 1, 2, 0][..])
    );
    assert_eq!((out[1].cu_seqlens.as_slice(), out[1].documents.as_slice()), (&[0, 3, 4][..], &[1, 2][..]));
}
