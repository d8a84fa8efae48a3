//! A call of the operating system that the libraries here do not offer.

use tokio::net::TcpStream;

/// Lets a socket gather so many bytes before it wakes its reader, or all until the other side has closed. Where that is not
/// possible it wakes its reader for every byte, which is only slower.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no library has this option of sockets")]
pub(super) fn gather(stream: &TcpStream, bytes: usize) {
    use std::os::fd::AsRawFd;
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: the socket is open while `stream` is borrowed, and the option takes one int, whose size is given.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn gather(_: &TcpStream, _: usize) {}
