//! The memory store behind `mem:`, and faults for tests.

use infeed::store::{FAULTS, FaultRates, Faults, MemoryStore, inject};
use pyo3::{buffer::PyBuffer, exceptions::PyValueError, prelude::*};
use std::{collections::HashMap, sync::Arc};

/// Puts an object under a `mem:` name, as a copy of these bytes.
#[pyfunction]
pub(crate) fn put_object(py: Python<'_>, name: &str, data: PyBuffer<u8>) -> PyResult<()> {
    MemoryStore::shared().put(name, data.to_vec(py)?);
    Ok(())
}

/// Removes an object; returns whether there was one.
#[pyfunction]
pub(crate) fn remove_object(name: &str) -> bool {
    MemoryStore::shared().remove(name)
}

/// Faults to inject into stores that are opened while they are active.
#[pyclass(frozen)]
pub(crate) struct FaultPlan(Arc<Faults>);

#[pymethods]
impl FaultPlan {
    #[new]
    fn new(seed: u64, rates: HashMap<String, f64>) -> PyResult<Self> {
        let mut all = FaultRates { seed, ..FaultRates::default() };
        for (name, rate) in rates {
            if !(0.0..=1.0).contains(&rate) {
                return Err(PyValueError::new_err(format!("{name} must be a share of 0 to 1, got {rate}")));
            }
            *match name.as_str() {
                "errors" => &mut all.errors,
                "short" => &mut all.short,
                "bad_blocks" => &mut all.bad_blocks,
                "truncated" => &mut all.truncated,
                "delays" => &mut all.delays,
                _ => {
                    let known = FAULTS.join(", ");
                    return Err(PyValueError::new_err(format!(
                        "there is no fault {name:?} (there are: {known})"
                    )));
                }
            } = rate;
        }
        Ok(FaultPlan(Faults::new(all)))
    }

    /// Turns injection on or off for stores that are opened from now on.
    fn inject(&self, on: bool) {
        inject(on.then(|| Arc::clone(&self.0)));
    }

    /// Starts or stops the faults.
    fn arm(&self, on: bool) {
        self.0.arm(on);
    }

    /// How many faults of each kind were injected.
    fn counts(&self) -> HashMap<&'static str, u64> {
        FAULTS.into_iter().zip(self.0.counts()).collect()
    }
}
