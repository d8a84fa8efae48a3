#![allow(clippy::single_range_in_vec_init)]

use super::*;
use crate::store::MemoryStore;
use infeed_core::StoreExt;
use std::sync::atomic::AtomicUsize;

/// A store that counts its reads and takes its time.
#[derive(Debug)]
struct Slow {
    inner: MemoryStore,
    reads: AtomicUsize,
    version: u64,
}

impl Slow {
    fn new(version: u64) -> Arc<Self> {
        let bytes: Vec<u8> = (0..200u8).collect();
        let inner = [("a", bytes)].into_iter().collect();
        Arc::new(Slow { inner, reads: AtomicUsize::new(0), version })
    }
}

impl Store for Slow {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.inner.list(prefix)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        let found = self.inner.stat(names)?;
        Ok(found.into_iter().map(|shard| Shard { version: Some(self.version), ..shard }).collect())
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.reads.fetch_add(1, Relaxed);
        std::thread::sleep(PATIENCE);
        self.inner.read(&Shard { version: None, ..shard.clone() }, ranges)
    }
}

/// Opens data: reads these ranges. Returns how often the store was asked.
fn open(file: &std::path::Path, version: u64, ranges: &[Range<u64>], data: u64) -> usize {
    let slow = Slow::new(version);
    let store = RecordedStore::open(Arc::clone(&slow) as _, file.to_owned());
    let shard = store.stat_one("a").unwrap();
    for range in ranges {
        let got = store.read_one(&shard, range.clone()).unwrap();
        assert_eq!(got, (range.start as u8..range.end as u8).collect::<Vec<_>>());
    }
    store.close(data);
    let asked = slow.reads.load(Relaxed);
    // Samples are read from the store.
    assert_eq!(store.read_one(&shard, 3..9).unwrap(), [3, 4, 5, 6, 7, 8].as_slice());
    assert_eq!(slow.reads.load(Relaxed), asked + 1);
    asked
}

#[test]
fn what_was_read_is_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/x.opened");
    let ranges = [0..100, 150..200, 20..30];
    assert_eq!(open(&file, 1, &ranges, 200), 2, "the third lies in the first");
    assert_eq!(open(&file, 1, &ranges, 200), 0);
    // More is asked for: what is known is kept, as far as it is asked for again.
    assert_eq!(open(&file, 1, &[150..160, 100..110], 200), 1);
    assert_eq!(open(&file, 1, &[100..110, 151..160], 200), 0);
    assert_eq!(open(&file, 1, &[0..10], 200), 1);
    // Another object.
    assert_eq!(open(&file, 2, &[0..10, 0..10], 200), 1);
    assert_eq!(open(&file, 1, &[0..10], 200), 1, "that of before is forgotten");
    assert_eq!(std::fs::read_dir(folder.path().join("new")).unwrap().count(), 1);
}

#[test]
fn the_next_run_may_cut_in_another_way() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.opened");
    assert_eq!(open(&file, 1, &[50..60, 40..120, 0..45, 100..180], 200), 4);
    assert_eq!(open(&file, 1, &[30..150, 0..180, 50..70, 119..121, 179..180], 200), 0);
    assert_eq!(open(&file, 1, &[30..181], 200), 1, "one byte is missing");
}

proptest::proptest! {
    #[test]
    fn a_book_knows_what_it_was_told(
        told in proptest::collection::vec((0u8..90, 1u8..30), 0..20),
        asked in proptest::collection::vec((0u8..90, 0u8..60), 1..20),
    ) {
        let bytes: Bytes = (0..150u8).collect();
        let (mut book, mut known) = (Book::default(), [false; 150]);
        for (start, len) in told {
            let range = usize::from(start)..usize::from(start + len);
            book.add(7, range.start as u64, &bytes.slice(range.clone()));
            known[range].fill(true);
        }
        for (start, len) in asked {
            let range = usize::from(start)..usize::from(start + len);
            let got = book.get(7, &(range.start as u64..range.end as u64));
            let all = known[range.clone()].iter().all(|known| *known);
            if len > 0 {
                proptest::prop_assert_eq!(got.is_some(), all);
            }
            if let Some(got) = got {
                proptest::prop_assert_eq!(got, &bytes[range]);
            }
        }
    }
}

#[test]
fn a_damaged_file_counts_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.opened");
    assert_eq!(open(&file, 1, &[0..100, 150..160], 200), 2);
    let whole = std::fs::read(&file).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        assert!(Book::parse(changed.into()).is_none(), "{at}");
        assert!(Book::parse(whole[..at].to_vec().into()).is_none(), "{at}");
    }
    assert!(Book::parse(whole.into()).is_some());
    std::fs::write(&file, b"IOPEN").unwrap();
    assert_eq!(open(&file, 1, &[0..100], 200), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn data_itself_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.opened");
    let store = RecordedStore::open(Slow::new(1), file.clone());
    store.book.hold().add(1, 0, &vec![0; ALWAYS as usize + 100].into());
    std::thread::sleep(PATIENCE);
    store.close(99 * SHARE);
    assert!(!file.exists());
    // A place that cannot be written to is no error.
    std::fs::write(&file, b"").unwrap();
    assert_eq!(open(&file.join("below"), 1, &[0..9], 200), 1);
}
