//! Calls of the operating system that Rust's library does not offer: `splice`, and closing with a reset.

use std::{io, net::TcpStream, os::fd::AsRawFd};

/// Makes the connection end with a reset instead of an orderly close, as soon as its socket is closed.
pub(super) fn reset_on_close(socket: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the descriptor is open while `socket` is borrowed, and the option is a `linger` of the length given.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        );
    }
}

/// Bytes go from socket to socket through a pipe: the kernel moves pages, and nothing is copied here. Costs half of what
/// reading and writing do.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Pipe {
    read: io::PipeReader,
    write: io::PipeWriter,
}

#[cfg(target_os = "linux")]
impl Pipe {
    /// What a pipe holds.
    const SIZE: libc::c_int = 256 << 10;

    /// Makes a pipe. Fails where the system does not grant its size: then copying is faster.
    pub(super) fn new() -> io::Result<Self> {
        let (read, write) = io::pipe()?;
        // SAFETY: the descriptor belongs to `write`, and the command takes a number.
        let size = unsafe { libc::fcntl(write.as_raw_fd(), libc::F_SETPIPE_SZ, Pipe::SIZE) };
        if size < Pipe::SIZE { Err(io::Error::last_os_error()) } else { Ok(Pipe { read, write }) }
    }

    /// Moves at most `most` bytes into the empty pipe, as many as have arrived; waits for the first. 0 at the end.
    pub(super) fn take(&mut self, from: &TcpStream, most: u64) -> io::Result<u64> {
        splice(from.as_raw_fd(), self.write.as_raw_fd(), most.min(Pipe::SIZE as u64))
    }

    /// Moves `count` bytes out of the pipe.
    pub(super) fn give(&mut self, to: &TcpStream, count: u64) -> io::Result<()> {
        let mut left = count;
        while left > 0 {
            match splice(self.read.as_raw_fd(), to.as_raw_fd(), left)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                moved => left -= moved,
            }
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn splice(from: libc::c_int, to: libc::c_int, most: u64) -> io::Result<u64> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    loop {
        let none = std::ptr::null_mut();
        // SAFETY: the callers borrow the owners of both descriptors; null stands for "no offset", right for a pipe and
        // a socket; no memory of this process is read or written.
        let moved = unsafe { libc::splice(from, none, to, none, most, libc::SPLICE_F_MOVE) };
        match u64::try_from(moved) {
            Ok(moved) => return Ok(moved),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

/// Elsewhere bodies are copied.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(super) struct Pipe;

#[cfg(not(target_os = "linux"))]
impl Pipe {
    pub(super) fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn take(&mut self, _: &TcpStream, _: u64) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn give(&mut self, _: &TcpStream, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
