//! A cache in a process that forks.

use super::*;
use std::{
    fs,
    process::{Command, Stdio},
};

const CHUNK: u64 = 8 << 10;

/// A store without locks: a child must not wait for one that a thread of its parent holds.
#[derive(Debug)]
struct Plain(Vec<u8>);

impl Store for Plain {
    fn list(&self, _: &str) -> Result<Vec<Shard>> {
        Ok(vec![Shard { name: "a".into(), size: self.0.len() as u64, modified: Some(1), version: None }])
    }

    fn stat(&self, _: &[String]) -> Result<Vec<Shard>> {
        self.list("")
    }

    fn read(&self, _: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        std::thread::sleep(Duration::from_millis(2));
        let one =
            |range: &Range<u64>| Bytes::copy_from_slice(&self.0[range.start as usize..range.end as usize]);
        Ok(ranges.iter().map(one).collect())
    }
}

/// Not a test of its own: [`a_child_goes_its_own_way`] runs it in a process without other tests.
#[test]
fn forks_when_told() {
    let Ok(folder) = std::env::var("INFEED_TEST_CACHE_FORKS") else { return };
    let bytes = made(40 * CHUNK as usize, 1);
    let options = CacheOptions::new(&folder).chunk(CHUNK).limit(1 << 30);
    let cache = CacheStore::open(Arc::new(Plain(bytes.clone())), options).unwrap();
    let shard = cache.stat_one("a").unwrap();
    for round in 0..10 {
        // Threads of the parent are in the middle of something.
        cache.will_read(&shard, &[0..shard.size]);
        // SAFETY: the child calls nothing that another thread of the parent may have locked, apart from the allocator, which
        // is prepared for that, and what is tested here.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let read = (0..40 * 4).all(|part| {
                let range = part * CHUNK / 4..(part + 1) * CHUNK / 4;
                cache.will_read(&shard, std::slice::from_ref(&(range.end..shard.size)));
                let want = &bytes[range.start as usize..range.end as usize];
                cache.read_one(&shard, range).is_ok_and(|read| read == want)
            });
            // SAFETY: ends the child at once, without what tests do at their end.
            unsafe { libc::_exit(i32::from(!read)) };
        }
        let mut status = 0;
        // SAFETY: `child` is a child of this process, `status` a place for an int.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "round {round}");
        // Ignored: a thread may be writing into it.
        let _ = fs::remove_dir_all(Path::new(&folder).join(object::ROOT).join("objects"));
    }
    assert_eq!(cache.read_all(&shard).unwrap(), bytes);
}

#[test]
fn a_child_goes_its_own_way() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::cache::tests::forks::forks_when_told"])
        .env("INFEED_TEST_CACHE_FORKS", folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..6000 {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("a child waits for ever");
}
