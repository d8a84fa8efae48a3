//! Looking at many files at once.

use infeed_core::{Result, parallel};

/// Looks in flight at once. A look is a wait on a network file system, and about a microsecond here.
const AT_ONCE: usize = 16;
/// Names a thread is worth being started for.
const WORTH: usize = 256;

/// What `look` says of each name, in the same order. Of several errors the first one is reported.
pub(crate) fn look_all<T: Send + Sync>(
    names: &[String],
    look: impl Fn(&str) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    parallel::map_slice(names, AT_ONCE, WORTH, |name| look(name))
}
