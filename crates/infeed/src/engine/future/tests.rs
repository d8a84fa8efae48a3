use super::known::{Answers, Known, Table};
use infeed_core::{Foresight, Shard};

fn shard(name: &str, size: u64, version: u64) -> Shard {
    Shard { name: name.into(), size, modified: None, version: Some(version) }
}

#[test]
fn bytes_are_counted_by_object_and_part() {
    let objects = [shard("a", 25, 1), shard("b", 0, 1), shard("c", 10, 1)];
    let known = Known::new(&objects, Answers::Unknown);
    assert_eq!(known.needed(&objects[0], &(0..10)), None);
    let mut table = Table::new(&objects, 10);
    for (object, bytes) in [(0, 5..15), (0, 5..6), (2, 0..10), (2, 0..10), (0, 24..25), (1, 0..0), (7, 0..9)]
    {
        table.add(object, &bytes);
    }
    let before = known.version();
    known.tell(table);
    assert_ne!(known.version(), before);
    let of = |object: usize, bytes| known.needed(&objects[object], &bytes);
    assert_eq!(
        [of(0, 0..10), of(0, 10..20), of(0, 20..25), of(2, 0..10)],
        [Some(6), Some(5), Some(1), Some(20)]
    );
    // Part of a cell.
    assert_eq!((of(0, 0..5), of(0, 0..25), of(0, 20..90)), (Some(3), Some(12), Some(1)));
}

#[test]
fn others_are_left_alone_and_old_versions_are_not_needed() {
    let objects = [shard("a", 25, 1), shard("b", 30, 1)];
    let known = Known::new(&objects, Answers::Once);
    assert_eq!(known.needed(&objects[1], &(10..20)), Some(10));
    assert_eq!(known.needed(&shard("a", 25, 2), &(0..10)), Some(0));
    assert_eq!(known.needed(&shard("a", 26, 1), &(0..10)), Some(0));
    assert_eq!(known.needed(&shard("d", 25, 1), &(0..10)), None);
}

#[test]
fn an_object_of_two_parts_is_needed_by_both() {
    let objects = [shard("a", 10, 1), shard("a", 10, 1)];
    let known = Known::new(&objects, Answers::Unknown);
    let mut table = Table::new(&objects, 4);
    table.add(0, &(0..4));
    table.add(1, &(2..4));
    known.tell(table);
    assert_eq!(known.needed(&objects[0], &(0..4)), Some(6));
}

#[test]
fn large_sets_have_larger_cells() {
    let objects: Vec<Shard> = (0..4).map(|n| shard(&n.to_string(), 1 << 44, 0)).collect();
    let mut table = Table::new(&objects, 4 << 20);
    table.add(3, &((1 << 44) - 8..1 << 44));
    let known = Known::new(&objects, Answers::Unknown);
    known.tell(table);
    assert_eq!(known.needed(&objects[3], &(0..1 << 44)), Some(8));
    assert_eq!(known.needed(&objects[2], &(0..1 << 44)), Some(0));
}
