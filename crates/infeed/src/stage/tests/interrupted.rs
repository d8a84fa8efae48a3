use super::{super::*, *};
use infeed_core::Rng;
use std::{fs, process::Command};

/// Damages what an interrupted run has left, as a crash of the machine would.
fn damage(folder: &Path, rng: &mut Rng) {
    for name in left_over(folder) {
        let data = fs::metadata(&name).unwrap();
        let file = fs::File::options().write(true).open(&name).unwrap();
        match rng.below(4) {
            0 => file.set_len(rng.below(data.len() + 1)).unwrap(),
            1 => file.set_len(data.len() + rng.below(30)).unwrap(),
            2 if data.len() > 0 => {
                use std::os::unix::fs::FileExt;
                file.write_all_at(&[0xA5], rng.below(data.len())).unwrap();
            }
            _ => {}
        }
    }
}

#[test]
fn a_run_that_was_stopped_anywhere_goes_on() {
    let files = several();
    let all: u64 = files.values().map(|bytes| bytes.len() as u64).sum();
    let mut kept_something = false;
    for seed in 0..60 {
        let mut rng = Rng::at(seed, 0, 0, 0);
        let folder = tempfile::tempdir().unwrap();
        let memory = in_memory(&files);
        let threads = Some(1 + rng.below(4) as usize);
        let staging = Staging { threads, ..into("set", folder.path()) };
        let mut read = 0;
        for _ in 0..rng.below(4) {
            let store = Counting::new(memory.clone(), rng.below(12));
            let stopped = go(&store, &staging);
            read += store.read.load(Relaxed);
            if let Err(error) = stopped {
                assert!(error.to_string().contains("pulled out"), "{error}");
            }
        }
        let harmed = seed % 2 == 0;
        if harmed {
            damage(folder.path(), &mut rng);
        }
        let store = Counting::new(memory, u64::MAX);
        let last = go(&store, &Staging { verify: seed % 3 == 0, ..staging }).unwrap();
        check(folder.path(), &files);
        assert!(left_over(folder.path()).is_empty());
        if !harmed {
            // What is known to be done is not read again: that is all but single pieces of files.
            assert!(read + last.progress.copied <= all, "seed {seed}: {read} + {}", last.progress.copied);
            kept_something |= read > 0 && last.progress.copied < all;
        }
    }
    assert!(kept_something);
}

#[test]
fn a_watcher_can_stop_it() {
    let (files, folder) = (several(), tempfile::tempdir().unwrap());
    let store = in_memory(&files);
    #[derive(Debug)]
    struct Slow(MemoryStore);
    impl Store for Slow {
        fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
            self.0.list(prefix)
        }
        fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
            self.0.stat(names)
        }
        fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
            std::thread::sleep(std::time::Duration::from_millis(30));
            self.0.read(shard, ranges)
        }
    }
    let staging = Staging { threads: Some(1), ..into("set", folder.path()) };
    let staged = stage(&Slow(store.clone()), &staging, &mut |progress| progress.copied == 0).unwrap();
    assert!(staged.stopped && staged.progress.files < staged.progress.files_total);
    assert!(!go(&store, &staging).unwrap().stopped);
    check(folder.path(), &files);
}

/// A store of local files, one of which changes after the first piece was read.
#[derive(Debug)]
struct Restless {
    inner: Stores,
    path: String,
    reads: AtomicU64,
}

impl Store for Restless {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.inner.list(prefix)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.inner.stat(names)
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let read = self.inner.read(shard, ranges);
        if self.reads.fetch_add(1, Relaxed) == 0 {
            fs::write(&self.path, bytes(55, 4 * PIECE as usize)).unwrap();
        }
        read
    }

    fn find(&self, path: &str) -> Result<Vec<Found>> {
        self.inner.find(path)
    }

    fn local_path(&self, name: &str) -> Option<PathBuf> {
        self.inner.local_path(name)
    }
}

#[test]
fn a_source_that_changes_is_named() {
    for size in [100, 4 * PIECE as usize] {
        let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = root.path().join("x.bin").to_str().unwrap().to_owned();
        fs::write(&path, bytes(1, size)).unwrap();
        let store = Restless { inner: Stores::new(), path: path.clone(), reads: AtomicU64::new(0) };
        let staging = Staging { threads: Some(1), ..into(&path, folder.path()) };
        let error = go(&store, &staging).unwrap_err();
        assert!(matches!(&error, Error::Changed { path: named, .. } if *named == path), "{error}");
        assert!(!folder.path().join("x.bin").exists());
        go(&store, &staging).unwrap();
        assert_eq!(fs::read(folder.path().join("x.bin")).unwrap(), bytes(55, 4 * PIECE as usize));
    }
}

/// A file system of one megabyte, where the system lets this process mount one.
struct Tiny(tempfile::TempDir);

impl Tiny {
    fn mount() -> Option<Tiny> {
        let folder = tempfile::tempdir().unwrap();
        let done =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(folder.path()).output();
        done.is_ok_and(|done| done.status.success()).then_some(Tiny(folder))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_disk_stops_it_and_room_lets_it_go_on() {
    let Some(tiny) = Tiny::mount() else { return };
    let folder = tiny.0.path().join("staged");
    let files: BTreeMap<String, Vec<u8>> = (0..4).map(|at| (format!("s/{at}"), bytes(at, 200_000))).collect();
    let store = in_memory(&files);
    let more: MemoryStore = [("s/big", vec![1; 2_000_000])].into_iter().collect();
    let message = go(&more, &into("s", &folder)).unwrap_err().to_string();
    assert!(message.contains("2.0 MB are needed for 1 files"), "{message}");
    // Somebody else fills the disk after the look at the free space.
    let hog = tiny.0.path().join("hog");
    #[derive(Debug)]
    struct Hogged(MemoryStore, PathBuf);
    impl Store for Hogged {
        fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
            self.0.list(prefix)
        }
        fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
            self.0.stat(names)
        }
        fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
            if !self.1.exists() {
                fs::write(&self.1, vec![0; 500_000]).unwrap();
            }
            self.0.read(shard, ranges)
        }
    }
    let staging = Staging { threads: Some(1), ..into("s", &folder) };
    let error = go(&Hogged(store.clone(), hog.clone()), &staging).unwrap_err();
    assert!(matches!(&error, Error::Io { source, .. } if source.raw_os_error() == Some(28)), "{error}");
    fs::remove_file(hog).unwrap();
    let counting = Counting::new(store, u64::MAX);
    go(&counting, &into("s", &folder)).unwrap();
    check(&folder, &files);
    assert!(counting.read.load(Relaxed) < 800_000, "what was done is not read again");
}
