//! File systems that can take snapshots of themselves, and the mounts below a directory, which such a snapshot does not contain.

use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use super::{AsHandle, HandleRef};

/// A file system that can make snapshots of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeKind {
    /// btrfs.
    Btrfs,
    /// ZFS.
    Zfs,
    /// A volume of a cluster that knows `VolumeSnapshot`.
    Volume,
}

impl NativeKind {
    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Btrfs => "btrfs",
            Self::Zfs => "zfs",
            Self::Volume => "volume-snapshot",
        }
    }

    /// The program that makes them.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::Volume => "kubectl",
            _ => self.word(),
        }
    }

    /// Returns the message for the case that the program is missing.
    #[must_use]
    pub fn missing(self) -> String {
        format!("there is no program `{}` outside the mounts", self.program())
    }
}

/// The inode of the top of every btrfs subvolume, and of nothing else in it.
pub const BTRFS_TOP: u64 = 256;

/// Returns the kind of snapshot that the file system of `handle` can take; `None` also on another machine.
#[cfg(target_os = "linux")]
#[must_use]
pub fn native_kind(handle: impl AsHandle) -> Option<NativeKind> {
    /// Numbers of `statfs(2)`.
    const BTRFS: u64 = 0x9123_683e;
    const ZFS: u64 = 0x2fc1_2fc1;
    if matches!(handle.as_handle(), HandleRef::There(_)) {
        return None;
    }
    match super::kernel::magic(handle).ok()? {
        BTRFS => Some(NativeKind::Btrfs),
        ZFS => Some(NativeKind::Zfs),
        _ => None,
    }
}

/// Returns `None`, because no such file system is known on this system.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn native_kind(handle: impl AsHandle) -> Option<NativeKind> {
    let _: HandleRef<'_> = handle.as_handle();
    None
}

/// Returns true if the file system of a directory is mounted with `option`, as this process sees it. The option is one of the
/// file system's own, not of the mount.
#[must_use]
pub fn has_mount_option(directory: &Path, option: &str) -> bool {
    std::fs::read("/proc/self/mountinfo").is_ok_and(|table| option_of(&table, directory, option))
}

fn option_of(table: &[u8], directory: &Path, option: &str) -> bool {
    let fields = |line: &[u8]| -> Option<(PathBuf, Vec<u8>)> {
        let mut fields = line.split(|byte| *byte == b' ');
        let point = PathBuf::from(std::ffi::OsString::from_vec(unescaped(fields.nth(4)?)));
        // Behind the dash: kind, source, options.
        let options = fields.skip_while(|field| field != b"-").nth(3)?;
        Some((point, options.to_vec()))
    };
    let lines = table.split(|byte| *byte == b'\n').filter_map(fields);
    let above = lines.filter(|(point, _)| directory.starts_with(point));
    // The last one of a place lies on top.
    let nearest = above.max_by_key(|(point, _)| point.components().count());
    nearest.is_some_and(|(_, options)| {
        options
            .split(|byte| *byte == b',')
            .any(|one| one == option.as_bytes())
    })
}

/// Returns the mount points below a directory, as this process sees them (proc_pid_mountinfo(5)).
///
/// # Errors
/// When the system does not tell.
pub fn mounts_below(root: &Path) -> io::Result<Vec<PathBuf>> {
    let table = std::fs::read("/proc/self/mountinfo")?;
    Ok(points_below(&table, root))
}

fn points_below(table: &[u8], root: &Path) -> Vec<PathBuf> {
    let lines = table.split(|byte| *byte == b'\n');
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    let points = points.map(|point| PathBuf::from(std::ffi::OsString::from_vec(unescaped(point))));
    points
        .filter(|point| point != root && point.starts_with(root))
        .collect()
}

/// Blanks and backslashes are written as `\040` and the like.
pub(super) fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let code = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match code {
            Some(byte) => {
                plain.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{option_of, points_below};

    #[test]
    fn the_options_of_the_mount_that_lies_on_top_count() {
        let table = b"29 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 29 0:41 / /srv rw,nodev shared:3 - btrfs /dev/sdb rw,allowed\n\
            31 30 0:41 /sub /srv/a\\040b rw - btrfs /dev/sdb rw,allowed\n32 29 0:43 / /over rw - btrfs /dev/sdc rw,allowed\n\
            33 32 0:44 / /over rw - tmpfs none rw\nbroken\n";
        let has = |directory: &str| option_of(table, Path::new(directory), "allowed");
        assert!(has("/srv") && has("/srv/x") && has("/srv/a b/c"));
        assert!(!has("/") && !has("/srvx") && !has("/over/x"));
    }

    #[test]
    fn what_is_mounted_below_a_directory_is_found_and_nothing_beside_it() {
        let table = b"29 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 29 0:41 / /srv rw - btrfs /dev/sdb rw\n\
            31 30 0:42 / /srv/a\\040b/in rw - tmpfs none rw\n32 30 0:43 / /srv/a rw - tmpfs none rw\nbroken\n";
        assert_eq!(
            points_below(table, Path::new("/srv/a b")),
            [PathBuf::from("/srv/a b/in")]
        );
        assert_eq!(points_below(table, Path::new("/srv")).len(), 2);
        assert!(points_below(table, Path::new("/srv/a")).is_empty());
    }
}
