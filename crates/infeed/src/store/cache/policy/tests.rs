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
        uses.get(uses.partition_point(|at| *at < from)).copied().unwrap_or(u64::MAX)
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

/// The future of a trace: what each chunk gives to the epoch behind the one of `now`.
struct Seen<'a> {
    trace: &'a Trace,
    now: u64,
}

impl Uses<u64> for Seen<'_> {
    fn version(&self) -> (u64, u64) {
        (0, self.now / self.trace.of_epoch as u64)
    }

    fn needed(&self, chunk: u64) -> Option<u64> {
        let next = (self.version().1 + 1) * self.trace.of_epoch as u64;
        let before = |end: u64| self.trace.uses[&chunk].partition_point(|at| *at < end);
        Some((before(next + self.trace.of_epoch as u64) - before(next)) as u64 * ROW)
    }
}

fn wish(id: u64, bytes: u64) -> Wish<u64> {
    Wish { id, bytes }
}

/// Bytes fetched in each epoch. What is not admitted is fetched row by row.
fn run(trace: &Trace, limit: u64, future: bool) -> Vec<u64> {
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
        let seen = Seen { trace, now: at as u64 };
        let uses = future.then_some(&seen as &dyn Uses<u64>);
        let admitted = policy.admit(wish(chunk, size), uses);
        *fetched.last_mut().unwrap() += if admitted.is_none() { ROW } else { size };
        if let Some(victims) = admitted {
            victims.into_iter().for_each(|victim| assert!(policy.remove(victim)));
            policy.insert(chunk, size, false);
        }
        assert!(policy.used() <= limit);
    }
    fetched
}

/// Belady's algorithm, written as plainly as possible: it knows all of the future, and may keep nothing of what it fetched.
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

/// The less of what Belady's algorithm fetches if it keeps chunks, and if it keeps rows.
fn best(trace: &Trace, limit: u64) -> u64 {
    let rows = Trace::new(trace.rows.clone(), trace.of_epoch, 1);
    later(&belady(trace, limit)).min(later(&belady(&rows, limit)))
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
            let (best, fetched) = (best(&trace, limit), later(&run(&trace, limit, true)));
            assert!(
                fetched as f64 <= best as f64 * 1.02,
                "blocks of {block}, windows of {window}, chunks of {chunk}, 1/{share}: {fetched} bytes, {best} with Belady's \
                 algorithm"
            );
        }
    }
}

/// Rows in random order, the first `often` of them `times` times in each epoch.
fn uneven(often: u64, times: u64, epochs: u64, chunk: u64) -> Trace {
    let epoch = |epoch| {
        let rows =
            (0..ROWS).flat_map(|row| std::iter::repeat_n(row, if row < often { times as usize } else { 1 }));
        shuffle(rows.collect(), epoch, 9)
    };
    Trace::new((0..epochs).flat_map(epoch).collect(), (ROWS + often * (times - 1)) as usize, chunk)
}

#[test]
fn what_is_needed_more_often_is_kept() {
    // A quarter of the rows is needed four times as often as the others, and fits.
    let trace = uneven(ROWS / 4, 4, 5, 8);
    let limit = ROWS * ROW / 4;
    let (with, without) = (run(&trace, limit, true), run(&trace, limit, false));
    assert_eq!(with[1..], [ROWS * ROW * 3 / 4; 4], "{with:?}");
    assert!(later(&without) as f64 > 1.3 * later(&with) as f64, "{without:?}");
}

#[test]
fn nothing_is_replaced_for_no_gain() {
    let trace = Trace::new((0..4).flat_map(|_| 0..4).collect(), 4, 1);
    let seen = Seen { trace: &trace, now: 2 };
    let mut policy = Policy::new(2 * ROW);
    policy.insert(0, ROW, false);
    policy.insert(1, ROW, false);
    assert_eq!(policy.admit(wish(2, ROW), Some(&seen)), None);
    assert_eq!(policy.admit(wish(2, 3 * ROW), Some(&seen)), None);
    // Only half as many bytes of the others are needed.
    let trace = Trace::new(vec![0, 1, 2, 2, 0, 1, 2, 2], 4, 1);
    let seen = Seen { trace: &trace, now: 2 };
    assert_eq!(policy.admit(wish(2, ROW), Some(&seen)), Some(vec![0]));
    // What is being written cannot go.
    policy.insert(0, ROW, true);
    assert_eq!(policy.admit(wish(2, ROW), Some(&seen)), Some(vec![1]));
    assert_eq!(policy.reserved().collect::<Vec<_>>(), [0]);
}

/// Knows chunks below ten: nothing of them is needed, and all of 9.
struct Tens(u64);

impl Uses<u64> for Tens {
    fn version(&self) -> (u64, u64) {
        (0, self.0)
    }

    fn needed(&self, chunk: u64) -> Option<u64> {
        (chunk < 10).then_some(if chunk == 9 { ROW } else { self.0 * ROW })
    }
}

#[test]
fn chunks_of_others_stay_while_they_are_used() {
    let mut policy = Policy::new(2 * ROW);
    policy.insert(100, ROW, false);
    policy.insert(101, ROW, false);
    assert_eq!(policy.admit(wish(9, ROW), Some(&Tens(0))), None);
    // Longer than twice the limit nobody has used the first of them.
    for _ in 0..5 {
        policy.touch(9, ROW);
        policy.touch(101, 0);
    }
    assert_eq!(policy.admit(wish(9, ROW), Some(&Tens(0))), Some(vec![100]));
}

#[test]
fn what_is_known_is_asked_again_when_it_changes() {
    let mut policy = Policy::new(2 * ROW);
    policy.insert(1, ROW, false);
    policy.insert(2, ROW, false);
    assert_eq!(policy.admit(wish(9, ROW), Some(&Tens(0))), Some(vec![1]));
    assert_eq!(policy.admit(wish(9, ROW), Some(&Tens(1))), None);
    policy.remove(1);
    policy.insert(3, ROW, false);
    assert_eq!(policy.admit(wish(9, ROW), Some(&Tens(1))), None, "it is needed, too, although it came later");
    // Without a future nothing of it is left.
    assert_eq!(policy.admit(wish(9, ROW), None), None);
    assert_eq!(policy.admit(wish(9, ROW), Some(&Tens(0))), Some(vec![2]));
}

#[test]
fn without_a_future_a_stable_share_stays() {
    for (block, window) in [(ROWS, 1), (8, 4), (1, 800)] {
        let trace = Trace::shuffled(ROWS, block, window, 6, 1);
        for share in [4, 2] {
            let fetched = run(&trace, trace.bytes() / share, false);
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
    let fetched = run(&trace, 500 * ROW, false);
    assert_eq!(fetched.last(), Some(&0), "{fetched:?}");
}

proptest! {
    #[test]
    fn the_limit_holds_for_any_sizes(
        steps in prop::collection::vec((0u64..30, 1u64..50, any::<bool>()), 1..300),
        limit in 1u64..300,
        future in any::<bool>(),
    ) {
        let mut policy = Policy::new(limit);
        for (at, (chunk, bytes, reserved)) in steps.iter().enumerate() {
            policy.touch(*chunk, *bytes);
            let tens = Tens(at as u64 / 7 % 3);
            let uses = future.then_some(&tens as &dyn Uses<u64>);
            if let Some(victims) = policy.admit(wish(*chunk, *bytes), uses) {
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
