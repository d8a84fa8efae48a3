//! `infeed world`: which rank this process is, and how much of the machine it would use.

use crate::{fault::Fault, report::Report};
use infeed::{
    Error,
    engine::usable_cpus,
    order::world::{self, machine_cpus, share_of_cpus},
};
use serde_json::json;

pub(crate) fn run() -> Result<Report, Fault> {
    let found = world::here()?;
    let (usable, machine) = (usable_cpus(), machine_cpus());
    let threads = share_of_cpus(usable, machine, found.world.local_rank, found.world.local_size);
    let text = format!(
        "{found}\nthreads: {threads} (this process may use {usable} of {machine} CPUs, {} on this node)",
        if found.world.local_size == 1 {
            "one rank".to_owned()
        } else {
            format!("{} ranks", found.world.local_size)
        },
    );
    let mut json = serde_json::to_value(&found).map_err(|e| Error::Internal { what: e.to_string() })?;
    json["threads"] = json!(threads);
    json["cpus"] = json!({"usable": usable, "machine": machine});
    Ok(Report { text, json })
}
