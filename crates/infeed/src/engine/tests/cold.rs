//! Reads that come from a device or a network file system.

use super::*;
use std::sync::Mutex;

/// Numbers whose reads take a while, as those of a device do. It keeps what was announced.
#[derive(Debug, Default)]
struct Slow {
    numbers: Numbers,
    network: Option<&'static str>,
    announced: Mutex<Vec<u64>>,
    /// Rows of the largest fetch.
    largest: AtomicU64,
}

impl Source for Slow {
    fn spec(&self) -> &Spec {
        self.numbers.spec()
    }
    fn shard_rows(&self) -> &[u64] {
        self.numbers.shard_rows()
    }
    fn shard_of(&self, row: u64) -> String {
        self.numbers.shard_of(row)
    }
    fn key(&self, row: u64) -> String {
        self.numbers.key(row)
    }
    fn row_bytes(&self, _: u64, _: &[Arc<str>]) -> u64 {
        100_000
    }
    fn network(&self) -> Option<&'static str> {
        self.network
    }
    fn will_fetch(&self, rows: &[u64], _: &[Arc<str>]) {
        self.announced.lock().unwrap().extend(rows);
    }
    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        std::thread::sleep(Duration::from_millis(2));
        self.largest.fetch_max(rows.len() as u64, Relaxed);
        self.numbers.fetch(rows, fields)
    }
    fn describe(&self) -> String {
        "slow numbers".to_owned()
    }
}

fn slow(rows: u64, network: Option<&'static str>, recipe: &str) -> (Arc<Slow>, Loader) {
    let source = Arc::new(Slow { numbers: Numbers::new(rows), network, ..Slow::default() });
    let plan = Plan::new(Recipe::from_json(recipe).unwrap(), Arc::clone(&source) as Arc<dyn Source>).unwrap();
    (source, Loader::new(Arc::new(plan), Options { persistent: false, ..threads(2) }).unwrap())
}

#[test]
fn a_device_is_told_what_is_read_next() {
    let all = epoch(&mut loader(Numbers::new(200), RECIPE, threads(2))).unwrap();
    let (source, mut one) = slow(200, None, RECIPE);
    assert_eq!(epoch(&mut one).unwrap(), all);
    let announced = source.announced.lock().unwrap();
    let different: HashSet<u64> = announced.iter().copied().collect();
    assert_eq!(different.len(), announced.len(), "no row is announced twice");
    assert_eq!(different.len(), 200);
    assert_eq!(one.stats().network, None);
}

#[test]
fn a_network_file_system_is_read_in_large_pieces_by_many_threads() {
    let ordered = r#"{"source": {"paths": ["x"]}, "stage": [
        {"op": "decode", "fields": {"n": {"name": "int"}}}, {"op": "batch", "size": 64}]}"#;
    let (source, mut one) = slow(300, Some("nfs"), ordered);
    assert_eq!(epoch(&mut one).unwrap().concat(), (0..300).collect::<Vec<i64>>());
    assert!(source.announced.lock().unwrap().is_empty());
    assert_eq!(source.largest.load(Relaxed), 41, "4 MiB in one read");
    let stats = one.stats();
    assert_eq!((stats.network, stats.io_threads), (Some("nfs"), 32));
    assert!(stats.to_string().contains("network    nfs, read by 32 threads"), "{stats}");
    assert!(one.plan().explain().contains("from nfs, a network file system"));
    // Rows that are far from each other are many reads at a time, not one after the other.
    let (source, mut one) = slow(3000, Some("nfs"), RECIPE);
    let all = epoch(&mut loader(Numbers::new(3000), RECIPE, threads(2))).unwrap();
    assert_eq!(epoch(&mut one).unwrap(), all);
    assert!(source.largest.load(Relaxed) <= 8);
}
