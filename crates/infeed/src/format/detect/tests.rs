use super::*;
use crate::store::MemoryStore;

fn look(folder: Option<&str>, files: &[(&str, &[u8])]) -> Result<Detected> {
    let store: MemoryStore = files.iter().map(|(n, b)| (*n, b.to_vec())).collect();
    let names: Vec<String> = files.iter().map(|(n, _)| (*n).to_owned()).collect();
    detect(&store, folder, &names)
}

fn tar(names: &[&str]) -> Detected {
    Detected::Shards { format: "tar", names: names.iter().map(|n| (*n).to_owned()).collect() }
}

#[test]
fn formats_are_told_by_name() {
    assert_eq!(look(None, &[("a.tar", b""), ("b.TAR", b"")]).unwrap(), tar(&["a.tar", "b.TAR"]));
    assert_eq!(look(Some("d"), &[("d/a.tar", b""), ("d/README", b"")]).unwrap(), tar(&["d/a.tar"]));
    assert_eq!(
        look(Some("d"), &[("d/c/a.jpg", b""), ("d/c/b.jpg", b""), ("d/x.tar", b"")]).unwrap(),
        Detected::Folder
    );
    assert_eq!(look(None, &[("a.jpg", b""), ("b.png", b"")]).unwrap(), Detected::Files);
    let manifest = look(None, &[("m.csv", b"path,label\na.jpg,3\n")]).unwrap();
    assert_eq!(manifest, Detected::Manifest("m.csv".into()));
}

#[test]
fn a_tar_without_its_extension_is_known_by_its_bytes() {
    let mut bytes = vec![0; 512];
    bytes[257..262].copy_from_slice(b"ustar");
    assert_eq!(look(None, &[("shard-0", &bytes), ("b.tar", b"")]).unwrap(), tar(&["shard-0", "b.tar"]));
    assert!(look(None, &[("shard-0", &bytes), ("other", b"text")]).is_err());
}

#[test]
fn compressed_tars_are_streams() {
    let names = |found| match found {
        Ok(Detected::Stream { format: "tar", names }) => names,
        other => panic!("{other:?}"),
    };
    assert_eq!(names(look(None, &[("a.tar.gz", b""), ("b.tar", b"")])), ["a.tar.gz", "b.tar"]);
    assert_eq!(names(look(Some("d"), &[("d/a.TGZ", b""), ("d/README.md", b"")])), ["d/a.TGZ"]);
}

#[test]
fn what_is_not_known_is_described() {
    let message = |folder, files: &[(&str, &[u8])]| look(folder, files).unwrap_err().to_string();
    let other = message(Some("d"), &[("d/a.xyz", b""), ("d/b.xyz", b""), ("d/c.md", b"")]);
    assert!(other.contains("in the folder `d` (2 .xyz, 1 .md; the first is `d/a.xyz`)"), "{other}");
    assert!(other.contains("Known are: tar"), "{other}");
    assert!(message(None, &[("a.tar.gz", b""), ("b.xyz", b"")]).contains("Known are: tar"));
    assert!(message(None, &[("a.tar", b""), ("b.jsonl", b"")]).contains("1 .tar, 1 .jsonl"));
    for tokens in ["a.bin", "a.idx", "a.npy"] {
        assert!(message(None, &[(tokens, b"")]).contains("infeed.tokens(path, length=...)"));
    }
    assert!(message(Some("d"), &[]).contains("no files"));
    assert!(look(None, &[("missing.tar", b""), ("x", b"")]).is_err());
}

#[test]
fn records_and_tables_are_told_by_name() {
    let shards = |format, names: &[&str]| Detected::Shards {
        format,
        names: names.iter().map(|n| (*n).to_owned()).collect(),
    };
    let table = |format, names: &[&str]| Detected::Table {
        format,
        names: names.iter().map(|n| (*n).to_owned()).collect(),
    };
    for (name, format) in [
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.JSON", "jsonl"),
        ("a.csv", "csv"),
        ("a.tsv", "csv"),
        ("a.txt", "text"),
        ("a.tfrecord", "tfrecord"),
        ("a.tfrecords", "tfrecord"),
        ("d/data.mdb", "lmdb"),
    ] {
        assert_eq!(look(None, &[(name, b"x")]).unwrap(), shards(format, &[name]));
        let packed = format!("{name}.zst");
        let found = look(None, &[(&packed, b"x")]).unwrap();
        assert_eq!(found, Detected::Stream { format, names: vec![packed] });
    }
    for (name, format) in
        [("a.parquet", "parquet"), ("a.feather", "arrow"), ("a.avro", "avro"), ("a.db", "sqlite")]
    {
        assert_eq!(look(None, &[(name, b"x")]).unwrap(), table(format, &[name]));
    }
}

#[test]
fn folders_of_records() {
    let found = look(Some("d"), &[("d/a.jsonl", b""), ("d/info.json", b""), ("d/README.txt", b"")]).unwrap();
    assert_eq!(found, Detected::Shards { format: "jsonl", names: vec!["d/a.jsonl".into()] });
    let found = look(Some("d"), &[("d/data.mdb", b""), ("d/lock.mdb", b"")]).unwrap();
    assert_eq!(found, Detected::Shards { format: "lmdb", names: vec!["d/data.mdb".into()] });
    let index = br#"{"version": 2, "shards": [{"column_encodings": []}]}"#;
    let found = look(Some("d"), &[("d/index.json", index), ("d/shard.00000.mds", b"")]).unwrap();
    assert_eq!(found, Detected::Mds("d/index.json".into()));
    let found = look(Some("d"), &[("d/a.txt", b""), ("d/b.txt", b"")]).unwrap();
    assert!(matches!(found, Detected::Shards { format: "text", names } if names.len() == 2));
}

#[test]
fn records_without_an_extension_are_known_by_their_bytes() {
    let record = infeed_records::tfrecord::framed(b"abc");
    let found = look(None, &[("train-00000-of-00001", &record)]).unwrap();
    assert!(matches!(found, Detected::Shards { format: "tfrecord", .. }));
    assert!(matches!(look(None, &[("x", b"PAR1...")]).unwrap(), Detected::Table { format: "parquet", .. }));
}
