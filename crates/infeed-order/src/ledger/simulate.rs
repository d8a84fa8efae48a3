//! Simulated loaders that keep ledgers, for tests: worlds that are killed and restarted.
#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers as tests

use super::*;
use crate::{Global, Last, Sequential, Steps};
use infeed_core::Order;
use std::{ops::Range, sync::Arc};

pub(super) const EPOCH: u64 = 3;

/// One run: from where the last one was killed, for some number of steps.
#[derive(Debug, Clone)]
pub(super) struct Life {
    pub(super) size: u64,
    pub(super) global: u64,
    pub(super) steps: u64,
}

pub(super) fn order(places: u64) -> Global {
    Global::new(Arc::new(Sequential::of(places)), 17)
}

pub(super) fn identity() -> Identity {
    Identity { hash: "1f".into(), data: "2e".into(), order: "shuffled".into() }
}

/// Returns the ledgers of all ranks of all runs. The last run goes to the end of the epoch.
pub(super) fn simulate(order: &dyn Order, lives: &[Life], last: Last, keep: bool) -> Vec<Ledger> {
    let (places, mut from, mut out) = (order.places(), 0, vec![]);
    for (n, life) in lives.iter().enumerate() {
        // Clamped, because a run that drops everything left takes no step and leaves no trace.
        let most = (places - from).max(1);
        let life = Life { size: life.size.min(most), global: life.global.min(most), steps: life.steps };
        let of = |rank| Steps { places, from, global: life.global, last, rank, size: life.size };
        let full = (places - from) / life.global;
        let steps = if n + 1 == lives.len() { of(0).count() } else { life.steps.min(full) };
        for rank in 0..life.size {
            let mut ledger = Ledger::new(identity()).with_rows(keep).named(format!("run{n}-rank{rank}.json"));
            for step in 0..steps {
                let share = of(rank).share(step);
                let mut rows = share.list(places);
                order.resolve(EPOCH, &mut rows);
                let all = of(rank).global_places(step);
                deliver(&mut ledger, &of(rank), all, &rows, (share.pads.end - share.pads.start) as usize);
            }
            out.push(Ledger::from_json(&ledger.to_json()).unwrap().named(ledger.name()));
        }
        from = (from + steps * life.global).min(places);
    }
    out
}

/// Every seventh row is bad, every fifth filtered; every second bad row is replaced by another.
fn deliver(ledger: &mut Ledger, steps: &Steps, all: Range<u64>, rows: &[u64], pads: usize) {
    let (real, again) = rows.split_at(rows.len() - pads);
    let (mut given, mut left_out, mut stand_ins) = (vec![], vec![], vec![]);
    for &row in real {
        match row {
            _ if row % 7 == 3 => left_out.push((row, Why::Bad)),
            _ if row % 5 == 3 => left_out.push((row, Why::Filtered)),
            _ => given.push(row),
        }
        if row % 14 == 3 {
            stand_ins.push(row / 2);
            given.push(row / 2);
        }
    }
    given.extend_from_slice(again);
    ledger.count(&Delivery {
        epoch: EPOCH,
        from: all.start,
        to: all.end,
        global: steps.global,
        last: steps.last,
        rank: steps.rank,
        size: steps.size,
        rows: &given,
        pads,
        stand_ins: &stand_ins,
        left_out: &left_out,
    });
}

/// Counts by brute force how often each place was delivered.
pub(super) fn brute(ledgers: &[Ledger], places: u64) -> Vec<usize> {
    let mut seen = vec![0; places as usize];
    for s in ledgers.iter().flat_map(Ledger::segments) {
        (0..s.steps).flat_map(|step| s.cut(places).share(step).places).for_each(|p| seen[p as usize] += 1);
    }
    seen
}
