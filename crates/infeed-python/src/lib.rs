//! The private extension module `infeed._core`: thin, typed by `_core.pyi`, wrapped by the Python package.
//!
//! It contains no logic. Recipes come in as JSON, batches go out as objects that lend their memory (buffer protocol
//! and DLPack), errors become Python exceptions.

mod array;
mod batch;
mod chain;
mod columns;
mod device;
mod dlpack;
mod errors;
mod gate;
mod gathered;
mod given;
mod items;
mod loader;
mod plan;
mod run;
mod search;
mod stage;
mod stores;
mod survey;
mod tables;
mod writer;

use pyo3::prelude::*;

/// Memory that a library asks for and does not get would otherwise end the user's process.
#[global_allocator]
static ALLOCATOR: infeed::reserve::Allocator = infeed::reserve::Allocator;

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    search::log_searches();
    m.add_class::<array::Array>()?;
    m.add_class::<batch::Batch>()?;
    m.add_class::<chain::Chain>()?;
    m.add_class::<plan::Plan>()?;
    m.add_class::<loader::Loader>()?;
    m.add_class::<run::Run>()?;
    device::add_to(m)?;
    m.add_class::<stage::StagedFiles>()?;
    m.add_class::<stores::FaultPlan>()?;
    m.add_class::<writer::ShardWriter>()?;
    m.add_function(wrap_pyfunction!(chain::random_at, m)?)?;
    m.add_function(wrap_pyfunction!(columns::table_kind, m)?)?;
    m.add_function(wrap_pyfunction!(columns::table_info, m)?)?;
    m.add_function(wrap_pyfunction!(columns::column_stats, m)?)?;
    m.add_function(wrap_pyfunction!(gate::close_gate, m)?)?;
    m.add_function(wrap_pyfunction!(gate::open_gate, m)?)?;
    m.add_function(wrap_pyfunction!(gate::open_gate_in_child, m)?)?;
    m.add_function(wrap_pyfunction!(gate::lost_forks, m)?)?;
    m.add_function(wrap_pyfunction!(stage::stage, m)?)?;
    m.add_function(wrap_pyfunction!(stores::put_object, m)?)?;
    m.add_function(wrap_pyfunction!(stores::remove_object, m)?)?;
    m.add_function(wrap_pyfunction!(survey::survey_recipe, m)?)?;
    m.add_function(wrap_pyfunction!(survey::survey, m)?)?;
    m.add_function(wrap_pyfunction!(tables::entries, m)?)?;
    m.add_function(wrap_pyfunction!(tables::exit_when_closed, m)?)?;
    m.add_function(wrap_pyfunction!(tables::usable_cpus, m)?)?;
    m.add_function(wrap_pyfunction!(tables::left_for_training, m)?)?;
    m.add_function(wrap_pyfunction!(tables::cache_folder, m)?)?;
    m.add_function(wrap_pyfunction!(tables::check_store, m)?)?;
    m.add_function(wrap_pyfunction!(tables::remote_stats, m)?)?;
    m.add_function(wrap_pyfunction!(tables::shown, m)?)?;
    m.add_function(wrap_pyfunction!(tables::find_world, m)?)?;
    m.add_function(wrap_pyfunction!(tables::token_list, m)?)?;
    m.add_function(wrap_pyfunction!(tables::command, m)?)?;
    Ok(())
}
