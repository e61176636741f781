//! Room in a pipe.

use std::os::fd::AsFd;

/// Room between a carrier and this program (bytes).
#[cfg(target_os = "linux")]
const ROOM: usize = 1 << 20;

/// Gives a pipe more room: what waits in a larger one wakes fewer processes. Where that cannot be had the usual room does.
#[cfg(target_os = "linux")]
pub(crate) fn widen(pipe: impl AsFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, ROOM);
}

/// Leaves a pipe as it is: this system sizes it by itself.
#[cfg(not(target_os = "linux"))]
pub(crate) fn widen(_: impl AsFd) {}
