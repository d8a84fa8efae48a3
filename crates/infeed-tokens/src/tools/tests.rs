use super::*;
use crate::{Drift, Read, testing::mapping};

fn corpus(dir: &std::path::Path, name: &str, dtype: Dtype, documents: &[&[i64]]) -> String {
    let prefix = dir.join(name).display().to_string();
    let mut writer = TokenWriter::create(&prefix, dtype).unwrap();
    documents.iter().for_each(|d| writer.add_wide(d).unwrap());
    writer.finish().unwrap();
    prefix
}

fn all(prefix: &str) -> Vec<Vec<i64>> {
    let file = TokenFile::open(&mapping(), prefix, None, Read::Pread, Drift::Error).unwrap();
    (0..file.index().unwrap().sequences()).map(|i| file.sequence(i).unwrap()).collect()
}

#[test]
fn types_are_widened_when_merged() {
    let dir = tempfile::tempdir().unwrap();
    let a = corpus(dir.path(), "a", Dtype::U8, &[&[1, 200], &[]]);
    let b = corpus(dir.path(), "b", Dtype::I16, &[&[-1, 30_000]]);
    let c = corpus(dir.path(), "c", Dtype::U16, &[&[65_535]]);
    let raw = dir.path().join("raw.bin").display().to_string();
    std::fs::write(&raw, [7, 0, 8, 0]).unwrap();
    let out = dir.path().join("out").display().to_string();
    let made = merge(&mapping(), &[a.clone(), b.clone()], &out, None, None, Drift::Error).unwrap();
    assert_eq!((made.dtype, made.documents, made.tokens), (Dtype::I16, 3, 4));
    assert_eq!(all(&out), [vec![1, 200], vec![], vec![-1, 30_000]]);
    let made = merge(&mapping(), &[c.clone(), b.clone(), raw], &out, None, None, Drift::Error).unwrap();
    assert_eq!((made.dtype, made.documents), (Dtype::I32, 3));
    assert_eq!(all(&out), [vec![65_535], vec![-1, 30_000], vec![7, 8]]);
    assert_eq!(
        merge(&mapping(), std::slice::from_ref(&a), &out, None, Some(Dtype::I64), Drift::Error)
            .unwrap()
            .dtype,
        Dtype::I64
    );
    assert_eq!(all(&out), [vec![1, 200], vec![]]);
    let refused = merge(&mapping(), &[b, c], &out, None, Some(Dtype::U16), Drift::Error).unwrap_err();
    assert!(refused.to_string().contains("does not hold"), "{refused}");
    assert!(merge(&mapping(), std::slice::from_ref(&a), &a, None, None, Drift::Error).is_err());
    assert!(merge(&mapping(), &[], &out, None, None, Drift::Error).is_err());
}

#[test]
fn every_document_is_in_one_part() {
    let dir = tempfile::tempdir().unwrap();
    let documents: Vec<Vec<i64>> = (0..7).map(|i| vec![i; i as usize]).collect();
    let a = corpus(dir.path(), "a", Dtype::U16, &documents.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let out = dir.path().join("p").display().to_string();
    for shares in [Shares::Equal(3), Shares::Equal(7), Shares::By(vec![0.5, 0.0, 0.25, 0.25])] {
        let parts = split(&mapping(), &a, &out, &shares, Drift::Error).unwrap();
        let joined: Vec<Vec<i64>> = parts.iter().flat_map(|p| all(&p.prefix)).collect();
        assert_eq!(joined, documents, "{shares:?}");
        assert_eq!(parts.iter().map(|p| p.tokens).sum::<u64>(), 21);
    }
    assert!(split(&mapping(), &a, &out, &Shares::Equal(8), Drift::Error).is_err());
    assert!(split(&mapping(), &a, &out, &Shares::Equal(0), Drift::Error).is_err());
    assert!(split(&mapping(), &a, &out, &Shares::By(vec![-1.0, 2.0]), Drift::Error).is_err());
}

#[test]
fn a_drifting_corpus_is_told_and_written_right() {
    let dir = tempfile::tempdir().unwrap();
    let a = corpus(dir.path(), "a", Dtype::U16, &[&[1, 2], &[3]]);
    std::fs::write(format!("{a}.bin"), [1, 0, 2, 0, 9, 0, 3, 0, 9, 0]).unwrap();
    let found = info(&mapping(), &a, None).unwrap();
    assert_eq!((found.uncounted_bytes, found.drifts, found.tokens), (4, true, 3));
    assert!(verify(&mapping(), &a, None, None, Drift::Error).unwrap().faults[0].contains("repair"));
    let out = dir.path().join("right").display().to_string();
    merge(&mapping(), &[a], &out, None, None, Drift::Repair).unwrap();
    assert_eq!(all(&out), [vec![1, 2, 9], vec![3, 9]]);
    assert!(!info(&mapping(), &out, None).unwrap().drifts);
}

#[test]
fn wrong_tokens_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let many = vec![7; 40_000];
    let a = corpus(dir.path(), "a", Dtype::I32, &[&[5, -3, 9], &many]);
    let found = verify(&mapping(), &a, None, Some(7), Drift::Error).unwrap();
    assert_eq!((found.wrong_tokens, found.ids, found.tokens), (40_002, Some((-3, 9)), 40_003));
    assert!(found.faults[0].contains("token 1 has the id -3"));
    let found = verify(&mapping(), &a, None, None, Drift::Error).unwrap();
    assert_eq!((found.wrong_tokens, found.faults.len()), (1, 1));
    let floats = dir.path().join("f").display().to_string();
    let arrays = crate::idx::Arrays { dtype: Dtype::F32, sizes: &[1], documents: None };
    std::fs::write(format!("{floats}.idx"), crate::idx::mmid_bytes(arrays).unwrap()).unwrap();
    std::fs::write(format!("{floats}.bin"), 1f32.to_le_bytes()).unwrap();
    assert!(
        verify(&mapping(), &floats, None, None, Drift::Error).unwrap().faults[0].contains("whole numbers")
    );
    assert_eq!(info(&mapping(), &floats, None).unwrap().dtype, Dtype::F32);
}
