//! Hints to the kernel.

use std::fs::File;

/// Starts reading a range into the page cache without waiting for it.
#[cfg(target_os = "linux")]
pub(super) fn will_need(file: &File, offset: u64, len: u64) {
    use std::os::fd::AsRawFd;
    let (Ok(offset), Ok(len)) = (libc::off_t::try_from(offset), libc::off_t::try_from(len)) else { return };
    // A length of zero means "to the end of the file", which is not what an empty range asks for.
    if len > 0 {
        // SAFETY: the descriptor is open for as long as `file` is borrowed, and the call touches no memory of ours.
        // Its result is ignored because a refused hint changes nothing.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), offset, len, libc::POSIX_FADV_WILLNEED) };
    }
}

/// No-op on other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn will_need(_file: &File, _offset: u64, _len: u64) {}

/// Tells the kernel that a file will be read from front to back, so that it reads further ahead.
#[cfg(target_os = "linux")]
pub(super) fn sequential(file: &File) {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and the call touches no memory of ours. Its
    // result is ignored because a refused hint changes nothing.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_SEQUENTIAL) };
}

/// No-op on other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn sequential(_file: &File) {}
