//! A batch in progress.

use super::{Batch, Column, ColumnLayout, Fate, Fates, Names, Pool, flat, lease::Open};
use crate::order::Why;
use infeed_core::{Dtype, Error, Hold, Result, Scratch, Spec, Tensor, Value, memory};
use std::sync::{Arc, Mutex};

enum ColumnMemory {
    Stack { open: Open, bytes: usize },
    Loose(Mutex<Vec<Value>>),
}

/// A batch that many threads fill at once, each sample by one thread.
pub struct Filling {
    columns: Vec<ColumnMemory>,
    layouts: Arc<[ColumnLayout]>,
    samples: usize,
    /// Why there is no memory for it.
    error: Option<Error>,
}

impl std::fmt::Debug for Filling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filling").field("samples", &self.samples).finish_non_exhaustive()
    }
}

impl Filling {
    /// Allocates memory for `samples` samples.
    pub fn new(layouts: &Arc<[ColumnLayout]>, samples: usize, pool: &Arc<Pool>) -> Self {
        let column = |layout: &ColumnLayout| match layout {
            ColumnLayout::Stack { bytes, .. } => {
                let open = pool.take(bytes.saturating_mul(samples))?;
                Ok(ColumnMemory::Stack { open, bytes: *bytes })
            }
            _ => {
                let mut values = memory::with_capacity(samples)?;
                values.resize(samples, Value::Missing);
                Ok(ColumnMemory::Loose(Mutex::new(values)))
            }
        };
        let (columns, error) = match layouts.iter().map(column).collect::<Result<_>>() {
            Ok(columns) => (columns, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        Filling { columns, layouts: Arc::clone(layouts), samples, error }
    }

    /// Why it cannot be filled: there was no memory.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Which of the samples that were made cannot be in one array with the others, and why. `limit` is the most bytes of one
    /// such array.
    pub fn misfits(&self, spec: &Spec, fates: &Fates, limit: u64) -> Vec<(usize, Error)> {
        let mut bad: Vec<(usize, Error)> = Vec::new();
        for ((store, layout), (name, _)) in self.columns.iter().zip(self.layouts.iter()).zip(&spec.fields) {
            let (ColumnMemory::Loose(values), ColumnLayout::Pad { .. } | ColumnLayout::Flat { .. }) =
                (store, layout)
            else {
                continue;
            };
            let made = |at: &usize| is_there(fates, *at) && bad.iter().all(|(known, _)| known != at);
            let places: Vec<usize> = (0..self.samples).filter(made).collect();
            let found = match layout {
                ColumnLayout::Pad { dtype, padding, .. } => {
                    padding.misfits(*dtype, &values.hold(), &places, limit)
                }
                ColumnLayout::Flat { dtype, .. } => flat::misfits(*dtype, &values.hold(), &places, limit),
                _ => vec![],
            };
            bad.extend(found.into_iter().map(|(at, error)| (at, error.in_field(name))));
        }
        bad.sort_by_key(|(at, _)| *at);
        bad
    }

    /// Returns the slot of one sample.
    ///
    /// # Safety
    /// No two slots with the same index may live at the same time.
    pub unsafe fn slot(&self, index: usize) -> SampleSlot<'_> {
        assert!(index < self.samples, "sample {index} of a batch of {}", self.samples);
        SampleSlot { filling: self, index }
    }

    /// Returns the memory of consecutive samples in every column, if all columns are arrays of fixed shape.
    ///
    /// # Safety
    /// No slot and no other span with one of these samples may live at the same time.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn span(&self, first: usize, count: usize) -> Vec<&mut [u8]> {
        assert!(first + count <= self.samples, "samples {first}+{count} of a batch of {}", self.samples);
        let mut out: Vec<&mut [u8]> = Vec::with_capacity(self.columns.len());
        for store in &self.columns {
            out.push(match store {
                // SAFETY: the range belongs to these samples alone, and the caller guarantees exclusive access to them.
                ColumnMemory::Stack { open, bytes } => unsafe {
                    open.slab().part(first * bytes, count * bytes)
                },
                ColumnMemory::Loose(_) => &mut [],
            });
        }
        out
    }

    /// Closes the batch. Samples that are not there according to `fates` are taken out. The last `pads` rows are
    /// repeated rows.
    pub fn finish(
        self,
        spec: &Spec,
        fates: &Fates,
        rows: Vec<u64>,
        pads: usize,
        names: Option<Names>,
    ) -> Result<Batch> {
        let real = self.samples.saturating_sub(pads);
        let mut batch = Batch { rows, pads, names, ..Batch::empty() };
        let kept: Option<Vec<usize>> = (fates.values().any(|fate| !matches!(fate, Fate::Replaced(_))))
            .then(|| (0..self.samples).filter(|at| is_there(fates, *at)).collect());
        for (&at, fate) in fates {
            let why = if *fate == Fate::Filtered { Why::Filtered } else { Why::Bad };
            if at < real {
                batch.left_out.push((batch.rows[at], why));
            }
            if let Fate::Replaced(other) = fate {
                batch.rows[at] = *other;
                batch
                    .replaced
                    .push(kept.as_ref().map_or(at, |kept| kept.partition_point(|place| *place < at)));
            }
        }
        if let Some(kept) = &kept {
            batch.pads = kept.iter().filter(|at| **at >= real).count();
            batch.rows = kept.iter().map(|at| batch.rows[*at]).collect();
            batch.names = batch.names.map(|names| kept.iter().map(|at| names[*at].clone()).collect());
        }
        let count = kept.as_ref().map_or(self.samples, Vec::len);
        let mut further = vec![];
        for ((store, layout), (name, _)) in
            self.columns.into_iter().zip(self.layouts.iter()).zip(&spec.fields)
        {
            let column = match (store, layout) {
                (ColumnMemory::Stack { open, bytes }, ColumnLayout::Stack { dtype, shape, .. }) => {
                    if let Some(kept) = kept.as_ref().filter(|_| bytes > 0) {
                        // SAFETY: `self` is owned here, so no slot and no other slice of the slab is alive.
                        let all = unsafe { open.slab().part(0, open.slab().len()) };
                        for (to, from) in kept.iter().enumerate() {
                            all.copy_within(from * bytes..(from + 1) * bytes, to * bytes);
                        }
                    }
                    let mut full = vec![count];
                    full.extend_from_slice(shape);
                    Column::Array { dtype: *dtype, shape: full, lease: Arc::new(open.seal()) }
                }
                (ColumnMemory::Loose(values), layout) => {
                    let mut values = values.into_held();
                    if let Some(kept) = &kept {
                        values = kept.iter().map(|i| std::mem::take(&mut values[*i])).collect();
                    }
                    match layout {
                        ColumnLayout::Pad { dtype, padding, mask } => {
                            let padded = padding.pad(*dtype, &values).map_err(|e| e.in_field(name))?;
                            if let (Some(mask), Column::Array { shape, .. }) = (mask, &padded) {
                                further.push((Arc::clone(&mask.name), mask.column(&values, shape)?));
                            }
                            padded
                        }
                        ColumnLayout::Flat { dtype, inner, offsets } => {
                            let (all, ends) =
                                flat::join(*dtype, inner, &values).map_err(|e| e.in_field(name))?;
                            further.push((Arc::clone(offsets), ends));
                            all
                        }
                        _ => Column::List(values),
                    }
                }
                _ => return Err(Error::Internal { what: "batch layout does not fit its store".to_owned() }),
            };
            batch.columns.push((Arc::clone(name), column));
        }
        // Last, so that the columns before them stand as the fields of a sample do.
        batch.columns.append(&mut further);
        Ok(batch)
    }
}

fn is_there(fates: &Fates, at: usize) -> bool {
    !matches!(fates.get(&at), Some(Fate::Bad | Fate::Filtered))
}

/// The slot of one sample in a batch.
#[derive(Debug)]
pub struct SampleSlot<'a> {
    filling: &'a Filling,
    index: usize,
}

impl SampleSlot<'_> {
    /// Writes one field. An image is decoded and finished directly into the batch.
    pub fn put(&mut self, column: usize, value: Value, scratch: &mut Scratch) -> Result<()> {
        match (&self.filling.columns[column], &self.filling.layouts[column]) {
            (ColumnMemory::Stack { open, bytes }, ColumnLayout::Stack { shape, dtype, .. }) => {
                // SAFETY: the range belongs to this sample alone, and the contract of `Filling::slot` makes this its
                // only slot, borrowed mutably here.
                let place = unsafe { open.slab().part(self.index * bytes, *bytes) };
                write(value, *dtype, shape, place, scratch)
            }
            (ColumnMemory::Loose(values), _) => {
                let value = settle(value, scratch)?;
                values.hold()[self.index] = value;
                Ok(())
            }
            _ => Err(Error::Internal { what: "batch layout does not fit its store".to_owned() }),
        }
    }
}

fn write(value: Value, dtype: Dtype, shape: &[usize], place: &mut [u8], scratch: &mut Scratch) -> Result<()> {
    let differs = |found: String| Error::sample(format!("expected {dtype}{shape:?}, found {found}"));
    match value {
        Value::Image(image) => {
            if image.shape() != shape || image.finish.dtype != dtype {
                return Err(differs(format!("an image of {}{:?}", image.finish.dtype, image.shape())));
            }
            image.render(scratch, place)
        }
        Value::Tensor(tensor) => {
            if tensor.shape != shape || tensor.dtype != dtype {
                return Err(differs(format!("an array of {}{:?}", tensor.dtype, tensor.shape)));
            }
            place.copy_from_slice(&tensor.data);
            Ok(())
        }
        Value::Missing => Err(differs(
            "nothing: the value is null or left out, and an array has no place for that; fill= of tables gives it a value, \
             where= and filter leave such rows out, and on_error=\"skip\" drops them"
                .to_owned(),
        )),
        other => Err(differs(other.what().to_owned())),
    }
}

/// Renders images in lists to arrays: a list must not contain pixels that are not decoded yet.
fn settle(value: Value, scratch: &mut Scratch) -> Result<Value> {
    let Value::Image(image) = value else { return Ok(value) };
    scratch.claim(image.bytes() as u64)?;
    let mut data = memory::zeroed(image.bytes())?;
    image.render(scratch, &mut data)?;
    Ok(Value::Tensor(Tensor::new(image.finish.dtype, image.shape().to_vec(), data.into())?))
}
