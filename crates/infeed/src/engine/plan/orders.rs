//! The stages that define the order.

use super::{
    columns,
    leaves::Leaves,
    stream::{BUFFER, INITIAL},
};
use crate::{
    order::{
        Balanced, Below, BlockShuffle, Buffer, ByLength, Fold, Global, Pick, Repeat, Slice, SlidingShuffle,
        Split, Weighted, fraction,
    },
    recipe::{ShuffleKind, Stage},
};
use infeed_core::{Error, Order, Result};
use std::sync::Arc;

/// Default number of blocks mixed at a time: close to a global shuffle for a few hundred rows per shard.
const WINDOW: u64 = 16;

/// Rows of a table that are mixed at a time.
const MIXED_ROWS: u64 = 1 << 20;

/// Applies a stage to an order.
pub(super) fn apply(below: Below, stage: &Stage, leaves: &Leaves, batch: Option<usize>) -> Result<Below> {
    Ok(match stage {
        Stage::Shuffle { .. } => return shuffle(below, stage, leaves),
        Stage::Slice { start, stop, step } => Arc::new(Slice::python(below, *start, *stop, *step)?),
        Stage::Pick { places } => {
            let all = below.places();
            let places = places
                .numbers()?
                .into_iter()
                .map(|place| from_python(place, all))
                .collect::<Result<Vec<_>>>()?;
            Arc::new(Pick::new(below, places)?)
        }
        Stage::Fraction { fraction: f } => Arc::new(fraction(below, *f)?),
        Stage::Split { lengths, index, seed } => Arc::new(Split::new(below, lengths, *index, *seed)?),
        Stage::Fold { folds, fold, held_out, seed } => {
            Arc::new(Fold::new(below, *folds, *fold, *held_out, *seed)?)
        }
        Stage::Repeat { times } => Arc::new(Repeat::new(below, *times)?),
        Stage::Weighted { weights, length, replacement, seed } => {
            fixed(&*below, stage.name())?;
            let weights = columns::reals_by_place(weights, &*below, leaves, stage.name())?;
            Arc::new(Weighted::new(below, &weights, *length, *replacement, *seed)?)
        }
        Stage::Balance { by, mode, seed } => {
            fixed(&*below, stage.name())?;
            let labels = columns::integers_by_place(by, &*below, leaves, stage.name())?;
            Arc::new(Balanced::new(below, &labels, *mode, *seed)?)
        }
        Stage::ByLength { by, window, group, seed } => {
            let group = group.or(batch.map(|b| b as u64)).ok_or_else(|| {
                Error::plan(
                    stage.name(),
                    "needs group=, or a batch() in the same pipeline to take its size from",
                )
            })?;
            let lengths = columns::lengths_by_row(by, &*below, leaves, stage.name())?;
            Arc::new(ByLength::new(below, lengths, *window, group, *seed)?)
        }
        other => return Err(Error::Internal { what: format!("{} is no order", other.name()) }),
    })
}

fn shuffle(below: Below, stage: &Stage, leaves: &Leaves) -> Result<Below> {
    let Stage::Shuffle { seed, kind, window, block, buffer, initial } = stage else {
        return Err(Error::Internal { what: "not a shuffle".to_owned() });
    };
    let kind = match kind {
        // A given window or buffer implies the kind.
        ShuffleKind::Auto if window.is_some() || block.is_some() => ShuffleKind::Block,
        ShuffleKind::Auto if buffer.is_some() || initial.is_some() => ShuffleKind::Buffer,
        // Over a network blocks must be needed at an even rate.
        ShuffleKind::Auto if leaves.are_far() && below.blocks().is_some() => ShuffleKind::Sliding,
        // With sources that decode in blocks, a global shuffle would decode a whole block for every row.
        ShuffleKind::Auto if leaves.are_blocks() && below.blocks().is_some() => ShuffleKind::Block,
        // In other sources every row can be looked up by itself.
        ShuffleKind::Auto => ShuffleKind::Global,
        kind => *kind,
    };
    let odd = match kind {
        ShuffleKind::Block | ShuffleKind::Sliding => [("buffer", buffer), ("initial", initial)],
        ShuffleKind::Buffer => [("window", window), ("block", block)],
        _ => [("window", window), ("buffer", buffer)],
    };
    if let Some((name, _)) = odd.iter().find(|(_, given)| given.is_some()) {
        return Err(Error::plan("shuffle", format!("{name}= does not belong to this kind of shuffle")));
    }
    Ok(match kind {
        ShuffleKind::Auto | ShuffleKind::Global => {
            if below.places() > 1 << 48 {
                return Err(Error::plan(
                    "shuffle",
                    format!("{} rows are too many: 2^48 is the most", below.places()),
                ));
            }
            Arc::new(Global::new(below, *seed))
        }
        ShuffleKind::Block => {
            let window =
                window.unwrap_or_else(|| if leaves.are_blocks() { few(&*below, leaves) } else { WINDOW });
            Arc::new(BlockShuffle::new(below, *seed, window, *block)?)
        }
        ShuffleKind::Sliding => {
            let window =
                window.unwrap_or_else(|| if leaves.are_blocks() { few(&*below, leaves) } else { WINDOW });
            Arc::new(SlidingShuffle::new(below, *seed, window, *block)?)
        }
        ShuffleKind::Buffer => {
            let size = buffer.unwrap_or(BUFFER);
            Arc::new(Buffer::new(below, *seed, size, initial.unwrap_or(INITIAL.min(size)))?)
        }
        ShuffleKind::None => below,
    })
}

/// Default number of table blocks mixed at a time: about a million rows, so that they fit into memory, and more than
/// one block, so that neighbours are separated. Depends on the data alone, as every order must.
fn few(below: &dyn Order, leaves: &Leaves) -> u64 {
    let blocks = below.blocks().unwrap_or_default();
    let mean = blocks.iter().sum::<u64>() / (blocks.len() as u64).max(1);
    (MIXED_ROWS / mean.max(1)).min(leaves.most_mixed()).clamp(2, 64)
}

/// Converts an index as in Python: negative values count from the end.
fn from_python(place: i64, all: u64) -> Result<u64> {
    let found = if place < 0 { all.checked_sub(place.unsigned_abs()) } else { Some(place as u64) };
    found
        .filter(|p| *p < all)
        .ok_or_else(|| Error::plan("subset", format!("there is no row {place}: there are {all}")))
}

fn fixed(below: &dyn Order, stage: &str) -> Result<()> {
    if below.is_fixed() {
        return Ok(());
    }
    Err(Error::plan(stage, "stands after a shuffle: put it before, it makes its own random choices"))
}
