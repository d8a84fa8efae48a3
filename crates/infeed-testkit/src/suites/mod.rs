//! Contracts that every entry of the registry tables must fulfil, tested from outside the crate.
//!
//! Each suite returns the list of faults it found, so that one test run names all of them; an empty list is a pass. A
//! new plug-in needs no code here: the arguments to try follow from its parameters.

mod args;
#[cfg(feature = "images")]
mod codecs;
#[cfg(feature = "images")]
mod decoders;
mod mixes;
mod stores;
mod tables;
mod transforms;

#[cfg(feature = "images")]
pub use codecs::codecs;
#[cfg(feature = "images")]
pub use decoders::decoders;
pub use mixes::batch_transforms;
pub use stores::stores;
pub use tables::tables;
pub use transforms::transforms;

use infeed_core::{Entry, Error};
use serde_json::{Map, Value as Json};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs one check; a panic is also a fault.
fn guarded<T>(faults: &mut Vec<String>, what: &str, check: impl FnOnce() -> Result<T, String>) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(check)) {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(fault)) => faults.push(format!("{what}: {fault}")),
        Err(_) => faults.push(format!("{what}: it panicked")),
    }
    None
}

/// Checks how an entry builds: its defaults suffice or the missing argument is named, and
/// unknown arguments are rejected.
fn building<T: ?Sized>(entry: &Entry<T>) -> Result<(), String> {
    let required = entry.params.iter().find(|p| p.default.is_none());
    match (entry.make(&Map::new()), required) {
        (Ok(_), None) => {}
        (Err(e), None) => return Err(format!("does not build with its defaults: {e}")),
        (Ok(_), Some(p)) => return Err(format!("builds without its argument `{}`", p.name)),
        (Err(e), Some(p)) if !e.to_string().contains(p.name) => {
            return Err(format!("the error does not name the missing argument `{}`: {e}", p.name));
        }
        (Err(_), Some(_)) => {}
    }
    let mut given = args::for_params(entry.params);
    given.insert("no_such_argument".to_owned(), Json::Null);
    match entry.make(&given) {
        Err(Error::Argument { what }) if what.contains("no_such_argument") => Ok(()),
        Err(e) => Err(format!("an unknown argument gives another error: {e}")),
        Ok(_) => Err("accepts an unknown argument".to_owned()),
    }
}
