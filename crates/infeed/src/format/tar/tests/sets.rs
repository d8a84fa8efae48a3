//! The indices of many tars, in one file.

use super::*;
use crate::store::LocalStore;
use proptest::prelude::*;
use std::{
    fs,
    path::{Path, PathBuf},
};

const TARS: usize = 70;

struct Set {
    dir: tempfile::TempDir,
    cache: IndexCache,
}

impl Set {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let set = Set { cache: IndexCache::Folder(dir.path().join("cache")), dir };
        (0..TARS).for_each(|tar| set.put(tar, tar % 3));
        set
    }

    fn path(&self, tar: usize) -> PathBuf {
        self.dir.path().join(format!("t-{tar:03}.tar"))
    }

    /// Makes a tar with this many rows, whose fields differ.
    fn put(&self, tar: usize, rows: usize) {
        let add = |maker: Maker, row| maker.file(&format!("{tar}/{row}.f{}", tar % 4), b"abc");
        fs::write(self.path(tar), (0..rows).fold(Maker::default(), add).end().0).unwrap();
    }

    /// Overwrites a tar's bytes but keeps size and time, so that only a saved index still has its rows. Saved files get a
    /// later time than the tar: otherwise they would be compared with it.
    fn spoil(&self, tar: usize) {
        self.overwrite(tar);
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
        for place in self.files("").into_iter().chain(self.files("cache")) {
            fs::File::options().write(true).open(place).unwrap().set_modified(later).unwrap();
        }
    }

    /// Overwrites a tar's bytes but keeps size and time.
    fn overwrite(&self, tar: usize) {
        let path = self.path(tar);
        let data = fs::metadata(&path).unwrap();
        fs::write(&path, vec![7; data.len() as usize]).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(data.modified().unwrap()).unwrap();
    }

    fn shards(&self) -> Shards {
        let mut paths: Vec<String> = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|e| e.unwrap().path().to_str().unwrap().to_owned())
            .filter(|name| name.ends_with(".tar"))
            .collect();
        paths.sort();
        Shards::new(&LocalStore::new().stat(&paths).unwrap()).unwrap()
    }

    fn open(&self) -> Result<TarSet> {
        self.open_as(false, &self.cache)
    }

    fn open_as(&self, lenient: bool, cache: &IndexCache) -> Result<TarSet> {
        TarFormat { lenient, cache: cache.clone() }.read_set(&LocalStore::new(), &self.shards(), 3)
    }

    fn fresh(&self) -> TarSet {
        self.open_as(false, &IndexCache::Off).unwrap()
    }

    /// The set files in a folder.
    fn files(&self, folder: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.dir.path().join(folder)).into_iter().flatten();
        let paths = entries.map(|e| e.unwrap().path());
        paths.filter(|p| p.extension().is_some_and(|e| e == "infeed-set")).collect()
    }
}

#[test]
fn many_tars_have_one_file() {
    let set = Set::new();
    let made = set.open().unwrap();
    assert_eq!(made, set.fresh());
    assert_eq!(
        (set.files("cache").len(), fs::read_dir(set.dir.path().join("cache")).unwrap().count()),
        (1, 1)
    );
    (1..TARS).filter(|tar| tar % 3 > 0).for_each(|tar| set.spoil(tar));
    assert!(set.open_as(false, &IndexCache::Off).is_err());
    assert_eq!(set.open().unwrap(), made);
    // Other arguments: only undamaged tars are in the file, and a lenient scan finds the same in those.
    assert_eq!(set.open_as(true, &set.cache).unwrap(), made);
    assert_eq!(set.files("cache").len(), 1);
}

#[test]
fn a_file_beside_moves_with_its_tars_and_is_always_found() {
    let mut set = Set::new();
    let made = set.open_as(false, &IndexCache::Beside).unwrap();
    assert_eq!((set.files("").len(), set.files("cache").len()), (1, 0));
    (1..TARS).filter(|tar| tar % 3 > 0).for_each(|tar| set.spoil(tar));
    assert_eq!(set.open().unwrap(), made);
    let elsewhere = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(set.dir.path()).unwrap() {
        let path = entry.unwrap().path();
        fs::rename(&path, elsewhere.path().join(path.file_name().unwrap())).unwrap();
    }
    set.dir = elsewhere;
    assert_eq!(set.open().unwrap(), made);
}

#[test]
fn tars_with_their_old_time_and_other_content_are_read_again() {
    let set = Set::new();
    let before = set.open().unwrap();
    // One row instead of two, in a file of the same size.
    let other = Maker::default().file("x.f1", &[7; 1100]).end().0;
    let time = |tar: usize| fs::metadata(set.path(tar)).unwrap().modified().unwrap();
    let (kept, size) = (time(11), fs::metadata(set.path(11)).unwrap().len());
    assert_eq!((before.rows.lens()[11], other.len() as u64), (2, size));
    fs::write(set.path(11), other).unwrap();
    fs::File::options().write(true).open(set.path(11)).unwrap().set_modified(kept).unwrap();
    let after = set.open().unwrap();
    assert_eq!(after.rows.lens()[10..13], [1, 1, 0]);
    assert_eq!(after, set.fresh());
}

#[test]
fn a_changed_tar_alone_is_read_again() {
    let set = Set::new();
    set.open().unwrap();
    // Those that did not change cannot be read any more.
    (0..TARS).filter(|tar| tar % 3 > 0 && *tar != 10).for_each(|tar| set.spoil(tar));
    set.put(10, 5);
    let changed = set.open().unwrap();
    assert_eq!(changed.rows.lens()[9..12], [0, 5, 2]);
    // The file was rewritten.
    set.spoil(10);
    assert_eq!(set.open().unwrap(), changed);
    assert_eq!(set.files("cache").len(), 1);
}

#[test]
fn added_and_deleted_tars_leave_the_others_known() {
    let set = Set::new();
    set.open().unwrap();
    (0..TARS).filter(|tar| tar % 3 > 0).for_each(|tar| set.spoil(tar));
    set.put(TARS, 4);
    let grown = set.open().unwrap();
    assert_eq!((grown.len(), grown.rows.lens()[TARS]), (TARS + 1, 4));
    fs::remove_file(set.path(1)).unwrap();
    let shrunk = set.open().unwrap();
    assert_eq!((shrunk.len(), shrunk.rows.total()), (TARS, grown.rows.total() - 1));
    assert_eq!(shrunk.get(1).unwrap().key(1), "2/1");
    // Old files do not accumulate.
    for tar in TARS + 1..TARS + 12 {
        set.put(tar, 1);
        set.open().unwrap();
    }
    assert_eq!(set.files("cache").len(), 8);
}

#[test]
fn a_damaged_file_is_passed_over() {
    let set = Set::new();
    let made = set.open().unwrap();
    let file = set.files("cache").remove(0);
    let good = fs::read(&file).unwrap();
    let known = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        set.cache.load_set(&LocalStore::new(), &set.shards()).is_some()
    };
    assert!(known(&good));
    assert!(!known(b""));
    assert!(!known(&[&good[..], b"more"].concat()));
    // Each of the first bytes, where the counts are, and some of the others.
    for at in (0..200).chain((200..good.len()).step_by(97)).chain([good.len() - 1]) {
        assert!(!known(&good[..at]), "cut at {at}");
        let mut flipped = good.clone();
        flipped[at] ^= 0x10;
        assert!(!known(&flipped), "byte {at}");
    }
    assert_eq!(set.open().unwrap(), made);
    assert!(set.cache.load_set(&LocalStore::new(), &set.shards()).is_some());
}

#[test]
fn damage_is_told_in_every_run() {
    let set = Set::new();
    let mut bytes = Maker::default().file("a.x", b"1").file("b.x", b"1").end().0;
    bytes[0] ^= 1;
    fs::write(set.path(10), bytes).unwrap();
    for _ in 0..2 {
        let lenient = set.open_as(true, &set.cache).unwrap();
        assert_eq!(lenient.damage().iter().map(|(tar, _)| *tar).collect::<Vec<_>>(), [10]);
        assert_eq!((lenient.len(), lenient.rows.lens()[10]), (TARS, 1));
        assert!(set.open().is_err());
    }
    assert_eq!(set.files("cache").len(), 1);
    // The others are known; the damaged one has as many rows left as it had at first.
    (0..TARS).filter(|tar| tar % 3 > 0 && *tar != 10).for_each(|tar| set.spoil(tar));
    assert_eq!(set.open_as(true, &set.cache).unwrap().rows.total(), rows_at_first());
}

/// The initial number of rows of all tars.
fn rows_at_first() -> u64 {
    (0..TARS as u64).map(|tar| tar % 3).sum()
}

#[test]
fn few_tars_and_closed_places_have_no_file() {
    let set = Set::new();
    (60..TARS).for_each(|tar| fs::remove_file(set.path(tar)).unwrap());
    set.open().unwrap();
    assert_eq!(set.files("cache").len(), 0);
    assert_eq!(fs::read_dir(set.dir.path().join("cache")).unwrap().count(), 60);
    (60..TARS).for_each(|tar| set.put(tar, 1));
    let blocked = IndexCache::Folder(set.path(0).join("below-a-file"));
    assert_eq!(set.open_as(false, &blocked).unwrap(), set.fresh());
}

/// Not a test of its own: [`two_processes_open_at_once`] runs it in another process.
#[test]
fn opens_over_and_over_when_told() {
    let Ok(folder) = std::env::var("INFEED_TEST_OPENS") else { return };
    let names: Vec<String> = (0..TARS).map(|tar| format!("{folder}/t-{tar:03}.tar")).collect();
    let cache = IndexCache::Folder(Path::new(&folder).join("cache"));
    for _ in 0..20 {
        let store = LocalStore::new();
        let shards = Shards::new(&store.stat(&names).unwrap()).unwrap();
        let set = TarFormat { lenient: false, cache: cache.clone() }.read_set(&store, &shards, 2).unwrap();
        assert_eq!(set.rows.total(), rows_at_first());
        // Sometimes there is no file, and all of them write one.
        let _ = fs::remove_dir_all(Path::new(&folder).join("cache"));
    }
}

#[test]
fn two_processes_open_at_once() {
    let set = Set::new();
    let start = || {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "format::tar::tests::sets::opens_over_and_over_when_told"])
            .env("INFEED_TEST_OPENS", set.dir.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut both = [start(), start()];
    assert!(both.iter_mut().all(|process| process.wait().unwrap().success()));
    assert_eq!(set.open().unwrap(), set.fresh());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A set that is read from its file has the same rows as its tars one by one.
    #[test]
    fn a_set_is_its_tars(
        tars in prop::collection::vec(prop::collection::vec((0u8..4, 0usize..700), 0..5), 64..90),
        twice in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut names = Vec::new();
        for (tar, members) in tars.iter().enumerate() {
            let name = format!("{}/{}/{tar}.tar", dir.path().display(), tar % 2);
            fs::create_dir_all(Path::new(&name).parent().unwrap()).unwrap();
            let add = |maker: Maker, (row, (field, len)): (usize, &(u8, usize))| {
                maker.file(&format!("{row}.x"), b"x").file(&format!("{row}.y{field}"), &vec![9; *len])
            };
            fs::write(&name, members.iter().enumerate().fold(Maker::default(), add).end().0).unwrap();
            names.push(name);
        }
        let store = LocalStore::new();
        let shards = Shards::new(&store.stat(&names).unwrap()).unwrap();
        let format = TarFormat { lenient: false, cache: IndexCache::Folder(dir.path().join("cache")) };
        let mut set = format.read_set(&store, &shards, 2).unwrap();
        if twice {
            set = format.read_set(&store, &shards, 2).unwrap();
        }
        let fields: Vec<Arc<str>> = ["x", "y0", "y1", "y2", "y3", "z"].map(Arc::from).to_vec();
        for tar in 0..shards.len() {
            let alone = TarFormat { lenient: false, cache: IndexCache::Off }
                .read_index(&store, &shards.get(tar).unwrap())
                .unwrap();
            let rows: Vec<u64> = (0..alone.rows()).collect();
            prop_assert_eq!(set.rows.lens()[tar], alone.rows());
            let mut lent = 0;
            set.lend(tar, &mut |index| {
                lent += 1;
                assert_eq!(index.fields(), alone.fields());
                assert_eq!(index.ranges(&rows, &fields).unwrap(), alone.ranges(&rows, &fields).unwrap());
                for row in 0..rows.len() as u64 + 1 {
                    assert_eq!(index.key(row), alone.key(row));
                    assert_eq!(index.row_bytes(row, &fields), alone.row_bytes(row, &fields));
                }
                assert!(index.ranges(&[rows.len() as u64], &fields).is_err());
            });
            prop_assert_eq!(lent, 1);
        }
    }
}
