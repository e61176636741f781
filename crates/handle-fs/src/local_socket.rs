//! Connections to sockets that are files.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};

/// Connects to the socket at `path` without waiting, as [`UnixStream::connect`] does while the queue of callers is full.
///
/// # Errors
/// `WouldBlock` if the queue is full; the system's error otherwise.
pub fn connect_at_once(path: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::from(socket(AddressFamily::UNIX, SocketType::STREAM, None)?);
    fcntl_setfd(&stream, FdFlags::CLOEXEC)?;
    stream.set_nonblocking(true)?;
    connect(&stream, &SocketAddrUnix::new(path)?)?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixListener;

    use super::connect_at_once;

    #[test]
    fn a_full_queue_is_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("socket");
        let absent = connect_at_once(&path).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::NotFound);
        let listener = UnixListener::bind(&path).unwrap();
        rustix::net::listen(listener.as_fd(), 1).unwrap();
        let mut held = Vec::new();
        let refused = loop {
            match connect_at_once(&path) {
                Ok(stream) => held.push(stream),
                Err(error) => break error,
            }
            assert!(held.len() < 10);
        };
        assert!(!held.is_empty());
        if cfg!(target_os = "linux") {
            assert_eq!(refused.kind(), ErrorKind::WouldBlock);
        }
        drop(listener);
        let refused = connect_at_once(&path).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }
}
