use super::*;
use crate::Drift;

#[test]
fn files_without_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let tokens: Vec<u8> = (0u16..100).flat_map(u16::to_le_bytes).collect();
    std::fs::write(path("train.bin"), &tokens).unwrap();
    let first = |paths: &[String], args: serde_json::Value| rows(&open(paths, args).unwrap())[0][0].clone();
    assert_eq!(first(&[path("train")], json!({"length": 3})), [0, 1, 2]);
    assert_eq!(first(&[path("train.bin")], json!({"length": 2, "raw": "uint8"})), [0, 0]);
    assert_eq!(first(&[path("train.bin")], json!({"length": 2, "raw": "uint32"})), [65_536, 3 * 65_536 + 2]);
    let npy = [
        infeed_records::npy::Header::write(Dtype::I32, &[3]),
        vec![1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255],
    ];
    std::fs::write(path("x.npy"), npy.concat()).unwrap();
    assert_eq!(first(&[path("x.npy")], json!({"length": 3})), [1, 2, -1]);
    let mut headed = vec![0u8; 1024];
    for (i, n) in [20_240_520i32, 1, 3].iter().enumerate() {
        headed[4 * i..4 * i + 4].copy_from_slice(&n.to_le_bytes());
    }
    headed.extend(&tokens[..6]);
    std::fs::write(path("fineweb.bin"), &headed).unwrap();
    let source = open(&[path("fineweb.bin")], json!({"length": 3})).unwrap();
    assert_eq!(
        (rows(&source)[0][0].clone(), source.rows(), source.key(0)),
        (vec![0, 1, 2], 1, format!("{}:0", path("fineweb")))
    );
    headed.truncate(1028);
    std::fs::write(path("fineweb.bin"), &headed).unwrap();
    assert!(
        open(&[path("fineweb.bin")], json!({"length": 3}))
            .unwrap_err()
            .to_string()
            .contains("has room for 2")
    );
    std::fs::write(path("odd.bin"), [1, 2, 3]).unwrap();
    assert!(open(&[path("odd")], json!({"length": 1})).unwrap_err().to_string().contains("raw="));
    // A folder stands for all files in it.
    let inside = dir.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    corpus(&inside, "a", Dtype::U8, &[vec![5, 6]]);
    std::fs::write(inside.join("b.bin"), [7, 0]).unwrap();
    std::fs::write(inside.join("notes.txt"), "nothing").unwrap();
    assert_eq!(first(&[inside.display().to_string()], json!({"length": 3})), [5, 6, 7]);
    let missing = open(&[path("nothing")], json!({"length": 1})).unwrap_err();
    assert!(matches!(missing, Error::NotFound { .. }) && missing.to_string().contains(".idx"), "{missing}");
}

#[test]
fn ids_beyond_the_vocabulary_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let documents = [vec![1, 2, 3], vec![4, 900, 5]];
    let prefix = corpus(dir.path(), "x", Dtype::U16, &documents);
    let source =
        open(std::slice::from_ref(&prefix), json!({"length": 3, "vocab": 900, "dtype": "int16"})).unwrap();
    let names = [Arc::from("tokens")];
    assert!(source.fetch(&[0], &names).is_ok());
    let error = source.fetch(&[1], &names).unwrap_err().to_string();
    assert!(error.contains(&format!("token 4 of `{prefix}.bin` has the id 900")), "{error}");
    let mut out = vec![0; 12];
    assert!(source.fill(&[0, 1], &names, &mut [&mut out]).is_err());
    assert!(
        open(std::slice::from_ref(&prefix), json!({"length": 3, "vocab": 901}))
            .unwrap()
            .fetch(&[1], &names)
            .is_ok()
    );
    for (dtype, vocab, fine) in [
        ("int8", None, false),
        ("int16", None, false),
        ("int8", Some(128), true),
        ("uint8", Some(257), false),
    ] {
        let opened =
            open(std::slice::from_ref(&prefix), json!({"length": 3, "dtype": dtype, "vocab": vocab}));
        assert_eq!(opened.is_ok(), fine, "{dtype} {vocab:?}");
    }
    let signed = dir.path().join("signed").display().to_string();
    let mut writer = TokenWriter::create(&signed, Dtype::I32).unwrap();
    writer.add_wide(&[1, -1]).unwrap();
    writer.finish().unwrap();
    assert!(open(std::slice::from_ref(&signed), json!({"length": 1, "dtype": "uint32"})).is_err());
    let source = open(&[signed], json!({"length": 1, "dtype": "uint32", "vocab": 9})).unwrap();
    assert!(source.fetch(&[1], &names).unwrap_err().to_string().contains("the id -1"));
}

#[test]
fn splits_drift_and_odd_layouts() {
    let dir = tempfile::tempdir().unwrap();
    let documents: Vec<Vec<u32>> = (0..10).map(|i| vec![i, i]).collect();
    let prefix = corpus(dir.path(), "x", Dtype::U16, &documents);
    let with = |args| open(std::slice::from_ref(&prefix), args).unwrap();
    let valid = with(json!({"length": 2, "split": "6,2,2", "part": "valid"}));
    assert_eq!(rows(&valid).concat().concat(), [6, 6, 7, 7]);
    assert_eq!(valid.key(1), format!("{prefix}:14"));
    let test = with(json!({"length": 1, "split": "6,2,2", "part": "test", "sampling": "megatron"}));
    assert!(rows(&test).concat().concat().iter().all(|t| *t >= 8));
    // An extra token for each document, which the index does not count.
    let bin: Vec<u8> = (0u16..10).flat_map(|i| [i, i, 99]).flat_map(u16::to_le_bytes).collect();
    std::fs::write(format!("{prefix}.bin"), bin).unwrap();
    let fails = open(std::slice::from_ref(&prefix), json!({"length": 3})).unwrap_err().to_string();
    assert!(fails.contains("drift=\"repair\""), "{fails}");
    let repaired = with(json!({"length": 3, "drift": "repair", "document_ids": true}));
    assert_eq!(rows(&repaired)[4], [vec![4, 4, 99], vec![0, 0, 0]]);
    assert!(repaired.damage()[0].contains("counted in"));
    let samples = with(json!({"length": 2, "drift": "repair", "sampling": "megatron"}));
    assert!(rows(&samples).iter().all(|row| row[0].contains(&99)));
    assert_eq!(rows(&with(json!({"length": 3, "drift": "ignore"})))[1][0], [1, 1, 99]);
    // Sequences in a different order than their bytes.
    let mut idx =
        crate::idx::mmid_bytes(crate::idx::Arrays { dtype: Dtype::U8, sizes: &[2, 3], documents: None })
            .unwrap();
    idx[42..50].copy_from_slice(&3i64.to_le_bytes());
    idx[50..58].copy_from_slice(&0i64.to_le_bytes());
    let odd = dir.path().join("odd").display().to_string();
    std::fs::write(format!("{odd}.idx"), idx).unwrap();
    std::fs::write(format!("{odd}.bin"), [10, 11, 12, 13, 14]).unwrap();
    assert_eq!(rows(&open(&[odd], json!({"length": 5})).unwrap())[0][0], [13, 14, 10, 11, 12]);
}

#[test]
fn wrong_arguments_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = corpus(dir.path(), "x", Dtype::U16, &[vec![1, 2, 3]]);
    let fails = |args| open(std::slice::from_ref(&prefix), args).unwrap_err().to_string();
    assert!(fails(json!({})).contains("does not say how long a sample is"));
    assert!(fails(json!({"length": 1, "lenght": 2})).contains("did you mean `length`"));
    for (args, what) in [
        (json!({"length": 0}), "at least 1"),
        (json!({"length": 1, "dtype": "float32"}), "whole numbers"),
        (json!({"length": 1, "sampling": "gpt"}), "windows, megatron"),
        (json!({"length": 1, "sampling": "megatron", "stride": 1}), "stride"),
        (json!({"length": 1, "samples": 1}), "megatron"),
        (json!({"length": 1, "part": "test"}), "split"),
        (json!({"length": 1, "part": "tests"}), "train, valid, test"),
        (json!({"length": 1, "eod": 9, "vocab": 9}), "eod=9"),
        (json!({"length": 1, "seed": 1u64 << 32}), "2**32"),
        (json!({"length": 1, "split": "x"}), "969, 30, 1"),
        (json!({"length": 1, "drift": "no"}), "error, repair, ignore"),
    ] {
        let error = fails(args.clone());
        assert!(error.contains(what), "{args}: {error}");
    }
    let two = [prefix.clone(), format!("{prefix}.bin")];
    assert_eq!(open(&two, json!({"length": 3})).unwrap().rows(), 1, "one corpus, named twice");
    let other = corpus(dir.path(), "y", Dtype::U16, &[vec![1]]);
    let several = open(&[prefix.clone(), other], json!({"length": 1, "sampling": "megatron"})).unwrap_err();
    assert!(several.to_string().contains("infeed.blend"));
    let short = open(std::slice::from_ref(&prefix), json!({"length": 4})).unwrap();
    assert_eq!((short.rows(), short.shard_rows().len()), (0, 1));
    let source = open(&[prefix], json!({"length": 3})).unwrap();
    assert!(source.describe().contains("3 tokens") && source.fills("tokens") && !source.fills("labels"));
    assert!(
        source.fetch(&[1], &["tokens".into()]).is_err() && source.fetch(&[0], &["labels".into()]).is_err()
    );
    assert_eq!(source.row_bytes(0, &[]), 6);
    assert_eq!(Drift::default(), Drift::Error);
}

#[test]
fn a_file_that_became_shorter_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = corpus(dir.path(), "x", Dtype::U16, &[vec![1; 5000]]);
    let source = open(std::slice::from_ref(&prefix), json!({"length": 1000, "read": "pread"})).unwrap();
    let names = [Arc::from("tokens")];
    std::fs::File::options().write(true).open(format!("{prefix}.bin")).unwrap().set_len(4000).unwrap();
    assert!(source.fetch(&[0], &names).is_ok());
    let error = source.fetch(&[4], &names).unwrap_err().to_string();
    assert!(error.contains("cannot read") && error.contains("x.bin"), "{error}");
}

/// Counts the calls of a store that cannot map.
#[derive(Debug)]
struct Counting {
    files: Arc<dyn Store>,
    calls: std::sync::atomic::AtomicUsize,
}

impl Store for Counting {
    fn list(&self, prefix: &str) -> Result<Vec<infeed_core::Shard>> {
        self.files.list(prefix)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<infeed_core::Shard>> {
        self.files.stat(names)
    }

    fn read(&self, shard: &infeed_core::Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.files.read(shard, ranges)
    }
}

#[test]
fn rows_of_a_batch_are_read_together() {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<String> = ["a", "b"]
        .iter()
        .map(|name| corpus(dir.path(), name, Dtype::U16, &[(0..50).collect(), (50..100).collect()]))
        .collect();
    let counting = Arc::new(Counting { files: testing::ranges(), calls: 0.into() });
    let store: Arc<dyn Store> = Arc::clone(&counting) as _;
    let source = open_from(&store, &paths, json!({"length": 8})).unwrap();
    let calls = |rows: &[u64]| {
        let before = counting.calls.load(std::sync::atomic::Ordering::Relaxed);
        let mut out = vec![0; rows.len() * 64];
        source.fill(rows, &["tokens".into()], &mut [&mut out]).unwrap();
        let first = numbers(&out[..64], Dtype::I64)[0];
        (counting.calls.load(std::sync::atomic::Ordering::Relaxed) - before, first)
    };
    assert_eq!(calls(&[3, 0, 5, 1]), (1, 24));
    // Row 12 begins in the first file and ends in the second.
    assert_eq!(calls(&[12, 20, 2]), (2, 96));
}
