//! Files through held directory handles: on this machine, on another one, or in a simulation.
//!
//! Each function takes a handle and a name below it, so that a directory that is replaced by a link meanwhile leads nowhere. It is the
//! one place that differs between systems.

#[cfg(test)]
extern crate self as handle_fs;

mod accounts;
mod attributes;
mod batch;
mod bytes;
mod change;
mod clock;
mod entropy;
mod examine;
mod file;
mod file_system;
mod file_system_id;
mod file_system_kind;
mod flags;
mod folding;
mod fuse;
mod handle;
mod inheritance;
mod inode_flags;
mod kernel;
mod local_socket;
mod locations;
mod many;
mod mount;
mod mount_table;
mod native;
mod open;
pub mod parallel;
mod paths;
mod rel_path;
pub mod remote;
mod replace;
mod run_as;
#[cfg(any(test, debug_assertions, feature = "simulated"))]
pub mod simulated;
mod stat;
mod system;
mod time;
mod tree_watch;
mod xattr;

use std::sync::OnceLock;

pub use accounts::{home_in, home_of, home_of_named, name_of};
pub use attributes::{
    handle_attributes, list_attributes, remove_attribute, remove_handle_attribute, set_attribute,
    set_handle_attribute,
};
pub use batch::{
    LoadedFile, Looked, Object, Wanted, load_below, load_file, look_below, look_into, object, objects,
    settle, stat_children,
};
pub use bytes::ByteString;
pub use change::{
    append_own, chmod_handle, chmod_node, chown, chown_handle, create_file, create_unnamed, exchange,
    hard_link, make_device, make_dir, make_fifo, make_symlink, name_unnamed, remove_dir, remove_file,
    rename_new, rename_over, set_mtime, set_mtime_handle, sync_directory, sync_file_system,
};
pub use clock::{TICK_NANOS, births_move, file_clock, fine_clock, step_of, uptime};
pub use entropy::{Entropy, letters, random};
pub use examine::{stat_child, stat_handle};
pub use file::{File, try_lock, unlock};
pub use file_system::{
    FileSystemFacts, allocate, await_write, data_segments, file_system, file_system_facts, free_bytes,
    may_write, write_back,
};
pub use file_system_id::FileSystemId;
pub use file_system_kind::FileSystem;
pub use flags::InodeFlags;
pub use folding::{
    fold_name, folds_names, holds_name, is_one_name, stored_child, stored_name, stored_path, takes_name,
};
pub use fuse::{FUSE_DEVICE, FuseOptions, is_busy, is_disconnected, mount_fuse, raise_file_limit, unmount};
pub use handle::{AsHandle, Handle, HandleRef};
pub use inheritance::{Inheritance, end_inheritance};
pub use inode_flags::set_inode_flags;
pub use local_socket::connect_at_once;
pub use locations::Locations;
pub use many::{NewFile, NewName, Survey, make_files, remove_many, rename_many, settable, survey};
pub use mount::{Dir, Frozen, MountError, Root};
pub use mount_table::{
    has_mount_option, kind_mounted_around, kind_mounted_at, mount_table, mounts_below, mounts_of_kind,
    unescaped,
};
pub use native::{BTRFS_TOP, NativeKind, native_kind};
pub use open::{
    is_bound, is_io_failure, is_out_of_handles, is_sync_unsupported, is_through_link, names, open_beneath,
    open_child_dir, open_child_file, open_child_file_blindly, open_root, read_link,
};
pub use paths::{
    Opening, all_bytes_at, chmod_dir_at, free_bytes_at, make_dir_at, missing_proc, names_at, open_path,
    path_of_held, remove_closed_tree_at, remove_dir_at, remove_file_at, remove_tree_at, rename_path,
    stat_path, sync_dir_at,
};
pub use rel_path::{Name, PathError, RelPath};
pub use replace::{FileReplacer, ReplaceError, read_small_file};
pub use run_as::{ActingAs, act_as};
pub use stat::{NodeKind, Stat};
pub use time::Time;
pub use tree_watch::{Blindness, CAN_WATCH, Enters, TreeWatch};
pub use xattr::Xattr;

/// Returns the number of threads for one piece of work: one per core, at most eight. More would only wait for the thread that
/// puts the results in order.
#[must_use]
pub fn threads() -> usize {
    const MOST: usize = 8;
    #[cfg(any(test, debug_assertions, feature = "simulated"))]
    if simulated::world().is_some() {
        return 1;
    }
    static THREADS: OnceLock<usize> = OnceLock::new();
    // The system reads files to tell.
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST)))
}

/// Starts another thread, which may not outlive the scope.
///
/// # Errors
/// The system's error.
pub fn start<'scope, R: Send + 'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> R + Send + 'scope,
) -> std::io::Result<std::thread::ScopedJoinHandle<'scope, R>> {
    // What is simulated happens in one order.
    #[cfg(any(test, debug_assertions, feature = "simulated"))]
    if simulated::world().is_some() {
        return Err(std::io::ErrorKind::WouldBlock.into());
    }
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn_scoped(scope, work)
}

/// Waits so long.
pub fn pause(duration: std::time::Duration) {
    #[cfg(any(test, debug_assertions, feature = "simulated"))]
    if let Some(world) = simulated::world() {
        return world.lock().pass(duration.as_nanos());
    }
    std::thread::sleep(duration);
}

/// Result of a call to the kernel.
type Result<T> = std::result::Result<T, rustix::io::Errno>;

/// A name as the system gives it.
fn os_name(bytes: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}

/// Repeats a call that a signal interrupts before it did anything.
fn insist<T>(mut call: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            other => return other,
        }
    }
}

/// Returns true if this process may give files to other users and create devices (effective user 0).
#[must_use]
pub fn is_privileged() -> bool {
    rustix::process::geteuid().is_root()
}

/// Numeric effective user and group of this process.
#[must_use]
pub fn own_ids() -> (u32, u32) {
    (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    )
}

/// Effective user and group that act on the files of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Numeric user.
    pub uid: u32,
    /// Numeric group.
    pub gid: u32,
}

impl Actor {
    /// Returns true if this user may give files to other users and create devices.
    #[must_use]
    pub fn is_privileged(self) -> bool {
        self.uid == 0
    }
}

/// Returns the user and group that act on the machine of a handle.
#[must_use]
pub fn actor_of(handle: impl AsHandle) -> Actor {
    let (uid, gid) = match handle.as_handle() {
        HandleRef::Here(_) => own_ids(),
        HandleRef::There(far) => far.actor(),
    };
    Actor { uid, gid }
}

/// [`file_clock`], or with `fine` [`fine_clock`], of the machine that `handle` belongs to.
///
/// # Errors
/// When that machine does not answer.
pub fn clock_of(handle: impl AsHandle, fine: bool) -> std::io::Result<Time> {
    match handle.as_handle() {
        HandleRef::Here(_) if fine => Ok(fine_clock()),
        HandleRef::Here(_) => Ok(file_clock()),
        HandleRef::There(far) => Ok(far.clock(fine)?),
    }
}

/// Returns the number of threads that read files of a directory at once. For another machine it is at least four, so that the
/// connection is never idle.
#[must_use]
pub fn readers(handle: impl AsHandle) -> usize {
    const FAR: usize = 4;
    match handle.as_handle() {
        HandleRef::Here(_) => threads(),
        HandleRef::There(_) => threads().max(FAR),
    }
}

/// Returns true if a handle is one of another machine.
#[must_use]
pub fn is_far(handle: impl AsHandle) -> bool {
    matches!(handle.as_handle(), HandleRef::There(_))
}

/// Returns true if the machine of a handle is reached through its shell.
#[must_use]
pub fn is_by_shell(handle: impl AsHandle) -> bool {
    match handle.as_handle() {
        HandleRef::Here(_) => false,
        HandleRef::There(far) => far.is_by_shell(),
    }
}

/// Returns true if the connection to the machine of a handle was lost.
#[must_use]
pub fn is_lost(handle: impl AsHandle) -> bool {
    match handle.as_handle() {
        HandleRef::Here(_) => false,
        HandleRef::There(far) => far.is_lost(),
    }
}

/// Effective group of this process and all its supplementary ones.
#[must_use]
pub fn own_groups() -> Vec<u32> {
    let more = rustix::process::getgroups().unwrap_or_default();
    let own = rustix::process::getegid();
    std::iter::once(own)
        .chain(more)
        .map(rustix::process::Gid::as_raw)
        .collect()
}
