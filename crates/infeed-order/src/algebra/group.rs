//! Resolves one batch over several orders: one call per order, not one per place.

use crate::Below;
use infeed_core::Order;

/// Which order to ask for a place: the number of the part, and the epoch of that part.
pub(super) type Whom = (u32, u64);

/// Runs with the same address are resolved in place if they have at least this length on average. A shorter run is
/// not worth a call of its own.
const RUN: usize = 16;

/// Resolves places that are already relative to their parts; `whom[i]` names the part and epoch of `places[i]`.
pub(super) fn ask(parts: &[Below], whom: &[Whom], places: &mut [u64]) {
    let runs = 1 + whom.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if runs == 1 || runs * RUN <= whom.len() {
        in_place(parts, whom, places);
    } else {
        gathered(parts, whom, places);
    }
}

fn in_place(parts: &[Below], whom: &[Whom], mut places: &mut [u64]) {
    for run in whom.chunk_by(|a, b| a == b) {
        let (these, rest) = places.split_at_mut(run.len());
        let (part, epoch) = run[0];
        parts[part as usize].resolve(epoch, these);
        places = rest;
    }
}

/// Groups the places by address with a counting sort, resolves each group, and puts the rows back.
fn gathered(parts: &[Below], whom: &[Whom], places: &mut [u64]) {
    let epoch = whom[0].1;
    let (kinds, kind_of): (Vec<Whom>, Vec<u32>) =
        if parts.len() <= 2 * whom.len() && whom.iter().all(|address| address.1 == epoch) {
            // Each part is a kind. Unused parts cost less than finding out which ones are unused.
            ((0..parts.len() as u32).map(|part| (part, epoch)).collect(), whom.iter().map(|w| w.0).collect())
        } else {
            kinds(whom)
        };
    // Where the places of each kind start; after the loop below, where they end.
    let mut ends = vec![0u32; kinds.len() + 1];
    kind_of.iter().for_each(|kind| ends[*kind as usize + 1] += 1);
    (1..ends.len()).for_each(|kind| ends[kind] += ends[kind - 1]);
    let mut position = vec![0u32; places.len()];
    let mut gathered = vec![0u64; places.len()];
    for ((position, kind), place) in position.iter_mut().zip(&kind_of).zip(places.iter()) {
        let end = &mut ends[*kind as usize];
        *position = *end;
        gathered[*end as usize] = *place;
        *end += 1;
    }
    let mut start = 0;
    for ((part, epoch), end) in kinds.into_iter().zip(ends) {
        if start < end {
            parts[part as usize].resolve(epoch, &mut gathered[start as usize..end as usize]);
        }
        start = end;
    }
    for (place, position) in places.iter_mut().zip(position) {
        *place = gathered[position as usize];
    }
}

/// Returns the distinct addresses in order of appearance, and for each place the index of its address.
fn kinds(whom: &[Whom]) -> (Vec<Whom>, Vec<u32>) {
    // A small hash table with open addressing, at most half full; 0 marks an empty slot.
    let size = (2 * whom.len()).next_power_of_two();
    let mut slots = vec![0u32; size];
    let mut kinds: Vec<Whom> = Vec::new();
    let number = |&address: &Whom| {
        let key = (u64::from(address.0) << 40 ^ address.1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (key >> 32) as usize & (size - 1);
        loop {
            match slots[slot] as usize {
                0 => {
                    kinds.push(address);
                    slots[slot] = kinds.len() as u32;
                    return kinds.len() as u32 - 1;
                }
                kind if kinds[kind - 1] == address => return kind as u32 - 1,
                _ => slot = (slot + 1) & (size - 1),
            }
        }
    };
    let kind_of = whom.iter().map(number).collect();
    (kinds, kind_of)
}

/// Returns the text for `explain()` on several parts: the first few in full.
pub(super) fn describe(parts: &[Below]) -> String {
    const SHOWN: usize = 4;
    let mut text: Vec<String> = parts.iter().take(SHOWN).map(|part| part.describe()).collect();
    if parts.len() > SHOWN {
        text.push(format!("{} more", parts.len() - SHOWN));
    }
    format!("[{}]", text.join("; "))
}
