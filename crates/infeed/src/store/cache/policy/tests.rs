//! The policy against Belady's algorithm, over orders as a loader has them.

use super::*;
use infeed_core::Rng;
use proptest::prelude::*;

/// The bytes of each row, and where rows and chunks lie: row `r` is at `r * ROW`.
const ROW: u64 = 100;
/// Rows of the data.
const ROWS: u64 = 800;

/// The accesses of some epochs: rows in the order in which they are read.
struct Trace {
    rows: Vec<u64>,
    of_epoch: usize,
    chunk: u64,
    /// For each chunk the positions at which it is used.
    uses: HashMap<u64, Vec<u64>>,
}

impl Trace {
    fn new(rows: Vec<u64>, of_epoch: usize, chunk: u64) -> Self {
        let mut uses: HashMap<u64, Vec<u64>> = HashMap::new();
        for (at, row) in rows.iter().enumerate() {
            uses.entry(row / chunk).or_default().push(at as u64);
        }
        Trace { rows, of_epoch, chunk, uses }
    }

    /// Every row once per epoch. Blocks of rows are shuffled, `window` of them are mixed; one window is a global shuffle.
    fn shuffled(rows: u64, block: u64, window: usize, epochs: u64, chunk: u64) -> Self {
        let mut all = Vec::new();
        for epoch in 0..epochs {
            let blocks = shuffle((0..rows.div_ceil(block)).collect(), epoch, 1);
            for (at, window) in blocks.chunks(window).enumerate() {
                let rows =
                    window.iter().flat_map(|b| b * block..rows.min((b + 1) * block)).collect::<Vec<u64>>();
                all.extend(shuffle(rows, epoch, 2 + at as u64));
            }
        }
        Trace::new(all, rows as usize, chunk)
    }

    fn next(&self, chunk: u64, from: u64) -> u64 {
        let uses = &self.uses[&chunk];
        uses.get(uses.partition_point(|at| *at < from)).copied().unwrap_or(NEVER)
    }

    fn bytes(&self) -> u64 {
        self.of_epoch as u64 * ROW
    }
}

fn shuffle(mut items: Vec<u64>, epoch: u64, stage: u64) -> Vec<u64> {
    let mut rng = Rng::at(7, epoch, 0, stage);
    for at in (1..items.len()).rev() {
        items.swap(at, rng.below(at as u64 + 1) as usize);
    }
    items
}

/// The future of a trace, `horizon` accesses ahead.
struct Seen<'a> {
    trace: &'a Trace,
    now: u64,
    horizon: u64,
    rows_counted: bool,
}

impl Uses<u64> for Seen<'_> {
    fn now(&self) -> u64 {
        self.now
    }

    fn next(&self, chunk: u64, from: u64) -> u64 {
        let next = self.trace.next(chunk, from);
        if next < self.now + self.horizon { next } else { NEVER }
    }

    fn needed(&self, chunk: u64, before: u64) -> u64 {
        let uses = &self.trace.uses[&chunk];
        let count = uses.partition_point(|at| *at < before) - uses.partition_point(|at| *at < self.now);
        let whole = self.trace.chunk * ROW;
        if self.rows_counted { count as u64 * ROW } else { whole.min(count as u64 * whole) }
    }
}

fn wish(id: u64, bytes: u64, at_hand: u64) -> Wish<u64> {
    Wish { id, bytes, at_hand: Some(at_hand) }
}

/// Bytes fetched in each epoch. What is not admitted is fetched by row (`rows_counted`) or by chunk.
fn run(trace: &Trace, limit: u64, future: bool, rows_counted: bool) -> Vec<u64> {
    let mut policy = Policy::new(limit);
    let size = trace.chunk * ROW;
    let mut fetched = Vec::new();
    for (at, row) in trace.rows.iter().enumerate() {
        if at % trace.of_epoch == 0 {
            fetched.push(0);
        }
        let chunk = row / trace.chunk;
        let hit = policy.contains(chunk);
        policy.touch(chunk, ROW);
        if hit {
            continue;
        }
        let horizon = (2 * trace.of_epoch - at % trace.of_epoch) as u64;
        let seen = Seen { trace, now: at as u64 + 1, horizon, rows_counted };
        let uses = future.then_some(&seen as &dyn Uses<u64>);
        let admitted = policy.admit(wish(chunk, size, if rows_counted { ROW } else { size }), uses);
        *fetched.last_mut().unwrap() += if admitted.is_none() && rows_counted { ROW } else { size };
        if let Some(victims) = admitted {
            victims.into_iter().for_each(|victim| assert!(policy.remove(victim)));
            policy.insert(chunk, size, false);
        }
        assert!(policy.used() <= limit);
    }
    fetched
}

/// Belady's algorithm, written as plainly as possible: it knows all of the future, and may keep nothing of a chunk.
fn belady(trace: &Trace, limit: u64) -> Vec<u64> {
    let size = trace.chunk * ROW;
    let places = (limit / size) as usize;
    let mut kept: Vec<u64> = Vec::new();
    let mut fetched = Vec::new();
    for (at, row) in trace.rows.iter().enumerate() {
        if at % trace.of_epoch == 0 {
            fetched.push(0);
        }
        let chunk = row / trace.chunk;
        if !kept.contains(&chunk) {
            *fetched.last_mut().unwrap() += size;
            kept.push(chunk);
            if kept.len() > places {
                let last =
                    (0..kept.len()).max_by_key(|place| trace.next(kept[*place], at as u64 + 1)).unwrap();
                kept.swap_remove(last);
            }
        }
    }
    fetched
}

fn later(fetched: &[u64]) -> u64 {
    fetched[1..].iter().sum()
}

#[test]
fn it_fetches_no_more_than_belady() {
    // Rows of a block, blocks of a window, rows of a chunk.
    let orders = [(8, 4, 8), (8, 4, 1), (16, 2, 5), (1, 800, 1), (1, 800, 4), (1, 800, 16)];
    for (block, window, chunk) in orders {
        let trace = Trace::shuffled(ROWS, block, window, 5, chunk);
        for share in [4, 2] {
            let limit = trace.bytes() / share;
            let best = later(&belady(&trace, limit));
            let whole = later(&run(&trace, limit, true, false));
            let what = format!("blocks of {block}, windows of {window}, chunks of {chunk}, 1/{share}");
            assert!(
                whole as f64 <= best as f64 * 1.05,
                "{what}: {whole} bytes, {best} with Belady's algorithm"
            );
            // Where the future counts bytes, a chunk is not fetched for the sake of one row.
            let rows = later(&run(&trace, limit, true, true));
            assert!(rows as f64 <= best as f64 * 1.05, "{what}: {rows} bytes by row, {best} by chunk");
            let most = 4 * trace.bytes();
            assert!(rows <= most + most / 20, "{what}: {rows} bytes of {most} that were needed");
            println!(
                "{what}: whole {:.3}, rows {:.3} of Belady; of the data {:.3} and {:.3}",
                whole as f64 / best as f64,
                rows as f64 / best as f64,
                whole as f64 / most as f64,
                rows as f64 / most as f64
            );
        }
    }
}

#[test]
fn chunks_needed_later_than_all_others_are_not_kept() {
    let trace = Trace::new(vec![0, 1, 2, 0, 1, 2, 0, 1], 8, 1);
    let seen = |now| Seen { trace: &trace, now, horizon: 100, rows_counted: false };
    let mut policy = Policy::new(2 * ROW);
    policy.insert(0, ROW, false);
    policy.insert(1, ROW, false);
    assert_eq!(policy.admit(wish(2, ROW, ROW), Some(&seen(3))), None);
    assert_eq!(policy.admit(wish(2, ROW, ROW), Some(&seen(4))), Some(vec![0]));
    assert_eq!(policy.admit(wish(2, 3 * ROW, ROW), Some(&seen(4))), None);
    // What is being written cannot go.
    policy.insert(0, ROW, true);
    assert_eq!(policy.admit(wish(2, ROW, ROW), Some(&seen(4))), None);
    assert_eq!(policy.reserved().collect::<Vec<_>>(), [0]);
}

#[test]
fn chunks_fetched_ahead_are_worth_their_place_after_their_next_use() {
    let trace = Trace::new(vec![0, 1, 2, 0, 1, 2, 0, 1], 8, 1);
    let seen = Seen { trace: &trace, now: 1, horizon: 100, rows_counted: false };
    let mut policy = Policy::new(2 * ROW);
    policy.insert(0, ROW, false);
    policy.insert(1, ROW, false);
    // It is needed before chunk 0, but then not before chunk 0 is needed again.
    assert_eq!(policy.admit(Wish { id: 2, bytes: ROW, at_hand: None }, Some(&seen)), None);
    assert_eq!(policy.admit(wish(2, ROW, 0), Some(&seen)), Some(vec![0]));
}

#[test]
fn without_a_future_a_stable_share_stays() {
    for (block, window) in [(ROWS, 1), (8, 4), (1, 800)] {
        let trace = Trace::shuffled(ROWS, block, window, 6, 1);
        for share in [4, 2] {
            let fetched = run(&trace, trace.bytes() / share, false, false);
            let hits = trace.bytes() - fetched[2..].iter().max().unwrap();
            let kept = trace.bytes() / share;
            assert!(hits as f64 >= 0.9 * kept as f64, "{hits} of {kept}: {fetched:?}");
        }
    }
}

#[test]
fn without_a_future_what_is_dead_goes() {
    let mut rows: Vec<u64> = (0..4).flat_map(|_| 0..1000).collect();
    rows.extend((0..12).flat_map(|_| 1000..1400));
    let trace = Trace::new(rows, 400, 1);
    let fetched = run(&trace, 500 * ROW, false, false);
    assert_eq!(fetched.last(), Some(&0), "{fetched:?}");
}

proptest! {
    #[test]
    fn the_limit_holds_for_any_sizes(
        steps in prop::collection::vec((0u64..30, 1u64..50, any::<bool>()), 1..300),
        limit in 1u64..300,
        future in any::<bool>(),
    ) {
        let rows: Vec<u64> = steps.iter().map(|(chunk, ..)| *chunk).collect();
        let trace = Trace::new(rows, steps.len(), 1);
        let mut policy = Policy::new(limit);
        for (at, (chunk, bytes, reserved)) in steps.iter().enumerate() {
            policy.touch(*chunk, *bytes);
            let seen = Seen { trace: &trace, now: at as u64 + 1, horizon: 50, rows_counted: false };
            let uses = future.then_some(&seen as &dyn Uses<u64>);
            if let Some(victims) = policy.admit(wish(*chunk, *bytes, *bytes), uses) {
                prop_assert!(!victims.contains(chunk));
                for victim in victims {
                    prop_assert!(policy.remove(victim));
                }
                policy.insert(*chunk, *bytes, *reserved);
            }
            prop_assert!(policy.used() <= limit);
            prop_assert_eq!(policy.all().map(|(_, bytes, _)| bytes).sum::<u64>(), policy.used());
        }
    }
}
