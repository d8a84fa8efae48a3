//! How a field is laid out in batches, settled by the plan.

use super::Padding;
use infeed_core::{Dim, Dtype, FieldSpec};
use std::sync::Arc;

/// How a field is laid out in batches.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnLayout {
    /// One array: every sample has this shape.
    Stack {
        /// Element type.
        dtype: Dtype,
        /// Shape of one sample.
        shape: Vec<usize>,
        /// Bytes of one sample.
        bytes: usize,
    },
    /// One array of images, each of this shape, which a device completes.
    Deferred {
        /// Element type.
        dtype: Dtype,
        /// Shape of one sample.
        shape: Vec<usize>,
        /// Bytes of one sample.
        bytes: usize,
    },
    /// One array, padded to the largest sample of the batch.
    Pad {
        /// Element type.
        dtype: Dtype,
        /// The padding value and target length.
        padding: Padding,
        /// A further column that says where the data is.
        mask: Option<PadMask>,
    },
    /// One array of all samples end to end along their first axis.
    Flat {
        /// Element type.
        dtype: Dtype,
        /// The other axes of a sample.
        inner: Vec<Dim>,
        /// The name of a further column: where each sample begins, and the end of the last.
        offsets: Arc<str>,
    },
    /// A list of values.
    List,
}

/// A column of booleans beside a padded one, true where it has data.
#[derive(Debug, Clone, PartialEq)]
pub struct PadMask {
    /// Its name.
    pub name: Arc<str>,
    /// Its shape for one sample: the first axis if only that varies, otherwise all axes.
    pub shape: Vec<Dim>,
}

impl PadMask {
    /// The mask of a field.
    pub fn of(name: Arc<str>, field: &FieldSpec) -> Self {
        let only_first = field.shape.iter().skip(1).all(|dim| *dim != Dim::Any);
        let shape = if only_first { vec![Dim::Any] } else { field.shape.clone() };
        PadMask { name, shape }
    }
}

impl ColumnLayout {
    /// Returns the layout of a field that is neither padded nor flat: one array if its shape is fixed, otherwise a list.
    pub fn plain(spec: &FieldSpec) -> ColumnLayout {
        match (spec.fixed_shape(), spec.fixed_bytes()) {
            (Some(shape), Some(bytes)) => ColumnLayout::Stack { dtype: spec.dtype, shape, bytes },
            _ => ColumnLayout::List,
        }
    }

    /// Returns the further column that this layout gives a batch, and the spec of one of its entries.
    pub fn further(&self) -> Option<(&Arc<str>, FieldSpec)> {
        match self {
            ColumnLayout::Pad { mask: Some(mask), .. } => {
                Some((&mask.name, FieldSpec::array(Dtype::Bool, mask.shape.clone())))
            }
            ColumnLayout::Flat { offsets, .. } => Some((offsets, FieldSpec::scalar(Dtype::I64))),
            _ => None,
        }
    }

    /// Its name, for doors that declare their fields.
    pub fn name(&self) -> &'static str {
        match self {
            ColumnLayout::Stack { .. } => "stack",
            ColumnLayout::Deferred { .. } => "deferred",
            ColumnLayout::Pad { .. } => "pad",
            ColumnLayout::Flat { .. } => "flat",
            ColumnLayout::List => "list",
        }
    }
}
