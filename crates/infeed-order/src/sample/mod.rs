//! Orders that sample: rows by weight, classes in turn.

mod balanced;
#[cfg(test)]
mod tests;
mod weighted;

pub use balanced::{Balance, Balanced};
pub use weighted::Weighted;

use infeed_core::{Error, Result};

/// Checks that there is one value per place, and few enough for 32-bit lists.
fn check_count(stage: &str, what: &str, count: usize, places: u64) -> Result<()> {
    if count as u64 != places {
        let cure = format!("there are {count} {what} for {places} rows; give one per row");
        return Err(Error::plan(stage, cure));
    }
    if u32::try_from(places).is_err() {
        return Err(Error::plan(stage, format!("{places} rows are too many; select fewer than 2^32 before")));
    }
    Ok(())
}
