//! Tests that every byte comes from the store.

use super::{disk::Disk, *};
use arrow_array::{Float32Array, Int64Array, StringArray};
use infeed_core::{FileLook, OpenRequest, Opened, Sure};
use serde_json::{Map, json};
use std::{fs, sync::atomic::Ordering::Relaxed};

fn on(disk: &Arc<Disk>) -> Arc<dyn Store> {
    disk.clone()
}

fn file(folder: &Path) -> String {
    let ints: Int64Array = (0..100).collect();
    let floats: Float32Array = (0..100).map(|i| i as f32).collect();
    let texts: StringArray = (0..100).map(|i| Some(i.to_string())).collect();
    let columns: Vec<(&str, ArrayRef)> =
        vec![("x", Arc::new(ints)), ("f", Arc::new(floats)), ("t", Arc::new(texts))];
    parquet(&folder.join("a.parquet"), columns, 50)
}

#[test]
fn mapped_where_the_store_can_and_read_by_ranges_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    for (remote, read, maps) in
        [(false, "mmap", 1), (false, "pread", 0), (true, "mmap", 0), (true, "pread", 0)]
    {
        let disk = Arc::new(Disk { remote, ..Disk::default() });
        let args = json!({"read": read});
        let source =
            crate::open_table(&on(&disk), "parquet", std::slice::from_ref(&path), args.as_object().unwrap());
        let source = source.unwrap();
        let opened = disk.reads.load(Relaxed);
        assert_eq!(all(&source, "x")[99], "99");
        assert_eq!((all(&source, "f")[3].as_str(), all(&source, "t")[7].as_str()), ("3", "7"));
        assert_eq!(disk.maps.load(Relaxed), maps, "{remote} {read}");
        // One request per block and field; if mapped, none but a hint.
        let (reads, hints) = (disk.reads.load(Relaxed) - opened, disk.hints.load(Relaxed));
        assert_eq!((reads, hints), if maps == 1 { (0, 6) } else { (6, 0) }, "{remote} {read}");
    }
}

#[test]
fn all_columns_of_a_block_are_one_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    let disk = Arc::new(Disk { remote: true, ..Disk::default() });
    let source = crate::open_table(&on(&disk), "parquet", &[path], &Map::new()).unwrap();
    let opened = disk.reads.load(Relaxed);
    source.fetch(&[0, 99], &names(&["x", "f", "t"])).unwrap();
    assert_eq!(disk.reads.load(Relaxed) - opened, 2);
}

#[test]
fn opening_takes_few_requests() {
    let folder = tempfile::tempdir().unwrap();
    let far = || Arc::new(Disk { remote: true, ..Disk::default() });
    let disk = far();
    crate::open_table(&on(&disk), "parquet", &[file(folder.path())], &Map::new()).unwrap();
    assert_eq!(disk.reads.load(Relaxed), 1, "the footer and its length in one request");
    let path = folder.path().join("a.arrow").display().to_string();
    let ints: Int64Array = (0..10).collect();
    let batch = RecordBatch::try_from_iter([("x", Arc::new(ints) as ArrayRef)]).unwrap();
    let out = File::create(&path).unwrap();
    let mut out = arrow_ipc::writer::StreamWriter::try_new(out, &batch.schema()).unwrap();
    (0..20).for_each(|_| out.write(&batch).unwrap());
    out.finish().unwrap();
    let disk = far();
    let source = crate::open_table(&on(&disk), "arrow", &[path], &Map::new()).unwrap();
    assert_eq!(source.block_rows().len(), 20);
    assert!(disk.reads.load(Relaxed) <= 2, "{}", disk.reads.load(Relaxed));
    assert_eq!(all(&source, "x")[199], "9");
}

#[test]
fn a_database_must_lie_on_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db").display().to_string();
    let made = rusqlite::Connection::open(&path).unwrap();
    made.execute_batch("CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (4), (5);").unwrap();
    drop(made);
    let near = Arc::new(Disk::default());
    assert_eq!(crate::kind_of(&on(&near), &path).unwrap(), "sqlite");
    let source = crate::open_table(&on(&near), "sqlite", std::slice::from_ref(&path), &Map::new()).unwrap();
    assert_eq!(all(&source, "x"), ["4", "5"]);
    let far = Arc::new(Disk { remote: true, ..Disk::default() });
    let error = crate::open_table(&on(&far), "sqlite", &[path], &Map::new()).unwrap_err().to_string();
    assert!(error.contains("a.db") && error.contains("copy it there"), "{error}");
}

#[test]
fn folders_are_listed_by_the_store() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("sub")).unwrap();
    fs::create_dir_all(folder.path().join("_notes")).unwrap();
    let path = file(folder.path());
    fs::copy(&path, folder.path().join("sub/b.parquet")).unwrap();
    fs::copy(&path, folder.path().join("_notes/c.parquet")).unwrap();
    fs::write(folder.path().join("_SUCCESS.parquet"), b"").unwrap();
    let store = on(&Arc::default());
    let name = folder.path().display().to_string();
    assert_eq!(crate::kind_of(&store, &name).unwrap(), "parquet");
    let source = crate::open_table(&store, "parquet", std::slice::from_ref(&name), &Map::new()).unwrap();
    assert_eq!(source.shard_rows(), [100, 100]);
    let error = crate::open_table(&store, "avro", &[name], &Map::new()).unwrap_err().to_string();
    assert!(error.contains("no .avro file"), "{error}");
}

#[test]
fn a_saved_data_set_is_the_files_that_it_lists() {
    let folder = tempfile::tempdir().unwrap();
    for split in ["train", "test"] {
        let inside = folder.path().join(split);
        fs::create_dir_all(&inside).unwrap();
        let ints: Int64Array = (0..if split == "train" { 7 } else { 3 }).collect();
        let batch = RecordBatch::try_from_iter([("x", Arc::new(ints) as ArrayRef)]).unwrap();
        let out = File::create(inside.join("data-00000-of-00001.arrow")).unwrap();
        let mut out = arrow_ipc::writer::StreamWriter::try_new(out, &batch.schema()).unwrap();
        out.write(&batch).unwrap();
        out.finish().unwrap();
        let state = json!({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]});
        fs::write(inside.join("state.json"), state.to_string()).unwrap();
    }
    fs::write(folder.path().join("dataset_dict.json"), r#"{"splits": ["train", "test"]}"#).unwrap();
    let store = on(&Arc::default());
    let name = folder.path().display().to_string();
    assert_eq!(crate::kind_of(&store, &name).unwrap(), "arrow");
    let open = |path: &str, args: Json| {
        crate::open_table(&store, "arrow", &[path.to_owned()], args.as_object().unwrap())
    };
    assert_eq!(open(&name, json!({"split": "train"})).unwrap().rows(), 7);
    assert_eq!(open(&format!("{name}/test"), json!({})).unwrap().rows(), 3);
    let error = open(&name, json!({})).unwrap_err().to_string();
    assert!(error.contains("split=") && error.contains("train, test"), "{error}");
    let error = open(&name, json!({"split": "dev"})).unwrap_err().to_string();
    assert!(error.contains("no split \"dev\""), "{error}");
    let error = open(&format!("{name}/test"), json!({"split": "dev"})).unwrap_err().to_string();
    assert!(error.contains("no splits"), "{error}");
    // What it lists must be its own.
    let there = format!("{name}/train/data-00000-of-00001.arrow");
    for path in ["../train/data-00000-of-00001.arrow", there.as_str(), "http://host/a.arrow"] {
        let state = json!({"_data_files": [{"filename": path}]});
        fs::write(folder.path().join("test/state.json"), state.to_string()).unwrap();
        let error = open(&format!("{name}/test"), json!({})).unwrap_err().to_string();
        assert!(error.contains("not below its folder") && error.contains("state.json"), "{error}");
    }
}

#[test]
fn entries_open_and_know_their_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [file(folder.path())];
    let store = on(&Arc::default());
    let entry = crate::ENTRIES.iter().copied().find(|entry| entry.name == "parquet").unwrap();
    let request = |given| OpenRequest {
        entry,
        store: &store,
        paths: &paths,
        found: None,
        listed: None,
        given,
        threads: 2,
    };
    let none = Map::new();
    let Opened::Rows(source) = entry.open(request(&none)).unwrap() else { panic!("a stream") };
    assert_eq!(source.rows(), 100);
    let wrong = json!({"colums": ["x"]});
    let error = entry.open(request(wrong.as_object().unwrap())).unwrap_err().to_string();
    assert!(error.contains("did you mean `columns`"), "{error}");
    for entry in crate::ENTRIES {
        assert!(entry.can.blocks && entry.can.rows && !entry.can.stream, "{}", entry.name);
        assert_eq!(entry.can.remote, entry.name != "sqlite");
        assert!(entry.params.iter().any(|param| param.name == "matrix"), "{}", entry.name);
        // Every default is valid.
        infeed_core::Args::new(entry.name, entry.params, &Map::new()).unwrap();
    }
}

#[test]
fn files_are_told_by_their_first_bytes() {
    let look = |name: &str, head: &[u8]| -> Vec<(&str, Sure)> {
        let file = FileLook { name, head, size: 100, alone: true };
        crate::ENTRIES.iter().filter_map(|e| Some((e.name, e.look(&file)?.sure))).collect()
    };
    assert_eq!(look("a.bin", b"PAR1...."), [("parquet", Sure::Head)]);
    assert_eq!(look("a.parquet", b"PAR1...."), [("parquet", Sure::Certain)]);
    assert_eq!(look("a", &[0xff, 0xff, 0xff, 0xff, 8, 0]), [("arrow", Sure::Head)]);
    assert_eq!(look("a.feather", b"ARROW1\0\0"), [("arrow", Sure::Certain)]);
    assert_eq!(look("a", b"Obj\x01"), [("avro", Sure::Head)]);
    assert_eq!(look("a", b"SQLite format 3\0"), [("sqlite", Sure::Head)]);
    // The row-by-row format takes these unless a table is requested.
    assert_eq!(look("a.CSV", b"x,y\n"), [("csv_table", Sure::Barely)]);
    assert_eq!(look("a.txt", b"x,y\n"), []);
}
