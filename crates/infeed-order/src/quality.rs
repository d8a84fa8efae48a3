//! Measures how well an order mixes and how costly it is to read.

use infeed_core::{Order, OrderExt};
use serde::Serialize;
use std::fmt;

/// The result of [`quality`]. The first three fields are relative to a global shuffle: 1 means as good.
///
/// Meant for orders that yield each row once. Orders that repeat or omit rows are measured against all rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quality {
    /// How far rows are from their storage position: the mean of |row - place|, relative to a global shuffle. 0 for
    /// rows in storage order. Insensitive to rows that stay together: whole blocks in random order have 1.
    pub displacement: f64,
    /// How far apart the rows of one batch are stored: the mean of |row - other row|, relative to a global shuffle. 0
    /// when a batch is one run of rows, 1 when it is drawn from everywhere. 1 for batches of a single row.
    pub spread: f64,
    /// How often storage neighbours (row, row + 1) are in the same batch, relative to a global shuffle. Large when
    /// batches are clumped. 1 for batches of a single row. Noisy when few rows were sampled.
    pub neighbours: f64,
    /// The mean number of storage blocks a batch touches, if blocks were given.
    pub blocks_per_batch: Option<f64>,
    /// The mean number of runs of neighbouring rows in a batch: how many reads it takes when it is sorted first.
    pub runs: f64,
    /// The requested rows per batch.
    pub batch: u64,
    /// How many places were sampled.
    pub looked_at: u64,
    /// How many places an epoch has.
    pub places: u64,
}

/// Measures an order in batches of `batch` rows. `blocks` are the lengths of the storage blocks of the source, in row
/// order. Samples at most `most` places (but at least one batch), as whole batches, evenly spread.
pub fn quality(order: &dyn Order, epoch: u64, batch: u64, blocks: Option<&[u64]>, most: u64) -> Quality {
    let (places, batch) = (order.places(), batch.max(1));
    let rows = blocks.map_or(places, |blocks| blocks.iter().sum()) as f64;
    let batches = places.div_ceil(batch);
    let looks = batches.min((most / batch).max(1));
    let ends: Option<Vec<u64>> = blocks.map(|blocks| {
        let mut end = 0;
        blocks.iter().map(|rows| (end += rows, end).1).collect()
    });
    let mut sums = Sums::default();
    for look in 0..looks {
        let start = (u128::from(look) * u128::from(batches) / u128::from(looks)) as u64 * batch;
        let mut found = order.rows(epoch, start..start.saturating_add(batch));
        sums.moved += found.iter().zip(start..).map(|(row, place)| row.abs_diff(place) as f64).sum::<f64>();
        found.sort_unstable();
        sums.add(&found, rows, ends.as_deref());
    }
    let mean = |sum: f64, count: f64| if count > 0.0 { sum / count } else { 0.0 };
    // A batch of one row has no pairs and counts as perfectly mixed.
    let relative = |found: f64, global: f64| if global > 0.0 { found / global } else { 1.0 };
    Quality {
        displacement: 3.0 * mean(sums.moved, sums.rows * rows),
        spread: relative(sums.apart, sums.apart_global),
        neighbours: relative(sums.neighbours, sums.neighbours_global),
        blocks_per_batch: ends.map(|_| mean(sums.blocks, looks as f64)),
        runs: mean(sums.runs, looks as f64),
        batch,
        looked_at: sums.rows as u64,
        places,
    }
}

/// Sums over batches, each next to its expected value under a global shuffle.
#[derive(Default)]
struct Sums {
    rows: f64,
    moved: f64,
    apart: f64,
    apart_global: f64,
    neighbours: f64,
    neighbours_global: f64,
    blocks: f64,
    runs: f64,
}

impl Sums {
    /// Adds a sorted batch drawn from `rows` rows.
    fn add(&mut self, batch: &[u64], rows: f64, ends: Option<&[u64]>) {
        let n = batch.len() as f64;
        let steps = || batch.windows(2).map(|pair| pair[1] - pair[0]);
        self.rows += n;
        // Each gap between sorted rows counts once for each pair it separates.
        self.apart +=
            (1u64..).zip(steps()).map(|(i, step)| i as f64 * (n - i as f64) * step as f64).sum::<f64>();
        self.apart_global += n * (n - 1.0) / 2.0 * (rows + 1.0) / 3.0;
        self.neighbours += steps().filter(|step| *step == 1).count() as f64;
        self.neighbours_global += if rows > 0.0 { n * (n - 1.0) / rows } else { 0.0 };
        self.runs += (usize::from(!batch.is_empty()) + steps().filter(|step| *step > 1).count()) as f64;
        if let Some(ends) = ends {
            let block = |row: &u64| ends.partition_point(|end| *end <= *row);
            self.blocks += batch.chunk_by(|a, b| block(a) == block(b)).count() as f64;
        }
    }
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "displacement      {:>9.3}   (global shuffle: 1)", self.displacement)?;
        writeln!(f, "spread            {:>9.3}   (global shuffle: 1)", self.spread)?;
        writeln!(f, "neighbours        {:>9.3}   (global shuffle: 1)", self.neighbours)?;
        if let Some(blocks) = self.blocks_per_batch {
            writeln!(f, "blocks per batch  {blocks:>9.1}")?;
        }
        writeln!(f, "runs per batch    {:>9.1}   (of {} rows)", self.runs, self.batch)?;
        writeln!(f, "looked at         {:>9}   of {} places", self.looked_at, self.places)?;
        // Displacement does not notice rows that stay together, so the summary uses the spread.
        write!(f, "mixes {:.2} as well as a global shuffle", self.spread.min(1.0))?;
        match self.blocks_per_batch {
            Some(blocks) => write!(f, "; a batch touches {blocks:.1} blocks"),
            None => write!(f, "; a batch takes {:.1} reads", self.runs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Below, BlockShuffle, Global, Sequential};
    use std::sync::Arc;

    const SHARDS: [u64; 100] = [500; 100];

    fn lie() -> Below {
        Arc::new(Sequential::new(0, SHARDS))
    }

    fn of(order: &dyn Order) -> Quality {
        quality(order, 1, 100, Some(&SHARDS), u64::MAX)
    }

    #[test]
    fn rows_as_they_lie() {
        let found = of(&lie());
        assert_eq!((found.displacement, found.runs, found.blocks_per_batch), (0.0, 1.0, Some(1.0)));
        assert!(found.spread < 0.01 && found.neighbours > 400.0, "{found}");
        assert_eq!((found.looked_at, found.places), (50_000, 50_000));
    }

    #[test]
    fn a_global_shuffle_is_the_measure() {
        let found = of(&Global::new(lie(), 17));
        assert!((found.displacement - 1.0).abs() < 0.02, "{found}");
        assert!((found.spread - 1.0).abs() < 0.02, "{found}");
        // About a hundred pairs are expected by chance.
        assert!((found.neighbours - 1.0).abs() < 0.4, "{found}");
        // 100 draws from 100 shards touch 1 - 1/e of the shards.
        assert!((found.blocks_per_batch.unwrap() - 63.4).abs() < 1.0, "{found}");
        assert!(found.runs > 99.0);
    }

    #[test]
    fn larger_windows_mix_better() {
        let all: Vec<Quality> =
            [1, 4, 16, 64].map(|window| of(&BlockShuffle::new(lie(), 17, window, None).unwrap())).into();
        for pair in all.windows(2) {
            assert!(pair[0].spread < pair[1].spread, "{} then {}", pair[0], pair[1]);
            assert!(pair[0].neighbours > pair[1].neighbours, "{} then {}", pair[0], pair[1]);
            assert!(pair[0].blocks_per_batch < pair[1].blocks_per_batch);
        }
        assert!(all[0].spread > of(&lie()).spread && all[3].spread < 1.02);
        assert!(all[1].blocks_per_batch.unwrap() < 4.5);
    }

    #[test]
    fn a_look_at_some_is_close() {
        let order = BlockShuffle::new(lie(), 17, 8, None).unwrap();
        let (all, some) = (of(&order), quality(&order, 1, 100, Some(&SHARDS), 5_099));
        assert_eq!(some.looked_at, 5_000);
        assert!((all.spread - some.spread).abs() < 0.1, "{all} but {some}");
        assert!((all.displacement - some.displacement).abs() < 0.2, "{all} but {some}");
    }

    #[test]
    fn says_it_in_a_sentence() {
        let text = of(&BlockShuffle::new(lie(), 17, 8, None).unwrap()).to_string();
        assert!(text.ends_with("blocks") && text.contains("\nmixes 0.8"), "{text}");
        let alone = quality(&Sequential::of(1), 0, 1, None, 10);
        assert_eq!((alone.spread, alone.neighbours, alone.looked_at), (1.0, 1.0, 1));
        assert_eq!(quality(&Sequential::of(0), 0, 0, Some(&[]), 0).looked_at, 0);
    }
}
