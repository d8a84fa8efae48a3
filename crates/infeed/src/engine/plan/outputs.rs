//! The columns of a batch: the fields of a sample, and what their layouts add.

use super::{Plan, batching::Batching};
use crate::batch::ColumnLayout;
use infeed_core::{FieldSpec, Spec};
use std::sync::Arc;

/// The layouts of fields that are lists until functions of the consumer have seen them.
type Later = Vec<(Arc<str>, ColumnLayout)>;

/// Returns the layout of each field. Functions of the consumer get samples one by one and as they are, so fields that are to
/// be padded or to lie end to end are lists up to there; these are returned, too.
pub(super) fn layouts(batching: &Batching, spec: &Spec, python: bool) -> (Arc<[ColumnLayout]>, Later) {
    let mut later = vec![];
    let mut layout = |(name, field): &(Arc<str>, FieldSpec)| match batching.layout(name, field) {
        wanted @ (ColumnLayout::Flat { .. } | ColumnLayout::Pad { .. }) if python => {
            later.push((Arc::clone(name), wanted));
            ColumnLayout::List
        }
        layout => layout,
    };
    (spec.fields.iter().map(&mut layout).collect(), later)
}

impl Plan {
    /// Returns the columns of a batch: the fields of a sample after all batch transforms, then masks and offsets. Each has
    /// the spec of one entry, the shape of the array without its first axis, and the name of its layout.
    pub fn batch_columns(&self) -> Vec<(Arc<str>, FieldSpec, &'static str)> {
        let mut out = vec![];
        let mut further = vec![];
        for ((name, spec), layout) in self.batch_spec().fields.iter().zip(self.layouts.iter()) {
            let mut spec = spec.clone();
            let mut role = "mask";
            if matches!(layout, ColumnLayout::Flat { .. }) {
                spec.shape.remove(0);
                role = "offsets";
            }
            further.extend(layout.further().map(|(name, spec)| (Arc::clone(name), spec, role)));
            out.push((Arc::clone(name), spec, layout.name()));
        }
        out.append(&mut further);
        out
    }
}
