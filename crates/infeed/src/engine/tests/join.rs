//! Several sources in one pipeline, and filters.

use super::*;
use infeed_core::OrderExt;
use std::collections::BTreeMap;

/// Two sources: `a` has the numbers from 0, `b` those from 1000.
#[derive(Debug)]
struct Offset(Numbers, u64);

impl Source for Offset {
    fn spec(&self) -> &Spec {
        self.0.spec()
    }
    fn shard_rows(&self) -> &[u64] {
        self.0.shard_rows()
    }
    fn shard_of(&self, _: u64) -> String {
        format!("from {}", self.1)
    }
    fn key(&self, row: u64) -> String {
        format!("k{}", row + self.1)
    }
    fn row_bytes(&self, row: u64, _: &[Arc<str>]) -> u64 {
        row + self.1
    }
    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let rows: Vec<u64> = rows.iter().map(|r| r + self.1).collect();
        self.0.fetch(&rows, fields)
    }
    fn column(&self, name: &str) -> Result<Option<Vec<i64>>> {
        let rows = 0..self.0.shards[0] as i64;
        Ok((name == "bytes").then(|| rows.map(|r| r + self.1 as i64).collect()))
    }
    fn describe(&self) -> String {
        format!("from {}", self.1)
    }
}

fn plan(recipe: &str) -> Result<Arc<Plan>> {
    let mut opened = 0;
    let plan = Plan::with(Recipe::from_json(recipe).unwrap(), &mut |source| {
        opened += 1;
        let start = if source.paths[0] == "a" { 0 } else { 1000 };
        Ok(Opened::Rows(Arc::new(Offset(Numbers::new(if start == 0 { 10 } else { 20 }), start))))
    })?;
    assert!(opened <= 2, "the same files are opened once");
    Ok(Arc::new(plan))
}

fn all(recipe: &str) -> Vec<i64> {
    let mut loader = Loader::new(plan(recipe).unwrap(), threads(2)).unwrap();
    let mut run = loader.start().unwrap();
    let mut out = vec![];
    while let Next::Batch(batch) = run.next(None).unwrap() {
        out.extend(numbers(&batch));
    }
    out
}

const INT: &str = r#"{"op": "decode", "fields": {"n": {"name": "int"}}}"#;
const A: &str = r#"{"source": {"paths": ["a"]}}"#;
const B: &str = r#"{"source": {"paths": ["b"]}}"#;

fn join(how: &str, parts: &[&str], stages: &str) -> String {
    format!(r#"{{"source": {{"join": {how}, "part": [{}]}}, "stage": [{stages}]}}"#, parts.join(", "))
}

#[test]
fn concat_and_interleave_and_blend() {
    let a: Vec<i64> = (0..10).collect();
    let b: Vec<i64> = (1000..1020).collect();
    let stages = format!(r#"{INT}, {{"op": "batch", "size": 7}}"#);
    assert_eq!(all(&join(r#"{"op": "concat"}"#, &[A, B], &stages)), [a.clone(), b.clone()].concat());
    let turns = all(&join(r#"{"op": "interleave", "stop": "all"}"#, &[A, B], &stages));
    assert_eq!(turns[..6], [0, 1000, 1, 1001, 2, 1002]);
    assert_eq!(turns.len(), 30);
    let mixed =
        all(&join(r#"{"op": "blend", "weights": [1, 3], "length": {"exactly": 16}}"#, &[A, B], &stages));
    assert_eq!(mixed.iter().filter(|n| **n < 1000).count(), 4);
    assert_eq!(mixed.iter().filter(|n| **n >= 1000).copied().collect::<Vec<_>>(), &b[..12]);
}

#[test]
fn parts_bring_their_own_stages() {
    let part =
        |path: &str, stages: &str| format!(r#"{{"source": {{"paths": ["{path}"]}}, "stage": [{stages}]}}"#);
    let some = part("a", &format!(r#"{INT}, {{"op": "slice", "start": 8}}"#));
    let rest = part("b", &format!(r#"{INT}, {{"op": "slice", "stop": 2}}"#));
    // The same files again, in another part.
    let more = part("a", &format!(r#"{INT}, {{"op": "slice", "stop": 1}}"#));
    let recipe = join(r#"{"op": "concat"}"#, &[&some, &rest, &more], "");
    assert_eq!(all(&recipe), [8, 9, 1000, 1001, 0]);
    // Parts that do not fit together.
    let decoded = part("a", INT);
    let error = plan(&join(r#"{"op": "concat"}"#, &[&decoded, B], "")).unwrap_err().to_string();
    assert!(
        error.contains("the field `n` is i64 in the parts before, but encoded bytes in part 1"),
        "{error}"
    );
    let batched = part("a", r#"{"op": "batch", "size": 2}"#);
    let error = plan(&join(r#"{"op": "concat"}"#, &[&batched, B], "")).unwrap_err().to_string();
    assert!(error.contains("part 0 makes batches"), "{error}");
    let error = plan(r#"{"source": {"paths": []}}"#).unwrap_err().to_string();
    assert!(error.contains("needs `paths`"), "{error}");
}

#[test]
fn filters_before_and_after_reading() {
    let filter =
        |expr: &str| format!(r#"{INT}, {{"op": "filter", "expr": "{expr}"}}, {{"op": "batch", "size": 4}}"#);
    let both = |stages: &str| join(r#"{"op": "concat"}"#, &[A, B], stages);
    // On facts of the row: the length is known, and batches are full.
    for expr in [
        "bytes >= 1015 or row < 2",
        "key in ('k0', 'k1') or bytes > 1014",
        "shard like '* 1000' and bytes >= 1015 or row <= 1",
    ] {
        let found = plan(&both(&filter(expr))).unwrap();
        assert_eq!(found.order.rows(0, 0..99), [0, 1, 25, 26, 27, 28, 29], "{expr}");
    }
    assert_eq!(all(&both(&filter("bytes >= 1015 or row < 2"))), [0, 1, 1015, 1016, 1017, 1018, 1019]);
    // On the sample: batches get shorter, but every step exists.
    let recipe = both(&filter("n % 2 == 0 and key != 'k2'"));
    assert_eq!(all(&recipe), [0, 4, 6, 8, 1000, 1002, 1004, 1006, 1008, 1010, 1012, 1014, 1016, 1018]);
    let mut loader = Loader::new(plan(&recipe).unwrap(), threads(1)).unwrap();
    let mut run = loader.start().unwrap();
    let mut sizes = vec![];
    while let Next::Batch(batch) = run.next(None).unwrap() {
        assert_eq!(batch.left_out.len() + batch.len(), if sizes.len() == 7 { 2 } else { 4 });
        sizes.push(batch.len());
    }
    assert_eq!(sizes, [1, 2, 2, 2, 2, 2, 2, 1]);
    // Errors.
    for (expr, wanted) in [
        ("raw == 1", "cannot compare `raw`, which is encoded bytes"),
        ("cls == 1", "there is no field `cls`"),
        ("row < 0", "keeps none of the 30 rows"),
        ("row <", "expect"),
        ("key < 3", "filter"),
    ] {
        let error = plan(&both(&filter(expr))).unwrap_err().to_string();
        assert!(error.contains(wanted), "{expr}: {error}");
    }
}

#[test]
fn columns_that_are_read_for_balancing() {
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    let labels: Vec<String> = (0..10).map(|i| (i / 8).to_string()).collect();
    let stage = format!(r#"{{"op": "balance", "by": [{}]}}, {INT}"#, labels.join(","));
    let recipe = format!(r#"{{"source": {{"paths": ["a"]}}, "stage": [{stage}]}}"#);
    for n in all(&recipe) {
        *counts.entry(n / 8).or_default() += 1;
    }
    assert_eq!(counts, BTreeMap::from([(0, 8), (1, 8)]));
    // Each row is a class of its own when its number is the label, read from the field.
    let recipe =
        format!(r#"{{"source": {{"paths": ["a"]}}, "stage": [{{"op": "balance", "by": "n"}}, {INT}]}}"#);
    let mut rows = all(&recipe);
    rows.sort_unstable();
    assert_eq!(rows, (0..10).collect::<Vec<i64>>());
}
