//! Statistics of fields.

use crate::{errors::raise, plan::Plan};
use infeed::engine::Survey;
use pyo3::{exceptions::PyValueError, prelude::*};

fn read(options: &str) -> PyResult<Survey> {
    serde_json::from_str(options).map_err(|e| PyValueError::new_err(format!("stats: {e}")))
}

/// The recipe whose batches hold the numbers, as JSON; `options` are JSON too.
#[pyfunction]
pub(crate) fn survey_recipe(plan: &Plan, options: &str) -> PyResult<String> {
    read(options)?.recipe(&plan.inner).map(|recipe| recipe.to_json()).map_err(raise)
}

/// Looks at all rows and returns the numbers as JSON. `made` is the plan of the recipe that `survey_recipe` gave. `watch` gets
/// the rows that are done, and all.
#[pyfunction]
#[pyo3(signature = (plan, made, options, watch=None))]
pub(crate) fn survey(
    py: Python<'_>,
    plan: &Plan,
    made: &Plan,
    options: &str,
    watch: Option<Py<PyAny>>,
) -> PyResult<String> {
    let survey = read(options)?;
    let mut failed = None;
    let mut look = |done: u64, all: u64| {
        let seen = Python::attach(|py| {
            py.check_signals()?;
            if let Some(watch) = &watch {
                watch.call1(py, (done, all))?;
            }
            Ok::<(), PyErr>(())
        });
        failed = seen.err();
        failed.is_none()
    };
    let found = py.detach(|| survey.run(&plan.inner, &made.inner, &mut look));
    match failed {
        Some(error) => Err(error),
        None => found.map(|json| json.to_string()).map_err(raise),
    }
}
