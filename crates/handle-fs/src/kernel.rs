//! Every call to the kernel that touches a file, and nothing else: one function a call, in the kernel's own terms. Tests
//! answer them from a simulated file system, so that each can be the last one before a power loss, or fail.
//!
//! The differences between systems are in `system/`.

use std::path::Path;

use rustix::fs::{Access, AtFlags, Gid, Mode, OFlags, RenameFlags, Timestamps, Uid};

use super::remote::{self, Call};
use super::system::own::{self, ONLY_NAMED, bits_of};
pub(super) use super::system::{Bearer, Named};
use super::{AsHandle, FileSystem, Handle, HandleRef, Result};

/// Lets the simulated file system answer, when this thread is in one.
macro_rules! simulated {
    ($call:ident($($argument:expr),*) $($made:tt)*) => {
        #[cfg(any(test, debug_assertions, feature = "simulated"))]
        if let Some(world) = crate::simulated::world() {
            return world.lock().$call($($argument),*)$($made)*;
        }
    };
}

/// The handle, when it is one of this machine; else the answer comes from the machine that it belongs to.
macro_rules! here {
    ($handle:expr, |$far:ident| $answer:expr) => {
        match $handle.as_handle() {
            HandleRef::Here(handle) => handle,
            HandleRef::There($far) => return $answer,
        }
    };
}

/// The same for a path below a directory.
macro_rules! at {
    ($dir:expr, $path:expr, |$far:ident, $there:ident| $answer:expr) => {
        match $dir.as_handle() {
            HandleRef::There($far) => {
                let $there = remote::Bytes::from(AsRef::<Path>::as_ref(&$path));
                return $answer;
            }
            HandleRef::Here(handle) => {
                remote::ensure_here(handle, AsRef::<Path>::as_ref(&$path))?;
                handle
            }
        }
    };
}

/// The same for two paths, which have to lie on one machine.
macro_rules! both {
    ($from:expr, $old:expr, $to:expr, $new:expr, |$pair:ident| $answer:expr) => {
        match remote::pair(&$from, $old.as_ref(), &$to, $new.as_ref())? {
            remote::Pair::Here(from, to) => (from, to),
            remote::Pair::There($pair) => return $answer,
        }
    };
}

mod attributes;
mod clock;
mod content;
mod stat;

pub(super) use attributes::{get_xattr, inode_flags, list_xattr, remove_xattr, set_inode_flags, set_xattr};
pub(super) use clock::clock;
pub(super) use content::{
    fdatasync, ftruncate, pread, pwrite, read, seek, share_blocks, take_inode_lock, write, write_back,
};
pub(super) use stat::{stat, stat_itself};

pub(super) fn openat(dir: impl AsHandle, path: impl Named, flags: OFlags, mode: Mode) -> Result<Handle> {
    let dir = at!(dir, path, |far, path| far
        .open(Call::Open {
            dir: far.number(),
            path,
            flags: remote::opening(flags),
            mode: bits_of(mode)
        })
        .map(Handle::from));
    simulated!(open(dir, path.as_ref(), flags, mode).map(Handle::from));
    Ok(rustix::fs::openat(dir, path, flags, mode)?.into())
}

/// Through no link, across no mount, and not out of `dir`. `NOSYS` where no one call does that.
pub(super) fn open_beneath(dir: impl AsHandle, path: impl Named, flags: OFlags) -> Result<Handle> {
    let dir = at!(dir, path, |far, path| far
        .open(Call::OpenBeneath {
            dir: far.number(),
            path,
            flags: remote::opening(flags)
        })
        .map(Handle::from));
    simulated!(open_beneath(dir, path.as_ref(), flags).map(Handle::from));
    Ok(own::open_beneath(dir, path, flags)?.into())
}

pub(super) fn names(dir: impl AsHandle, mut each: impl FnMut(&[u8])) -> Result<()> {
    let dir = here!(dir, |far| far.names(&mut each));
    simulated!(names(dir, &mut each));
    own::names(dir, each)
}

pub(super) fn readlinkat(dir: impl AsHandle, path: impl Named) -> Result<Vec<u8>> {
    let dir = at!(dir, path, |far, path| far.bytes(Call::ReadLink {
        dir: far.number(),
        path
    }));
    simulated!(readlink(dir, path.as_ref()));
    Ok(rustix::fs::readlinkat(dir, path, Vec::new())?.into_bytes())
}

pub(super) fn mkdirat(dir: impl AsHandle, path: impl Named, mode: Mode) -> Result<()> {
    let dir = at!(dir, path, |far, path| far.done(Call::MakeDir {
        dir: far.number(),
        path,
        mode: bits_of(mode)
    }));
    simulated!(mkdir(dir, path.as_ref(), mode));
    rustix::fs::mkdirat(dir, path, mode)
}

pub(super) fn symlinkat(target: &[u8], dir: impl AsHandle, path: impl Named) -> Result<()> {
    let dir = at!(dir, path, |far, path| far.done(Call::MakeLink {
        dir: far.number(),
        path,
        target: target.into()
    }));
    simulated!(symlink(target, dir, path.as_ref()));
    rustix::fs::symlinkat(target, dir, path)
}

pub(super) fn mknodat(
    dir: impl AsHandle,
    path: impl Named,
    kind: rustix::fs::FileType,
    device: (u32, u32),
) -> Result<()> {
    let dir = at!(dir, path, |far, path| far.done(Call::MakeNode {
        dir: far.number(),
        path,
        kind: remote::node(kind)?,
        device
    }));
    simulated!(mknod(dir, path.as_ref(), kind, device));
    own::mknodat(dir, path, kind, device)
}

pub(super) fn linkat(from: impl AsHandle, old: impl Named, to: impl AsHandle, new: impl Named) -> Result<()> {
    let (from, to) = both!(from, old, to, new, |pair| pair.link());
    simulated!(link(from, old.as_ref(), to, new.as_ref()));
    rustix::fs::linkat(from, old, to, new, AtFlags::empty())
}

/// Only on this machine, and not in the simulated file system.
pub(super) fn open_unnamed(dir: impl AsHandle, mode: Mode) -> Result<Handle> {
    let dir = here!(dir, |_far| Err(rustix::io::Errno::OPNOTSUPP));
    #[cfg(any(test, debug_assertions, feature = "simulated"))]
    if crate::simulated::world().is_some() {
        return Err(rustix::io::Errno::OPNOTSUPP);
    }
    Ok(own::open_unnamed(dir, mode)?.into())
}

pub(super) fn link_unnamed(file: impl AsHandle, dir: impl AsHandle, name: impl Named) -> Result<()> {
    let file = here!(file, |_far| Err(rustix::io::Errno::OPNOTSUPP));
    let dir = here!(dir, |_far| Err(rustix::io::Errno::OPNOTSUPP));
    own::link_unnamed(file, dir, name)
}

/// Another handle of the same open file.
pub(super) fn dup(file: impl AsHandle) -> Result<Handle> {
    let file = here!(file, |_far| Err(rustix::io::Errno::OPNOTSUPP));
    Ok(rustix::io::fcntl_dupfd_cloexec(file, 0)?.into())
}

pub(super) fn renameat(
    from: impl AsHandle,
    old: impl Named,
    to: impl AsHandle,
    new: impl Named,
) -> Result<()> {
    let (from, to) = both!(from, old, to, new, |pair| pair.rename(RenameFlags::empty()));
    simulated!(rename(
        (from, old.as_ref()),
        (to, new.as_ref()),
        RenameFlags::empty()
    ));
    rustix::fs::renameat(from, old, to, new)
}

pub(super) fn renameat_with(
    from: impl AsHandle,
    old: impl Named,
    to: impl AsHandle,
    new: impl Named,
    flags: RenameFlags,
) -> Result<()> {
    let (from, to) = both!(from, old, to, new, |pair| pair.rename(flags));
    simulated!(rename((from, old.as_ref()), (to, new.as_ref()), flags));
    own::renameat_with((from, old), (to, new), flags)
}

pub(super) fn unlinkat(dir: impl AsHandle, path: impl Named, flags: AtFlags) -> Result<()> {
    let dir = at!(dir, path, |far, path| far.done(Call::Unlink {
        dir: far.number(),
        path,
        directory: flags.contains(AtFlags::REMOVEDIR)
    }));
    simulated!(unlink(dir, path.as_ref(), flags));
    rustix::fs::unlinkat(dir, path, flags)
}

pub(super) fn chownat(dir: impl AsHandle, path: impl Named, uid: u32, gid: u32) -> Result<()> {
    let dir = at!(dir, path, |far, path| far.done(Call::Own {
        dir: far.number(),
        path: Some(path),
        uid,
        gid
    }));
    simulated!(chown(dir, Some(path.as_ref()), uid, gid));
    let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    rustix::fs::chownat(dir, path, uid, gid, AtFlags::SYMLINK_NOFOLLOW)
}

pub(super) fn fchown(handle: impl AsHandle, uid: u32, gid: u32) -> Result<()> {
    let handle = here!(handle, |far| far.done(Call::Own {
        dir: far.number(),
        path: None,
        uid,
        gid
    }));
    simulated!(chown(handle, None, uid, gid));
    rustix::fs::fchown(handle, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))
}

pub(super) fn fchmod(handle: impl AsHandle, mode: Mode) -> Result<()> {
    let handle = here!(handle, |far| far.done(Call::Mode {
        handle: far.number(),
        mode: bits_of(mode),
        pinned: false
    }));
    simulated!(chmod(handle, mode));
    rustix::fs::fchmod(handle, mode)
}

/// Opens a name for its place alone, whatever it is. `NOSYS` where [`chmod_unpinned`] needs no such handle.
pub(super) fn pin(dir: impl AsHandle, path: impl Named) -> Result<Handle> {
    let dir = at!(dir, path, |far, path| far
        .open(Call::Open {
            dir: far.number(),
            path,
            flags: remote::PINNED,
            mode: 0
        })
        .map(Handle::from));
    simulated!(
        pin(
            dir,
            path.as_ref(),
            ONLY_NAMED | OFlags::NOFOLLOW | OFlags::CLOEXEC
        )
        .map(Handle::from)
    );
    Ok(own::pin(dir, path)?.into())
}

/// Of a name itself, on this machine.
pub(super) fn chmod_unpinned(dir: impl AsHandle, path: impl Named, mode: Mode) -> Result<()> {
    let dir = here!(dir, |_far| Err(rustix::io::Errno::NOSYS));
    simulated!(chmod_unpinned(dir, path.as_ref(), mode));
    own::chmod_unpinned(dir, path, mode)
}

/// Of what a handle only names (`O_PATH`).
pub(super) fn chmod_pinned(pinned: impl AsHandle, mode: Mode) -> Result<()> {
    let pinned = here!(pinned, |far| far.done(Call::Mode {
        handle: far.number(),
        mode: bits_of(mode),
        pinned: true
    }));
    simulated!(chmod(pinned, mode));
    own::chmod_pinned(pinned, mode)
}

/// Of a link itself.
pub(super) fn utimensat(dir: impl AsHandle, path: impl Named, times: &Timestamps) -> Result<()> {
    let dir = at!(dir, path, |far, path| far.set_mtime(Some(path), times));
    simulated!(utimens(dir, Some(path.as_ref()), times));
    rustix::fs::utimensat(dir, path, times, AtFlags::SYMLINK_NOFOLLOW)
}

pub(super) fn futimens(handle: impl AsHandle, times: &Timestamps) -> Result<()> {
    let handle = here!(handle, |far| far.set_mtime(None, times));
    simulated!(utimens(handle, None, times));
    rustix::fs::futimens(handle, times)
}

pub(super) fn fsync(handle: impl AsHandle) -> Result<()> {
    let handle = here!(handle, |far| far.done(Call::Sync {
        handle: far.number(),
        all: false
    }));
    simulated!(fsync(handle));
    own::fsync(handle)
}

/// Sends the content of a file to the disk where [`syncfs`] alone does not.
pub(super) fn write_out(handle: impl AsHandle) -> Result<()> {
    let handle = here!(handle, |_far| Ok(()));
    simulated!(write_out(handle));
    own::write_out(handle)
}

pub(super) fn syncfs(handle: impl AsHandle) -> Result<()> {
    let handle = here!(handle, |far| far.done(Call::Sync {
        handle: far.number(),
        all: true
    }));
    simulated!(syncfs(handle));
    own::syncfs(handle)
}

/// The file system's number of Linux' `statfs(2)`.
pub(super) fn magic(handle: impl AsHandle) -> Result<u64> {
    let handle = here!(handle, |far| far.magic());
    simulated!(magic(handle));
    own::magic(handle)
}

/// Returns how far a file system's times can be relied on.
pub(super) fn file_system(handle: impl AsHandle) -> Result<FileSystem> {
    let handle = here!(handle, |far| match far.magic() {
        // It is no Linux: nothing is known, so nothing is trusted.
        Err(rustix::io::Errno::NOSYS) => Ok(FileSystem::UNKNOWN),
        magic => magic.map(FileSystem::of),
    });
    simulated!(file_system(handle));
    own::file_system(handle)
}

/// The file system's own number of `statvfs(2)`; only of this machine.
pub(super) fn file_system_number(handle: impl AsHandle) -> Result<u64> {
    let handle = here!(handle, |_far| Err(rustix::io::Errno::NOSYS));
    // The simulation has one file system.
    simulated!(magic(handle));
    own::file_system_number(handle)
}

/// Returns the type of a file system that its root's inode and birth identify, as a number; only of this machine, and `None` where it has
/// a number of its own.
pub(super) fn kind_by_root(handle: impl AsHandle) -> Result<Option<u64>> {
    let handle = here!(handle, |_far| Ok(None));
    #[cfg(any(test, debug_assertions, feature = "simulated"))]
    if crate::simulated::world().is_some() {
        return Ok(None);
    }
    own::kind_by_root(handle)
}

pub(super) fn free_bytes(handle: impl AsHandle) -> Result<u64> {
    let handle = here!(handle, |far| far.count(Call::Room {
        handle: far.number(),
        all: false
    }));
    simulated!(free_bytes(handle));
    Ok(own::room(handle)?.0)
}

/// Lets the file's first bytes take their place on the disk, and makes it at least so long.
pub(super) fn allocate(handle: impl AsHandle, bytes: u64) -> Result<()> {
    let handle = here!(handle, |_far| Err(rustix::io::Errno::OPNOTSUPP));
    rustix::fs::fallocate(handle, rustix::fs::FallocateFlags::empty(), 0, bytes)
}

pub(super) fn all_bytes(handle: impl AsHandle) -> Result<u64> {
    // No room is asked for in the simulation: what is free there is what counts.
    let handle = here!(handle, |far| far.count(Call::Room {
        handle: far.number(),
        all: true
    }));
    Ok(own::room(handle)?.1)
}

pub(super) fn flock(handle: impl AsHandle, how: rustix::fs::FlockOperation) -> Result<()> {
    let handle = here!(handle, |far| far.done(Call::Lock {
        handle: far.number(),
        how: remote::locking(how)?
    }));
    simulated!(flock(handle, how));
    rustix::fs::flock(handle, how)
}

/// Checks that this process may create and remove names in the directory at `path`.
pub(super) fn may_change(path: &Path) -> Result<()> {
    remote::ensure_here(rustix::fs::CWD, path)?;
    simulated!(access(path));
    rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK)
}
