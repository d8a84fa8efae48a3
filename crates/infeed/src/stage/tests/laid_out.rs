use super::super::{
    names::{Item, lay_out},
    place,
    share::owners,
};
use crate::store::{MemoryStore, Stores};
use infeed_core::{Shard, Store};
use proptest::prelude::*;
use std::path::PathBuf;

fn names(store: &dyn Store, sources: &[&str]) -> Result<Vec<String>, String> {
    let sources: Vec<String> = sources.iter().map(|source| (*source).to_owned()).collect();
    let laid = lay_out(store, &sources).map_err(|e| e.to_string())?;
    Ok(laid.items.into_iter().map(|item| item.name).collect())
}

#[test]
fn names_are_what_is_left_of_them() {
    let root = tempfile::tempdir().unwrap();
    for name in ["a/x.tar", "a/y.tar", "b/x.tar", "b/deep/z.tar"] {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    }
    let root = root.path().to_str().unwrap();
    let names = |sources: &[String]| {
        names(&Stores::new(), &sources.iter().map(String::as_str).collect::<Vec<_>>()).unwrap()
    };
    assert_eq!(names(&[format!("{root}/a/x.tar")]), ["x.tar"]);
    assert_eq!(names(&[format!("{root}/a/*.tar")]), ["x.tar", "y.tar"]);
    assert_eq!(names(&[format!("{root}/a/../a/{{x,y}}.tar")]), ["x.tar", "y.tar"]);
    assert_eq!(names(&[format!("{root}/a/x.tar::{root}/b/x.tar")]), ["a/x.tar", "b/x.tar"]);
    assert_eq!(names(&[format!("{root}/b/")]), ["b/deep/z.tar", "b/x.tar"]);
    assert_eq!(
        names(&[format!("{root}/b/."), format!("{root}/a/y.tar")]),
        ["b/deep/z.tar", "b/x.tar", "a/y.tar"]
    );
    assert_eq!(names(&[format!("{root}/a/x.tar"), format!("{root}/a/x.tar")]), ["x.tar"]);
}

#[test]
fn names_of_other_stores() {
    let store: MemoryStore =
        ["d/a.tar", "d/e/b.tar", "d/empty/", "top"].into_iter().map(|name| (name, "x")).collect();
    assert_eq!(names(&store, &["mem:d"]).unwrap(), ["d/a.tar", "d/e/b.tar"]);
    assert_eq!(names(&store, &["mem:d/a.tar", "mem:d/e"]).unwrap(), ["a.tar", "e/b.tar"]);
    assert_eq!(names(&store, &["mem:top"]).unwrap(), ["top"]);
    assert_eq!(names(&store, &["mem://d/a.tar", "mem://d/e/b.tar"]).unwrap(), ["a.tar", "e/b.tar"]);
}

#[test]
fn names_that_cannot_be_are_refused() {
    for (object, what) in [
        ("d/../../x", "leads out of the destination"),
        ("d/..", "leads out of the destination"),
        ("d/a\0b", "leads out of the destination"),
    ] {
        let store: MemoryStore = [(object, "x"), ("d/ok", "x")].into_iter().collect();
        let message = names(&store, &["d"]).unwrap_err();
        assert!(message.contains(what), "{object:?}: {message}");
    }
    for pair in [["d/a//b", "d/a/b"], ["d/a", "d/a/b"], ["d/x", "d/.x.part"], ["d/x", "d/.x.part.pieces"]] {
        let store: MemoryStore = pair.into_iter().map(|name| (name, "x")).collect();
        let message = names(&store, &["d"]).unwrap_err();
        assert!(message.contains("cannot be staged into one folder"), "{pair:?}: {message}");
    }
    let store: MemoryStore = [("infeed-stage.json", "x")].into_iter().collect();
    assert!(names(&store, &["infeed-stage.json"]).unwrap_err().contains("uses for its own files"));
}

#[test]
fn a_folder_is_found_below_the_first_place_that_can_be_written_to() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, other) = (one.path().to_owned(), other.path().to_owned());
    let both = |name: &str| Some(if name == "TMPDIR" { other.clone() } else { one.clone() });
    let found = place::found_in("/data/imagenet/", &both).unwrap();
    assert_eq!(found.from, "$SLURM_TMPDIR");
    assert!(found.folder.starts_with(&one) && found.folder.to_str().unwrap().contains("/imagenet-"));
    assert_eq!(place::found_in("/data/imagenet/", &both).unwrap(), found);
    assert_ne!(place::found_in("/data2/imagenet/", &both).unwrap().folder, found.folder);
    let second = |name: &str| (name == "TMPDIR").then(|| other.clone());
    let found = place::found_in("s3://bucket/", &second).unwrap();
    assert_eq!(found.from, "$TMPDIR");
    assert!(place::all_in(&both).is_empty());
    std::fs::create_dir_all(&found.folder).unwrap();
    std::fs::write(found.folder.join("infeed-stage.json"), "{}").unwrap();
    assert_eq!(place::all_in(&both), [found.folder]);
    let lost = |_: &str| Some(PathBuf::from("/dev/null"));
    if let Err(error) = place::found_in("x/", &lost) {
        let message = error.to_string();
        assert!(message.contains("$SLURM_TMPDIR: `/dev/null` is not a folder"), "{message}");
    }
}

fn item(at: usize, size: u64) -> Item {
    let name = format!("f-{at}");
    let shard = Shard { name: name.as_str().into(), size, modified: None, version: None };
    Item { shard, source: name.clone(), name }
}

proptest! {
    #[test]
    fn shares_are_even(sizes in prop::collection::vec(0..1000_u64, 0..60), ranks in 1..9_u64) {
        let items: Vec<Item> = sizes.iter().enumerate().map(|(at, size)| item(at, *size)).collect();
        let owners = owners(&items, ranks);
        prop_assert!(owners.len() == items.len() && owners.iter().all(|owner| *owner < ranks));
        let load = |rank: u64| items.iter().zip(&owners).filter(|(_, o)| **o == rank).map(|(i, _)| i.shard.size).sum::<u64>();
        let loads: Vec<u64> = (0..ranks).map(load).collect();
        let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
        prop_assert!(most - least <= sizes.iter().copied().max().unwrap_or(0));
        // The order in which files were listed does not matter.
        let mut turned: Vec<Item> = items.clone();
        turned.reverse();
        let mut again = super::super::share::owners(&turned, ranks);
        again.reverse();
        prop_assert_eq!(owners, again);
    }
}
