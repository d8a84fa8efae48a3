//! Databases that are not trusted.

use super::*;
use rusqlite::Connection;
use serde_json::json;
use std::fs;

fn database(path: &Path, sql: &str) -> String {
    let made = Connection::open(path).unwrap();
    made.execute_batch(sql).unwrap();
    made.close().unwrap();
    path.display().to_string()
}

fn open_sqlite(path: &str, args: Json) -> Result<TableSource> {
    opened("sqlite", &[path.to_owned()], &args)
}

fn beside(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn reading_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let sql = "PRAGMA journal_mode=WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, a INT); INSERT INTO t VALUES (1, 5), (2, 6);";
    let path = database(&folder.path().join("a b?.db"), sql);
    assert_eq!(beside(folder.path()), ["a b?.db"]);
    let source = open_sqlite(&path, json!({})).unwrap();
    assert_eq!(all(&source, "a"), ["5", "6"]);
    assert_eq!(beside(folder.path()), ["a b?.db"]);
    drop(source);
    assert_eq!(beside(folder.path()), ["a b?.db"]);
}

#[test]
fn a_log_that_is_there_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    database(
        &path,
        "PRAGMA journal_mode=WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, a INT); INSERT INTO t VALUES (1, 5);",
    );
    let name = path.display().to_string();
    let before = open_sqlite(&name, json!({})).unwrap();
    assert_eq!(all(&before, "a"), ["5"]);
    // The writer stays, so that its rows are in the log alone.
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("INSERT INTO t VALUES (2, 6)").unwrap();
    assert_eq!(all(&open_sqlite(&name, json!({})).unwrap(), "a"), ["5", "6"]);
    // What was opened without a log notices that there is one, and reads with locks from then on.
    let again = open_sqlite(&name, json!({"columns": ["id"]})).unwrap();
    assert_eq!(all(&again, "id"), ["1", "2"]);
    assert_eq!(words(&fetch(&before, &[0], "id").unwrap()[0]), "1");
}

#[test]
fn computed_columns_are_columns() {
    let folder = tempfile::tempdir().unwrap();
    let sql = "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b INT GENERATED ALWAYS AS (a * 2) VIRTUAL,
               c TEXT GENERATED ALWAYS AS ('x' || a) STORED); INSERT INTO t(id, a) VALUES (1, 5), (2, NULL);";
    let path = database(&folder.path().join("t.db"), sql);
    let source = open_sqlite(&path, json!({})).unwrap();
    assert_eq!(all(&source, "b"), ["10", "missing"]);
    assert_eq!(all(&source, "c"), ["x5", "missing"]);
}

#[test]
fn computed_values_cannot_fill_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let rows =
        "INSERT INTO t(id, a) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 64)
                SELECT i, 1 FROM n;";
    let table = |name: &str, bytes: u64| {
        let sql = format!(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b BLOB GENERATED ALWAYS AS (zeroblob({bytes})) VIRTUAL); {rows}"
        );
        database(&folder.path().join(name), &sql)
    };
    // One value that is too large, and many that are too large together.
    for (name, bytes, memory, word) in [
        ("one.db", 900_000_000, None, "leave its column out"),
        ("many.db", 5_000_000, None, "the page takes more"),
        ("less.db", 1_000_000, Some(2_000_000), "the page takes more"),
        ("few.db", 3_000_000, Some(2_000_000), "too big"),
    ] {
        let source = open_sqlite(&table(name, bytes), json!({})).unwrap();
        memory.into_iter().for_each(|bytes| source.set_memory(Some(bytes)));
        let error = fetch(&source, &[0], "b").unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("memory="), "{name}: {error}");
        assert_eq!(all(&source, "a").len(), 64);
    }
    // What is stored may be as large as it is.
    let sql =
        "CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB); INSERT INTO t VALUES (1, randomblob(20000000));";
    let path = database(&folder.path().join("stored.db"), sql);
    let source = open_sqlite(&path, json!({})).unwrap();
    assert!(
        matches!(&fetch(&source, &[0], "b").unwrap()[0], Value::Bytes(bytes) if bytes.len() == 20_000_000)
    );
}

#[test]
fn schemas_call_harmless_functions_only() {
    let folder = tempfile::tempdir().unwrap();
    // A function with effects may not be called by a view of the file; a query of the user's may.
    let sql = "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT); INSERT INTO t VALUES (1, 5);
               CREATE VIEW v AS SELECT id, load_extension('nowhere') AS x FROM t;";
    let path = database(&folder.path().join("t.db"), sql);
    let error = open_sqlite(&path, json!({"table": "v", "key": "id"})).unwrap_err().to_string();
    assert!(error.contains("unsafe use of load_extension"), "{error}");
}
