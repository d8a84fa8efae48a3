use super::*;
use crate::store::{LocalStore, MemoryStore};
use std::fs;

fn memory(names: &[&str]) -> (Arc<dyn Store>, Vec<String>) {
    let store: MemoryStore =
        names.iter().filter(|n| !n.ends_with('/')).map(|n| (*n, n.to_string())).collect();
    (Arc::new(store), names.iter().map(|n| n.to_string()).collect())
}

fn keys(source: &FolderSource) -> Vec<String> {
    (0..source.rows()).map(|row| source.key(row)).collect()
}

fn labels(source: &FolderSource) -> Vec<Option<i64>> {
    (0..source.rows()).map(|row| source.label(row)).collect()
}

#[test]
fn class_folders_are_ordered_as_torchvision_orders_them() {
    let (store, names) = memory(&[
        "r/b/2.jpg",
        "r/b/10.PNG",
        "r/b/notes.txt",
        "r/a-b/1.webp",
        "r/a/x/1.jpg",
        "r/a/x-y/1.jpg",
        "r/a/z.gif",
        "r/a/z.jpeg",
        "r/stray.jpg",
        "r/a/",
        "r/a/x/",
        "other/c/1.jpg",
    ]);
    let source = FolderSource::open(store, "r/", names).unwrap();
    assert_eq!(source.classes(), ["a", "a-b", "b"]);
    // In the class `a` the folders come in the order of their paths: a, a/x, a/x-y.
    assert_eq!(keys(&source), ["a/z.jpeg", "a/x/1.jpg", "a/x-y/1.jpg", "a-b/1.webp", "b/10.PNG", "b/2.jpg"]);
    assert_eq!(labels(&source), [0, 0, 0, 1, 2, 2].map(Some));
    let record = &source.fetch(&[3], &["label".into(), "image".into()]).unwrap()[0];
    assert!(matches!(&record.fields[0], Value::Tensor(t) if *t == Tensor::int(1)));
    assert!(matches!(&record.fields[1], Value::Bytes(b) if b == "r/a-b/1.webp"));
    assert!(source.describe().contains("6 rows of 3 classes"), "{}", source.describe());
}

#[test]
fn empty_classes_are_named() {
    let (store, names) = memory(&["r/a/1.jpg", "r/b/", "r/c/notes.txt"]);
    let message = FolderSource::class_folders(store, "r", names, &Endings::Images).unwrap_err().to_string();
    assert!(message.contains("class folders b, c, each has no image in it"), "{message}");
    let (store, names) = memory(&["r/1.jpg"]);
    let message = FolderSource::class_folders(store, "r", names, &Endings::Images).unwrap_err().to_string();
    assert!(message.contains("no class folders"), "{message}");
}

#[test]
fn flat_folders_and_lists_have_no_label() {
    let (store, names) = memory(&["r/2.jpg", "r/1.jpg", "r/readme.md"]);
    let source = FolderSource::open(Arc::clone(&store), "r", names).unwrap();
    assert_eq!(keys(&source), ["1.jpg", "2.jpg"]);
    assert_eq!(source.spec().fields.len(), 1);
    let record = &source.fetch(&[0], &["label".into()]).unwrap()[0];
    assert!(matches!(record.fields[0], Value::Missing));
    let list = FolderSource::files(Arc::clone(&store), &["r/2.jpg".into(), "r/readme.md".into()]).unwrap();
    assert_eq!(keys(&list), ["r/2.jpg", "r/readme.md"]);
    assert_eq!(list.row_bytes(0, &["image".into()]), GUESS);
    list.fetch(&[0], &["image".into()]).unwrap();
    assert_eq!(list.row_bytes(1, &["image".into()]), 7);
    assert!(FolderSource::files(Arc::clone(&store), &[]).is_err());
    assert!(FolderSource::open(store, "r", vec!["r/readme.md".into()]).is_err());
}

#[test]
fn manifests_are_read() {
    let open = |text: &str| {
        let store: MemoryStore = [("d/m.csv", text.to_owned())].into_iter().collect();
        FolderSource::manifest(Arc::new(store), "d/m.csv")
    };
    let named =
        open("\u{feff}path,label\n# note\ncats/1.jpg,dog\n\n/abs/2.jpg,cat\r\n\"a, b.jpg\",dog\n").unwrap();
    assert_eq!(named.classes(), ["cat", "dog"]);
    assert_eq!(labels(&named), [1, 0, 1].map(Some));
    assert_eq!(keys(&named), ["cats/1.jpg", "/abs/2.jpg", "a, b.jpg"]);
    assert_eq!((named.shard_of(0), named.shard_of(1)), ("d/cats/1.jpg".into(), "/abs/2.jpg".into()));
    let numbered = open("my cat.jpg 7\nb.png -1\n").unwrap();
    assert_eq!(keys(&numbered), ["my cat.jpg", "b.png"]);
    assert_eq!(labels(&numbered), [7, -1].map(Some));
    assert!(numbered.classes().is_empty());
    let tabs = open("a b.jpg\tnice dog\nc.jpg\tcat").unwrap();
    assert_eq!(tabs.classes(), ["cat", "nice dog"]);
    let bare = open("my image.jpg\nc,d.jpg").unwrap();
    assert_eq!(keys(&bare), ["my image.jpg", "c,d.jpg"]);
    assert_eq!(labels(&bare), [None, None]);
    let message = |text: &str| open(text).unwrap_err().to_string();
    assert!(
        message("a.jpg,1\n\nb.jpg\n").contains("line 3: it has no label"),
        "{}",
        message("a.jpg,1\n\nb.jpg\n")
    );
    assert!(message("a.jpg\nb.jpg 1\n").contains("line 2: it has a label"));
    assert!(message("a.jpg,\n").contains("line 1: there is nothing after"));
    assert!(message(",3\n").contains("line 1: there is no path"));
    assert!(message("# nothing\n").contains("lists no files"));
    let store: MemoryStore = [("m.txt", b"a.jpg 1\n\xff".to_vec())].into_iter().collect();
    let binary = FolderSource::manifest(Arc::new(store), "m.txt").unwrap_err().to_string();
    assert!(binary.contains("line 2"), "{binary}");
}

#[test]
fn a_vanished_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    for name in ["cat/1.jpg", "dog/1.jpg"] {
        fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
        fs::write(dir.path().join(name), name).unwrap();
    }
    let store = LocalStore::new();
    let names = store.names(root).unwrap();
    let source = FolderSource::open(Arc::new(store), root, names).unwrap();
    source.will_fetch(&[0, 1], &["image".into()]);
    assert!(
        matches!(&source.fetch(&[1], &["image".into()]).unwrap()[0].fields[0], Value::Bytes(b) if b == "dog/1.jpg")
    );
    fs::remove_file(dir.path().join("dog/1.jpg")).unwrap();
    let error = source.fetch(&[0, 1], &["image".into()]).unwrap_err();
    assert!(matches!(&error, Error::NotFound { path, .. } if path.ends_with("dog/1.jpg")), "{error}");
    assert!(source.fetch(&[2], &["image".into()]).is_err());
}

#[test]
fn extensions_are_torchvisions() {
    for name in ["a.JPG", "b.jpeg", "x/.tiff", "c.webp"] {
        assert!(is_image(name), "{name}");
    }
    for name in ["a.gif", "jpg", "a.jpg.txt", ""] {
        assert!(!is_image(name), "{name}");
    }
}

#[test]
fn class_folders_of_other_files() {
    let (store, names) = memory(&["r/yes/1.wav", "r/yes/a.jpg", "r/no/2.WAV", "r/no/readme.md", "r/x.wav"]);
    let endings = Endings::new(&["wav".to_owned()]).unwrap();
    let source = FolderSource::of(Arc::clone(&store), "r", names.clone(), &endings).unwrap();
    assert_eq!(keys(&source), ["no/2.WAV", "yes/1.wav"]);
    assert_eq!((&*source.spec().fields[0].0, source.classes().len()), ("wav", 2));
    let source = source.named("audio").unwrap();
    let record = &source.fetch(&[1], &["label".into(), "audio".into()]).unwrap()[0];
    assert!(matches!(&record.fields[0], Value::Tensor(t) if *t == Tensor::int(1)));
    assert!(matches!(&record.fields[1], Value::Bytes(b) if b == "r/yes/1.wav"));
    assert!(source.row_bytes(0, &["audio".into()]) == 11 && source.named("label").is_err());
    let none = Endings::new(&[".mp3".to_owned()]).unwrap();
    let message = FolderSource::of(store, "r", names, &none).unwrap_err().to_string();
    assert!(message.contains("there is no .mp3 file in it"), "{message}");
}
