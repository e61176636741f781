//! Files of other machines. A path that begins with the address of one (`ssh://host/…`, `docker://container/…`) leads there: what
//! `kernel.rs` is asked of it, and of handles that were opened by it, is asked of an agent that runs there. So whatever keeps its
//! promises here by what it asks the kernel, in which order, keeps them there as well: a connection that breaks is a disk that is
//! gone.

mod address;
mod agent;
mod answerer;
mod backing;
mod connection;
mod error_number;
mod greeting;
mod handle;
mod limitation;
mod loaded;
#[cfg(any(test, debug_assertions, feature = "simulated"))]
pub mod loopback;
mod message;
mod pair;
pub mod protocol;
mod server;
#[cfg(test)]
pub(crate) mod tests;
mod transports;
mod view;

pub use address::{Address, Spot, VOLUME_PLACE};
pub use answerer::{Answerer, Introduce};
pub use backing::{Backing, Storage};
pub(super) use backing::{is_of_container, is_of_volume};
pub use connection::{Channel, Helper, Listener, Lost, Patience};
pub use error_number::sent;
pub use greeting::own_id;
pub use handle::RemoteHandle;
pub use limitation::{Limitation, MISSING};
pub use server::{Knows, serve};
pub use transports::{Connect, Resolve, Transports};

pub(super) use pair::{Pair, pair};
use protocol::Locking;
pub(super) use protocol::{Bytes, Call, NewName, Wanted, Whence};

use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, FlockOperation, OFlags};
use rustix::io::Errno;

use super::Result;
use super::system::own::{self, KEEPS_ACCESS_TIME};

/// Syntax of addresses, for messages.
pub const ADDRESSES: &str = "ssh://[USER@]HOST[:PORT]/PATH, docker://CONTAINER/PATH, docker-volume://NAME[/PATH], \
    k8s://[CONTEXT/]NAMESPACE/POD[:CONTAINER]/PATH or k8s-pvc://[CONTEXT/]NAMESPACE/CLAIM";

/// Returns true if a path is meant for another machine, even if its address is invalid.
#[must_use]
pub fn is_elsewhere(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.first() != Some(&b'/') && bytes.windows(3).any(|part| part == b"://")
}

/// Returns the part before `://`. The rest may hold a password and is not repeated.
#[must_use]
pub fn scheme_of(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let scheme = bytes.split(|byte| *byte == b':').next().unwrap_or_default();
    scheme.escape_ascii().to_string()
}

/// Returns true if an address is valid and has a path. A path is never guessed.
#[must_use]
pub fn has_path(path: &Path) -> bool {
    Address::has_path(path)
}

/// The directory that a path lies in; `None` at the top of a machine or a volume.
#[must_use]
pub fn above(path: &Path) -> Option<&Path> {
    let is_top = Address::split(path).is_some_and(|(_, inner)| inner == Path::new("/"));
    path.parent().filter(|_| !is_top)
}

/// Returns a path and its parents. Those of an address end at the top of its machine or volume: what is left of
/// an address that is cut further would be another one.
pub fn upwards(path: &Path) -> impl Iterator<Item = &Path> {
    std::iter::successors(Some(path), |at| above(at)).filter(|at| !at.as_os_str().is_empty())
}

/// Returns a path as its own machine names it; `None` for a path on this machine.
#[must_use]
pub fn place_there(path: &Path) -> Option<PathBuf> {
    let (address, inner) = Address::split(path)?;
    Some(address.inside(inner))
}

/// The same for all who see the same file system of a machine: its own id, its name, and its view of the mounts.
#[must_use]
pub fn machine_id(id: &[u8], name: &[u8], view: &[u8]) -> String {
    let digest = blake3::hash(&[id, name, view].join(&0));
    digest.to_hex().chars().take(16).collect()
}

/// Returns the error of every call to a machine that cannot be reached, whatever the reason is.
#[must_use]
pub fn unreachable() -> std::io::Error {
    Errno::HOSTUNREACH.into()
}

/// Refuses a path on another machine, in a call that has no connection to it. The kernel would look for it below the current
/// directory and find nothing, which is no proof that nothing is there.
pub(super) fn ensure_here(dir: BorrowedFd<'_>, path: &Path) -> Result<()> {
    match dir.as_raw_fd() == CWD.as_raw_fd() && Address::split(path).is_some() {
        true => Err(Errno::HOSTUNREACH),
        false => Ok(()),
    }
}

/// Flag of an opening for the place alone.
pub const ONLY_NAMED: OFlags = own::ONLY_NAMED;

/// Flags of an opening as both sides know them: the system's own numbers differ between machines.
const OPENING: [(u32, OFlags); 11] = [
    (1, OFlags::WRONLY),
    (1 << 1, OFlags::RDWR),
    (1 << 2, OFlags::CREATE),
    (1 << 3, OFlags::EXCL),
    (1 << 4, OFlags::DIRECTORY),
    (1 << 5, OFlags::NOFOLLOW),
    (1 << 6, OFlags::NONBLOCK),
    (1 << 7, OFlags::NOCTTY),
    (1 << 8, OFlags::APPEND),
    (1 << 9, KEEPS_ACCESS_TIME),
    (1 << 10, ONLY_NAMED),
];
/// The flags of an opening for the place alone, as they are sent.
pub(super) const PINNED: u32 = 1 << 10 | 1 << 5;

pub(super) fn opening(flags: OFlags) -> u32 {
    let set = OPENING
        .iter()
        .filter(|(_, flag)| !flag.is_empty() && flags.contains(*flag));
    set.fold(0, |bits, (bit, _)| bits | bit)
}

/// Returns the flags of an opening from those that are sent.
#[must_use]
pub fn flags_of(bits: u32) -> OFlags {
    let set = OPENING.iter().filter(|(bit, _)| bits & bit != 0);
    set.fold(OFlags::CLOEXEC, |flags, (_, flag)| flags | *flag)
}

/// Converts a lock operation. Only operations that do not wait are supported on another machine.
pub(super) fn locking(how: FlockOperation) -> Result<Locking> {
    match how {
        FlockOperation::NonBlockingLockShared => Ok(Locking::Share),
        FlockOperation::NonBlockingLockExclusive => Ok(Locking::Take),
        FlockOperation::Unlock => Ok(Locking::Drop),
        _ => Err(Errno::OPNOTSUPP),
    }
}

/// A special file by its type.
pub(super) fn node(kind: FileType) -> Result<u8> {
    match kind {
        FileType::Fifo => Ok(3),
        FileType::Socket => Ok(4),
        FileType::CharacterDevice => Ok(5),
        FileType::BlockDevice => Ok(6),
        _ => Err(Errno::INVAL),
    }
}
