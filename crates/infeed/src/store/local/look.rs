//! Parallel metadata lookups of many files.

use infeed_core::{Result, parallel};

/// Concurrent lookups. A lookup is a round trip on a network file system, and about a microsecond on a local one.
const AT_ONCE: usize = 16;
/// Minimum names per thread.
const WORTH: usize = 256;

/// Calls `look` for each name and returns the results in order. Of several errors the first is reported.
pub(crate) fn look_all<T: Send + Sync>(
    names: &[String],
    look: impl Fn(&str) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    parallel::map_slice(names, AT_ONCE, WORTH, |name| look(name))
}
