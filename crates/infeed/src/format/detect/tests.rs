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
        Ok(Detected::Stream { names }) => names,
        other => panic!("{other:?}"),
    };
    assert_eq!(names(look(None, &[("a.tar.gz", b""), ("b.tar", b"")])), ["a.tar.gz", "b.tar"]);
    assert_eq!(names(look(Some("d"), &[("d/a.TGZ", b""), ("d/README.md", b"")])), ["d/a.TGZ"]);
}

#[test]
fn what_is_not_known_is_described() {
    let message = |folder, files: &[(&str, &[u8])]| look(folder, files).unwrap_err().to_string();
    let parquet = message(Some("d"), &[("d/a.parquet", b""), ("d/b.parquet", b""), ("d/c.json", b"")]);
    assert!(
        parquet.contains("in the folder `d` (2 .parquet, 1 .json; the first is `d/a.parquet`)"),
        "{parquet}"
    );
    assert!(parquet.contains("Known are: tar"), "{parquet}");
    assert!(message(None, &[("a.tar.gz", b""), ("b.bin", b"")]).contains("Known are: tar"));
    assert!(message(Some("d"), &[]).contains("no files"));
    assert!(message(None, &[("notes.txt", b"hello world")]).contains("1 .txt"));
    assert!(look(None, &[("missing.tar", b""), ("x", b"")]).is_err());
}
