//! Round robin over several orders.
//!
//! In round `t`, part `d` yields its places `t * run .. (t + 1) * run`, as far as it has them. The yield of the parts
//! changes only in a few rounds: where a part has less than a full run left, and where it has nothing left. The
//! rounds between two such changes form a *phase*, in which all rounds are alike. A place is found by its phase, then
//! its round, then its part.

use super::group;
use crate::Below;
use infeed_core::{Error, Order, Result};
use serde::{Deserialize, Serialize};
#[cfg(test)]
pub(super) use tests::plain;

/// When a round robin ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Before the first place that a part no longer has: the longest prefix of the endless round robin in which no
    /// place is repeated and no part is skipped.
    #[default]
    First,
    /// When all parts are exhausted: empty parts drop out and the others go on, so every place comes exactly once.
    All,
}

/// Takes `run` places from the first part, then from the second, and so on, then again from the first.
#[derive(Debug)]
pub struct Interleave {
    parts: Vec<Below>,
    lengths: Vec<u64>,
    run: u64,
    phases: Vec<Phase>,
    places: u64,
}

#[derive(Debug)]
struct Phase {
    /// Its first place.
    place: u64,
    /// Its first round.
    round: u64,
    /// Number of places in each of its rounds.
    per_round: u64,
}

/// The parts that have a turn in the rounds of a phase.
#[derive(Default)]
struct Turns {
    /// The part, and the end of its turn within the round.
    ends: Vec<(u32, u64)>,
}

impl Interleave {
    /// Takes `run` places from each part in turn.
    pub fn new(parts: Vec<Below>, run: u64, stop: Stop) -> Result<Self> {
        let lengths: Vec<u64> = parts.iter().map(|part| part.places()).collect();
        let Some(&longest) = lengths.iter().max() else {
            return Err(Error::plan("interleave", "there is nothing to interleave; give at least one part"));
        };
        if run == 0 {
            return Err(Error::plan("interleave", "a run needs at least 1 place"));
        }
        // A run that no part can fill is equivalent to one just longer than the longest part; the
        // limit keeps products small.
        let run = run.min(longest.saturating_add(1));
        let too_many =
            || Error::plan("interleave", "the parts have more than 2^64 places together; take fewer");
        let total = lengths.iter().try_fold(0u64, |sum, length| sum.checked_add(*length));
        let total = total.ok_or_else(too_many)?;
        let places = match stop {
            Stop::All => total,
            Stop::First => before_the_first_gap(&lengths, run).min(total),
        };
        let phases = phases(&lengths, run);
        Ok(Interleave { parts, lengths, run, phases, places })
    }

    fn turns(&self, phase: &Phase, turns: &mut Turns) {
        turns.ends.clear();
        let given = phase.round.saturating_mul(self.run);
        let mut end = 0;
        for (part, length) in self.lengths.iter().enumerate() {
            let gives = length.saturating_sub(given).min(self.run);
            if gives > 0 {
                end += gives;
                turns.ends.push((part as u32, end));
            }
        }
    }
}

/// Returns the first place of the endless round robin that its part does not have. Up to there both ways to stop agree.
fn before_the_first_gap(lengths: &[u64], run: u64) -> u64 {
    let (parts, run) = (lengths.len() as u128, u128::from(run));
    let gaps = lengths.iter().enumerate().map(|(part, &length)| {
        let length = u128::from(length);
        (length / run * parts + part as u128) * run + length % run
    });
    gaps.min().map_or(0, |gap| u64::try_from(gap).unwrap_or(u64::MAX))
}

fn phases(lengths: &[u64], run: u64) -> Vec<Phase> {
    // Full rounds of each part, and what remains for the round after them.
    let mut turns: Vec<(u64, u64)> = lengths.iter().map(|length| (length / run, length % run)).collect();
    turns.sort_unstable();
    let mut changes: Vec<u64> = turns.iter().flat_map(|&(full, _)| [full, full.saturating_add(1)]).collect();
    changes.push(0);
    changes.sort_unstable();
    changes.dedup();
    let mut phases = Vec::new();
    let mut place = 0u64;
    for (i, &round) in changes.iter().enumerate() {
        let ending = turns.partition_point(|turn| turn.0 < round);
        let full = turns.partition_point(|turn| turn.0 <= round);
        let rest: u64 = turns[ending..full].iter().map(|turn| turn.1).sum();
        let per_round = (turns.len() - full) as u64 * run + rest;
        let Some(next) = changes.get(i + 1).filter(|_| per_round > 0) else {
            break;
        };
        phases.push(Phase { place, round, per_round });
        place += (next - round) * per_round;
    }
    phases
}

impl Order for Interleave {
    fn places(&self) -> u64 {
        self.places
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        let Some(last) = self.places.checked_sub(1) else {
            return places.fill(0);
        };
        let mut whom = Vec::with_capacity(places.len());
        let mut turns = Turns::default();
        // The phase that `turns` describes, and its places.
        let (mut phase, mut here) = (&self.phases[0], 0..0);
        // The turn of the last place: its range, and its part with the first place in that part.
        let (mut turn, mut given) = (0..0, (0, 0));
        for place in places.iter_mut() {
            let at = (*place).min(last);
            if !here.contains(&at) {
                let next = self.phases.partition_point(|phase| phase.place <= at);
                phase = &self.phases[next - 1];
                here = phase.place..self.phases.get(next).map_or(u64::MAX, |next| next.place);
                self.turns(phase, &mut turns);
            }
            if !turn.contains(&at) {
                let (round, within) =
                    ((at - phase.place) / phase.per_round, (at - phase.place) % phase.per_round);
                let number = turns.ends.partition_point(|&(_, end)| end <= within);
                let before = if number == 0 { 0 } else { turns.ends[number - 1].1 };
                let (part, end) = turns.ends[number];
                let start = at - within;
                turn = start + before..start + end;
                given = (part, (phase.round + round) * self.run);
            }
            *place = given.1 + (at - turn.start);
            whom.push((given.0, epoch));
        }
        group::ask(&self.parts, &whom, places);
    }

    fn is_fixed(&self) -> bool {
        self.parts.iter().all(|part| part.is_fixed())
    }

    fn describe(&self) -> String {
        format!("{} in turn from each: {}", self.run, group::describe(&self.parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sequential, algebra::check::holds};
    use infeed_core::OrderExt;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn parts(lengths: &[u64]) -> Vec<Below> {
        let part = |(i, &length)| -> Below { Arc::new(Sequential::new(1000 * i as u64, [length])) };
        lengths.iter().enumerate().map(part).collect()
    }

    /// The definition, implemented literally.
    pub(crate) fn plain(parts: &[Vec<u64>], run: u64, stop: Stop) -> Vec<u64> {
        let mut left: Vec<&[u64]> = parts.iter().map(Vec::as_slice).collect();
        let mut rows = vec![];
        while left.iter().any(|part| !part.is_empty()) {
            for part in &mut left {
                for _ in 0..run.min(10_000) {
                    match part.split_first() {
                        Some((row, rest)) => {
                            rows.push(*row);
                            *part = rest;
                        }
                        None if stop == Stop::First => return rows,
                        None => break,
                    }
                }
            }
        }
        rows
    }

    #[test]
    fn ends() {
        let order = |run, stop| Interleave::new(parts(&[5, 2, 3]), run, stop).unwrap().rows(0, 0..99);
        assert_eq!(order(1, Stop::First), [0, 1000, 2000, 1, 1001, 2001, 2]);
        assert_eq!(order(2, Stop::All), [0, 1, 1000, 1001, 2000, 2001, 2, 3, 2002, 4]);
        assert_eq!(order(u64::MAX, Stop::First), [0, 1, 2, 3, 4]);
        assert!(Interleave::new(vec![], 1, Stop::All).is_err());
        assert!(Interleave::new(parts(&[1]), 0, Stop::All).is_err());
        assert!(Interleave::new(parts(&[u64::MAX, 1]), 1, Stop::All).is_err());
        let huge = Interleave::new(parts(&[1 << 61, 1 << 40, 1 << 61]), 1, Stop::All).unwrap();
        assert_eq!(huge.rows(0, (3 << 40)..(3 << 40) + 2), [1 << 40, 2000 + (1 << 40)]);
    }

    proptest! {
        #[test]
        fn as_plainly_said(
            lengths in prop::collection::vec(0u64..30, 1..9),
            run in prop_oneof![1u64..8, Just(1000)],
            stop in prop_oneof![Just(Stop::First), Just(Stop::All)],
        ) {
            let rows: Vec<Vec<u64>> = parts(&lengths).iter().map(|part| part.rows(0, 0..99)).collect();
            holds(&Interleave::new(parts(&lengths), run, stop).unwrap(), 0, &plain(&rows, run, stop));
        }
    }
}
