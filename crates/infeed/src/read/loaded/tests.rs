use super::*;
use crate::store::MemoryStore;
use bytes::Bytes;
use infeed_core::{Dtype, Tensor, Value};

/// Rows of these values in the fields `a`, `b`, ..., in two shards.
#[derive(Debug)]
struct Rows {
    spec: Spec,
    rows: Vec<Vec<Value>>,
    shard_rows: Vec<u64>,
}

impl Rows {
    fn source(kinds: &[FieldSpec], rows: Vec<Vec<Value>>) -> Arc<dyn Source> {
        let name = |at: usize| ["a", "b", "c"][at].into();
        let fields = kinds.iter().enumerate().map(|(at, kind)| (name(at), kind.clone())).collect();
        let first = rows.len() as u64 / 2;
        let shard_rows = vec![first, rows.len() as u64 - first];
        Arc::new(Rows { spec: Spec { fields }, rows, shard_rows })
    }
}

impl Source for Rows {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn shard_rows(&self) -> &[u64] {
        &self.shard_rows
    }

    fn shard_of(&self, row: u64) -> String {
        format!("mem:{}/t.csv", u64::from(row >= self.shard_rows[0]))
    }

    fn key(&self, row: u64) -> String {
        row.to_string()
    }

    fn row_bytes(&self, _row: u64, fields: &[Arc<str>]) -> u64 {
        10 * fields.len() as u64
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let value = |row: u64, field: &str| {
            self.spec.position(field).map_or(Value::Missing, |at| self.rows[row as usize][at].clone())
        };
        Ok(rows
            .iter()
            .map(|row| Record { fields: fields.iter().map(|f| value(*row, f)).collect() })
            .collect())
    }

    fn describe(&self) -> String {
        "rows".to_owned()
    }
}

fn store() -> Arc<dyn Store> {
    let names = ["0/x.jpg", "0/y.jpg", "1/x.jpg", "1/y.jpg", "all/7.png", "all/8.png", "all/x.jpg"];
    Arc::new(names.iter().map(|name| (format!("mem:{name}"), name.to_owned())).collect::<MemoryStore>())
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn names(fields: &[&str]) -> Vec<Arc<str>> {
    fields.iter().map(|field| Arc::from(*field)).collect()
}

fn words(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Text(text) => format!("text {text}"),
        other => other.what().to_owned(),
    }
}

fn fetch(source: &dyn Source, rows: &[u64], fields: &[&str]) -> Result<Vec<String>> {
    let records = source.fetch(rows, &names(fields))?;
    Ok(records.iter().map(|r| r.fields.iter().map(words).collect::<Vec<_>>().join(", ")).collect())
}

#[test]
fn files_are_beside_their_shard_or_below_the_root() {
    let rows = Rows::source(
        &[FieldSpec::text(), FieldSpec::scalar(Dtype::I64)],
        ["x", "y", "x", "y"]
            .iter()
            .zip(5..)
            .map(|(name, id)| vec![text(&format!("{name}.jpg")), Value::Tensor(Tensor::int(id))])
            .collect(),
    );
    let near = FileColumn::new(rows.spec(), "a", "a", None, None).unwrap();
    let far = FileColumn::new(rows.spec(), "b", "image", Some("mem:all"), Some("{}.png")).unwrap();
    let source = Loaded::new(Arc::clone(&rows), store(), vec![near, far]);
    // Rows come in any order, a field may be asked for with and without its file, and files without their path.
    let got = fetch(&source, &[3, 0, 1, 3], &["a (file)", "a"]).unwrap();
    assert_eq!(
        got,
        ["1/y.jpg, text y.jpg", "0/x.jpg, text x.jpg", "0/y.jpg, text y.jpg", "1/y.jpg, text y.jpg"]
    );
    assert_eq!(fetch(&source, &[2, 3], &["image (file)"]).unwrap(), ["all/7.png", "all/8.png"]);
    assert_eq!(fetch(&source, &[0], &["a"]).unwrap(), ["text x.jpg"]);
    assert!(fetch(&source, &[0], &["a (file)", "image (file)"]).is_err());
    assert_eq!(source.row_bytes(0, &names(&["a", "a (file)"])), 10 + 7);
    assert_eq!((source.rows(), source.key(1)), (4, "1".to_owned()));
    assert_eq!(source.fields_of_states(), rows.fields_of_states());
    assert!(!source.fills("a (file)"));
    assert_eq!(source.describe(), "rows, with the files that `a` names, the files that `b` names");
}

#[test]
fn every_kind_of_value_that_can_be_a_path() {
    let json = |text: &str| Value::Json(text.to_owned());
    let kinds = [FieldSpec::json(), FieldSpec::encoded(), FieldSpec::scalar(Dtype::U8)];
    let number = |n: u8| Value::Tensor(Tensor::new(Dtype::U8, vec![], Bytes::copy_from_slice(&[n])).unwrap());
    let rows = Rows::source(
        &kinds,
        vec![
            vec![json(r#"{"p": {"q": "x.jpg"}}"#), Value::Bytes("x.jpg\r\n".into()), number(7)],
            vec![json(r#"{"p": {"q": 7}}"#), Value::Bytes(Bytes::from_static(b"\xff")), number(9)],
            vec![json(r#"{"p": {"q": null}}"#), Value::Missing, Value::Missing],
            vec![json(r#"{"p": ["x.jpg"]}"#), Value::Bytes(Bytes::new()), number(8)],
        ],
    );
    let root = Some("mem:all/");
    let column = |name: &str, pattern| FileColumn::new(rows.spec(), name, name, root, pattern).unwrap();
    let columns = vec![column("a.p.q", None), column("b", None), column("c", Some("{}.png"))];
    let source = Loaded::new(Arc::clone(&rows), store(), columns);
    let one = |row, field| fetch(&source, &[row], &[field]).map_err(|e| e.to_string());
    assert_eq!(one(0, "a.p.q (file)").unwrap(), ["all/x.jpg"]);
    assert!(one(1, "a.p.q (file)").unwrap_err().contains("`mem:all/7`, which is not found"));
    for row in [2, 3] {
        assert!(one(row, "a.p.q (file)").unwrap_err().contains("`a.p.q` has no path, but nothing"));
    }
    assert_eq!(one(0, "b (file)").unwrap(), ["all/x.jpg"]);
    assert!(one(1, "b (file)").unwrap_err().contains("no UTF-8"));
    assert!(one(2, "b (file)").unwrap_err().contains("nothing"));
    assert!(one(3, "b (file)").unwrap_err().contains("empty"));
    assert_eq!(one(0, "c (file)").unwrap(), ["all/7.png"]);
    assert_eq!(one(3, "c (file)").unwrap(), ["all/8.png"]);
}

#[test]
fn columns_that_cannot_name_files_are_refused() {
    let kinds = [FieldSpec::scalar(Dtype::F32), FieldSpec::text(), FieldSpec::scalar(Dtype::Bool)];
    let spec = Rows::source(&kinds, vec![]).spec().clone();
    for name in ["a", "c", "a.b", "d", "d.e"] {
        let error = FileColumn::new(&spec, name, name, None, None).unwrap_err();
        assert!(matches!(error, Error::Plan { .. }), "{name}: {error}");
    }
    for pattern in ["", "x", "{}{}", "{}/{}.jpg"] {
        assert!(FileColumn::new(&spec, "b", "b", None, Some(pattern)).is_err(), "{pattern}");
    }
}

#[test]
fn files_have_a_limit() {
    let rows = Rows::source(&[FieldSpec::text()], vec![vec![text("x.jpg")]]);
    let column = FileColumn::new(rows.spec(), "a", "a", None, None).unwrap();
    let source = Loaded::new(rows, store(), vec![column]);
    source.set_largest_row(7);
    fetch(&source, &[0], &["a (file)"]).unwrap();
    source.set_largest_row(6);
    let error = fetch(&source, &[0], &["a (file)"]).unwrap_err().to_string();
    assert!(error.contains("1/x.jpg`: it would take 7 bytes") && error.contains("memory="), "{error}");
}
