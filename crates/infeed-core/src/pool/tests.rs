use super::*;
use proptest::prelude::*;

#[test]
fn a_dropped_buffer_comes_back() {
    let pool = Pool::new(1 << 20);
    let first = pool.take(110_000).unwrap();
    let place = first.as_ptr();
    drop(first.freeze());
    assert_eq!(pool.kept(), class_size(class_of(110_000).unwrap()));
    let second = pool.take(109_000).unwrap();
    assert_eq!(second.as_ptr(), place);
    assert_eq!(second.len(), 109_000);
    assert_eq!(pool.kept(), 0);
}

#[test]
fn a_slice_keeps_the_buffer_out() {
    let pool = Pool::new(1 << 20);
    let whole = pool.take(8192).unwrap().freeze();
    let part = whole.slice(10..20);
    drop(whole);
    assert_eq!(pool.kept(), 0);
    drop(part);
    assert_eq!(pool.kept(), 8192);
}

#[test]
fn no_more_is_kept_than_allowed() {
    let pool = Pool::new(10_000);
    let three: Vec<_> = (0..3).map(|_| pool.take(4096).unwrap()).collect();
    drop(three);
    assert_eq!(pool.kept(), 8192);
}

#[test]
fn sizes_in_use_push_out_old_ones() {
    let pool = Pool::new(20_000);
    drop([pool.take(8192).unwrap(), pool.take(8192).unwrap()]);
    let three: Vec<_> = (0..3).map(|_| pool.take(5000).unwrap()).collect();
    drop(three);
    assert_eq!(pool.kept(), 3 * 5120);
    drop(pool.take(30_000).unwrap());
    assert_eq!(pool.kept(), 3 * 5120);
}

#[test]
fn tiny_and_huge_buffers_are_not_kept() {
    let pool = Pool::new(usize::MAX);
    drop(pool.take(0).unwrap().freeze());
    drop(pool.take(4095).unwrap());
    assert_eq!(pool.kept(), 0);
    assert_eq!(class_of(LARGEST), Some(CLASSES - 1));
    assert_eq!(class_of(LARGEST + 1), None);
}

proptest! {
    #[test]
    fn classes_fit_closely(len in SMALLEST..LARGEST) {
        let size = class_size(class_of(len).unwrap());
        prop_assert!(size >= len);
        prop_assert!(size <= len + len / 4);
    }
}

/// Many threads return buffers of many sizes to a small pool: every return has to evict others, while the times of use
/// change.
#[test]
fn many_threads_push_each_other_out() {
    let pool = Pool::new(200_000);
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            let pool = &pool;
            scope.spawn(move || {
                for i in 0..4000usize {
                    let held: Vec<_> = (0..3)
                        .map(|k| {
                            pool.take(4096 + (i * 7919 + thread * 104_729 + k * 13_007) % 150_000).unwrap()
                        })
                        .collect();
                    drop(held);
                }
            });
        }
    });
    assert!(pool.kept() <= 200_000 + 8 * 200_000);
}
