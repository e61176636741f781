//! Calls in the words of Linux. What macOS cannot do is here as well; `portable.rs` leaves that out.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{
    FileType, IFlags, Mode, OFlags, RawDir, RenameFlags, ResolveFlags, SeekFrom, StatxAttributes, StatxFlags,
    StatxTimestamp, statx,
};
use rustix::io::Errno;

use super::Named;
use super::bearer::Bearer;
use crate::{FileSystem, InodeFlags, NodeKind, Result, Stat, Time};

/// Opens an object for its place alone.
pub(crate) const ONLY_NAMED: OFlags = OFlags::PATH;
/// Leaves the access time; only the owner of a file may ask for that.
pub(crate) const KEEPS_ACCESS_TIME: OFlags = OFlags::NOATIME;
/// The clock that stamps files.
pub(crate) const FILE_CLOCK: rustix::time::ClockId = rustix::time::ClockId::RealtimeCoarse;
/// Error for an attribute that does not exist.
pub(crate) const NO_ATTRIBUTE: Errno = Errno::NODATA;

/// Permission bits as the calls take them.
pub(crate) fn mode_of(bits: u32) -> Mode {
    Mode::from_raw_mode(bits)
}

/// Permission bits as a number.
pub(crate) fn bits_of(mode: Mode) -> u32 {
    mode.as_raw_mode() & 0o7777
}

pub(crate) fn open_beneath(dir: BorrowedFd<'_>, path: impl Named, flags: OFlags) -> Result<OwnedFd> {
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    rustix::fs::openat2(dir, path, flags, Mode::empty(), how)
}

/// Makes a file without a name. `OPNOTSUPP` where it could not be given one later: that takes a path in /proc.
pub(crate) fn open_unnamed(dir: BorrowedFd<'_>, mode: Mode) -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    let made = rustix::fs::openat(dir, ".", flags, mode)?;
    match rustix::fs::access(path_of(made.as_fd()), rustix::fs::Access::EXISTS) {
        Ok(()) => Ok(made),
        Err(_) => Err(Errno::OPNOTSUPP),
    }
}

/// Gives a file without a name one that is not taken.
pub(crate) fn link_unnamed(file: BorrowedFd<'_>, dir: BorrowedFd<'_>, name: impl Named) -> Result<()> {
    // Through the link in /proc: by the handle alone only root may do it.
    let flags = rustix::fs::AtFlags::SYMLINK_FOLLOW;
    rustix::fs::linkat(rustix::fs::CWD, path_of(file), dir, name, flags)
}

fn path_of(handle: BorrowedFd<'_>) -> PathBuf {
    format!("/proc/self/fd/{}", handle.as_raw_fd()).into()
}

/// One call a block of names, and nothing else: a library's stream opens the directory once more and asks what it is.
pub(crate) fn names(dir: BorrowedFd<'_>, mut each: impl FnMut(&[u8])) -> Result<()> {
    // The handle may have been listed before.
    rustix::fs::seek(dir, SeekFrom::Start(0))?;
    let mut buffer = [MaybeUninit::uninit(); 1 << 15];
    let mut entries = RawDir::new(dir, &mut buffer);
    while let Some(entry) = entries.next() {
        each(entry?.file_name().to_bytes());
    }
    Ok(())
}

pub(crate) fn stat(dir: BorrowedFd<'_>, path: impl Named) -> Result<Stat> {
    facts(dir, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
}

pub(crate) fn stat_itself(handle: BorrowedFd<'_>) -> Result<Stat> {
    facts(handle, OsStr::new(""), rustix::fs::AtFlags::EMPTY_PATH)
}

fn facts(dir: impl AsFd, path: impl Named, flags: rustix::fs::AtFlags) -> Result<Stat> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID | StatxFlags::BTIME;
    let x = statx(dir, path, flags | rustix::fs::AtFlags::NO_AUTOMOUNT, wanted)?;
    let mode = u32::from(x.stx_mode);
    let known = StatxFlags::from_bits_retain(x.stx_mask);
    let kind = NodeKind::from(FileType::from_raw_mode(mode));
    Ok(Stat {
        kind,
        mode: mode & 0o7777,
        uid: x.stx_uid,
        gid: x.stx_gid,
        size: x.stx_size,
        allocated: x.stx_blocks.saturating_mul(512),
        mtime: time(x.stx_mtime),
        ctime: time(x.stx_ctime),
        ino: x.stx_ino,
        born: known.contains(StatxFlags::BTIME).then(|| time(x.stx_btime)),
        nlink: x.stx_nlink,
        rdev: (x.stx_rdev_major, x.stx_rdev_minor),
        flags: flags_in(kind, x.stx_attributes),
        place: (
            (u64::from(x.stx_dev_major) << 32) | u64::from(x.stx_dev_minor),
            if known.contains(StatxFlags::MNT_ID) {
                x.stx_mnt_id
            } else {
                0
            },
        ),
    })
}

/// Links and pipes inherit some from their directory on some file systems, and no program can set them there.
fn flags_in(kind: NodeKind, reported: StatxAttributes) -> InodeFlags {
    let mut flags = InodeFlags::default();
    if matches!(kind, NodeKind::File | NodeKind::Directory) {
        for (theirs, ours) in [
            (StatxAttributes::IMMUTABLE, InodeFlags::IMMUTABLE),
            (StatxAttributes::APPEND, InodeFlags::APPEND),
            (StatxAttributes::NODUMP, InodeFlags::NODUMP),
        ] {
            if reported.contains(theirs) {
                flags = flags.with(ours);
            }
        }
    }
    flags
}

fn time(stamp: StatxTimestamp) -> Time {
    Time {
        sec: stamp.tv_sec,
        nsec: stamp.tv_nsec,
    }
}

pub(crate) fn mknodat(
    dir: BorrowedFd<'_>,
    path: impl Named,
    kind: FileType,
    device: (u32, u32),
) -> Result<()> {
    let device = rustix::fs::makedev(device.0, device.1);
    rustix::fs::mknodat(dir, path, kind, Mode::RUSR | Mode::WUSR, device)
}

pub(crate) fn renameat_with(
    (from, old): (BorrowedFd<'_>, impl Named),
    (to, new): (BorrowedFd<'_>, impl Named),
    flags: RenameFlags,
) -> Result<()> {
    rustix::fs::renameat_with(from, old, to, new, flags)
}

/// Opens a name for its place alone, so that its mode can be set whatever it is.
pub(crate) fn pin(dir: BorrowedFd<'_>, path: impl Named) -> Result<OwnedFd> {
    let flags = ONLY_NAMED | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, path, flags, Mode::empty())
}

pub(crate) fn chmod_pinned(pinned: BorrowedFd<'_>, mode: Mode) -> Result<()> {
    rustix::fs::chmod(own_name(pinned, None)?, mode)
}

/// Not before Linux 6.6.
pub(crate) fn chmod_unpinned(_: BorrowedFd<'_>, _: impl Named, _: Mode) -> Result<()> {
    Err(Errno::NOSYS)
}

/// The attributes' calls take no directory handle; the kernel's own name of the handle pins the directory instead.
#[expect(clippy::unnecessary_wraps, reason = "other systems have to ask for it")]
pub(crate) fn own_name(handle: BorrowedFd<'_>, child: Option<&OsStr>) -> Result<PathBuf> {
    let mut path = PathBuf::from("/proc/self/fd");
    path.push(handle.as_raw_fd().to_string());
    path.extend(child.map(|name| if name.is_empty() { OsStr::new(".") } else { name }));
    Ok(path)
}

pub(crate) fn list_xattr(bearer: &Bearer<'_, BorrowedFd<'_>>, room: &mut [u8]) -> Result<usize> {
    match bearer {
        Bearer::Open(handle) => rustix::fs::flistxattr(handle, room),
        Bearer::Child(dir, name) => rustix::fs::llistxattr(own_name(*dir, Some(name))?, room),
    }
}

pub(crate) fn get_xattr(bearer: &Bearer<'_, BorrowedFd<'_>>, name: &[u8], room: &mut [u8]) -> Result<usize> {
    match bearer {
        Bearer::Open(handle) => rustix::fs::fgetxattr(handle, name, room),
        Bearer::Child(dir, child) => rustix::fs::lgetxattr(own_name(*dir, Some(child))?, name, room),
    }
}

pub(crate) fn set_xattr(bearer: &Bearer<'_, BorrowedFd<'_>>, name: &[u8], value: &[u8]) -> Result<()> {
    let flags = rustix::fs::XattrFlags::empty();
    match bearer {
        Bearer::Open(handle) => rustix::fs::fsetxattr(handle, name, value, flags),
        Bearer::Child(dir, child) => rustix::fs::lsetxattr(own_name(*dir, Some(child))?, name, value, flags),
    }
}

pub(crate) fn remove_xattr(bearer: &Bearer<'_, BorrowedFd<'_>>, name: &[u8]) -> Result<()> {
    match bearer {
        Bearer::Open(handle) => rustix::fs::fremovexattr(handle, name),
        Bearer::Child(dir, child) => rustix::fs::lremovexattr(own_name(*dir, Some(child))?, name),
    }
}

pub(crate) fn inode_flags(handle: BorrowedFd<'_>) -> Result<u32> {
    Ok(rustix::fs::ioctl_getflags(handle)?.bits())
}

pub(crate) fn set_inode_flags(handle: BorrowedFd<'_>, flags: u32) -> Result<()> {
    rustix::fs::ioctl_setflags(handle, IFlags::from_bits_retain(flags))
}

pub(crate) fn fsync(handle: BorrowedFd<'_>) -> Result<()> {
    rustix::fs::fsync(handle)
}

/// Nothing: [`syncfs`] covers the content of files.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
pub(crate) fn write_out(_: BorrowedFd<'_>) -> Result<()> {
    Ok(())
}

pub(crate) fn syncfs(handle: BorrowedFd<'_>) -> Result<()> {
    rustix::fs::syncfs(handle)
}

pub(crate) fn share_blocks(to: BorrowedFd<'_>, from: BorrowedFd<'_>) -> Result<()> {
    rustix::fs::ioctl_ficlone(to, from)
}

/// Asks for a file's extents in their final state (`FIEMAP_FLAG_SYNC`).
pub(crate) fn write_back(handle: BorrowedFd<'_>) -> Result<Option<bool>> {
    use fiemap::{Fiemap, FiemapFlags};
    match Fiemap::with_flags(handle, FiemapFlags::SYNC).next() {
        None | Some(Ok(_)) => Ok(Some(true)),
        Some(Err(error)) => match Errno::from_io_error(&error) {
            Some(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::NOSYS) => Ok(None),
            Some(errno) => Err(errno),
            None => Err(Errno::IO),
        },
    }
}

pub(crate) fn fdatasync(handle: BorrowedFd<'_>) -> Result<()> {
    rustix::fs::fdatasync(handle)
}

/// Bytes that are free for a user, and all bytes.
pub(crate) fn room(handle: BorrowedFd<'_>) -> Result<(u64, u64)> {
    let facts = rustix::fs::fstatvfs(handle)?;
    let bytes = |blocks: u64| blocks.saturating_mul(facts.f_frsize);
    Ok((bytes(facts.f_bavail), bytes(facts.f_blocks)))
}

/// The file system's number of `statfs(2)`.
pub(crate) fn magic(handle: BorrowedFd<'_>) -> Result<u64> {
    let kind = rustix::fs::fstatfs(handle)?.f_type;
    #[expect(
        clippy::cast_sign_loss,
        reason = "the numbers are bit patterns; the type differs between machines"
    )]
    Ok(kind as u64 & 0xffff_ffff)
}

/// Those that [`crate::file_system_facts`] knows by their root, for a build that omits their numbers.
pub(crate) fn kind_by_root(handle: BorrowedFd<'_>) -> Result<Option<u64>> {
    /// XFS and tmpfs.
    const BY_ROOT: [u64; 2] = [0x5846_5342, 0x0102_1994];
    Ok(Some(magic(handle)?).filter(|kind| BY_ROOT.contains(kind)))
}

/// The file system's own number of `statvfs(2)`.
pub(crate) fn file_system_number(handle: BorrowedFd<'_>) -> Result<u64> {
    Ok(rustix::fs::fstatvfs(handle)?.f_fsid)
}

pub(crate) fn file_system(handle: BorrowedFd<'_>) -> Result<FileSystem> {
    magic(handle).map(FileSystem::of)
}
