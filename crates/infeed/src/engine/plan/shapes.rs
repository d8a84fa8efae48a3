//! Shapes of arrays that only their files tell: some are looked at when the plan is made.
//!
//! What a field becomes in a batch is settled before anything is read, so that code which works on the first batch works on all of
//! them. Arrays of `.npy` files say their shape themselves. If those of some rows, taken from all over the data, have one shape, then
//! that is the shape of the field, and an array of another shape is a bad sample that says so. Who says `ragged=` for the field, or
//! a shape to the decoder, is not second-guessed: then only the type is learnt, and how many axes there are.

use super::{branch::Branch, branch::Start, draft::Draft, leaves::Leaves};
use crate::recipe::{PerField, Ragged, Recipe, Stage};
use infeed_core::Value;
use infeed_records::npy::Header;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// Rows whose sizes are looked at.
const ROWS: u64 = 16;
/// How much of them is read, besides two rows.
const READ: u64 = 16 << 20;
/// The decoder whose arrays say what they are.
const DECODER: &str = "npy";

/// What the batch stage of a recipe says about fields of varying shape.
pub(super) fn ragged(recipe: &Recipe) -> PerField<Ragged> {
    let stage = recipe.stages.iter().find_map(|stage| match stage {
        Stage::Batch { ragged, .. } => Some(ragged.clone()),
        _ => None,
    });
    stage.unwrap_or_default()
}

impl Draft {
    /// The arguments of a decoder, with type and shape of the arrays if they are not given and some rows agree in them.
    pub(super) fn told(
        &self,
        field: &str,
        name: &str,
        args: &Map<String, Json>,
        leaves: &Leaves,
    ) -> Map<String, Json> {
        let mut args = args.clone();
        let varies = self.varies(field, &leaves.ragged);
        if name != DECODER || self.stream.is_some() || varies == Some(Ragged::List) {
            return args;
        }
        let given = |args: &Map<String, Json>, key: &str| args.get(key).is_some_and(|value| !value.is_null());
        if given(&args, "dtype") && given(&args, "shape") {
            return args;
        }
        let headers: Option<Vec<Vec<Header>>> =
            self.branches.iter().map(|branch| look(branch, field, leaves)).collect();
        let headers: Vec<Header> = headers.unwrap_or_default().into_iter().flatten().collect();
        let Some(first) = headers.first() else { return args };
        let agree = |same: fn(&Header, &Header) -> bool| headers.iter().all(|header| same(header, first));
        // A list takes whatever comes: what some rows happen to have in common would only rule others out.
        if !agree(|a, b| a.dtype == b.dtype) || varies.is_none() && !agree(|a, b| a.shape == b.shape) {
            return args;
        }
        if !given(&args, "dtype") {
            args.insert("dtype".to_owned(), json!(first.dtype.name()));
        }
        if !given(&args, "shape") && agree(|a, b| a.shape.len() == b.shape.len()) {
            let side = |axis: usize| {
                let may_vary = match varies {
                    Some(Ragged::Pad) => true,
                    Some(Ragged::Flat) => axis == 0,
                    _ => false,
                };
                let same = !may_vary && headers.iter().all(|header| header.shape[axis] == first.shape[axis]);
                if same { json!(first.shape[axis]) } else { json!(-1) }
            };
            args.insert("shape".to_owned(), (0..first.shape.len()).map(side).collect());
        }
        args
    }

    /// What the batch stage says of a field that varies in shape, or of one that may be made of it.
    fn varies(&self, field: &str, ragged: &PerField<Ragged>) -> Option<Ragged> {
        match ragged {
            PerField::All(all) => Some(*all).filter(|all| *all != Ragged::List),
            PerField::Each(_) => ragged.named(field).or_else(|| {
                let later = ragged.names().find(|name| self.spec.position(name).is_none())?;
                ragged.named(later)
            }),
        }
    }
}

/// The headers of some arrays of a branch; `None` if they cannot be had.
fn look(branch: &Branch, field: &str, leaves: &Leaves) -> Option<Vec<Header>> {
    let chain = branch.chains.iter().find(|chain| *chain.name == *field)?;
    let Start::Stored { name, .. } = &chain.start else { return None };
    let (source, last) = leaves.locate(branch.end.checked_sub(1)?);
    // A block is decoded as a whole: all of them would be too many.
    let last = source.block_rows().first().map_or(last, |rows| last.min(rows.saturating_sub(1)));
    let spread = (0..ROWS).map(|at| (u128::from(last) * u128::from(at) / u128::from(ROWS - 1)) as u64);
    let fields = [Arc::clone(name)];
    let mut sizes: Vec<(u64, u64)> = spread.map(|row| (source.row_bytes(row, &fields), row)).collect();
    sizes.dedup();
    sizes.sort_unstable();
    // The smallest and the largest tell most, and of large ones no more are read.
    let largest = sizes.pop();
    let mut bytes = 0;
    let room = |&(size, _): &(u64, u64)| {
        bytes += size;
        bytes == size || bytes <= READ
    };
    let mut rows: Vec<u64> = sizes.into_iter().take_while(room).chain(largest).map(|(_, row)| row).collect();
    rows.sort_unstable();
    let records = source.fetch(&rows, &fields).ok()?;
    let header = |value: Option<Value>| match value {
        Some(Value::Bytes(bytes)) => Header::read(&bytes).ok(),
        _ => None,
    };
    Some(records.into_iter().filter_map(|mut record| header(record.fields.pop())).collect())
}
