use super::{super::*, *};
use infeed_core::StoreExt;
use std::fs;

/// Local files, their staged copies, and a store that reads them.
fn staged(files: &BTreeMap<String, Vec<u8>>) -> (tempfile::TempDir, tempfile::TempDir, Arc<dyn Store>) {
    let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (name, bytes) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    go(&Stores::new(), &into(root.path().join("set").to_str().unwrap(), folder.path())).unwrap();
    (root, folder, Stores::shared())
}

#[test]
fn copies_are_read_under_the_names_of_their_sources() {
    let files = several();
    let (root, folder, inner) = staged(&files);
    let store = StagedStore::over(Arc::clone(&inner), &[folder.path().to_owned()]).unwrap();
    let name = |file: &str| root.path().join(file).to_str().unwrap().to_owned();
    let all = store.list(&name("set/")).unwrap();
    assert_eq!(all, inner.list(&name("set/")).unwrap());
    assert_eq!(store.describe(), format!("all of 8 files are read from {}", folder.path().display()));
    // The sources are made unreadable in a way that their store does not see: only copies have these bytes.
    for (shard, bytes) in all.iter().zip(files.values()) {
        assert_eq!(store.read_all(shard).unwrap(), bytes);
        let copy = store.local_path(&shard.name).unwrap();
        assert!(copy.starts_with(folder.path()), "{copy:?}");
        let mut streamed = Vec::new();
        store.stream(shard, 0).unwrap().unwrap().read_to_end(&mut streamed).unwrap();
        assert_eq!(&streamed, bytes);
        if !bytes.is_empty() {
            assert_eq!(store.map(shard).unwrap().unwrap(), bytes);
        }
    }
    // A copy with other bytes, and the times of the right one, shows which of the two is read.
    let shard = &all[2];
    let copy = folder.path().join("set/f-2.bin");
    let modified = fs::metadata(&copy).unwrap().modified().unwrap();
    fs::write(&copy, vec![7; 1000]).unwrap();
    fs::File::options().write(true).open(&copy).unwrap().set_modified(modified).unwrap();
    let fresh = StagedStore::over(Arc::clone(&inner), &[folder.path().to_owned()]).unwrap();
    assert_eq!(fresh.read_all(shard).unwrap(), vec![7; 1000]);
    assert_eq!(inner.read_all(shard).unwrap(), files["set/f-2.bin"]);
}

#[test]
fn sources_are_read_where_copies_do_not_fit() {
    let files = several();
    let (root, folder, inner) = staged(&files);
    let name = |file: &str| root.path().join(file).to_str().unwrap().to_owned();
    fs::write(name("set/f-1.bin"), "changed").unwrap();
    fs::write(folder.path().join("set/f-2.bin"), "touched").unwrap();
    fs::remove_file(folder.path().join("set/f-3.bin")).unwrap();
    fs::write(name("set/g.bin"), "new").unwrap();
    let store = StagedStore::new(inner, folder.path().to_str().unwrap()).unwrap();
    let all = store.list(&name("set/")).unwrap();
    assert!(store.describe().starts_with("5 of 9 files are read from"), "{}", store.describe());
    for shard in &all {
        let source = fs::read(&*shard.name).unwrap();
        assert_eq!(store.read_all(shard).unwrap(), source, "{}", shard.name);
    }
    // A copy that vanishes later is given up.
    assert!(store.local_path(&all[5].name).unwrap().starts_with(folder.path()));
    fs::remove_file(folder.path().join("set/f-5.bin")).unwrap();
    assert_eq!(store.read_all(&all[5]).unwrap(), files["set/f-5.bin"]);
    assert!(store.local_path(&all[5].name).unwrap().starts_with(root.path()));
    // Nothing staged is no error.
    let none = StagedStore::new(Stores::shared(), "/nowhere/at/all").unwrap();
    assert_eq!(none.read_all(&all[6]).unwrap(), files["set/f-6.bin"]);
}

#[test]
fn a_staged_store_is_a_store() {
    use crate::store::{
        LocalStore,
        conformance::{StoreCase, check},
    };
    let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = root.path().join("set").to_str().unwrap().to_owned();
    let case = |store: Arc<dyn Store>| StoreCase {
        store,
        root: format!("{source}/"),
        // An object that is there already stays, so that its copy fits.
        put: Box::new(|name, bytes| {
            if !fs::read(name).is_ok_and(|there| there == bytes) {
                fs::create_dir_all(Path::new(name).parent().unwrap()).unwrap();
                fs::write(name, bytes).unwrap();
            }
        }),
        many: 50,
        lists: true,
    };
    assert_eq!(check("plain", &case(Arc::new(LocalStore::new()))), Vec::<String>::new());
    go(&Stores::new(), &into(&source, folder.path())).unwrap();
    let inner = Arc::new(LocalStore::new());
    let store = Arc::new(StagedStore::over(inner, &[folder.path().to_owned()]).unwrap());
    assert_eq!(check("staged", &case(Arc::clone(&store) as _)), Vec::<String>::new());
    assert!(store.describe().contains(" of "), "{}", store.describe());
}

#[test]
fn copies_in_use_are_not_removed() {
    let files = several();
    let (_root, folder, _) = staged(&files);
    // Another process, as far as locks are concerned.
    let other = fs::File::open(folder.path().join(".infeed-stage.use")).unwrap();
    other.lock_shared().unwrap();
    let message = clean_up(folder.path()).unwrap_err().to_string();
    assert!(message.contains("are in use by another process: nothing is removed"), "{message}");
    check(folder.path(), &files);
    drop(other);
    // A store of this process does not stand in the way: it reads the sources from then on.
    let store = StagedStore::over(Stores::shared(), &[folder.path().to_owned()]).unwrap();
    assert_eq!(clean_up(folder.path()).unwrap().files, 8);
    assert!(!folder.path().exists());
    drop(store);
    fs::create_dir(folder.path()).unwrap();
}
