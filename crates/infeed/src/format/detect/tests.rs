use super::*;
use crate::store::MemoryStore;

/// The detected format of a folder or of files.
fn look(folder: Option<&str>, files: &[(&str, &[u8])]) -> Result<&'static str> {
    let store: MemoryStore = files.iter().map(|(n, b)| (*n, b.to_vec())).collect();
    let names: Vec<String> = match folder {
        Some(folder) => vec![folder.to_owned()],
        None => files.iter().map(|(n, _)| (*n).to_owned()).collect(),
    };
    detect(&store, &names).map(|found| found.entry.name)
}

fn refused(folder: Option<&str>, files: &[(&str, &[u8])]) -> String {
    look(folder, files).unwrap_err().to_string()
}

#[test]
fn images_and_tars_are_told_by_name() {
    assert_eq!(look(None, &[("a.tar", b""), ("b.TAR", b"")]).unwrap(), "tar");
    assert_eq!(look(None, &[("a.tar.gz", b""), ("b.tar", b""), ("c.TGZ", b"")]).unwrap(), "tar");
    assert_eq!(look(Some("d"), &[("d/a.tar", b""), ("d/README", b"")]).unwrap(), "tar");
    assert_eq!(look(Some("d"), &[("d/a.tar", b""), ("d/preview.jpg", b"")]).unwrap(), "tar");
    let images: [(&str, &[u8]); 3] = [("d/c/a.jpg", b""), ("d/c/b.jpg", b""), ("d/x.tar", b"")];
    assert_eq!(look(Some("d"), &images).unwrap(), "folder");
    assert_eq!(look(None, &[("a.jpg", b""), ("b.png", b"")]).unwrap(), "files");
    assert_eq!(look(None, &[("m.csv", b"path,label\na.jpg,3\n")]).unwrap(), "manifest");
}

#[test]
fn a_tar_without_its_extension_is_known_by_its_bytes() {
    let mut bytes = vec![0; 512];
    bytes[257..262].copy_from_slice(b"ustar");
    assert_eq!(look(None, &[("shard-0", &bytes), ("b.tar", b"")]).unwrap(), "tar");
    assert!(look(None, &[("shard-0", &bytes), ("other", b"text")]).is_err());
}

#[test]
fn records_and_tables_are_told_by_name() {
    for (name, format) in [
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.csv", "csv"),
        ("a.tsv", "csv"),
        ("a.txt", "text"),
        ("a.tfrecord", "tfrecord"),
        ("a.tfrecords", "tfrecord"),
        ("d/data.mdb", "lmdb"),
    ] {
        assert_eq!(look(None, &[(name, b"x")]).unwrap(), format);
        let packed = format!("{name}.zst");
        assert_eq!(look(None, &[(&packed, b"x")]).unwrap(), format);
    }
    assert_eq!(look(None, &[("a.JSON", b"{\"a\": 1}\n{\"a\": 2}\n")]).unwrap(), "jsonl");
}

#[test]
fn folders_of_records() {
    let lines: [(&str, &[u8]); 3] = [("d/a.jsonl", b""), ("d/info.json", b""), ("d/README.txt", b"")];
    assert_eq!(look(Some("d"), &lines).unwrap(), "jsonl");
    assert_eq!(look(Some("d"), &[("d/data.mdb", b""), ("d/lock.mdb", b"")]).unwrap(), "lmdb");
    let index = br#"{"version": 2, "shards": [{"column_encodings": []}]}"#;
    assert_eq!(look(Some("d"), &[("d/index.json", index), ("d/shard.00000.mds", b"")]).unwrap(), "mds");
    assert_eq!(look(Some("d"), &[("d/a.txt", b""), ("d/b.txt", b"")]).unwrap(), "text");
    let documents: [(&str, &[u8]); 2] = [("d/a.json", b"{\"a\": 1}\n"), ("d/b.txt", b"")];
    assert_eq!(look(Some("d"), &documents).unwrap(), "jsonl");
}

#[test]
fn first_bytes_beat_names() {
    let record = infeed_records::tfrecord::framed(b"abc");
    assert_eq!(look(None, &[("train-00000-of-00001", &record)]).unwrap(), "tfrecord");
    assert_eq!(look(None, &[("x.csv", &record)]).unwrap(), "tfrecord");
}

#[test]
fn a_tie_names_both() {
    let message = refused(Some("d"), &[("d/a.csv", b""), ("d/a.jsonl", b"")]);
    assert!(message.contains("could be jsonl (") && message.contains("or csv ("), "{message}");
    assert!(message.contains("infeed.jsonl(...)") && message.contains("infeed.csv(...)"), "{message}");
    // More files win.
    assert_eq!(look(Some("d"), &[("d/a.csv", b""), ("d/b.csv", b""), ("d/a.jsonl", b"")]).unwrap(), "csv");
}

#[test]
fn strangers_are_called_by_their_name() {
    for (name, bytes, what) in [
        ("x.tar", &b"<!DOCTYPE html><p>Please log in"[..], "HTML, a web page"),
        ("x.json", b"{\n  \"a\": 1\n}\n", "one JSON document"),
        ("x.dat", b"PK\x03\x04", "a ZIP archive"),
        ("x.tar", b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    ] {
        let message = refused(None, &[(name, bytes)]);
        assert!(message.contains(what) && message.contains("infeed.files(paths)"), "{name}: {message}");
    }
}

#[test]
fn zarr_stores_are_told_by_their_metadata() {
    for head in ["zarr.json", ".zgroup", ".zarray"] {
        assert_eq!(look(None, &[(&format!("d/{head}"), b"{}")]).unwrap(), "zarr");
        let store = format!("d/{head}");
        assert_eq!(look(Some("d"), &[(&store, b"{}"), ("d/c/0.csv", b"")]).unwrap(), "zarr");
        let below = format!("d/a.zarr/{head}");
        assert_eq!(
            look(Some("d"), &[(&below, b"{}"), ("d/a.zarr/0.0", b""), ("d/a.csv", b"")]).unwrap(),
            "zarr"
        );
    }
    assert_eq!(look(Some("d"), &[("d/.cache/zarr.json", b"{}"), ("d/a.csv", b"")]).unwrap(), "csv");
}

#[test]
fn arrays_are_told_from_tokens() {
    use infeed_core::Dtype;
    let npy = |dtype, shape: &[usize]| infeed_records::npy::Header::write(dtype, shape);
    let volume = npy(Dtype::F32, &[64, 64, 64]);
    assert_eq!(look(None, &[("x.npy", &volume)]).unwrap(), "npy");
    assert_eq!(look(None, &[("array", &volume)]).unwrap(), "npy");
    assert_eq!(look(None, &[("x.npy", &npy(Dtype::U16, &[100]))]).unwrap(), "tokens");
    assert_eq!(look(None, &[("x.npy", &npy(Dtype::F32, &[100]))]).unwrap(), "npy");
    assert_eq!(look(Some("d"), &[("d/a.npy", b""), ("d/b.npy", b"")]).unwrap(), "npy");
    assert_eq!(look(None, &[("x.npz", b"PK\x03\x04")]).unwrap(), "npz");
    assert_eq!(look(None, &[("x.safetensors", b"\x02\0\0\0\0\0\0\0{}")]).unwrap(), "safetensors");
    assert_eq!(
        look(Some("d"), &[("d/a.safetensors", b""), ("d/config.json", b"{}")]).unwrap(),
        "safetensors"
    );
    assert_eq!(look(None, &[("x.pt", b"PK\x03\x04"), ("y.pth", b"PK\x03\x04")]).unwrap(), "pt");
    assert_eq!(look(Some("d"), &[("d/a.pt", b""), ("d/b.pt", b"")]).unwrap(), "pt");
    // Nothing says what such a file holds.
    assert!(refused(None, &[("x.memmap", b"\x01\x02\x03\x04")]).contains("memmap (.bin"));
    assert_eq!(look(None, &[("x.h5", b"\x89HDF\r\n\x1a\n")]).unwrap(), "hdf5");
    assert_eq!(look(None, &[("x.nc", b"\x89HDF\r\n\x1a\n")]).unwrap(), "hdf5");
    assert_eq!(look(None, &[("x.nc", b"CDF\x02\0\0\0\0")]).unwrap(), "netcdf");
    assert_eq!(look(Some("d"), &[("d/a.nc", b"CDF\x05"), ("d/b.nc", b"CDF\x05")]).unwrap(), "netcdf");
    assert_eq!(look(Some("d"), &[("d/a.nc", b"\x89HDF\r\n\x1a\n")]).unwrap(), "hdf5");
    assert_eq!(look(None, &[("model", b"\x89HDF\r\n\x1a\n")]).unwrap(), "hdf5");
    assert_eq!(look(None, &[("x.root", b"root\0\0\xf6\xfc")]).unwrap(), "root");
    assert_eq!(look(Some("d"), &[("d/a.root", b"root\0"), ("d/b.root", b"root\0")]).unwrap(), "root");
}

#[test]
fn what_is_not_known_is_described() {
    let other = refused(Some("d"), &[("d/a.xyz", b""), ("d/b.xyz", b""), ("d/c.md", b"")]);
    assert!(other.contains("in the folder `d` (2 .xyz, 1 .md; the first is `d/a.xyz`)"), "{other}");
    assert!(other.contains("Known: tar (.tar") && other.contains("infeed.wrap"), "{other}");
    assert!(refused(None, &[("a.xyz", b"")]).contains("1 .xyz"));
    let mixed = refused(None, &[("a.tar", b""), ("b.jsonl", b"")]);
    assert!(mixed.contains("`a.tar` is tar, `b.jsonl` is jsonl"), "{mixed}");
    assert!(matches!(look(None, &[]), Err(Error::Argument { .. })));
}
