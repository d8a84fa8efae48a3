//! Looking at many files at once.

use infeed_core::{Error, Result};

/// Looks in flight at once. A look is a wait on a network file system, and about a microsecond here.
const AT_ONCE: usize = 16;
/// Names a thread is worth being started for.
const WORTH: usize = 256;

/// What `look` says of each name, in the same order. Of several errors the first one is reported.
pub(crate) fn look_all<T: Send>(names: &[String], look: impl Fn(&str) -> Result<T> + Sync) -> Result<Vec<T>> {
    let threads = names.len().div_ceil(WORTH).min(AT_ONCE);
    if threads < 2 {
        return names.iter().map(|name| look(name)).collect();
    }
    let parts = std::thread::scope(|scope| {
        let look = |part: &[String]| part.iter().map(|name| look(name)).collect::<Result<Vec<T>>>();
        let parts = names.chunks(names.len().div_ceil(threads));
        let started: Vec<_> = parts.map(|part| scope.spawn(move || look(part))).collect();
        started.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    let mut all = Vec::with_capacity(names.len());
    for part in parts {
        let broken = |_| Error::Internal { what: "a thread that looked at files broke down".to_owned() };
        all.append(&mut part.map_err(broken)??);
    }
    Ok(all)
}
