use super::*;
use bytes::Bytes;
use infeed_core::{FieldSpec, Value};
use proptest::prelude::*;
use std::{ops::Range, sync::Mutex};

/// A shard whose row `r` is the byte `r`, four times, as the field `x`; only even rows have `y`.
#[derive(Debug)]
struct Fours(u64, &'static [&'static str]);

impl Index for Fours {
    fn rows(&self) -> u64 {
        self.0
    }
    fn fields(&self) -> Vec<(Arc<str>, FieldSpec)> {
        self.1.iter().map(|f| ((*f).into(), FieldSpec::encoded())).collect()
    }
    fn key(&self, row: u64) -> String {
        format!("k{row}")
    }
    fn row_bytes(&self, _: u64, fields: &[Arc<str>]) -> u64 {
        4 * fields.len() as u64
    }
    fn ranges(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Range<u64>>> {
        let has = |row: u64, field: &str| field == "x" || (field == "y" && row.is_multiple_of(2));
        let pairs = rows.iter().flat_map(|r| fields.iter().map(move |f| (*r, f)));
        Ok(pairs.filter(|(r, f)| has(*r, f)).map(|(r, _)| 4 * r..4 * r + 4).collect())
    }
    fn cut(&self, rows: &[u64], fields: &[Arc<str>], bytes: Vec<Bytes>) -> Result<Vec<Record>> {
        let mut bytes = bytes.into_iter();
        let mut value = |row: u64, field: &str| match field {
            "x" => Value::Bytes(bytes.next().unwrap()),
            "y" if row.is_multiple_of(2) => Value::Bytes(bytes.next().unwrap()),
            _ => Value::Missing,
        };
        Ok(rows.iter().map(|r| Record { fields: fields.iter().map(|f| value(*r, f)).collect() }).collect())
    }
}

/// Counts its reads.
#[derive(Debug, Default)]
struct Counting(Mutex<Vec<(String, Range<u64>)>>);

impl Store for Counting {
    fn list(&self, _: &str) -> Result<Vec<Shard>> {
        Ok(vec![])
    }
    fn stat(&self, _: &[String]) -> Result<Vec<Shard>> {
        Ok(vec![])
    }
    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.0.lock().unwrap().extend(ranges.iter().map(|r| (shard.name.to_string(), r.clone())));
        Ok(ranges.iter().map(|r| r.clone().map(|i| (i / 4) as u8).collect()).collect())
    }
}

/// The same on a network file system.
#[derive(Debug)]
struct Mounted(Arc<Counting>);

impl Store for Mounted {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.0.list(prefix)
    }
    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.0.stat(names)
    }
    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.0.read(shard, ranges)
    }
    fn network(&self, _: &str) -> Option<&'static str> {
        Some("nfs")
    }
}

fn source(rows: &[u64]) -> (Arc<Counting>, StoreSource) {
    let store = Arc::new(Counting::default());
    let shards = rows.iter().enumerate().map(|(i, n)| Shard {
        name: format!("s{i}").into(),
        size: 4 * n,
        modified: None,
        version: None,
    });
    let indices = rows.iter().map(|n| Arc::new(Fours(*n, &["x", "y"])) as Arc<dyn Index>).collect();
    let source = StoreSource::new(Arc::clone(&store) as _, "fours", shards.collect(), indices).unwrap();
    (store, source)
}

fn first_byte(value: &Value) -> Option<u8> {
    match value {
        Value::Bytes(bytes) => Some(bytes[0]),
        _ => None,
    }
}

#[test]
fn rows_come_back_in_the_order_asked_for() {
    let (store, source) = source(&[0, 5, 0, 3, 0]);
    assert_eq!(source.rows(), 8);
    let got = source.fetch(&[7, 2, 0, 1, 2, 5], &["x".into(), "y".into()]).unwrap();
    let xs: Vec<_> = got.iter().map(|r| first_byte(&r.fields[0])).collect();
    let ys: Vec<_> = got.iter().map(|r| first_byte(&r.fields[1])).collect();
    assert_eq!(xs, [Some(2), Some(2), Some(0), Some(1), Some(2), Some(0)]);
    assert_eq!(ys, [Some(2), Some(2), Some(0), None, Some(2), Some(0)]);
    // Two shards, one joined read each.
    assert_eq!(*store.0.lock().unwrap(), [("s1".to_owned(), 0..12), ("s3".to_owned(), 0..12)]);
    assert_eq!((source.shard_of(5), source.key(5)), ("s3".to_owned(), "k0".to_owned()));
    assert_eq!((source.shard_of(4), source.key(4)), ("s1".to_owned(), "k4".to_owned()));
    assert!(source.fetch(&[8], &["x".into()]).is_err());
    assert!(source.fetch(&[], &["x".into()]).unwrap().is_empty());
    assert!(source.describe().contains("8 rows in 5 shards"));
}

#[test]
fn fields_are_joined_and_sorted() {
    let shard = |n: &str| Shard { name: n.into(), size: 4, modified: None, version: None };
    let indices: Vec<Arc<dyn Index>> = vec![Arc::new(Fours(1, &["y"])), Arc::new(Fours(1, &["x", "y"]))];
    let source =
        StoreSource::new(Arc::new(Counting::default()), "fours", vec![shard("a"), shard("b")], indices)
            .unwrap();
    let names: Vec<&str> = source.spec().fields.iter().map(|(n, _)| &**n).collect();
    assert_eq!(names, ["x", "y"]);
}

#[test]
fn no_rows_are_an_error() {
    let store: Arc<dyn Store> = Arc::new(Counting::default());
    let shard = Shard { name: "empty.tar".into(), size: 0, modified: None, version: None };
    let error = StoreSource::new(store, "fours", vec![shard], vec![Arc::new(Fours(0, &[]))]).unwrap_err();
    assert!(error.to_string().contains("no rows in 1 shards (the first is `empty.tar`)"), "{error}");
}

proptest! {
    #[test]
    fn any_rows_of_any_shards(sizes in prop::collection::vec(0u64..20, 1..6), picks in prop::collection::vec(any::<u64>(), 0..40)) {
        let total: u64 = sizes.iter().sum();
        prop_assume!(total > 0);
        let (_, source) = source(&sizes);
        let rows: Vec<u64> = picks.iter().map(|p| p % total).collect();
        let numbers: Vec<u8> = sizes.iter().flat_map(|n| 0..*n as u8).collect();
        let got = source.fetch(&rows, &["x".into()]).unwrap();
        for (row, record) in rows.iter().zip(&got) {
            prop_assert_eq!(first_byte(&record.fields[0]), Some(numbers[*row as usize]));
        }
    }
}

#[test]
fn rows_of_a_network_file_system_are_joined_over_larger_gaps() {
    let (near, source) = source(&[50_000]);
    assert_eq!(source.network(), None);
    let far = Arc::new(Counting::default());
    let store: Arc<dyn Store> = Arc::new(Mounted(Arc::clone(&far)));
    let shard = Shard { name: "s".into(), size: 200_000, modified: None, version: None };
    let mounted =
        StoreSource::new(store, "fours", vec![shard], vec![Arc::new(Fours(50_000, &["x"]))]).unwrap();
    assert_eq!(mounted.network(), Some("nfs"));
    let rows = [0, 10_000, 49_999];
    let values = |source: &StoreSource| -> Vec<Option<u8>> {
        let records = source.fetch(&rows, &["x".into()]).unwrap();
        records.iter().map(|record| first_byte(&record.fields[0])).collect()
    };
    assert_eq!(values(&mounted), values(&source));
    assert_eq!(near.0.lock().unwrap().len(), 3);
    assert_eq!(*far.0.lock().unwrap(), [("s".to_owned(), 0..200_000)]);
}
