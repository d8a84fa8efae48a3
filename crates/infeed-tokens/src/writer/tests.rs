use super::*;
use crate::{Drift, TokenFile};

fn read(prefix: &str) -> (TokenFile, Vec<Vec<i64>>) {
    let file =
        TokenFile::open(&crate::testing::mapping(), prefix, None, crate::Read::Map, Drift::Error).unwrap();
    let count = file.index().unwrap().sequences();
    let all = (0..count).map(|i| file.sequence(i).unwrap()).collect();
    (file, all)
}

#[test]
fn documents_come_back() {
    let dir = tempfile::tempdir().unwrap();
    for dtype in [Dtype::U8, Dtype::I8, Dtype::U16, Dtype::I16, Dtype::I32, Dtype::I64] {
        let prefix = dir.path().join(dtype.name()).display().to_string();
        let mut writer = TokenWriter::create(&prefix, dtype).unwrap();
        writer.add(&[1, 2, 3]).unwrap();
        writer.add(&[]).unwrap();
        writer.add_wide(&[127]).unwrap();
        assert_eq!((writer.documents(), writer.tokens()), (3, 4));
        assert!(!std::path::Path::new(&format!("{prefix}.idx")).exists());
        assert_eq!(writer.finish().unwrap(), (3, 4));
        let (file, all) = read(&prefix);
        assert_eq!((file.dtype(), file.index().unwrap().documents()), (dtype, 3));
        assert_eq!(all, [vec![1, 2, 3], vec![], vec![127]]);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 12, "nothing else is left there");
}

#[test]
fn documents_of_many_sequences() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("x").display().to_string();
    let mut writer = TokenWriter::create(&prefix, Dtype::U16).unwrap();
    writer.add(&[1]).unwrap();
    writer.add_sequence([2, 3].into_iter()).unwrap();
    writer.add_sequence([4].into_iter()).unwrap();
    writer.end_document();
    writer.end_document();
    writer.add_sequence([5].into_iter()).unwrap();
    writer.finish().unwrap();
    let (file, all) = read(&prefix);
    let index = file.index().unwrap();
    let documents: Vec<_> = (0..index.documents()).map(|d| index.document(d)).collect();
    assert_eq!(documents, [0..1, 1..3, 3..3, 3..4]);
    assert_eq!(all, [vec![1], vec![2, 3], vec![4], vec![5]]);
}

#[test]
fn tokens_that_do_not_fit_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("x").display().to_string();
    let mut writer = TokenWriter::create(&prefix, Dtype::U16).unwrap();
    let error = writer.add(&[1, 70_000]).unwrap_err().to_string();
    assert!(error.contains("token 1 of document 0 is 70000") && error.contains("i32"), "{error}");
    assert!(TokenWriter::create(&prefix, Dtype::F32).is_err());
    assert!(TokenWriter::create(&prefix, Dtype::U32).is_err());
    assert_eq!(TokenWriter::dtype_for(65_499), Dtype::U16);
    assert_eq!(TokenWriter::dtype_for(65_500), Dtype::I32);
}

#[test]
fn an_interrupted_writer_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("x").display().to_string();
    let mut writer = TokenWriter::create(&prefix, Dtype::I32).unwrap();
    writer.add(&[1, 2]).unwrap();
    writer.add(&[3]).unwrap();
    let (documents, tokens) = writer.flush_state().unwrap();
    writer.add(&[99, 99, 99]).unwrap();
    writer.flush_state().unwrap();
    drop(writer);
    assert!(TokenWriter::resume(&prefix, Dtype::I32, documents, tokens + 1).is_err());
    assert!(TokenWriter::resume(&prefix, Dtype::I32, 7, tokens).is_err());
    let mut writer = TokenWriter::resume(&prefix, Dtype::I32, documents, tokens).unwrap();
    writer.add(&[4]).unwrap();
    assert_eq!(writer.finish().unwrap(), (3, 4));
    assert_eq!(read(&prefix).1, [vec![1, 2], vec![3], vec![4]]);
    assert!(TokenWriter::resume(&prefix, Dtype::I32, 1, 1).is_err(), "nothing is left to resume from");
}
