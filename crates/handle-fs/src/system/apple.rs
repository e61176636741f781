//! Calls in the words of macOS, as far as they differ from those of Linux (`linux.rs`).

use std::ffi::OsStr;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode, RenameFlags, XattrFlags};
use rustix::io::Errno;

use super::Named;
use super::bearer::Bearer;
use crate::stat::allocated_of_macos;
use crate::xattr::ACCESS_LIST_OF_MACOS;
use crate::{FileSystem, InodeFlags, NodeKind, Result, Stat, Time};

mod access_list;

/// Opens a link itself. What it opens has to be readable: nothing opens an object for its place alone.
pub(crate) const ONLY_NAMED: OFlags = OFlags::SYMLINK;
/// Error for an attribute that does not exist (getxattr(2)).
pub(crate) const NO_ATTRIBUTE: Errno = Errno::NOATTR;

/// The user's flags of chflags(2).
const FLAGS: [(InodeFlags, u32); 3] = [
    (InodeFlags::IMMUTABLE, 0x2),
    (InodeFlags::APPEND, 0x4),
    (InodeFlags::NODUMP, 0x1),
];
/// The superuser's flags of chflags(2), which bind in the same way.
const BINDING: [(InodeFlags, u32); 2] = [(InodeFlags::IMMUTABLE, 0x2_0000), (InodeFlags::APPEND, 0x4_0000)];

/// Attributes that the system sets by itself. It lets no program set or remove the first three: whose process made a file, which
/// program may open it, and what System Integrity Protection covers. The last one is the time at which the file was opened, and is no edit.
const OF_THE_SYSTEM: [&[u8]; 4] = [
    b"com.apple.provenance",
    b"com.apple.macl",
    b"com.apple.rootless",
    b"com.apple.lastuseddate#PS",
];

const RESOURCE_FORK: &[u8] = b"com.apple.ResourceFork";

/// Permission bits as the calls take them.
pub(crate) fn mode_of(bits: u32) -> Mode {
    Mode::from_raw_mode(RawMode::try_from(bits & 0o7777).unwrap_or(0))
}

/// Permission bits as a number.
pub(crate) fn bits_of(mode: Mode) -> u32 {
    u32::from(mode.as_raw_mode()) & 0o7777
}

pub(crate) fn stat(dir: BorrowedFd<'_>, path: impl Named) -> Result<Stat> {
    Ok(facts(&rustix::fs::statat(dir, path, AtFlags::SYMLINK_NOFOLLOW)?))
}

pub(crate) fn stat_itself(handle: BorrowedFd<'_>) -> Result<Stat> {
    Ok(facts(&rustix::fs::fstat(handle)?))
}

fn facts(s: &rustix::fs::Stat) -> Stat {
    let number = |value: i64| u64::try_from(value).unwrap_or(0);
    let time = |sec: i64, nsec: i64| Time {
        sec,
        nsec: u32::try_from(nsec).unwrap_or(0),
    };
    let kind = NodeKind::from(FileType::from_raw_mode(s.st_mode));
    let born = time(s.st_birthtime, s.st_birthtime_nsec);
    Stat {
        kind,
        mode: u32::from(s.st_mode) & 0o7777,
        uid: s.st_uid,
        gid: s.st_gid,
        size: number(s.st_size),
        allocated: allocated_of_macos(number(s.st_size), number(s.st_blocks), s.st_flags),
        mtime: time(s.st_mtime, s.st_mtime_nsec),
        ctime: time(s.st_ctime, s.st_ctime_nsec),
        ino: s.st_ino,
        // A file system without such times answers zero, or minus one.
        born: (born.sec > 0).then_some(born),
        nlink: u32::from(s.st_nlink),
        rdev: (rustix::fs::major(s.st_rdev), rustix::fs::minor(s.st_rdev)),
        flags: flags_in(kind, s.st_flags),
        place: (u64::from(s.st_dev.cast_unsigned()), 0),
    }
}

fn flags_in(kind: NodeKind, reported: u32) -> InodeFlags {
    let mut flags = InodeFlags::default();
    if matches!(kind, NodeKind::File | NodeKind::Directory) {
        for (flag, bit) in FLAGS.into_iter().chain(BINDING) {
            if reported & bit != 0 {
                flags = flags.with(flag);
            }
        }
    }
    flags
}

/// Makes a pipe or a device. The call takes no directory handle.
pub(crate) fn mknodat(
    dir: BorrowedFd<'_>,
    path: impl Named,
    kind: FileType,
    device: (u32, u32),
) -> Result<()> {
    use nix::sys::stat::{Mode, SFlag, mknod};
    let path = path_of(dir, Some(path.as_ref().as_os_str()))?;
    let mode = Mode::S_IRUSR | Mode::S_IWUSR;
    let made = match kind {
        FileType::Fifo => nix::unistd::mkfifo(&path, mode),
        FileType::CharacterDevice | FileType::BlockDevice => {
            let kind = match kind {
                FileType::BlockDevice => SFlag::S_IFBLK,
                _ => SFlag::S_IFCHR,
            };
            mknod(&path, kind, mode, rustix::fs::makedev(device.0, device.1))
        }
        _ => return Err(Errno::OPNOTSUPP),
    };
    made.map_err(errno)
}

/// Exchanges names, or replaces none (renameatx_np(2)).
pub(crate) fn renameat_with(
    (from, old): (BorrowedFd<'_>, impl Named),
    (to, new): (BorrowedFd<'_>, impl Named),
    flags: RenameFlags,
) -> Result<()> {
    match rustix::fs::renameat_with(from, old, to, new, flags) {
        // The file system does not know the flag.
        Err(Errno::NOTSUP | Errno::OPNOTSUPP) => Err(Errno::NOSYS),
        other => other,
    }
}

/// Nothing is opened for its place alone; [`chmod_unpinned`] needs no such handle.
pub(crate) fn pin(_: BorrowedFd<'_>, _: impl Named) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

pub(crate) fn chmod_pinned(handle: BorrowedFd<'_>, mode: Mode) -> Result<()> {
    rustix::fs::fchmod(handle, mode)
}

/// Sets the mode of a name. A link that came into its place gets it itself.
pub(crate) fn chmod_unpinned(dir: BorrowedFd<'_>, path: impl Named, mode: Mode) -> Result<()> {
    rustix::fs::chmodat(dir, path, mode, AtFlags::SYMLINK_NOFOLLOW)
}

/// Returns the path by which an object is changed: below `/.vol`, by file system and inode, so that no earlier rename of a directory
/// above it matters. The kernel makes a path of names of it and follows that at once (`namei` in xnu): a rename in between can still
/// lead the call to another object. Refused where a file system has no such paths: a path of names that is made here would leave
/// more time for that.
fn path_of(handle: BorrowedFd<'_>, child: Option<&OsStr>) -> Result<PathBuf> {
    let child = child.filter(|name| !name.is_empty());
    if handle.as_raw_fd() == rustix::fs::CWD.as_raw_fd() {
        return Ok(PathBuf::from(child.unwrap_or(OsStr::new("."))));
    }
    let facts = rustix::fs::fstat(handle)?;
    let mut path = PathBuf::from(format!("/.vol/{}/{}", facts.st_dev, facts.st_ino));
    match rustix::fs::lstat(&path) {
        Ok(found) if (found.st_dev, found.st_ino) == (facts.st_dev, facts.st_ino) => {
            path.extend(child);
            Ok(path)
        }
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::INVAL | Errno::NOTSUP) => Err(Errno::OPNOTSUPP),
        // Called unsupported, an access list that could not be read would count as none.
        Err(error) => Err(error),
    }
}

fn path_of_bearer(bearer: &Bearer<'_, BorrowedFd<'_>>) -> Result<PathBuf> {
    match bearer {
        Bearer::Open(handle) => path_of(*handle, None),
        Bearer::Child(dir, name) => path_of(*dir, Some(name)),
    }
}

/// Returns the path by which attributes are read. Where no path leads to an object by its inode, it is the path that the system
/// finds for the handle.
fn path_to_read(dir: BorrowedFd<'_>, name: &OsStr) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    match path_of(dir, Some(name)) {
        Err(_) => {
            let mut path = PathBuf::from(OsStr::from_bytes(rustix::fs::getpath(dir)?.as_bytes()));
            path.extend(Some(name).filter(|name| !name.is_empty()));
            Ok(path)
        }
        other => other,
    }
}

pub(crate) fn list_xattr(bearer: &Bearer<'_, BorrowedFd<'_>>, room: &mut [u8]) -> Result<usize> {
    let length = match bearer {
        Bearer::Open(handle) => rustix::fs::flistxattr(handle, &mut *room),
        Bearer::Child(dir, name) => rustix::fs::llistxattr(path_to_read(*dir, name)?, &mut *room),
    };
    let length = match length.map_err(one_number) {
        // The kernel asks no file system for those of a device (`vn_listxattr` in xnu).
        Err(Errno::PERM) if is_device(bearer) => 0,
        other => other?,
    };
    let names = room.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    let is_kept =
        |name: &&[u8]| !name.is_empty() && *name != ACCESS_LIST_OF_MACOS && !OF_THE_SYSTEM.contains(name);
    let kept = names.filter(is_kept);
    let list = read_list(bearer)?.map(|_| ACCESS_LIST_OF_MACOS);
    let kept: Vec<u8> = kept.chain(list).flat_map(|name| [name, b"\0"].concat()).collect();
    room.get_mut(..kept.len())
        .ok_or(Errno::RANGE)?
        .copy_from_slice(&kept);
    Ok(kept.len())
}

/// Returns true for a device node, which is never opened.
fn is_device(bearer: &Bearer<'_, BorrowedFd<'_>>) -> bool {
    let kind = match bearer {
        Bearer::Open(_) => None,
        Bearer::Child(dir, name) => stat(*dir, *name).ok().map(|facts| facts.kind),
    };
    matches!(kind, Some(NodeKind::CharDevice | NodeKind::BlockDevice))
}

fn read_list(bearer: &Bearer<'_, BorrowedFd<'_>>) -> Result<Option<Vec<u8>>> {
    match (path_of_bearer(bearer), bearer) {
        (Ok(path), _) => access_list::read(&path),
        (Err(Errno::OPNOTSUPP), _) => Ok(None),
        // A sandbox can deny the path by the inode and allow the other one.
        (Err(_), Bearer::Open(handle)) => access_list::read(&path_to_read(*handle, OsStr::new(""))?),
        (Err(_), Bearer::Child(dir, name)) => access_list::read(&path_to_read(*dir, name)?),
    }
}

pub(crate) fn get_xattr(bearer: &Bearer<'_, BorrowedFd<'_>>, name: &[u8], room: &mut [u8]) -> Result<usize> {
    if name == ACCESS_LIST_OF_MACOS {
        let text = read_list(bearer)?.ok_or(NO_ATTRIBUTE)?;
        room.get_mut(..text.len())
            .ok_or(Errno::RANGE)?
            .copy_from_slice(&text);
        return Ok(text.len());
    }
    let read = |room: &mut [u8]| match bearer {
        Bearer::Open(handle) => rustix::fs::fgetxattr(handle, name, room),
        Bearer::Child(dir, at) => rustix::fs::lgetxattr(path_to_read(*dir, at)?, name, room),
    };
    // A resource fork fills any room with its first bytes, without an error.
    match read(&mut [])? {
        0 => Ok(0),
        length if length > room.len() => Err(Errno::RANGE),
        _ => read(room),
    }
}

pub(crate) fn set_xattr(bearer: &Bearer<'_, BorrowedFd<'_>>, name: &[u8], value: &[u8]) -> Result<()> {
    if name == ACCESS_LIST_OF_MACOS {
        return access_list::set(&path_of_bearer(bearer)?, value);
    }
    // A shorter fork would keep the end of the longer one: the call writes and never truncates (vfs_xattr.c of xnu).
    if name == RESOURCE_FORK {
        match remove_xattr(bearer, name) {
            Ok(()) | Err(NO_ATTRIBUTE) => {}
            Err(error) => return Err(one_number(error)),
        }
    }
    let flags = XattrFlags::empty();
    match bearer {
        Bearer::Open(handle) => rustix::fs::fsetxattr(handle, name, value, flags),
        Bearer::Child(..) => rustix::fs::lsetxattr(path_of_bearer(bearer)?, name, value, flags),
    }
    .map_err(one_number)
}

pub(crate) fn remove_xattr(bearer: &Bearer<'_, BorrowedFd<'_>>, name: &[u8]) -> Result<()> {
    if name == ACCESS_LIST_OF_MACOS {
        return access_list::clear(&path_of_bearer(bearer)?);
    }
    match bearer {
        Bearer::Open(handle) => rustix::fs::fremovexattr(handle, name),
        Bearer::Child(..) => rustix::fs::lremovexattr(path_of_bearer(bearer)?, name),
    }
}

/// The known flags with Linux's numbers.
pub(crate) fn inode_flags(handle: BorrowedFd<'_>) -> Result<u32> {
    Ok(stat_itself(handle)?.flags.linux_bits())
}

/// Sets the known flags, given with Linux's numbers; the others stay. A flag that the superuser set counts as the user's, and
/// goes only with the superuser's rights.
pub(crate) fn set_inode_flags(handle: BorrowedFd<'_>, flags: u32) -> Result<()> {
    let wanted = InodeFlags::from_linux_bits(flags);
    let now = rustix::fs::fstat(handle)?;
    let mut then = now.st_flags;
    for (flag, bit) in FLAGS {
        let binding = BINDING
            .into_iter()
            .find(|(other, _)| *other == flag)
            .map_or(0, |(_, bit)| bit);
        match wanted.contains(flag) {
            true if then & (bit | binding) == 0 => then |= bit,
            true => {}
            false => then &= !(bit | binding),
        }
    }
    if then == now.st_flags {
        return Ok(());
    }
    let path = path_of(handle, None)?;
    nix::unistd::chflags(&path, nix::sys::stat::FileFlag::from_bits_retain(then)).map_err(errno)
}

/// Through the disk's cache. A plain `fsync` leaves the bytes in it; file systems without a cache of their own below them (on
/// other machines) know only that one.
pub(crate) fn fsync(handle: BorrowedFd<'_>) -> Result<()> {
    match rustix::fs::fcntl_fullfsync(handle) {
        Err(Errno::NOTSUP | Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::fsync(handle)
        }
        other => other,
    }
}

/// Sends a file's bytes to the disk, not through its cache: one [`fsync`] of anything on the disk afterwards does that for all.
pub(crate) fn write_out(handle: BorrowedFd<'_>) -> Result<()> {
    rustix::fs::fsync(handle)
}

/// True for the two file systems that Macs are formatted with: only of them is it known how they keep times.
fn is_own(name: &[u8]) -> bool {
    matches!(name, b"apfs" | b"hfs")
}

/// The name of a type of file system.
fn type_name(handle: BorrowedFd<'_>) -> Result<Vec<u8>> {
    let name = rustix::fs::fstatfs(handle)?.f_fstypename;
    let name = name.iter().take_while(|byte| **byte != 0);
    Ok(name.map(|byte| byte.cast_unsigned()).collect())
}

pub(crate) fn file_system(handle: BorrowedFd<'_>) -> Result<FileSystem> {
    let name = type_name(handle)?;
    Ok(FileSystem {
        trusted_ctime: is_own(&name),
        exact_sizes: !name.windows(4).any(|part| part == b"fuse"),
        ..FileSystem::UNKNOWN
    })
}

/// The letters of its name as a number. `f_fsid` is derived from the device, and the volume's UUID takes getattrlist(2).
pub(crate) fn kind_by_root(handle: BorrowedFd<'_>) -> Result<Option<u64>> {
    let name = type_name(handle)?;
    let number = |name: &[u8]| {
        name.iter()
            .fold(0, |number, letter| number << 8 | u64::from(*letter))
    };
    Ok(is_own(&name).then(|| number(&name)))
}

/// Bytes that are free for a user, and all bytes. `statvfs` counts blocks in 32 bits (16 TiB), `statfs` in 64.
pub(crate) fn room(handle: BorrowedFd<'_>) -> Result<(u64, u64)> {
    let facts = rustix::fs::fstatfs(handle)?;
    let bytes = |blocks: u64| blocks.saturating_mul(u64::from(facts.f_bsize));
    Ok((bytes(facts.f_bavail), bytes(facts.f_blocks)))
}

fn errno(error: nix::errno::Errno) -> Errno {
    one_number(Errno::from_raw_os_error(error as i32))
}

/// Two numbers say that a file system cannot do something; on Linux they are one.
fn one_number(error: Errno) -> Errno {
    match error {
        Errno::NOTSUP => Errno::OPNOTSUPP,
        other => other,
    }
}
