//! Tests what is decoded and kept over epochs. Blocks only claim a size and take no memory.

use super::*;
use crate::Rng;

const BLOCK: u64 = 11 << 20;

struct Claim;

impl Block for Claim {
    fn bytes(&self) -> u64 {
        BLOCK
    }

    fn give_back(self, _: &Spares) {}
}

type Cache = BlockCache<Claim>;

fn block(_key: Key) -> Result<Claim> {
    Ok(Claim)
}

/// Reads blocks in random order, `mixed` of them at a time in several batches. Returns how many were decoded.
fn epoch(cache: &Cache, blocks: usize, mixed: usize, seed: u64) -> u64 {
    let before = cache.decoded.load(Ordering::Relaxed);
    let mut rng = Rng::at(7, seed, 0, 0);
    let mut order: Vec<usize> = (0..blocks).collect();
    for i in (1..blocks).rev() {
        order.swap(i, rng.below(i as u64 + 1) as usize);
    }
    for window in order.chunks(mixed) {
        let keys: Vec<Key> = window.iter().map(|block| (*block, 0)).collect();
        for batch in 0..20 {
            // Not all of them at once: blocks in use are never evicted.
            let half = if batch % 2 == 0 { &keys[..keys.len() / 2] } else { &keys[keys.len() / 2..] };
            cache.get(half, &block).unwrap();
        }
    }
    cache.decoded.load(Ordering::Relaxed) - before
}

#[test]
fn what_fits_is_kept_from_the_second_epoch_on() {
    let cache = Cache::default();
    assert_eq!(epoch(&cache, 80, 8, 0), 80);
    assert!(cache.lock().bytes <= PASSING, "a first epoch uses little memory");
    assert!(epoch(&cache, 80, 8, 1) <= 80);
    for seed in 2..=5 {
        assert_eq!(epoch(&cache, 80, 8, seed), 0, "epoch {seed} decodes again");
        assert!(cache.lock().bytes <= MEMORY);
    }
}

#[test]
fn less_memory_can_be_taken_back() {
    let cache = Cache::default();
    cache.set_memory(Some(8 * BLOCK));
    assert!(epoch(&cache, 20, 4, 0) >= 20 && epoch(&cache, 20, 4, 1) > 0);
    assert!(cache.lock().bytes <= 8 * BLOCK);
    cache.set_memory(None);
    epoch(&cache, 20, 4, 2);
    epoch(&cache, 20, 4, 3);
    assert_eq!(epoch(&cache, 20, 4, 4), 0, "all of them fit now");
}

#[test]
fn what_was_too_large_is_tried_again_with_other_memory() {
    let cache = Cache::default();
    cache.set_memory(Some(BLOCK));
    let large = |_| Err(Error::sample("too large"));
    assert!(cache.get(&[(0, 0)], &large).is_err());
    cache.set_memory(Some(BLOCK));
    assert!(cache.get(&[(0, 0)], &block).is_err(), "nothing has changed");
    cache.set_memory(None);
    assert!(cache.get(&[(0, 0)], &block).is_ok());
}

#[test]
fn of_what_does_not_fit_later_epochs_keep_more_and_more() {
    let cache = Cache::default();
    // 120 blocks of 11 MiB are 1.3 GiB.
    assert_eq!(epoch(&cache, 120, 8, 0), 120);
    let mut last = 120;
    for seed in 1..=8 {
        let kept = cache.lock().kept;
        let decoded = epoch(&cache, 120, 8, seed);
        assert!(decoded <= last + 24, "epoch {seed}: {decoded} after {last}");
        assert!(cache.lock().kept.saturating_sub(kept) <= 40 * BLOCK, "epoch {seed} kept too much at once");
        assert!(cache.lock().bytes <= MEMORY);
        last = decoded;
    }
    assert!(last <= 85, "{last}");
}

#[test]
fn room_grows_where_more_blocks_are_mixed_than_fit_it() {
    let cache = Cache::default();
    // 40 blocks of 11 MiB are 440 MiB.
    let first = epoch(&cache, 200, 40, 0);
    assert!(first <= 200 + 100, "{first}");
    assert!(cache.lock().passing > PASSING);
    assert!(epoch(&cache, 200, 40, 1) <= 210);
}

#[test]
fn blocks_that_come_back_are_kept_at_once_or_by_and_by() {
    // More was seen than fits.
    let mut state = State { decoded: 1000, different: 1000, passing: 100, ..State::<Claim>::new() };
    let kept = |state: &mut State<Claim>, slow| -> Vec<bool> {
        (0..8)
            .map(|block| {
                state.gone.insert((block, 0), 0);
                state.keeps((block, 0), 10, 200, slow)
            })
            .collect()
    };
    assert_eq!(kept(&mut state, true), [true; 8]);
    assert_eq!(kept(&mut state, false), [false, false, false, true, false, false, false, true]);
    state.kept = 95;
    assert_eq!(kept(&mut state, true), [false; 8], "there is no room beside the passing blocks");
    assert!(!state.keeps((9, 0), 10, 200, true), "it was never decoded before");
}

#[test]
fn blocks_that_nobody_needs_go_at_once() {
    let cache = Cache::default();
    let keys = [(0, 0), (1, 0), (2, 0)];
    let held = cache.get(&keys, &block).unwrap().swap_remove(2);
    assert!(cache.overflows(PASSING + 1) && !cache.overflows(PASSING));
    cache.release([(0, 0), (2, 0), (7, 0)]);
    assert!(!cache.has((0, 0)) && cache.has((1, 0)), "what was not named stays");
    assert!(cache.has((2, 0)), "what is in use stays");
    assert_eq!(cache.lock().bytes, 2 * BLOCK);
    assert_eq!(cache.lock().by_use.len(), 2);
    drop(held);
    // It came back, and all that was seen fits: now it is kept.
    cache.get(&keys, &block).unwrap();
    cache.release(keys);
    assert!(cache.has((0, 0)) && !cache.has((1, 0)));
    assert_eq!(cache.decoded(), 4);
    cache.set_memory(Some(BLOCK));
    assert!(cache.overflows(BLOCK + 1));
    cache.get(&keys[1..2], &block).unwrap();
    assert!(cache.has((1, 0)));
    cache.set_memory(Some(BLOCK - 1));
    assert!(!cache.has((1, 0)), "it fits no longer, and nobody uses it");
}
