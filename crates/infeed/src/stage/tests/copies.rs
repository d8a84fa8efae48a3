use super::{super::*, *};
use infeed_core::sync::Hold;
use std::{fs, sync::Mutex};

#[test]
fn copies_are_made_once() {
    let (files, folder) = (several(), tempfile::tempdir().unwrap());
    let store = Counting::new(in_memory(&files), u64::MAX);
    let staged = go(&store, &into("set", folder.path())).unwrap();
    check(folder.path(), &files);
    let all: u64 = files.values().map(|bytes| bytes.len() as u64).sum();
    assert_eq!((staged.files, staged.bytes, staged.kept), (8, all, 0));
    assert_eq!((staged.progress.files, staged.progress.bytes, staged.progress.copied), (8, all, all));
    assert_eq!(staged.roots, [folder.path().join("set")]);
    assert!(left_over(folder.path()).is_empty());
    for verify in [false, true] {
        let again = go(&store, &Staging { verify, ..into("set", folder.path()) }).unwrap();
        assert_eq!((again.kept, again.progress.copied), (8, 0));
    }
    assert_eq!(store.read.load(Relaxed), all);
    // The list has what a reader of it needs.
    let list: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("infeed-stage.json")).unwrap()).unwrap();
    let entry = &list["files"][7];
    assert_eq!(entry["name"], "set/f-7.bin");
    let sum = crc32c::crc32c(&files["set/f-7.bin"]);
    assert_eq!(entry["crc32c"], format!("{sum:08x}"));
}

#[test]
fn what_changed_is_copied_again() {
    let (mut files, folder) = (several(), tempfile::tempdir().unwrap());
    let memory = in_memory(&files);
    let store = Counting::new(memory.clone(), u64::MAX);
    let staging = into("set", folder.path());
    go(&store, &staging).unwrap();
    let read = |staging: &Staging| {
        let before = store.read.load(Relaxed);
        go(&store, staging).unwrap();
        store.read.load(Relaxed) - before
    };
    // Another source of the same size.
    let fresh = bytes(99, 1000);
    memory.put("set/f-2.bin", fresh.clone());
    files.insert("set/f-2.bin".to_owned(), fresh);
    assert_eq!(read(&staging), 1000);
    check(folder.path(), &files);
    // Copies that are gone, cut, or written to.
    fs::remove_file(folder.path().join("set/f-1.bin")).unwrap();
    fs::write(folder.path().join("set/f-2.bin"), b"cut").unwrap();
    let path = folder.path().join("set/f-3.bin");
    let mut other = fs::read(&path).unwrap();
    other[7] ^= 1;
    fs::write(&path, &other).unwrap();
    assert_eq!(read(&staging), 1 + 1000 + PIECE - 1);
    check(folder.path(), &files);
    // One that only a comparison finds: its times are as they were.
    let path = folder.path().join("set/f-6.bin");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, vec![0; 3 * PIECE as usize]).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(read(&staging), 0);
    assert_eq!(read(&Staging { verify: true, ..staging }), 3 * PIECE);
    check(folder.path(), &files);
}

#[test]
fn files_of_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let store: MemoryStore = [("a/x", "1"), ("b/x", "2"), ("a/y", "3")].into_iter().collect();
    fs::write(folder.path().join("y"), "mine").unwrap();
    let message = go(&store, &into("a/y", folder.path())).unwrap_err().to_string();
    assert!(message.contains("is in the way: it was not staged"), "{message}");
    go(&store, &into("a/x", folder.path())).unwrap();
    let message = go(&store, &into("b/x", folder.path())).unwrap_err().to_string();
    assert!(message.contains("it is a copy of `a/x`"), "{message}");
    // Removed is what was staged, and what was begun.
    fs::write(folder.path().join(".z.part"), "begun").unwrap();
    let removed = clean_up(folder.path()).unwrap();
    assert_eq!(removed, Removed { files: 1, bytes: 1 });
    let names = Stores::new().names(folder.path().to_str().unwrap()).unwrap();
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(clean_up(folder.path()).unwrap_err().to_string().contains("holds no staged files"));
}

#[test]
fn folders_that_hold_copies_can_be_sources() {
    let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = root.path().join("a");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("x"), "1").unwrap();
    let inside = into(source.to_str().unwrap(), &source.join("fast"));
    let message = go(&Stores::new(), &inside).unwrap_err().to_string();
    assert!(message.contains("which is a part of it"), "{message}");
    assert!(!source.join("fast").exists());
    go(&Stores::new(), &into(source.to_str().unwrap(), &root.path().join("b"))).unwrap();
    let again = into(root.path().join("b").to_str().unwrap(), folder.path());
    assert_eq!(go(&Stores::new(), &again).unwrap().files, 1);
    assert_eq!(fs::read(folder.path().join("b/a/x")).unwrap(), b"1");
}

#[test]
fn a_damaged_list_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store: MemoryStore = [("a/x", "1")].into_iter().collect();
    let list = folder.path().join("infeed-stage.json");
    for (text, what) in [("{", "not a list of staged files"), (r#"{"version":9,"files":[]}"#, "version 9")] {
        fs::write(&list, text).unwrap();
        let message = go(&store, &into("a/x", folder.path())).unwrap_err().to_string();
        assert!(message.contains(what) && message.contains("infeed-stage.json"), "{message}");
    }
    // A list cannot make others remove or read what is elsewhere.
    let outside = folder.path().join("outside");
    let inside = folder.path().join("in");
    fs::create_dir(&inside).unwrap();
    fs::write(&outside, "x").unwrap();
    let entry = r#"{"name":"../outside","source":"a/x","size":1,"crc32c":"0","copied":0}"#;
    fs::write(inside.join("infeed-stage.json"), format!(r#"{{"version":1,"files":[{entry}]}}"#)).unwrap();
    assert_eq!(clean_up(&inside).unwrap().files, 0);
    assert!(outside.is_file());
}

#[test]
fn ten_thousand_small_files() {
    let folder = tempfile::tempdir().unwrap();
    let files: BTreeMap<String, Vec<u8>> =
        (0..10_000).map(|at| (format!("s/{}/{at}.jpg", at % 50), bytes(at, (at % 90) as usize))).collect();
    let store = in_memory(&files);
    assert_eq!(go(&store, &into("s", folder.path())).unwrap().files, 10_000);
    check(folder.path(), &files);
    assert!(left_over(folder.path()).is_empty());
    let again = go(&store, &into("s", folder.path())).unwrap();
    assert_eq!((again.kept, again.progress.files_total), (10_000, 0));
    assert_eq!(clean_up(folder.path()).unwrap().files, 10_000);
    assert!(!folder.path().exists());
    fs::create_dir(folder.path()).unwrap();
}

/// Threads stand for processes: locks are those of open files either way.
#[test]
fn several_stage_into_one_folder() {
    let files: BTreeMap<String, Vec<u8>> =
        (0..40).map(|at| (format!("s/{at}"), bytes(at, 3000 * at as usize))).collect();
    let all: u64 = files.values().map(|bytes| bytes.len() as u64).sum();
    for share in [None, Some(Share::Node), Some(Share::Job)] {
        let folder = tempfile::tempdir().unwrap();
        let store = Counting::new(in_memory(&files), u64::MAX);
        let missing = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for rank in 0..4 {
                let (store, folder, missing) = (&store, folder.path(), &missing);
                scope.spawn(move || {
                    let world = World { local_rank: rank, local_size: 4, ..World::new(rank, 4).unwrap() };
                    let staging = Staging { share, world, threads: Some(2), ..into("s", folder) };
                    let staged = go(store, &staging).unwrap();
                    assert_eq!(staged.files, 40);
                    if share != Some(Share::Job) {
                        let there = |name: &String| folder.join(name).is_file();
                        assert!((0..40).all(|at| there(&format!("s/{at}"))));
                    }
                    missing.hold().push(staged.progress.copied);
                });
            }
        });
        check(folder.path(), &files);
        assert_eq!(store.read.load(Relaxed), all, "each byte is read once");
        assert_eq!(missing.hold().iter().sum::<u64>(), all);
        assert!(left_over(folder.path()).is_empty());
    }
}

#[test]
fn space_is_looked_at_first() {
    let folder = tempfile::tempdir().unwrap();
    let store: MemoryStore = [("a/x", "12345"), ("a/y", "1")].into_iter().collect();
    let laid = names::lay_out(&store, &["a".to_owned()]).unwrap();
    let missing: Vec<&Item> = laid.items.iter().collect();
    check_space(folder.path(), &missing, 6, 6).unwrap();
    let error = check_space(folder.path(), &missing, 6_000_000_000, 1_500_000).unwrap_err().to_string();
    assert!(error.contains("6.0 GB are needed for 2 files, and 1.5 MB are free"), "{error}");
    assert!(sys::free_space(folder.path()).unwrap() > 0);
    assert!(sys::free_space(&folder.path().join("none")).is_err());
}
