//! Ends a worker process whose consumer is gone, whatever the worker is doing.

use std::{io, os::fd::RawFd, thread};

/// Ends this process when both directions of a socket are closed: its other end is gone. The watch is a thread that needs
/// nothing of Python, so a worker inside C code that holds the interpreter's lock ends, too.
pub fn exit_when_closed(socket: RawFd) -> io::Result<()> {
    // A descriptor of its own: the number may be closed and used again for something else.
    // SAFETY: duplicates a descriptor; a number that is none is an error and nothing else.
    let own = unsafe { libc::fcntl(socket, libc::F_DUPFD_CLOEXEC, 0) };
    if own < 0 {
        return Err(io::Error::last_os_error());
    }
    let watch = move || {
        // Without events, `poll` still reports that the connection is closed.
        let mut poll = libc::pollfd { fd: own, events: 0, revents: 0 };
        // SAFETY: the pointer is to one pollfd that lives through the call.
        while unsafe { libc::poll(&raw mut poll, 1, -1) } < 0 {
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return;
            }
        }
        // SAFETY: ends the process at once, without running anything of it.
        unsafe { libc::_exit(1) }
    };
    thread::Builder::new().name("infeed-watch".to_owned()).spawn(watch).map(drop)
}
