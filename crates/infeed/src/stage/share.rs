//! Which rank copies which files.

use super::names::Item;
use crate::order::World;
use std::cmp::Reverse;

/// Who divides the files among themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// The ranks of a node, whose destination is the same folder. Each begins with its share and then helps the others: when
    /// one has finished, all files are there.
    Node,
    /// All ranks of a job. Each copies its share and nothing else.
    Job,
}

impl Share {
    /// The rank and the number of ranks that take part.
    pub(super) fn place(self, world: &World) -> (u64, u64) {
        match self {
            Share::Node => (world.local_rank, world.local_size),
            Share::Job => (world.rank, world.size),
        }
    }
}

/// Returns for each file the rank that copies it. All ranks come to the same answer, and their shares are of about the
/// same size: the largest file goes first, always to the rank with the least.
pub(super) fn owners(items: &[Item], ranks: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|at| (Reverse(items[*at].shard.size), &items[*at].name));
    let mut loads: std::collections::BinaryHeap<Reverse<(u64, u64, u64)>> =
        (0..ranks.max(1)).map(|rank| Reverse((0, 0, rank))).collect();
    let mut owners = vec![0; items.len()];
    for at in order {
        let Some(Reverse((bytes, files, rank))) = loads.pop() else { break };
        owners[at] = rank;
        loads.push(Reverse((bytes.saturating_add(items[at].shard.size), files + 1, rank)));
    }
    owners
}
