//! Files of other machines. A path that begins with the address of one (`ssh://host/…`, `docker://container/…`) leads there: what
//! `kernel.rs` is asked of it, and of handles that were opened by it, is asked of an agent that runs there. So whatever keeps its
//! promises here by what it asks the kernel, in which order, keeps them there as well: a connection that breaks is a disk that is
//! gone.

mod address;
mod agent;
mod connection;
mod greeting;
mod handle;
mod limitation;
#[cfg(any(test, debug_assertions, feature = "simulated"))]
pub mod loopback;
mod message;
mod pair;
mod protocol;
mod server;
#[cfg(feature = "remote-shell")]
mod shell;
#[cfg(not(feature = "remote-shell"))]
#[path = "remote/shell_absent.rs"]
mod shell;
#[cfg(test)]
pub(crate) mod tests;

pub use address::{Address, Spot, VOLUME_PLACE};
pub use connection::{
    Carry, Channel, Helper, Listener, Lost, Patience, Settle, TIMEOUT_VARIABLE, hang_up, hang_up_where, lost,
    set_carrier, set_settler, settled,
};
pub use handle::RemoteHandle;
pub use limitation::{Limitation, MISSING};
pub use server::{Knows, serve};

pub(super) use pair::{Pair, pair};
use protocol::Locking;
pub(super) use protocol::{Bytes, Call, Wanted, Whence};

use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::Result;

/// A shell loop that runs each line that begins with the mark, which is the first line it reads.
pub const SHELL_LOOP: &str = "\
    echo \"$T shell\"; LC_ALL=C; TZ=UTC0; export LC_ALL TZ; unset TAR_OPTIONS POSIXLY_CORRECT CDPATH ENV BASH_ENV; \
    IFS= read -r M; [ -n \"$M\" ] || exit 1; while IFS= read -r l; do case $l in \"$M \"*) eval \"${l#\"$M \"}\";; \
    *) exit 1;; esac; done";

/// Syntax of addresses, for messages.
pub const ADDRESSES: &str = "ssh://[USER@]HOST[:PORT]/PATH, docker://CONTAINER/PATH, docker-volume://NAME[/PATH], \
    k8s://[CONTEXT/]NAMESPACE/POD[:CONTAINER]/PATH and k8s-pvc://[CONTEXT/]NAMESPACE/CLAIM";

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

/// Returns the reason why a path cannot be reached although its machine answers.
#[must_use]
pub fn out_of_reach(path: &Path) -> Option<String> {
    let (address, inner) = Address::split(path)?;
    connection::to(&address).ok()?.hides(&address.inside(inner))
}

/// Returns the identity of the machine that a path leads to, the same for every address of it. `None` for this machine, or if
/// that one cannot be asked.
#[must_use]
pub fn machine_of(path: &Path) -> Option<String> {
    let (address, _) = Address::split(path)?;
    Some(connection::to(&address).ok()?.greeting().machine.clone())
}

/// Numeric user and groups of who acts on the machine that a path leads to; `None` when it is this one, or cannot be asked.
#[must_use]
pub fn actor_near(path: &Path) -> Option<(u32, Vec<u32>)> {
    let (address, _) = Address::split(path)?;
    let connection = connection::to(&address).ok()?;
    let greeting = connection.greeting();
    Some((greeting.uid, greeting.groups.clone()))
}

/// Asks this program on the machine that a path leads to what it knows above the calls of files; a question
/// that names a place names it by [`place_there`]. `None`: it is this machine, or no agent answers.
#[must_use]
pub fn ask(path: &Path, question: Vec<u8>) -> Option<Vec<u8>> {
    let (address, _) = Address::split(path)?;
    let far = RemoteHandle::nowhere(connection::to(&address).ok()?);
    let question = Bytes(question);
    far.bytes(Call::Ask { question }).ok()
}

/// Returns a path as its own machine names it; `None` for a path on this machine.
#[must_use]
pub fn place_there(path: &Path) -> Option<PathBuf> {
    let (address, inner) = Address::split(path)?;
    Some(address.inside(inner))
}

/// Returns true if the connection to the machine of a path broke.
#[must_use]
pub fn lost_near(path: &Path) -> bool {
    Address::split(path).is_some_and(|(address, _)| lost().iter().any(|lost| lost.address == address))
}

/// Returns the limitations on the machine of a path; empty for this machine, or if that one cannot be asked.
#[must_use]
pub fn lacks_near(path: &Path) -> Vec<Limitation> {
    let connection = Address::split(path).and_then(|(address, _)| connection::to(&address).ok());
    connection.map_or_else(Vec::new, |connection| connection.lacks().to_vec())
}

/// Returns the helper that was started only to reach a path, if there is one.
#[must_use]
pub fn helper_near(path: &Path) -> Option<Helper> {
    let (address, _) = Address::split(path)?;
    connection::to(&address).ok()?.helper().cloned()
}

/// Returns the size of the copy of this program that was sent to the machine a path leads to (bytes).
#[must_use]
pub fn copied_near(path: &Path) -> Option<u64> {
    let (address, _) = Address::split(path)?;
    connection::to(&address).ok()?.copied()
}

/// The home directory of who acts on the machine that a path leads to; `None` if it is this machine, or
/// unknown.
#[must_use]
pub fn home_near(path: &Path) -> Option<PathBuf> {
    let (address, _) = Address::split(path)?;
    let home = connection::to(&address).ok()?.home()?;
    absolute(&address, &home.0)
}

/// The same for all who see the same file system of a machine: its own id, its name, and its view of the mounts.
fn machine_id(id: &[u8], name: &[u8], view: &[u8]) -> String {
    let digest = blake3::hash(&[id, name, view].join(&0));
    digest.to_hex().chars().take(16).collect()
}

/// The address of a path that the other machine told: what is none there would lead to another machine.
fn absolute(address: &Address, told: &[u8]) -> Option<PathBuf> {
    let whole = address.with(&address.outside(Path::new(super::os_name(told)))?);
    let is_path = told.first() == Some(&b'/') && !told.contains(&0);
    let same = is_path && Address::split(&whole).is_some_and(|(found, _)| found == *address);
    same.then_some(whole)
}

/// Resolves links, `.` and `..` in a path on another machine; `None` for a path on this machine.
pub(super) fn canonical(path: &Path) -> Option<std::io::Result<PathBuf>> {
    let (address, path) = Address::split(path)?;
    let (address, path) = settled(address, path);
    let ask = || {
        let connection = connection::to(&address)?;
        let path = address.inside(path);
        if let Some(why) = connection.hides(&path) {
            return Err(std::io::Error::other(why));
        }
        let far = RemoteHandle::nowhere(connection);
        let path = Bytes::from(path.as_path());
        let real = far.bytes(Call::Canonical { path })?;
        Ok(absolute(&address, &real).ok_or(Errno::IO)?)
    };
    Some(ask())
}

/// Returns the handle and the path that reach `path` from `dir` on another machine; `None` if it is on this one.
pub(super) fn route(dir: BorrowedFd<'_>, path: &Path) -> Option<Result<(RemoteHandle, Bytes)>> {
    if dir.as_raw_fd() != CWD.as_raw_fd() {
        return None;
    }
    let (address, path) = Address::split(path)?;
    let reach = || {
        let connection = connection::to(&address)?;
        let path = address.inside(path);
        match connection.hides(&path) {
            Some(_) => Err(Errno::NODEV),
            None => Ok((RemoteHandle::nowhere(connection), Bytes::from(path.as_path()))),
        }
    };
    Some(reach())
}

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
    #[cfg(target_os = "linux")]
    (1 << 9, OFlags::NOATIME),
    #[cfg(target_os = "linux")]
    (1 << 10, OFlags::PATH),
];

pub(super) fn opening(flags: OFlags) -> u32 {
    let set = OPENING.iter().filter(|(_, flag)| flags.contains(*flag));
    set.fold(0, |bits, (bit, _)| bits | bit)
}

fn flags_of(bits: u32) -> OFlags {
    let set = OPENING.iter().filter(|(bit, _)| bits & bit != 0);
    set.fold(OFlags::CLOEXEC, |flags, (_, flag)| flags | *flag)
}

pub(super) fn bits(mode: Mode) -> u32 {
    mode.as_raw_mode() & 0o7777
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
