//! Every call to the kernel that touches a file, and nothing else: one function a call, in the kernel's own terms. Tests
//! answer them from a simulated file system, so that each can be the last one before a power loss, or fail.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Timestamps, Uid};
use rustix::io::Errno;

use super::Stat;

pub(super) type Result<T> = std::result::Result<T, Errno>;

/// Lets the simulated file system answer, when this thread is in one.
macro_rules! simulated {
    ($call:ident($($argument:expr),*)) => {
        #[cfg(test)]
        if let Some(world) = super::simulated::world() {
            return world.lock().$call($($argument),*);
        }
    };
}

/// A path or a name, as the kernel takes it.
pub(super) trait Named: rustix::path::Arg + AsRef<Path> + Copy {}
impl<T: rustix::path::Arg + AsRef<Path> + Copy> Named for T {}

pub(super) fn openat(dir: impl AsFd, path: impl Named, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    simulated!(open(dir.as_fd(), path.as_ref(), flags, mode));
    rustix::fs::openat(dir, path, flags, mode)
}

/// Through no link, across no mount, and not out of `dir`.
#[cfg(target_os = "linux")]
pub(super) fn open_beneath(dir: impl AsFd, path: impl Named, flags: OFlags) -> Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    simulated!(open_beneath(dir.as_fd(), path.as_ref(), flags));
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    openat2(dir, path, flags, Mode::empty(), how)
}

pub(super) fn stat(dir: impl AsFd, path: impl Named, flags: AtFlags) -> Result<Stat> {
    simulated!(stat(dir.as_fd(), path.as_ref(), flags));
    super::stat::told(dir, path, flags)
}

/// One call a block of names, and nothing else: a library's stream opens the directory once more and asks what it is.
#[cfg(target_os = "linux")]
pub(super) fn names(dir: impl AsFd, mut each: impl FnMut(&[u8])) -> Result<()> {
    use rustix::fs::{RawDir, SeekFrom};
    use std::mem::MaybeUninit;
    simulated!(names(dir.as_fd(), &mut each));
    // The handle may have been listed before.
    rustix::fs::seek(&dir, SeekFrom::Start(0))?;
    let mut buffer = [MaybeUninit::uninit(); 1 << 15];
    let mut entries = RawDir::new(dir.as_fd(), &mut buffer);
    while let Some(entry) = entries.next() {
        each(entry?.file_name().to_bytes());
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn names(dir: impl AsFd, mut each: impl FnMut(&[u8])) -> Result<()> {
    simulated!(names(dir.as_fd(), &mut each));
    for entry in rustix::fs::Dir::read_from(dir)? {
        each(entry?.file_name().to_bytes());
    }
    Ok(())
}

pub(super) fn readlinkat(dir: impl AsFd, path: impl Named) -> Result<Vec<u8>> {
    simulated!(readlink(dir.as_fd(), path.as_ref()));
    Ok(rustix::fs::readlinkat(dir, path, Vec::new())?.into_bytes())
}

pub(super) fn mkdirat(dir: impl AsFd, path: impl Named, mode: Mode) -> Result<()> {
    simulated!(mkdir(dir.as_fd(), path.as_ref(), mode));
    rustix::fs::mkdirat(dir, path, mode)
}

pub(super) fn symlinkat(target: &[u8], dir: impl AsFd, path: impl Named) -> Result<()> {
    simulated!(symlink(target, dir.as_fd(), path.as_ref()));
    rustix::fs::symlinkat(target, dir, path)
}

#[cfg(target_os = "linux")]
pub(super) fn mknodat(
    dir: impl AsFd,
    path: impl Named,
    kind: rustix::fs::FileType,
    device: (u32, u32),
) -> Result<()> {
    simulated!(mknod(dir.as_fd(), path.as_ref(), kind, device));
    let device = rustix::fs::makedev(device.0, device.1);
    rustix::fs::mknodat(dir, path, kind, Mode::RUSR | Mode::WUSR, device)
}

pub(super) fn linkat(from: impl AsFd, old: impl Named, to: impl AsFd, new: impl Named) -> Result<()> {
    simulated!(link(from.as_fd(), old.as_ref(), to.as_fd(), new.as_ref()));
    rustix::fs::linkat(from, old, to, new, AtFlags::empty())
}

pub(super) fn renameat(from: impl AsFd, old: impl Named, to: impl AsFd, new: impl Named) -> Result<()> {
    simulated!(rename(
        (from.as_fd(), old.as_ref()),
        (to.as_fd(), new.as_ref()),
        RenameFlags::empty()
    ));
    rustix::fs::renameat(from, old, to, new)
}

pub(super) fn renameat_with(
    from: impl AsFd,
    old: impl Named,
    to: impl AsFd,
    new: impl Named,
    flags: RenameFlags,
) -> Result<()> {
    simulated!(rename(
        (from.as_fd(), old.as_ref()),
        (to.as_fd(), new.as_ref()),
        flags
    ));
    rustix::fs::renameat_with(from, old, to, new, flags)
}

pub(super) fn unlinkat(dir: impl AsFd, path: impl Named, flags: AtFlags) -> Result<()> {
    simulated!(unlink(dir.as_fd(), path.as_ref(), flags));
    rustix::fs::unlinkat(dir, path, flags)
}

pub(super) fn chownat(dir: impl AsFd, path: impl Named, uid: u32, gid: u32) -> Result<()> {
    simulated!(chown(dir.as_fd(), Some(path.as_ref()), uid, gid));
    let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    rustix::fs::chownat(dir, path, uid, gid, AtFlags::SYMLINK_NOFOLLOW)
}

pub(super) fn fchown(handle: impl AsFd, uid: u32, gid: u32) -> Result<()> {
    simulated!(chown(handle.as_fd(), None, uid, gid));
    rustix::fs::fchown(handle, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))
}

pub(super) fn fchmod(handle: impl AsFd, mode: Mode) -> Result<()> {
    simulated!(chmod(handle.as_fd(), mode));
    rustix::fs::fchmod(handle, mode)
}

/// Of what a handle only names (`O_PATH`).
#[cfg(target_os = "linux")]
pub(super) fn chmod_pinned(pinned: impl AsFd, mode: Mode) -> Result<()> {
    use std::os::fd::AsRawFd as _;
    simulated!(chmod(pinned.as_fd(), mode));
    let path = format!("/proc/self/fd/{}", pinned.as_fd().as_raw_fd());
    rustix::fs::chmod(path, mode)
}

/// Of a link itself.
pub(super) fn utimensat(dir: impl AsFd, path: impl Named, times: &Timestamps) -> Result<()> {
    simulated!(utimens(dir.as_fd(), Some(path.as_ref()), times));
    rustix::fs::utimensat(dir, path, times, AtFlags::SYMLINK_NOFOLLOW)
}

pub(super) fn futimens(handle: impl AsFd, times: &Timestamps) -> Result<()> {
    simulated!(utimens(handle.as_fd(), None, times));
    rustix::fs::futimens(handle, times)
}

pub(super) fn fsync(handle: impl AsFd) -> Result<()> {
    simulated!(fsync(handle.as_fd()));
    rustix::fs::fsync(handle)
}

#[cfg(target_os = "linux")]
pub(super) fn syncfs(handle: impl AsFd) -> Result<()> {
    simulated!(syncfs(handle.as_fd()));
    rustix::fs::syncfs(handle)
}

/// The file system's number of `statfs(2)`.
#[cfg(target_os = "linux")]
pub(super) fn magic(handle: impl AsFd) -> Result<u64> {
    simulated!(magic(handle.as_fd()));
    let kind = rustix::fs::fstatfs(handle)?.f_type;
    #[expect(
        clippy::cast_sign_loss,
        reason = "the numbers are bit patterns; the type differs between machines"
    )]
    Ok(kind as u64 & 0xffff_ffff)
}

pub(super) fn free_bytes(handle: impl AsFd) -> Result<u64> {
    simulated!(free_bytes(handle.as_fd()));
    let facts = rustix::fs::fstatvfs(handle)?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}

pub(super) fn all_bytes(handle: impl AsFd) -> Result<u64> {
    // No room is asked for in the simulation: what is free there is what counts.
    let facts = rustix::fs::fstatvfs(handle)?;
    Ok(facts.f_blocks.saturating_mul(facts.f_frsize))
}

pub(super) fn seek(handle: impl AsFd, to: rustix::fs::SeekFrom) -> Result<u64> {
    simulated!(seek(handle.as_fd(), to));
    rustix::fs::seek(handle, to)
}

pub(super) fn read(handle: impl AsFd, room: &mut [u8]) -> Result<usize> {
    simulated!(read(handle.as_fd(), room, None));
    rustix::io::read(handle, room)
}

pub(super) fn pread(handle: impl AsFd, room: &mut [u8], at: u64) -> Result<usize> {
    simulated!(read(handle.as_fd(), room, Some(at)));
    rustix::io::pread(handle, room, at)
}

pub(super) fn write(handle: impl AsFd, bytes: &[u8]) -> Result<usize> {
    simulated!(write(handle.as_fd(), bytes, None));
    rustix::io::write(handle, bytes)
}

pub(super) fn pwrite(handle: impl AsFd, bytes: &[u8], at: u64) -> Result<usize> {
    simulated!(write(handle.as_fd(), bytes, Some(at)));
    rustix::io::pwrite(handle, bytes, at)
}

pub(super) fn ftruncate(handle: impl AsFd, length: u64) -> Result<()> {
    simulated!(truncate(handle.as_fd(), length));
    rustix::fs::ftruncate(handle, length)
}

pub(super) fn flock(handle: impl AsFd, how: rustix::fs::FlockOperation) -> Result<()> {
    simulated!(flock(handle.as_fd(), how));
    rustix::fs::flock(handle, how)
}

/// How an object is addressed whose attributes are asked for.
pub(super) enum Bearer<'a, D> {
    Open(D),
    /// A child, by a path that goes through its directory's handle.
    Child(D, &'a Path),
}

pub(super) fn list_xattr<D: AsFd>(bearer: &Bearer<'_, D>, room: &mut [u8]) -> Result<usize> {
    simulated!(list_xattr(super::simulated::address(bearer), room));
    match bearer {
        Bearer::Open(handle) => rustix::fs::flistxattr(handle, room),
        Bearer::Child(_, path) => rustix::fs::llistxattr(*path, room),
    }
}

pub(super) fn get_xattr<D: AsFd>(bearer: &Bearer<'_, D>, name: &[u8], room: &mut [u8]) -> Result<usize> {
    simulated!(get_xattr(super::simulated::address(bearer), name, room));
    match bearer {
        Bearer::Open(handle) => rustix::fs::fgetxattr(handle, name, room),
        Bearer::Child(_, path) => rustix::fs::lgetxattr(*path, name, room),
    }
}

pub(super) fn set_xattr<D: AsFd>(bearer: &Bearer<'_, D>, name: &[u8], value: &[u8]) -> Result<()> {
    simulated!(set_xattr(super::simulated::address(bearer), name, Some(value)));
    let flags = rustix::fs::XattrFlags::empty();
    match bearer {
        Bearer::Open(handle) => rustix::fs::fsetxattr(handle, name, value, flags),
        Bearer::Child(_, path) => rustix::fs::lsetxattr(*path, name, value, flags),
    }
}

pub(super) fn remove_xattr<D: AsFd>(bearer: &Bearer<'_, D>, name: &[u8]) -> Result<()> {
    simulated!(set_xattr(super::simulated::address(bearer), name, None));
    match bearer {
        Bearer::Open(handle) => rustix::fs::fremovexattr(handle, name),
        Bearer::Child(_, path) => rustix::fs::lremovexattr(*path, name),
    }
}

#[cfg(target_os = "linux")]
pub(super) fn inode_flags(handle: impl AsFd) -> Result<rustix::fs::IFlags> {
    simulated!(inode_flags(handle.as_fd()));
    rustix::fs::ioctl_getflags(handle)
}

#[cfg(target_os = "linux")]
pub(super) fn set_inode_flags(handle: impl AsFd, flags: rustix::fs::IFlags) -> Result<()> {
    simulated!(set_inode_flags(handle.as_fd(), flags));
    rustix::fs::ioctl_setflags(handle, flags)
}

pub(super) fn access(path: &Path, how: rustix::fs::Access) -> Result<()> {
    simulated!(access(path));
    rustix::fs::access(path, how)
}

pub(super) fn clock(id: rustix::time::ClockId) -> rustix::fs::Timespec {
    simulated!(clock());
    rustix::time::clock_gettime(id)
}
