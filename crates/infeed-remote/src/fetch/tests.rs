//! The table alone; the fetcher as a whole is tested against real servers from Python.

use super::{table::Table, *};
use crate::{backend::Backend, location::Location};
use proptest::prelude::*;

fn object(size: u64) -> Arc<Object> {
    let at = Location::parse("http://127.0.0.1:9/x").unwrap();
    let backend = runtime::handle().map(|_| Backend::open(&at, &StoreOptions::default()).unwrap()).unwrap();
    let whole = AtomicBool::new(false);
    Arc::new(Object {
        url: "http://127.0.0.1:9/x".into(),
        identity: "http://127.0.0.1:9/x".into(),
        listed: false,
        key: "x".to_owned(),
        backend: Arc::new(backend),
        size,
        modified: None,
        tag: None,
        whole,
    })
}

proptest! {
    #[test]
    fn extents_cover_and_do_not_overlap(asks in prop::collection::vec((0u64..30_000_000, 1u64..6_000_000, any::<bool>()), 1..30)) {
        let object = object(1 << 30);
        let mut table = Table::new(1 << 40);
        for (start, len, urgent) in asks {
            let extents = table.cover(&object, start..start + len, urgent);
            prop_assert!(extents[0].range.start <= start && start < extents[0].range.end);
            prop_assert!(extents.last().unwrap().range.end >= start + len);
            prop_assert!(extents.windows(2).all(|pair| pair[0].range.end == pair[1].range.start));
        }
        // Each is fetched once, however often it was asked for.
        let mut begun: Vec<(u64, u64)> = Vec::new();
        while let Some(extent) = table.next(usize::MAX) {
            begun.push((extent.range.start, extent.range.end));
        }
        begun.sort_unstable();
        prop_assert!(begun.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }
}

#[test]
fn what_was_read_goes_and_what_was_announced_stays() {
    let object = object(1 << 30);
    let mut table = Table::new(64 << 20);
    let chunk = |i: u64| i << 22..(i + 1) << 22;
    let mut known = Vec::new();
    for i in 0..8 {
        known.extend(table.cover(&object, chunk(i), false));
    }
    // All but a sixteenth of the limit may be announced.
    assert_eq!((table.room(), known.len()), (28 << 20, 8));
    for extent in &known {
        extent.finish(Ok(Bytes::from(vec![0; 4 << 20])));
    }
    // All of one, a part of another.
    table.used(&known[0], 4 << 20);
    table.used(&known[1], 1);
    assert_eq!(table.room(), 32 << 20);
    assert!(!Arc::ptr_eq(&table.cover(&object, chunk(0), false)[0], &known[0]));
    assert!(Arc::ptr_eq(&table.cover(&object, chunk(1), false)[0], &known[1]));
    // When memory is short, the one that was read in part goes, and none that was not read.
    for i in 8..18 {
        table.cover(&object, chunk(i), true);
    }
    assert!(!Arc::ptr_eq(&table.cover(&object, chunk(1), false)[0], &known[1]));
    assert!(Arc::ptr_eq(&table.cover(&object, chunk(2), false)[0], &known[2]));
    // A request that is on its way is forgotten, too: it must not take room for ever.
    let running = table.cover(&object, chunk(40), false);
    while table.next(usize::MAX).is_some() {}
    table.forget();
    assert_eq!(table.room(), 60 << 20);
    assert!(!Arc::ptr_eq(&table.cover(&object, chunk(2), false)[0], &known[2]));
    assert!(!Arc::ptr_eq(&table.cover(&object, chunk(40), false)[0], &running[0]));
}

#[test]
fn what_was_announced_for_steps_that_are_done_goes() {
    let object = object(1 << 30);
    let mut table = Table::new(64 << 20);
    let chunk = |i: u64| i << 22..(i + 1) << 22;
    let announce = |table: &mut Table, step, done, i| {
        table.ahead_for(1, step, done);
        table.cover(&object, chunk(i), false).remove(0)
    };
    let (a, b) = (announce(&mut table, 0, 0, 0), announce(&mut table, 0, 0, 1));
    // Another run has steps of its own.
    table.ahead_for(2, 0, 0);
    let other = table.cover(&object, chunk(2), false).remove(0);
    for extent in [&a, &b, &other] {
        extent.finish(Ok(Bytes::from(vec![0; 4 << 20])));
        table.used(extent, 1);
    }
    let again = announce(&mut table, 5, 0, 1);
    let coming = announce(&mut table, 5, 5, 3);
    let held = |table: &Table| [0, 1, 2, 3].map(|i| table.holds(&object, &chunk(i)));
    assert!(Arc::ptr_eq(&b, &again));
    assert_eq!(held(&table), [false, true, true, true], "the first was for step 0 alone");
    table.ahead_for(1, 9, 9);
    assert_eq!(held(&table), [false, false, true, true], "a request on its way stays until it has ended");
    coming.finish(Ok(Bytes::from(vec![0; 4 << 20])));
    table.ahead_for(1, 10, 10);
    assert_eq!(held(&table), [false, false, true, false]);
}

/// Small data sets have blocks that the end of an epoch and the beginning of the next one need.
#[test]
fn what_the_next_epoch_needs_stays_although_all_of_it_was_read() {
    let object = object(1 << 30);
    let mut table = Table::new(64 << 20);
    let announce = |table: &mut Table, step, done| {
        table.ahead_for(1, step, done);
        table.cover(&object, 0..4 << 20, false).remove(0)
    };
    let extent = announce(&mut table, 0, 0);
    extent.finish(Ok(Bytes::from(vec![0; 4 << 20])));
    table.used(&extent, 3 << 20);
    assert!(Arc::ptr_eq(&extent, &announce(&mut table, 3, 0)));
    table.used(&extent, 1 << 20);
    table.used(&extent, 1 << 20);
    assert!(table.holds(&object, &(0..4 << 20)), "step 3 needs it");
    table.ahead_for(1, 9, 4);
    assert!(!table.holds(&object, &(0..1)));
    // And the end of a run leaves nothing behind.
    let last = announce(&mut table, 9, 4);
    last.finish(Ok(Bytes::from(vec![0; 4 << 20])));
    table.used(&last, 5);
    table.forget();
    assert!(!table.holds(&object, &(0..1)));
}

#[test]
fn announcements_go_on_when_memory_is_full() {
    let object = object(1 << 30);
    let mut table = Table::new(64 << 20);
    for i in 0..16 {
        let extent = table.cover(&object, i << 22..(i + 1) << 22, false).remove(0);
        extent.finish(Ok(Bytes::from(vec![0; 4 << 20])));
        table.used(&extent, 1);
    }
    assert!(!table.is_full(), "what was read in part makes room");
}

/// Extents that were read in part and never finished must not stop announcements.
#[test]
fn there_is_always_some_room() {
    let object = object(1 << 30);
    let mut table = Table::new(64 << 20);
    for i in 0..16 {
        let extent = table.cover(&object, i << 22..(i + 1) << 22, false).remove(0);
        extent.finish(Ok(Bytes::from(vec![0; 4 << 20])));
        table.used(&extent, 1);
    }
    assert_eq!(table.room(), 8 << 20);
}

#[test]
fn what_was_asked_for_is_known() {
    let object = object(1 << 30);
    let mut table = Table::new(1 << 30);
    assert!(!table.holds(&object, &(0..1)) && table.holds(&object, &(5..5)));
    table.cover(&object, 0..100, false);
    table.cover(&object, 100..(9 << 20), false);
    assert!(table.holds(&object, &(0..9 << 20)) && table.holds(&object, &(50..150)));
    assert!(!table.holds(&object, &(50..(9 << 20) + 1)));
}

#[test]
fn what_somebody_waits_for_comes_first() {
    let object = object(1 << 30);
    let mut table = Table::new(1 << 30);
    table.cover(&object, 0..100, false);
    table.cover(&object, 1000..1100, false);
    table.cover(&object, 1000..1100, true);
    let starts: Vec<u64> = std::iter::from_fn(|| table.next(9)).map(|extent| extent.range.start).collect();
    assert_eq!(starts, [1000, 0]);
}

#[test]
fn a_whole_object_is_one_extent() {
    let object = object(10 << 20);
    let mut table = Table::new(1 << 30);
    let parts = table.cover(&object, 1 << 20..9 << 20, true);
    assert!(parts.len() > 1);
    // Now the server turns out to know no ranges: parts that are queued would be refused one by one.
    object.whole.store(true, Relaxed);
    let whole = table.cover(&object, 5..6, true);
    assert_eq!((whole.len(), whole[0].range.clone()), (1, 0..10 << 20));
    let again = table.cover(&object, 1 << 20..2 << 20, false);
    assert!(Arc::ptr_eq(&whole[0], &again[0]) && again.len() == 1);
}
