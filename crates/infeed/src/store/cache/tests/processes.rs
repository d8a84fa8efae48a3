//! Several processes on one cache, some of which are killed.

use super::*;
use crate::store::LocalStore;
use std::{
    collections::HashMap,
    fs,
    io::Write,
    process::{Child, Command, Stdio},
};

const OBJECTS: u64 = 4;
const CHUNKS: u64 = 30;
const CHUNK: u64 = 8 << 10;

/// A store of files that notes every request in a file of its process, before it begins.
#[derive(Debug)]
struct Noted {
    files: LocalStore,
    notes: Mutex<fs::File>,
}

impl Store for Noted {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.files.list(prefix)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.files.stat(names)
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let name = shard.name.rsplit('/').next().unwrap();
        let lines: String =
            ranges.iter().map(|range| format!("{name} {} {}\n", range.start, range.end)).collect();
        self.notes.lock().unwrap().write_all(lines.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(1));
        self.files.read(shard, ranges)
    }
}

/// A future that changes its mind all the time, so that chunks come and go.
#[derive(Debug, Default)]
struct Whims(AtomicU64);

impl Foresight for Whims {
    fn version(&self) -> u64 {
        self.0.fetch_add(1, Relaxed) / 10
    }

    fn needed(&self, _: &Shard, bytes: &Range<u64>) -> Option<u64> {
        let mut rng = Rng::at(bytes.start, self.0.load(Relaxed) / 10, 0, 0);
        (rng.below(4) > 0).then(|| rng.below(4) * CHUNK)
    }
}

/// Not a test of its own: the tests below run it in other processes.
#[test]
fn reads_everything_when_told() {
    let Ok(told) = std::env::var("INFEED_TEST_CACHE") else { return };
    let told: Vec<&str> = told.split(' ').collect();
    let (folder, seed, limit) =
        (Path::new(told[0]), told[1].parse::<u64>().unwrap(), told[2].parse().unwrap());
    let notes =
        fs::File::options().append(true).create(true).open(folder.join(format!("notes-{seed}"))).unwrap();
    let inner = Arc::new(Noted { files: LocalStore::new(), notes: Mutex::new(notes) });
    let options = CacheOptions::new(folder.join("cache")).chunk(CHUNK).limit(limit);
    let cache = CacheStore::open(inner, options).unwrap();
    let whims = told[3] == "whims";
    if whims {
        cache.set_future(Arc::new(Whims::default()));
    }
    let shards = cache.list(&format!("{}/data/", folder.display())).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (cache, shards) = (&cache, &shards);
            scope.spawn(move || {
                let mut rng = Rng::at(seed, thread, 0, 0);
                let mut rows: Vec<(usize, u64)> =
                    (0..shards.len()).flat_map(|at| (0..CHUNKS * 2).map(move |row| (at, row))).collect();
                for at in (1..rows.len()).rev() {
                    rows.swap(at, rng.below(at as u64 + 1) as usize);
                }
                rows.truncate(if whims { 60 } else { rows.len() });
                let bytes: Vec<Vec<u8>> = shards.iter().map(|s| fs::read(&*s.name).unwrap()).collect();
                let range = |row: u64| row * CHUNK / 2..((row + 1) * CHUNK / 2 + 100).min(CHUNKS * CHUNK);
                for (at, (object, row)) in rows.iter().enumerate() {
                    for (object, row) in rows.iter().skip(at + 1).take(8).step_by(3) {
                        cache.will_read(&shards[*object], &[range(*row)]);
                    }
                    let read = cache.read_one(&shards[*object], range(*row)).unwrap();
                    let want = range(*row);
                    assert_eq!(read, bytes[*object][want.start as usize..want.end as usize]);
                }
            });
        }
    });
    assert_eq!(cache.warning(), None);
    assert!(!whims || cache.stats().evictions > 0);
}

fn prepare() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    for object in 0..OBJECTS {
        let bytes = made((CHUNKS * CHUNK) as usize, object);
        fs::write(folder.path().join(format!("data/o{object}")), bytes).unwrap();
    }
    folder
}

fn start(folder: &Path, seed: u64, limit: u64, future: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::cache::tests::processes::reads_everything_when_told"])
        .env("INFEED_TEST_CACHE", format!("{} {seed} {limit} {future}", folder.display()))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// How often each chunk was fetched by a process.
fn fetched(folder: &Path, seed: u64) -> HashMap<(String, u64), u64> {
    let mut counts = HashMap::new();
    for line in fs::read_to_string(folder.join(format!("notes-{seed}"))).unwrap_or_default().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let (start, end): (u64, u64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
        assert_eq!((start % CHUNK, end % CHUNK), (0, 0), "{line}");
        for chunk in start / CHUNK..end / CHUNK {
            *counts.entry((words[0].to_owned(), chunk)).or_default() += 1;
        }
    }
    counts
}

#[test]
fn two_of_four_are_killed_again_and_again() {
    let (mut rng, mut hit) = (Rng::at(4, 0, 0, 0), 0);
    for round in 0..6u64 {
        let folder = prepare();
        let seeds: Vec<u64> = (round * 4..round * 4 + 4).collect();
        let mut all: Vec<Child> =
            seeds.iter().map(|seed| start(folder.path(), *seed, 1 << 30, "none")).collect();
        // From the first request to the last of them takes about 100 ms.
        until("the first request", || seeds.iter().any(|seed| !fetched(folder.path(), *seed).is_empty()));
        std::thread::sleep(Duration::from_millis(rng.below(60)));
        for killed in &mut all[..2] {
            killed.kill().unwrap();
        }
        for survivor in &mut all[2..] {
            assert!(survivor.wait().unwrap().success());
        }
        for killed in &mut all[..2] {
            hit += u64::from(!killed.wait().unwrap().success());
        }
        // Each chunk was fetched once, apart from what the killed ones had begun.
        let by: Vec<HashMap<(String, u64), u64>> =
            seeds.iter().map(|seed| fetched(folder.path(), *seed)).collect();
        for object in 0..OBJECTS {
            for chunk in 0..CHUNKS {
                let key = (format!("o{object}"), chunk);
                let times: Vec<u64> = by.iter().map(|one| one.get(&key).copied().unwrap_or(0)).collect();
                assert!(times[2] + times[3] <= 1 && times.iter().all(|n| *n <= 1), "{key:?}: {times:?}");
                assert!(times.iter().sum::<u64>() >= 1, "{key:?} was never fetched");
            }
        }
        // All is sound, and the next one finds everything, counts right and waits for nobody.
        let cache = folder.path().join("cache");
        let verified = tools::verify(&cache, false).unwrap();
        assert!(verified.is_sound() && verified.chunks == OBJECTS * CHUNKS, "{verified:?}");
        assert!(start(folder.path(), 1000, 1 << 30, "none").wait().unwrap().success());
        assert!(fetched(folder.path(), 1000).is_empty());
        assert_eq!(tools::verify(&cache, false).unwrap().counted, Some(verified.bytes));
        let verified = tools::verify(&cache, true).unwrap();
        assert_eq!(verified.counted, Some(verified.bytes));
        // Files without bytes may be left where a process was killed between two steps. They are in nobody's way.
        assert_eq!(tools::verify(&cache, false).unwrap(), tools::Verified { left: 0, ..verified });
    }
    assert!(hit > 0, "all of them had ended before they were killed");
}

#[test]
fn a_stopped_process_is_not_waited_for() {
    let bytes = made(50 * CHUNK as usize, 1);
    let memory = MemoryStore::new();
    memory.put("a", bytes.clone());
    let shard = memory.stat_one("a").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = CacheOptions {
        patience: Duration::from_millis(200),
        ..CacheOptions::new(folder.path()).chunk(CHUNK).limit(1 << 30)
    };
    let cache = CacheStore::open(Arc::new(memory), options).unwrap();
    // Somebody has claimed all chunks, and does nothing.
    let object = Arc::new(Object::new(&folder.path().join(object::ROOT), &shard, CHUNK).unwrap());
    let claims: Vec<_> = (0..50).map(|chunk| claim::Claim::attempt(&object, chunk).unwrap()).collect();
    let before = std::time::Instant::now();
    for chunk in 0..50 {
        let range = chunk * CHUNK + 1..(chunk + 1) * CHUNK - 1;
        assert_eq!(
            cache.read_one(&shard, range.clone()).unwrap(),
            bytes[range.start as usize..range.end as usize]
        );
    }
    assert!(before.elapsed() < Duration::from_secs(8), "{:?}", before.elapsed());
    assert_eq!((cache.stats().waits, cache.stats().passed), (50, 50));
    drop(claims);
    assert_eq!(cache.read_all(&shard).unwrap(), bytes);
    assert_eq!(cache.read_all(&shard).unwrap(), bytes);
    assert_eq!(cache.stats().hits, 50);
}

#[test]
fn the_limit_holds_for_all_together() {
    let limit = OBJECTS * CHUNKS * CHUNK / 3;
    for (killed, future) in [(0, "whims"), (2, "none"), (2, "whims")] {
        let folder = prepare();
        let cache = folder.path().join("cache");
        // What a job before has left.
        assert!(start(folder.path(), 9, limit, future).wait().unwrap().success());
        let mut all: Vec<Child> = (0..4).map(|seed| start(folder.path(), seed, limit, future)).collect();
        let begun = std::time::Instant::now();
        while all[killed..].iter_mut().any(|one| one.try_wait().unwrap().is_none()) {
            // A chunk that is renamed or removed during the count may be counted twice.
            assert!(on_disk(&cache) <= limit + 4 * CHUNK);
            if begun.elapsed() > Duration::from_millis(60) {
                all[..killed].iter_mut().for_each(|one| one.kill().unwrap());
            }
        }
        assert!(all[killed..].iter_mut().all(|one| one.wait().unwrap().success()));
        for one in &mut all[..killed] {
            one.kill().unwrap();
            one.wait().unwrap();
        }
        let verified = tools::verify(&cache, false).unwrap();
        assert!(verified.is_sound() && verified.bytes <= limit && verified.bytes > limit / 2, "{verified:?}");
        // The next one counts what is there, and nothing that was only begun.
        assert!(start(folder.path(), 10, limit, future).wait().unwrap().success());
        let verified = tools::verify(&cache, false).unwrap();
        assert!(verified.is_sound() && verified.bytes <= limit, "{verified:?}");
        assert_eq!(verified.counted, Some(verified.bytes));
    }
}
