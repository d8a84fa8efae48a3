//! Hints to the kernel.

use std::{
    fs::File,
    time::{Duration, Instant},
};

/// Starts reading a range into the page cache without waiting for it. Returns whether it was there already.
pub(super) fn announce(file: &File, offset: u64, len: u64) -> bool {
    let start = Instant::now();
    will_need(file, offset, len);
    let spent = start.elapsed();
    // Asked afterwards, because kernels read the page that is asked for: the range would be cut into several reads. In its
    // middle, because the first and the last page may have come with a neighbour.
    was_here(in_memory(file, offset + len / 2), spent, len)
}

/// Whether a range was in memory when the hint was given: as the file system told, or by the time that the hint took.
fn was_here(told: Option<bool>, spent: Duration, len: u64) -> bool {
    told.unwrap_or_else(|| spent < time_of_memory(len))
}

/// The longest time of a hint for a range that is in memory, for file systems that do not tell. Looking pages up takes 0.3 us and
/// 0.015 ns a byte; making pages and asking the device for them takes 12 us and 0.2 ns a byte.
fn time_of_memory(len: u64) -> Duration {
    Duration::from_nanos(3_000 + len.saturating_mul(3) / 50)
}

/// Starts reading a range into the page cache without waiting for it.
#[cfg(target_os = "linux")]
fn will_need(file: &File, offset: u64, len: u64) {
    use std::os::fd::AsRawFd;
    let (Ok(offset), Ok(len)) = (libc::off_t::try_from(offset), libc::off_t::try_from(len)) else { return };
    // A length of zero means "to the end of the file", which is not what an empty range asks for.
    if len > 0 {
        // SAFETY: the descriptor is open for as long as `file` is borrowed, and the call touches no memory of ours.
        // Its result is ignored because a refused hint changes nothing.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), offset, len, libc::POSIX_FADV_WILLNEED) };
    }
}

/// Returns whether a byte can be read without waiting for a device; `None` if the file system does not tell.
#[cfg(target_os = "linux")]
pub(super) fn in_memory(file: &File, offset: u64) -> Option<bool> {
    use rustix::io::{Errno, ReadWriteFlags, preadv2};
    let mut byte = [0];
    match preadv2(file, &mut [std::io::IoSliceMut::new(&mut byte)], offset, ReadWriteFlags::NOWAIT) {
        Ok(_) => Some(true),
        Err(Errno::AGAIN) => Some(false),
        Err(_) => None,
    }
}

/// Not known on other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn in_memory(_file: &File, _offset: u64) -> Option<bool> {
    None
}

/// No-op on other systems.
#[cfg(not(target_os = "linux"))]
fn will_need(_file: &File, _offset: u64, _len: u64) {}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_hint_tells_memory_from_a_device() {
        // Measured, in microseconds.
        for (len, memory, device) in
            [(4_096, 0.3, 12.5), (20_000, 0.5, 15.0), (115_000, 1.8, 35.2), (500_000, 7.0, 104.0)]
        {
            let limit = time_of_memory(len).as_nanos() as f64 / 1e3;
            assert!(2.0 * memory < limit && limit < device / 1.5, "{len} bytes: {limit} us");
        }
        assert!(time_of_memory(u64::MAX) > Duration::from_secs(1));
    }

    #[test]
    fn the_file_system_knows_better_than_the_clock() {
        let (short, long) = (Duration::from_micros(1), Duration::from_millis(1));
        for spent in [short, long] {
            assert!(was_here(Some(true), spent, 100_000));
            assert!(!was_here(Some(false), spent, 100_000));
        }
        assert!(was_here(None, short, 100_000));
        assert!(!was_here(None, long, 100_000));
    }
}
