//! Says how rows that are far away are fetched, why so, and what that costs.

use super::Plan;
use crate::recipe::{Recipe, ShuffleKind, Stage};
use infeed_core::{Fetching, OrderExt, ReadCost, Rng};
use std::fmt::Write;

/// Rows that are looked at to estimate a cost.
const LOOKED_AT: u64 = 4096;

impl Plan {
    /// Describes how remote data is read; nothing for data that is near.
    pub(super) fn explain_reads(&self, out: &mut String) {
        if self.is_stream() || self.source.room_ahead().is_none() {
            return;
        }
        let blocks = self.order.blocks().is_some();
        let places = self.order.places().min(LOOKED_AT);
        let rows = self.order.rows(0, 0..places);
        let asked = shuffle_of(&self.recipe);
        let cost = if blocks {
            self.source.read_cost(&rows, &self.fields, Fetching::Blocks)
        } else {
            self.cost_by_row(&rows)
        };
        let how = match (blocks, asked) {
            (true, Some(ShuffleKind::Auto)) => {
                "blocks: shuffle() mixes blocks of remote data, by the URL alone, so that what is cached never changes the order"
            }
            (true, Some(_)) => "blocks, as asked for",
            (true, None) => "blocks, one after the other",
            (false, Some(ShuffleKind::Global)) => "row by row, because a global shuffle was asked for",
            (false, _) => "row by row, neighbours together",
        };
        let _ = writeln!(out, "reads   remote, {how}{}", words(cost));
        if blocks && asked == Some(ShuffleKind::Auto) {
            let total = self.source.rows();
            let mut rng = Rng::at(0, 0, 0, 0);
            let random: Vec<u64> = (0..places).map(|_| rng.below(total)).collect();
            let cost = self.cost_by_row(&random);
            let _ = writeln!(out, "        shuffle(kind=\"global\") mixes all rows{}", words(cost));
        }
    }

    /// What rows cost that are fetched as they come, a batch at a time.
    fn cost_by_row(&self, rows: &[u64]) -> Option<ReadCost> {
        let mut sum = ReadCost::default();
        for batch in rows.chunks((self.batch.each(1)).max(1)) {
            let mut batch = batch.to_vec();
            batch.sort_unstable();
            batch.dedup();
            let cost = self.source.read_cost(&batch, &self.fields, Fetching::Rows)?;
            sum.used += cost.used;
            sum.read += cost.read;
            sum.requests += cost.requests;
        }
        Some(sum)
    }
}

/// Bytes read for each byte used, and the size of a request.
fn words(cost: Option<ReadCost>) -> String {
    let Some(cost) = cost.filter(|cost| cost.used > 0 && cost.requests > 0) else { return String::new() };
    let each = cost.read as f64 / cost.requests as f64;
    let size = if each < 1e6 { format!("{:.0} KB", each / 1e3) } else { format!("{:.1} MB", each / 1e6) };
    format!(
        "; about {:.2} bytes read per byte used, in requests of {size}",
        cost.read as f64 / cost.used as f64
    )
}

/// The last shuffle of a recipe, also inside of a join.
fn shuffle_of(recipe: &Recipe) -> Option<ShuffleKind> {
    let own = recipe.stages.iter().rev().find_map(|stage| match stage {
        Stage::Shuffle { kind, window: None, block: None, .. } => Some(*kind),
        Stage::Shuffle { .. } => Some(ShuffleKind::Block),
        _ => None,
    });
    own.or_else(|| recipe.source.parts.iter().find_map(shuffle_of))
}
