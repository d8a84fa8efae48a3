//! System calls that std does not have. The only `unsafe` of streams.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
    time::Duration,
};

/// Waits until one of two descriptors is readable or closed. Returns which.
pub(super) fn readable(fds: [Option<BorrowedFd<'_>>; 2], wait: Duration) -> io::Result<[bool; 2]> {
    // `poll` ignores negative descriptors.
    let mut polls = fds.map(|fd| libc::pollfd {
        fd: fd.map_or(-1, |fd| fd.as_raw_fd()),
        events: libc::POLLIN,
        revents: 0,
    });
    let wait = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the pointer and the count describe the array, which lives through the call; the descriptors are
    // borrowed, and so are open.
    let found = unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, wait) };
    if found < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok([false; 2]) } else { Err(error) };
    }
    Ok(polls.map(|poll| poll.revents != 0))
}

/// Kills every process of a group. The caller has not yet waited for its leader, so the number cannot have been
/// reused.
pub(super) fn kill_group(leader: u32) {
    if let Ok(group) = libc::pid_t::try_from(leader)
        && group > 1
    {
        // SAFETY: sends a signal and touches no memory. It is no error if the group is gone already.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}
