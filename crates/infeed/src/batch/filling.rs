//! A batch in progress.

use super::{Batch, Column, ColumnLayout, Fate, Fates, Lease, Names, Pool, SampleSlot, flat, lease::Open};
use crate::order::Why;
use infeed_core::{Deferred, Error, Hold, Result, Spec, Value, memory};
use std::sync::{Arc, Mutex};

/// The memory of a column.
pub(super) enum ColumnMemory {
    Stack {
        open: Open,
        bytes: usize,
    },
    /// Samples that a device makes are in the list, and have no bytes yet.
    Deferred {
        open: Open,
        bytes: usize,
        images: Mutex<Vec<Option<Deferred>>>,
    },
    Loose(Mutex<Vec<Value>>),
}

/// A batch that many threads fill at once, each sample by one thread.
pub struct Filling {
    pub(super) columns: Vec<ColumnMemory>,
    pub(super) layouts: Arc<[ColumnLayout]>,
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
            ColumnLayout::Deferred { bytes, .. } => {
                let open = pool.take(bytes.saturating_mul(samples))?;
                let mut images = memory::with_capacity(samples)?;
                images.resize_with(samples, || None);
                Ok(ColumnMemory::Deferred { open, bytes: *bytes, images: Mutex::new(images) })
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
        SampleSlot { filling: self, index, defers: false }
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
                ColumnMemory::Deferred { .. } | ColumnMemory::Loose(_) => &mut [],
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
                    let lease = closed_up(open, bytes, kept.as_deref());
                    Column::Array { dtype: *dtype, shape: of_all(count, shape), lease }
                }
                (
                    ColumnMemory::Deferred { open, bytes, images },
                    ColumnLayout::Deferred { dtype, shape, .. },
                ) => {
                    let mut images = images.into_held();
                    if let Some(kept) = &kept {
                        images = kept.iter().map(|at| images[*at].take()).collect();
                    }
                    let lease = closed_up(open, bytes, kept.as_deref());
                    let (shape, images) = (of_all(count, shape), images.into());
                    Column::Deferred { dtype: *dtype, shape, lease, images }
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

/// Ends the filling of one array; with `kept` these samples move up.
fn closed_up(mut open: Open, bytes: usize, kept: Option<&[usize]>) -> Arc<Lease> {
    if let Some(kept) = kept.filter(|_| bytes > 0) {
        let all = open.bytes_mut();
        for (to, from) in kept.iter().enumerate() {
            all.copy_within(from * bytes..(from + 1) * bytes, to * bytes);
        }
    }
    Arc::new(open.seal())
}

/// The shape of an array of all samples.
fn of_all(count: usize, each: &[usize]) -> Vec<usize> {
    std::iter::once(count).chain(each.iter().copied()).collect()
}

fn is_there(fates: &Fates, at: usize) -> bool {
    !matches!(fates.get(&at), Some(Fate::Bad | Fate::Filtered))
}
