//! The choices of a blend, stored so that any place is found quickly.
//!
//! One byte per place holds the part (two bytes if there are more than 256). The sample number is how often the part
//! was chosen before: counts are stored for every 64 places or more, and the rest is counted. A blend too long to
//! store keeps only the counts and recomputes the choices of a block on demand.

use super::{
    super::group::Whom,
    BlendLength,
    kernel::{Mixer, Tag},
};
use crate::recent::Recent;
use infeed_core::{Error, Result};

/// Longer blends do not store their choices.
const KEPT: u64 = 1 << 28;
/// Longer blends are rejected, because computing the choices takes hours.
const LIMIT: u64 = 1 << 40;
/// Log2 of the places per block: the minimum, and the value for recomputed choices.
const BITS: u32 = 6;
const REPLAYED: u32 = 12;
/// Choices counted at once: one cache line.
const PIECE: usize = 64;
/// Their indices as an array: a range of `u8` prevents vectorisation.
const NUMBERS: [u8; PIECE] = {
    let mut numbers = [0; PIECE];
    let mut at = 0;
    while at < PIECE {
        numbers[at] = at as u8;
        at += 1;
    }
    numbers
};
/// Up to this gap, counting on from the last place is cheaper than counting from the start of the block.
const NEAR: usize = 16;

/// All choices of an epoch.
#[derive(Debug)]
pub(super) struct Table {
    weights: Vec<f64>,
    places: u64,
    /// Log2 of the places per block.
    bits: u32,
    /// How often each part was chosen before each block; one row per block.
    marks: Vec<u64>,
    /// How often each part is chosen in total.
    asked: Vec<u64>,
    tags: Tags,
}

#[derive(Debug)]
enum Tags {
    Narrow(Vec<u8>),
    Wide(Vec<u16>),
    Replayed(Recent<u64, Vec<u16>>),
}

impl Table {
    /// Computes all choices. `lengths` are the numbers of places of the parts, none of them 0.
    pub(super) fn build(weights: Vec<f64>, lengths: &[u64], end: BlendLength) -> Result<Self> {
        let most = most_places(&weights, lengths, end);
        if most > LIMIT as f64 {
            let what =
                format!("about {most:.1e} places are too many; cap the length or leave out tiny weights");
            return Err(Error::plan("blend", what));
        }
        Table::keeping(weights, lengths, end, most <= KEPT as f64)
    }

    /// Builds the table, with choices stored or recomputed on demand.
    pub(super) fn keeping(weights: Vec<f64>, lengths: &[u64], end: BlendLength, keep: bool) -> Result<Self> {
        let parts = weights.len();
        if parts > 1 << 16 {
            let what = format!("{parts} parts are more than 65536; blend in two levels");
            return Err(Error::plan("blend", what));
        }
        // With many parts, each row of counts is long, so blocks are longer to compensate.
        let bits = if keep { (16 * parts).ilog2().clamp(BITS, REPLAYED) } else { REPLAYED };
        let mut table = Table {
            weights,
            places: 0,
            bits,
            marks: Vec::new(),
            asked: vec![0; parts],
            tags: Tags::Replayed(Recent::new(8)),
        };
        match (keep, parts) {
            (true, 0..=256) => table.tags = Tags::Narrow(table.choose(lengths, end, true)?),
            (true, _) => table.tags = Tags::Wide(table.choose(lengths, end, true)?),
            (false, _) => drop(table.choose::<u16>(lengths, end, false)?),
        }
        Ok(table)
    }

    fn choose<T: Tag>(&mut self, lengths: &[u64], end: BlendLength, keep: bool) -> Result<Vec<T>> {
        let mut mixer = Mixer::at(&self.weights, &self.asked, 0);
        let expected = most_places(&self.weights, lengths, end) as usize + 1;
        let mut tags = Vec::with_capacity(if keep { expected } else { 0 });
        let mut block = vec![T::default(); 1 << self.bits];
        loop {
            self.marks.extend(mixer.used());
            let left = if let BlendLength::Exactly(places) = end { places - self.places } else { LIMIT };
            let block = &mut block[..left.min(1 << self.bits) as usize];
            mixer.fill(block);
            let mark = &self.marks[self.marks.len() - self.weights.len()..];
            let stop = stop_inside(block, mark, &mixer, lengths, end);
            let block = &block[..stop.unwrap_or(block.len())];
            if keep {
                tags.extend_from_slice(block);
            }
            self.places += block.len() as u64;
            if stop.is_some() || end == BlendLength::Exactly(self.places) {
                self.asked = mark.to_vec();
                block.iter().for_each(|tag| self.asked[tag.part()] += 1);
                return Ok(tags);
            }
            if self.places > LIMIT {
                return Err(Error::plan("blend", "more than 2^40 places; cap the length"));
            }
        }
    }

    /// Returns the number of places in an epoch.
    pub(super) fn places(&self) -> u64 {
        self.places
    }

    /// Returns how many places each part has in an epoch.
    pub(super) fn asked(&self) -> &[u64] {
        &self.asked
    }

    /// Writes the part at each place, and how often it was chosen before the block of that place.
    fn read<T: Tag>(&self, tags: &[T], places: &[u64], whom: &mut [Whom]) {
        for (whom, place) in whom.iter_mut().zip(places) {
            let part = tags[*place as usize].part();
            *whom = (part as u32, self.marks[(place >> self.bits) as usize * self.weights.len() + part]);
        }
    }

    /// Replaces each place by the number of the sample within its part, and writes the part to `whom`. The second
    /// number in `whom` is scratch. There must be at least one place.
    pub(super) fn locate(&self, mut places: &mut [u64], mut whom: &mut [Whom]) {
        places.iter_mut().for_each(|place| *place = (*place).min(self.places - 1));
        // Reads parts and counts first, so that the cache misses overlap.
        match &self.tags {
            Tags::Narrow(tags) => self.read(tags, places, whom),
            Tags::Wide(tags) => self.read(tags, places, whom),
            Tags::Replayed(_) => {}
        }
        while let Some(&first) = places.first() {
            let block = first >> self.bits;
            let (start, end) = (block << self.bits, ((block + 1) << self.bits).min(self.places));
            let count = places.iter().take_while(|place| (start..end).contains(place)).count();
            let (these, others) = places.split_at_mut(count);
            let (those, rest) = whom.split_at_mut(count);
            these.iter_mut().for_each(|place| *place -= start);
            let mark = &self.marks[block as usize * self.weights.len()..][..self.weights.len()];
            match &self.tags {
                Tags::Narrow(tags) => inside(&tags[start as usize..end as usize], mark, these, those),
                Tags::Wide(tags) => inside(&tags[start as usize..end as usize], mark, these, those),
                Tags::Replayed(memo) => {
                    let tags = memo.get(block, || {
                        let mut tags = vec![0; (end - start) as usize];
                        Mixer::at(&self.weights, mark, start).fill(&mut tags);
                        tags
                    });
                    inside(&tags, mark, these, those);
                }
            }
            (places, whom) = (others, rest);
        }
    }
}

/// Locates places within one block: runs are counted incrementally, isolated places individually.
fn inside<T: Tag>(tags: &[T], mark: &[u64], places: &mut [u64], whom: &mut [Whom]) {
    // How often each part was chosen before `next`; empty if not yet counted.
    let (mut used, mut next): (Vec<u64>, usize) = (Vec::new(), 0);
    for i in 0..places.len() {
        let place = places[i] as usize;
        let tag = tags[place];
        whom[i].0 = tag.part() as u32;
        let near = !used.is_empty() && (next..next + NEAR).contains(&place);
        if !near {
            let lone = places.get(i + 1).is_none_or(|after| *after != places[i] + 1);
            if lone {
                places[i] = mark[tag.part()] + count(tags, place, tag);
                continue;
            }
            used.clear();
            used.extend_from_slice(mark);
            next = 0;
        }
        tags[next..place].iter().for_each(|tag| used[tag.part()] += 1);
        places[i] = used[tag.part()];
        used[tag.part()] += 1;
        next = place + 1;
    }
}

/// Returns how often the tag occurs before the place. Full pieces are scanned whole: vectorised and without a branch
/// on the place, which is cheaper than stopping early.
fn count<T: Tag>(tags: &[T], place: usize, tag: T) -> u64 {
    let (pieces, rest) = tags.as_chunks::<PIECE>();
    let (whole, last) = (place / PIECE, (place % PIECE) as u8);
    let all = |piece: &[T; PIECE]| u64::from(piece.iter().map(|other| u8::from(*other == tag)).sum::<u8>());
    let before: u64 = pieces[..whole].iter().map(all).sum();
    before
        + match pieces.get(whole) {
            Some(piece) => {
                let early =
                    piece.iter().zip(&NUMBERS).map(|(other, at)| u8::from((*other == tag) & (*at < last)));
                u64::from(early.sum::<u8>())
            }
            None => rest[..usize::from(last)].iter().filter(|other| **other == tag).count() as u64,
        }
}

/// Returns an upper bound on the number of places: a part is never further behind its share than the number of parts.
fn most_places(weights: &[f64], lengths: &[u64], end: BlendLength) -> f64 {
    let slack = weights.len() as f64 + 1.0;
    let each = weights.iter().zip(lengths).map(|(weight, length)| (*length as f64 + slack) / weight);
    match end {
        BlendLength::First => each.fold(f64::INFINITY, f64::min),
        BlendLength::All => each.fold(0.0, f64::max),
        BlendLength::Exactly(places) => places as f64,
    }
}

/// Returns after how many choices of the block the epoch ends, if it ends there. `mark` holds the counts before the
/// block and the mixer those after it, so most blocks need not be scanned.
fn stop_inside<T: Tag>(
    block: &[T],
    mark: &[u64],
    mixer: &Mixer,
    lengths: &[u64],
    end: BlendLength,
) -> Option<usize> {
    match end {
        BlendLength::Exactly(_) => None,
        BlendLength::First => {
            mixer.used().zip(lengths).find(|(used, length)| used > length)?;
            let mut used = mark.to_vec();
            block.iter().position(|tag| {
                used[tag.part()] += 1;
                used[tag.part()] > lengths[tag.part()]
            })
        }
        BlendLength::All => {
            if mixer.used().zip(lengths).any(|(used, length)| used < *length) {
                return None;
            }
            let mut used = mark.to_vec();
            let mut open = used.iter().zip(lengths).filter(|(used, length)| used < length).count();
            let last = block.iter().position(|tag| {
                used[tag.part()] += 1;
                open -= usize::from(used[tag.part()] == lengths[tag.part()]);
                open == 0
            });
            last.map(|last| last + 1)
        }
    }
}
