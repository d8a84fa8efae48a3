use super::*;
use std::{fs, path::Path};

fn shard_at(path: &Path) -> Shard {
    crate::store::LocalStore::new().stat_one(path.to_str().unwrap()).unwrap()
}

fn index(cache: &IndexCache, path: &Path) -> TarIndex {
    let store = crate::store::LocalStore::new();
    TarFormat { lenient: true, cache: cache.clone() }.read_index(&store, &shard_at(path)).unwrap()
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn a_saved_index_is_used_until_the_shard_changes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tar");
    fs::write(&path, Maker::default().file("a.x", b"1").file("b.y", b"22").end().0).unwrap();
    let made = index(&IndexCache::Beside, &path);
    assert_eq!(files(dir.path()), ["x.tar", "x.tar.infeed-index"]);
    // A saved index with other keys shows that it is used.
    let mut marked = made.clone();
    marked.keys = b"AB".to_vec();
    let place = dir.path().join("x.tar.infeed-index");
    fs::write(&place, saved::codec::encode(&marked, &shard_at(&path)).unwrap()).unwrap();
    assert_eq!(index(&IndexCache::Beside, &path), marked);
    assert_eq!(index(&IndexCache::Auto, &path), marked);
    assert_eq!(index(&IndexCache::Off, &path), made);
    // A change of properties only makes the ctime later than the index; the headers still fit it.
    let age = fs::metadata(&path).unwrap().modified().unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(age).unwrap();
    assert_eq!(index(&IndexCache::Beside, &path), marked);
    // The tar's bytes are overwritten and its time is kept.
    let age = fs::metadata(&path).unwrap().modified().unwrap();
    let spoil = |bytes: Vec<u8>| {
        fs::write(&path, bytes).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(age).unwrap();
    };
    let size = fs::metadata(&path).unwrap().len() as usize;
    spoil(vec![0; size]);
    // The old size and the old time, but other content: the ctime is later than the index, and its headers are gone.
    assert_eq!(index(&IndexCache::Beside, &path).rows(), 0);
    assert_eq!(index(&IndexCache::Auto, &path).rows(), 0);
    assert_eq!(index(&IndexCache::Off, &path).rows(), 0);
    // Another size, another time, a truncated file: the index is made again.
    spoil(vec![0; size + 512]);
    assert_eq!(index(&IndexCache::Beside, &path).rows(), 0);
    fs::write(&path, Maker::default().file("c.x", b"1").end().0).unwrap();
    assert_eq!(index(&IndexCache::Beside, &path).key(0), "c");
    let saved = dir.path().join("x.tar.infeed-index");
    let good = fs::read(&saved).unwrap();
    for cut in 0..good.len() {
        fs::write(&saved, &good[..cut]).unwrap();
        assert_eq!(saved::load(&IndexCache::Beside, &LocalStore::new(), &shard_at(&path)), None);
        let mut flipped = good.clone();
        flipped[cut] ^= 0x10;
        fs::write(&saved, flipped).unwrap();
        assert_eq!(
            saved::load(&IndexCache::Beside, &LocalStore::new(), &shard_at(&path)),
            None,
            "byte {cut}"
        );
    }
}

#[test]
fn a_cache_folder_is_made_and_a_closed_one_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tar");
    fs::write(&path, Maker::default().file("a.x", b"1").end().0).unwrap();
    let cache = IndexCache::Folder(dir.path().join("deep/cache"));
    let made = index(&cache, &path);
    assert_eq!(files(&dir.path().join("deep/cache")).len(), 1);
    assert_eq!(saved::load(&cache, &LocalStore::new(), &shard_at(&path)), Some(made));
    let blocked = IndexCache::Folder(path.join("below-a-file"));
    assert_eq!(index(&blocked, &path).rows(), 1);
    // A quick scan is not saved.
    let auto = index(&IndexCache::Auto, &path);
    assert_eq!(auto.rows(), 1);
}

#[test]
fn nothing_is_saved_for_memory_or_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tar");
    let mut bytes = Maker::default().file("a.x", b"1").file("b.x", b"1").end().0;
    bytes[0] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert_eq!(index(&IndexCache::Beside, &path).damage().len(), 1);
    assert_eq!(files(dir.path()), ["x.tar"]);
    // An object in memory with the name of a file.
    let name = path.to_str().unwrap();
    let store: crate::store::MemoryStore = [(name, Bytes::from(vec![0; bytes.len()]))].into_iter().collect();
    let shard = store.stat_one(name).unwrap();
    TarFormat { lenient: false, cache: IndexCache::Beside }.read_index(&store, &shard).unwrap();
    assert_eq!(files(dir.path()), ["x.tar"]);
}

#[test]
fn a_member_of_many_gigabytes_keeps_its_length() {
    let shard = Shard { name: "big.tar".into(), size: 1 << 40, modified: Some(7), version: None };
    let index = TarIndex {
        names: vec!["x".into()],
        ends: vec![1, 2],
        blocks: vec![1, 100],
        lens: vec![u32::MAX, 9],
        huge: vec![(0, 5_000_000_000)],
        ids: vec![0, 0],
        keys: b"ab".to_vec(),
        key_ends: vec![1, 2],
        damage: vec![],
    };
    assert_eq!(index.row_bytes(0, &["x".into()]), 5_000_000_000);
    assert_eq!(index.ranges(&[0, 1], &["x".into()]).unwrap(), [0..5_000_000_512, 50_688..51_209]);
    let bytes = saved::codec::encode(&index, &shard).unwrap();
    assert_eq!(saved::codec::decode(&bytes, &shard), Some(index));
}
