use super::*;
use std::{fs, path::Path};

fn about() -> ShelfAbout {
    ShelfAbout { source: "rows".to_owned(), stages: "decode".to_owned() }
}

fn open(folder: &Path, key: u128, limit: u64) -> Arc<Shelf> {
    Shelf::open(key, &about(), CacheOptions::new(folder).limit(limit)).unwrap()
}

fn sample(number: u128, len: usize) -> Vec<u8> {
    (0..len).map(|at| (infeed_core::rng::mix((number as u64) << 20 | at as u64) >> 40) as u8).collect()
}

fn fill(shelf: &Shelf, numbers: std::ops::Range<u128>, len: usize) {
    numbers.for_each(|number| shelf.put(number, &sample(number, len)));
}

fn there(shelf: &Shelf, numbers: std::ops::Range<u128>, len: usize) -> usize {
    numbers
        .filter(|number| {
            let there = shelf.has(&[Some(*number)])[0];
            let found = shelf.get(*number).filter(|_| there);
            found.is_some_and(|found| {
                assert_eq!(found, sample(*number, len));
                true
            })
        })
        .count()
}

#[test]
fn what_is_kept_is_there_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path(), 1, 1 << 20);
    let second = open(folder.path(), 1, 1 << 20);
    fill(&first, 0..20, 1000);
    assert_eq!(there(&second, 0..30, 1000), 20);
    fill(&second, 10..40, 1000);
    assert_eq!((second.stats().kept, first.stats().kept), (20, 20), "each is kept once");
    assert_eq!(there(&first, 0..50, 1000), 40);
    assert_eq!(there(&open(folder.path(), 2, 1 << 20), 0..50, 1000), 0, "another shelf is empty");
    drop((first, second));
    let again = open(folder.path(), 1, 1 << 20);
    assert_eq!(there(&again, 0..50, 1000), 40, "on disk they stay");
    assert_eq!((again.stats().samples, again.stats().bytes), (40, 40_000));
    again.put(99, b"");
    assert_eq!(again.get(99).unwrap(), Bytes::new());
    // A file that is not full is written to again, not a new one.
    assert!(fs::read_dir(&again.folder).unwrap().count() <= 5);
}

#[test]
fn the_limit_holds_and_a_stable_share_stays() {
    let folder = tempfile::tempdir().unwrap();
    let limit = 100_000;
    let ranks = [open(folder.path(), 1, limit), open(folder.path(), 1, limit)];
    for _ in 0..3 {
        for number in 0..200 {
            let shelf = &ranks[number as usize % 2];
            if shelf.has(&[Some(number)]) == [false] {
                shelf.put(number, &sample(number, 1000));
            }
        }
    }
    let kept = there(&ranks[0], 0..200, 1000);
    assert!((85..=91).contains(&kept), "{kept} samples of 1,096 bytes each in 100,000");
    assert_eq!(ranks[0].stats().kept + ranks[1].stats().kept, kept as u64, "none was replaced");
    assert!(files::bytes(&folder.path().join(ROOT), 1) <= limit);
    assert!(!ranks[0].wants_more() || !ranks[1].wants_more());
    // Too large for any room.
    let small = open(&folder.path().join("small"), 1, 500);
    small.put(1, &sample(1, 1000));
    assert_eq!((small.stats().kept, small.warning()), (0, None));
}

#[test]
fn shelves_that_nobody_uses_make_room() {
    let folder = tempfile::tempdir().unwrap();
    for key in 1..4 {
        let shelf = open(folder.path(), key, 60_000);
        fill(&shelf, 0..100, 1000);
        let used = shelf.stats().used;
        assert!(used <= 60_000 && used > 45_000, "{used}");
        assert!(there(&shelf, 0..100, 1000) > 45, "an older shelf goes");
    }
    let used = open(folder.path(), 3, 60_000);
    let other = open(folder.path(), 4, 60_000);
    fill(&other, 0..100, 1000);
    assert!(there(&used, 0..100, 1000) > 45, "one that is used stays");
    assert!(there(&other, 0..100, 1000) < 5);
}

#[test]
fn damage_is_found_and_made_good() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = open(folder.path(), 1, 1 << 20);
    fill(&shelf, 0..10, 1000);
    let file = shelf.folder.join("00000000.data");
    let mut bytes = fs::read(&file).unwrap();
    bytes[1032 * 3 + 500] ^= 1;
    bytes[1032 * 5 + 3] ^= 1;
    bytes.truncate(1032 * 9 + 10);
    fs::write(&file, &bytes).unwrap();
    let found = tools::verify(folder.path(), false).unwrap();
    assert_eq!((found.samples, found.damaged.len()), (7, 3));
    assert_eq!(there(&shelf, 0..9, 1000), 7);
    assert_eq!(shelf.get(9), None);
    assert_eq!(shelf.stats().damaged, 3);
    fill(&shelf, 0..10, 1000);
    assert_eq!(there(&shelf, 0..10, 1000), 10);
    assert_eq!(there(&open(folder.path(), 1, 1 << 20), 0..10, 1000), 10, "the newer one counts");
    assert!(tools::verify(folder.path(), false).unwrap().damaged.is_empty());
}

#[test]
fn a_log_that_was_cut_or_damaged_costs_samples_and_no_more() {
    for damage in [64 * 7 + 13, 64 * 4] {
        let folder = tempfile::tempdir().unwrap();
        let shelf = open(folder.path(), 1, 1 << 20);
        fill(&shelf, 0..10, 1000);
        drop(shelf);
        let log = folder.path().join(ROOT).join("log");
        let mut bytes = fs::read(&log).unwrap();
        if damage % 64 == 0 {
            bytes[damage + 5] ^= 1;
        } else {
            bytes.truncate(damage);
        }
        fs::write(&log, &bytes).unwrap();
        let shelf = open(folder.path(), 1, 1 << 20);
        let left = there(&shelf, 0..10, 1000);
        assert!((1..10).contains(&left), "{left}");
        fill(&shelf, 0..10, 1000);
        assert_eq!(there(&shelf, 0..10, 1000), 10);
        let other = open(folder.path(), 1, 1 << 20);
        assert_eq!(there(&other, 0..10, 1000), 10);
    }
}

#[test]
fn bytes_that_a_killed_process_was_granted_are_free_again() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = open(folder.path(), 1, 1 << 20);
    fill(&shelf, 0..10, 1000);
    let granted = shelf.stats().used;
    // As if it was killed: nothing is given back, and half a sample lies behind the others.
    fs::OpenOptions::new()
        .append(true)
        .open(shelf.folder.join("00000000.data"))
        .and_then(|mut file| io::Write::write_all(&mut file, &[1; 77]))
        .unwrap();
    let log = fs::read(folder.path().join(ROOT).join("log")).unwrap();
    drop(shelf);
    fs::write(folder.path().join(ROOT).join("log"), log).unwrap();
    let shelf = open(folder.path(), 1, 1 << 20);
    assert_eq!(there(&shelf, 0..10, 1000), 10);
    assert!(granted > 10 * 1096 + 77);
    assert_eq!(shelf.stats().used, 10 * 1096 + 77);
    fill(&shelf, 10..20, 1000);
    assert_eq!(there(&shelf, 0..20, 1000), 20);
}

#[test]
fn a_folder_that_cannot_be_written_to_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(ROOT), b"in the way").unwrap();
    let shelf = open(folder.path(), 1, 1 << 20);
    shelf.put(1, b"abc");
    assert_eq!(shelf.has(&[Some(1), None]), [false, false]);
    assert!(shelf.warning().unwrap().contains("keeps nothing more"), "{:?}", shelf.warning());
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let error = Shelf::open(1, &about(), CacheOptions::new(file)).unwrap_err().to_string();
    assert!(error.contains("must be a folder"), "{error}");
}

#[test]
fn in_memory_the_last_user_removes_it() {
    let folder = tempfile::tempdir().unwrap();
    let options = |_| CacheOptions { keep: Some(false), ..CacheOptions::new(folder.path()).limit(1 << 20) };
    let first = Shelf::open(1, &about(), options(0)).unwrap();
    fill(&first, 0..10, 1000);
    let other = Shelf::open(2, &about(), options(0)).unwrap();
    let second = Shelf::open(1, &about(), options(0)).unwrap();
    drop(first);
    assert_eq!(there(&second, 0..10, 1000), 10);
    drop(second);
    assert!(tools::shelves(folder.path()).unwrap().iter().all(|shelf| shelf.samples == 0));
    assert!(folder.path().join(ROOT).exists());
    drop(other);
    assert!(!folder.path().join(ROOT).exists());
}

#[test]
fn many_threads_and_processes_keep_each_sample_once() {
    let folder = tempfile::tempdir().unwrap();
    let shelves: Vec<Arc<Shelf>> = (0..3).map(|_| open(folder.path(), 1, 1 << 22)).collect();
    std::thread::scope(|scope| {
        for shelf in &shelves {
            for start in 0..3u128 {
                scope.spawn(move || {
                    for at in 0..120 {
                        let number = (at + start * 40) % 120;
                        match shelf.get(number) {
                            Some(found) => assert_eq!(found, sample(number, 500 + number as usize)),
                            None => shelf.put(number, &sample(number, 500 + number as usize)),
                        }
                    }
                });
            }
        }
    });
    for shelf in &shelves {
        assert!((0..120).all(|n| shelf.has(&[Some(n)])[0] && shelf.get(n).is_some()));
    }
    assert_eq!(shelves.iter().map(|shelf| shelf.stats().kept).sum::<u64>(), 120);
    let found = tools::verify(folder.path(), false).unwrap();
    assert_eq!((found.samples, found.damaged.len()), (120, 0));
}

#[test]
fn tools_list_and_clean() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(tools::shelves(folder.path()).unwrap(), []);
    let used = open(folder.path(), 1, 1 << 20);
    fill(&used, 0..10, 1000);
    fill(&open(folder.path(), 2, 1 << 20), 0..5, 1000);
    let mut listed = tools::shelves(folder.path()).unwrap();
    listed.sort_by_key(|shelf| shelf.samples);
    assert_eq!(listed.iter().map(|s| (s.samples, s.in_use)).collect::<Vec<_>>(), [(5, false), (10, true)]);
    assert_eq!(listed[0].about, Some(about()));
    let day = std::time::Duration::from_secs(86_400);
    assert_eq!(tools::clean(folder.path(), Some(day)).unwrap().shelves, 0);
    let cleaned = tools::clean(folder.path(), None).unwrap();
    assert_eq!((cleaned.shelves, cleaned.in_use, cleaned.bytes), (1, 1, 5 * 1032));
    assert_eq!(there(&used, 0..10, 1000), 10);
    drop(used);
    tools::clean(folder.path(), None).unwrap();
    assert!(!folder.path().join(ROOT).exists());
}
