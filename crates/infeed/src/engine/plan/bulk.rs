//! Pipelines that leave samples as the source has them: the source writes whole batches, without work per row.

use super::branch::{Branch, Chain, Start};
use crate::batch::ColumnLayout;
use infeed_core::Source;
use std::sync::Arc;

/// What a bulk source writes into each column.
#[derive(Debug)]
pub(crate) struct Bulk {
    /// The stored field of each column.
    pub(crate) fields: Vec<Arc<str>>,
    /// Bytes of a sample, all columns together.
    pub(crate) bytes: usize,
}

impl Bulk {
    /// Returns a `Bulk` if all columns of all branches are stored fields of fixed shape that the source can write.
    pub(super) fn of(branches: &[Branch], layouts: &[ColumnLayout], source: &dyn Source) -> Option<Self> {
        let plain = |chain: &Chain| match &chain.start {
            Start::Stored { name, .. } => {
                let alone = chain.decoder.is_none() && chain.transforms.is_empty() && chain.forks.is_empty();
                (alone && source.fills(name)).then(|| Arc::clone(name))
            }
            Start::Copy { .. } => None,
        };
        let mut fields: Option<Vec<Arc<str>>> = None;
        for branch in branches {
            // Samples that are kept are looked up one by one.
            let loose = !branch.filters.is_empty() || branch.kept.is_some();
            if loose || branch.chains.len() != layouts.len() {
                return None;
            }
            let found = branch.chains.iter().map(plain).collect::<Option<Vec<_>>>()?;
            if fields.get_or_insert_with(|| found.clone()) != &found {
                return None;
            }
        }
        let mut bytes = 0;
        for layout in layouts {
            let ColumnLayout::Stack { bytes: each, .. } = layout else { return None };
            bytes += each;
        }
        fields.filter(|fields| !fields.is_empty() && bytes > 0).map(|fields| Bulk { fields, bytes })
    }
}
