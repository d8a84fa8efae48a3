//! What the standard library does not offer: free space, the user's number, dropping pages.

use infeed_core::{Error, Result};
use std::{ffi::CString, fs::File, io, mem::MaybeUninit, os::unix::ffi::OsStrExt, path::Path};

/// Returns the bytes that this user can still write to the file system of a folder.
#[allow(clippy::unnecessary_cast)] // the fields have other types on other systems
pub(super) fn free_space(folder: &Path) -> Result<u64> {
    let failed = |e| Error::io("find the free space of", folder.display().to_string(), e);
    let path = CString::new(folder.as_os_str().as_bytes()).map_err(|e| failed(e.into()))?;
    let mut answer = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `path` is a string that ends in a zero byte and lives through the call, and `answer` has the size that the
    // call writes.
    let code = unsafe { libc::statvfs(path.as_ptr(), answer.as_mut_ptr()) };
    if code != 0 {
        return Err(failed(io::Error::last_os_error()));
    }
    // SAFETY: the call succeeded, so it has written the whole structure.
    let answer = unsafe { answer.assume_init() };
    Ok((answer.f_bavail as u64).saturating_mul(answer.f_frsize as u64))
}

/// Returns the number of the user that this process acts for.
pub(crate) fn user() -> u32 {
    // SAFETY: the call has no arguments, touches no memory and cannot fail.
    unsafe { libc::geteuid() }
}

/// Drops what the kernel keeps of a file in memory, so that the next read comes from the device. Only a hint.
#[cfg(target_os = "linux")]
pub(super) fn forget(file: &File) {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and the call touches no memory of ours. Its
    // result is ignored because a refused hint changes nothing.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

/// No-op on other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn forget(_file: &File) {}
