//! The batch stage: how many samples a batch has, and how each field is laid out in it.

use super::{BatchSize, draft::Draft};
use crate::{
    batch::{ColumnLayout, PadMask, Padding},
    order::Last,
    recipe::{PadMasks, PerField, Ragged, Stage},
};
use infeed_core::{Dim, Error, FieldKind, FieldSpec, Result};
use std::sync::Arc;

/// How samples become batches.
#[derive(Debug, Clone)]
pub(super) struct Batching {
    pub(super) size: BatchSize,
    pub(super) last: Last,
    /// The layouts of fields that were there when batches were made.
    pub(super) columns: Vec<(Arc<str>, ColumnLayout)>,
}

impl Batching {
    /// Each sample is a batch of its own.
    pub(super) fn single(columns: Vec<(Arc<str>, ColumnLayout)>) -> Self {
        Batching { size: BatchSize::Each(1), last: Last::Short, columns }
    }

    /// Returns the layout of a field.
    pub(super) fn layout(&self, name: &str, spec: &FieldSpec) -> ColumnLayout {
        let settled = self.columns.iter().find(|(known, _)| **known == *name);
        settled.map_or_else(|| ColumnLayout::plain(spec), |(_, layout)| layout.clone())
    }

    /// Keeps only the masks that are named. Returns the fields behind the names: those of masks and offsets, or the
    /// names themselves.
    pub(super) fn narrow(&mut self, names: &[String]) -> Vec<String> {
        let mut behind: Vec<String> = vec![];
        for name in names {
            let origin = self.columns.iter().find_map(|(field, layout)| {
                layout.further().filter(|(further, _)| ***further == **name).map(|_| field.to_string())
            });
            let origin = origin.unwrap_or_else(|| name.clone());
            if !behind.contains(&origin) {
                behind.push(origin);
            }
        }
        for (_, layout) in &mut self.columns {
            if let ColumnLayout::Pad { mask, .. } = layout {
                *mask = mask.take().filter(|mask| names.iter().any(|name| **name == *mask.name));
            }
        }
        behind
    }
}

impl Draft {
    /// Takes the batch stage.
    pub(super) fn make_batches(&mut self, stage: &Stage) -> Result<()> {
        let Stage::Batch {
            size,
            global_size,
            drop_last,
            last,
            ragged,
            pad_value,
            pad_mask,
            pad_multiple,
            pad_length,
        } = stage
        else {
            return Err(Error::Internal { what: "not a batch stage".to_owned() });
        };
        let size = match (size, global_size) {
            (Some(0), _) | (_, Some(0)) => return Err(Error::plan("batch", "needs a size of at least 1")),
            (Some(n), None) => BatchSize::Each(*n),
            (None, Some(n)) => BatchSize::Global(*n),
            _ => return Err(Error::plan("batch", "needs a size: either size or global_size")),
        };
        let last = match (drop_last, last) {
            (true, Last::Pad) => {
                return Err(Error::plan("batch", "drop_last and last=\"pad\" contradict each other"));
            }
            (true, _) => Last::Drop,
            (false, last) => *last,
        };
        let padding = Padding::new(0.0, *pad_multiple, *pad_length)?;
        if !self.makes_fields_later() {
            for name in ragged.names().chain(pad_value.names()) {
                self.branches[0].require(name, "batch")?;
            }
        }
        let mut columns = vec![];
        for at in 0..self.spec.fields.len() {
            let layout = self.layout(at, ragged, pad_value, padding)?;
            columns.push((Arc::clone(&self.spec.fields[at].0), layout));
        }
        self.add_masks(&mut columns, pad_mask)?;
        self.check_further(&columns)?;
        self.batch = Some(Batching { size, last, columns });
        Ok(())
    }

    fn is_optional(&self, at: usize) -> bool {
        self.branches.iter().any(|branch| branch.chains[at].optional)
    }

    /// Returns the fields that samples may lack. They are lists in every batch.
    pub(super) fn optional_columns(&self) -> Vec<(Arc<str>, ColumnLayout)> {
        let optional = (0..self.spec.fields.len()).filter(|at| self.is_optional(*at));
        optional.map(|at| (Arc::clone(&self.spec.fields[at].0), ColumnLayout::List)).collect()
    }

    /// Whether functions of the consumer or a data set of its own make fields that are not known here.
    fn makes_fields_later(&self) -> bool {
        !self.python.is_empty() || self.spec.fields.is_empty()
    }

    fn layout(
        &self,
        at: usize,
        ragged: &PerField<Ragged>,
        pad_value: &PerField<f64>,
        padding: Padding,
    ) -> Result<ColumnLayout> {
        let (name, spec) = &self.spec.fields[at];
        let refuse = |what: &str| Err(Error::plan("batch", format!("ragged={{\"{name}\": ...}}: {what}")));
        let named = ragged.named(name);
        if self.is_optional(at) {
            if matches!(named, Some(Ragged::Pad | Ragged::Flat)) {
                return refuse(
                    "the field is optional, and stays a list in a batch, with None where it is missing",
                );
            }
            return Ok(ColumnLayout::List);
        }
        let is_array = spec.kind.is_dense();
        if !is_array && matches!(named, Some(Ragged::Pad | Ragged::Flat)) {
            return refuse(&format!("the field is {spec}, which stays a list in a batch"));
        }
        let value = self.pad_value(at, pad_value)?;
        let flat = || ColumnLayout::Flat {
            dtype: spec.dtype,
            inner: spec.shape[1..].to_vec(),
            offsets: format!("{name}_offsets").into(),
        };
        let can_lie_flat =
            is_array && !matches!(spec.kind, FieldKind::Image(_) | FieldKind::Mask) && !spec.shape.is_empty();
        Ok(match ragged.of(name) {
            Ragged::Pad if is_array && spec.fixed_shape().is_none() => {
                let padding = Padding { value, ..padding };
                if !padding.fits(spec.dtype) {
                    return Err(cannot_hold(name, spec, value));
                }
                ColumnLayout::Pad { dtype: spec.dtype, padding, mask: None }
            }
            Ragged::Flat if can_lie_flat && (named.is_some() || spec.shape[0] == Dim::Any) => flat(),
            Ragged::Flat if named.is_some() && spec.shape.is_empty() => {
                return refuse("the field is a single number, and has no axis to be laid end to end along");
            }
            Ragged::Flat if named.is_some() => {
                return refuse(
                    "images cannot be laid end to end: resize or crop them to one size, or pad them",
                );
            }
            _ => ColumnLayout::plain(spec),
        })
    }

    /// Returns the value that pads a field: the one given for it, what its labels say, or the one given for all.
    fn pad_value(&self, at: usize, given: &PerField<f64>) -> Result<f64> {
        let (name, spec) = &self.spec.fields[at];
        if let Some(value) = given.named(name) {
            if !spec.kind.is_dense() {
                let what =
                    format!("pad_value={{\"{name}\": ...}}: the field is {spec}, which is never padded");
                return Err(Error::plan("batch", what));
            }
            let padding = Padding { value, ..Padding::default() };
            return if padding.fits(spec.dtype) { Ok(value) } else { Err(cannot_hold(name, spec, value)) };
        }
        let mut said = self.branches.iter().filter_map(|branch| branch.chains[at].pads_with);
        let Some(label) = said.next() else { return Ok(given.of(name)) };
        match said.find(|other| *other != label) {
            None => Ok(label),
            Some(other) => Err(Error::plan(
                "batch",
                format!(
                    "the labels `{name}` are ignored where they are {label} in one part and {other} in another: say \
                     pad_value={{\"{name}\": {label}}}, or mask the parts alike"
                ),
            )),
        }
    }

    fn add_masks(&self, columns: &mut [(Arc<str>, ColumnLayout)], wanted: &PadMasks) -> Result<()> {
        let padded: Vec<usize> =
            (0..columns.len()).filter(|at| matches!(columns[*at].1, ColumnLayout::Pad { .. })).collect();
        let chosen: Vec<(usize, Arc<str>)> = match wanted {
            PadMasks::All(false) => return Ok(()),
            PadMasks::All(true) | PadMasks::One(_) if padded.is_empty() => {
                return Err(Error::plan(
                    "batch",
                    "pad_mask finds no field that infeed pads: it belongs to ragged=\"pad\" and fields of varying shape; \
                     fields that Python functions make have to be named, pad_mask={\"tokens\": \"tokens_mask\"}",
                ));
            }
            PadMasks::All(true) => {
                padded.iter().map(|at| (*at, format!("{}_mask", columns[*at].0).into())).collect()
            }
            PadMasks::One(name) => vec![(self.token_field(&padded)?, name.as_str().into())],
            PadMasks::Each(each) => {
                let mut chosen = vec![];
                for (field, name) in each {
                    match self.spec.position(field) {
                        Some(at) if padded.contains(&at) => chosen.push((at, name.as_str().into())),
                        Some(at) if !self.makes_fields_later() => {
                            let what = format!(
                                "pad_mask={{\"{field}\": ...}}: the field is {} and is not padded",
                                self.spec.fields[at].1
                            );
                            return Err(Error::plan("batch", what));
                        }
                        None if !self.makes_fields_later() => {
                            self.branches[0].require(field, "batch")?;
                        }
                        _ => {}
                    }
                }
                chosen
            }
        };
        for (at, name) in chosen {
            if let ColumnLayout::Pad { mask, .. } = &mut columns[at].1 {
                *mask = Some(PadMask::of(name, &self.spec.fields[at].1));
            }
        }
        Ok(())
    }

    /// The field that a single mask is for: the only padded one, or the only one of tokens that are not labels.
    fn token_field(&self, padded: &[usize]) -> Result<usize> {
        let tokens = |at: &&usize| {
            let spec = &self.spec.fields[**at].1;
            spec.kind == FieldKind::Array
                && spec.dtype.is_integer()
                && spec.shape.len() == 1
                && self.branches.iter().all(|branch| branch.chains[**at].pads_with.is_none())
        };
        let found: Vec<usize> = padded.iter().filter(tokens).copied().collect();
        match (padded, &found[..]) {
            ([only], _) | (_, [only]) => Ok(*only),
            _ => {
                let names: Vec<&str> = padded.iter().map(|at| &*self.spec.fields[*at].0).collect();
                Err(Error::plan(
                    "batch",
                    format!(
                        "pad_mask is one name, and these fields are padded: {}; say which, pad_mask={{\"{}\": \
                         \"attention_mask\"}}, or pad_mask=True for all",
                        names.join(", "),
                        names[0]
                    ),
                ))
            }
        }
    }

    /// Refuses masks and offsets that are called like a field or like each other.
    fn check_further(&self, columns: &[(Arc<str>, ColumnLayout)]) -> Result<()> {
        let names: Vec<&Arc<str>> =
            columns.iter().filter_map(|(_, layout)| layout.further().map(|(name, _)| name)).collect();
        for (at, name) in names.iter().enumerate() {
            if name.is_empty() || self.spec.position(name).is_some() || names[..at].contains(name) {
                return Err(Error::plan(
                    "batch",
                    format!(
                        "two fields would be called `{name}`: choose other names with pad_mask={{field: name}}, or rename \
                         the field with views()"
                    ),
                ));
            }
        }
        Ok(())
    }
}

fn cannot_hold(name: &str, spec: &FieldSpec, value: f64) -> Error {
    Error::plan(
        "batch",
        format!(
            "pads `{name}` with {value}, which {} cannot hold: give the field a value of its own, pad_value={{\"{name}\": 0}}",
            spec.dtype
        ),
    )
}
