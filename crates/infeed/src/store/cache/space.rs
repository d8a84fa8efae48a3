//! Free space of the file system that a cache lies on.

use std::path::Path;

/// Bytes that this user can still write; `None` where the system does not say.
pub(super) fn free(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}
