//! The table of mounts that Linux keeps for this process (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// A line of the table, with its fields as they are written there.
pub(crate) struct MountLine<'t> {
    pub(crate) id: &'t [u8],
    pub(crate) parent: &'t [u8],
    pub(crate) device: &'t [u8],
    /// Directory of the file system that is shown.
    pub(crate) root: &'t [u8],
    point: &'t [u8],
    /// Type of the file system.
    pub(crate) kind: &'t [u8],
    /// Options of the file system.
    options: &'t [u8],
}

impl<'t> MountLine<'t> {
    fn read(line: &'t [u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let mut next = || fields.next();
        let (id, parent, device, root, point) = (next()?, next()?, next()?, next()?, next()?);
        // Behind the dash: kind, source, options.
        let mut behind = fields.skip_while(|field| field != b"-").skip(1);
        Some(Self {
            id,
            parent,
            device,
            root,
            point,
            kind: behind.next()?,
            options: behind.nth(1)?,
        })
    }

    /// Returns the directory at which it is mounted.
    pub(crate) fn point(&self) -> PathBuf {
        OsString::from_vec(unescaped(self.point)).into()
    }
}

/// Returns the lines of a table; a line that is none of it is passed over.
pub(crate) fn lines(table: &[u8]) -> impl Iterator<Item = MountLine<'_>> {
    table.split(|byte| *byte == b'\n').filter_map(MountLine::read)
}

/// Returns true if the file system of a directory is mounted with `option`, as this process sees it. The option is one of the
/// file system's own, not of the mount.
#[must_use]
pub fn has_mount_option(directory: &Path, option: &str) -> bool {
    std::fs::read("/proc/self/mountinfo").is_ok_and(|table| option_of(&table, directory, option))
}

fn option_of(table: &[u8], directory: &Path, option: &str) -> bool {
    let mounted = lines(table).map(|line| (line.point(), line.options));
    let above = mounted.filter(|(point, _)| directory.starts_with(point));
    // The last one of a place lies on top.
    let nearest = above.max_by_key(|(point, _)| point.components().count());
    nearest.is_some_and(|(_, options)| {
        options
            .split(|byte| *byte == b',')
            .any(|one| one == option.as_bytes())
    })
}

/// Returns the type of the file system that is mounted on exactly this directory, as this process sees it; `None` if none is, or the
/// system does not tell.
#[must_use]
pub fn kind_mounted_at(directory: &Path) -> Option<String> {
    kind_at(&std::fs::read("/proc/self/mountinfo").ok()?, directory)
}

/// Returns the type of the file system that a directory is on, as this process sees it; `None` if the system does not tell.
#[must_use]
pub fn kind_mounted_around(directory: &Path) -> Option<String> {
    kind_around(&std::fs::read("/proc/self/mountinfo").ok()?, directory)
}

/// Returns the directories on which a file system of this type is mounted, as this process sees them; none where the system does not tell.
#[must_use]
pub fn mounts_of_kind(kind: &str) -> Vec<PathBuf> {
    let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    of_kind(&table, kind)
}

fn of_kind(table: &[u8], kind: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = mounted(table)
        .filter_map(|(point, of_it)| (of_it == kind).then_some(point))
        .collect();
    found.retain(|point| kind_at(table, point).as_deref() == Some(kind));
    found.sort();
    found.dedup();
    found
}

fn kind_at(table: &[u8], directory: &Path) -> Option<String> {
    let of_it = mounted(table).filter(|(point, _)| point == directory);
    // The last one of a place lies on top.
    of_it.last().map(|(_, kind)| kind)
}

fn kind_around(table: &[u8], directory: &Path) -> Option<String> {
    let above = mounted(table).filter(|(point, _)| directory.starts_with(point));
    // The last one of a place lies on top.
    let nearest = above.max_by_key(|(point, _)| point.components().count());
    nearest.map(|(_, kind)| kind)
}

/// Returns the mount points with the types of what is mounted there.
fn mounted(table: &[u8]) -> impl Iterator<Item = (PathBuf, String)> {
    lines(table).map(|line| (line.point(), String::from_utf8_lossy(line.kind).into_owned()))
}

/// Returns the table of mounts as it is, to be compared with a later one.
///
/// # Errors
/// When the system does not tell.
pub fn mount_table() -> io::Result<Vec<u8>> {
    std::fs::read("/proc/self/mountinfo")
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
    let points = lines(table).map(|line| line.point());
    points
        .filter(|point| point != root && point.starts_with(root))
        .collect()
}

/// Returns a field of a table of mounts, where blanks and backslashes are written as `\040` and the like, as the bytes that are meant.
#[must_use]
pub fn unescaped(field: &[u8]) -> Vec<u8> {
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

    use super::{kind_around, kind_at, of_kind, option_of, points_below};

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
    fn the_kind_is_that_of_the_mount_on_exactly_this_directory() {
        let table =
            b"29 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 29 0:41 / /a\\040b ro shared:3 - tmpfs none rw\n\
            31 30 0:42 / /a\\040b ro,nodev - fuse.thing thing ro\nbroken\n";
        let kind = |directory: &str| kind_at(table, Path::new(directory));
        assert_eq!(kind("/a b").as_deref(), Some("fuse.thing"));
        assert_eq!(kind("/").as_deref(), Some("ext4"));
        assert_eq!(kind("/a b/c"), None);
        let around = |directory: &str| kind_around(table, Path::new(directory));
        assert_eq!(around("/a b/c").as_deref(), Some("fuse.thing"));
        assert_eq!(around("/a bc").as_deref(), Some("ext4"));
    }

    #[test]
    fn mounts_of_a_kind_are_those_that_lie_on_top() {
        let table = b"29 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 29 0:41 / /a\\040b ro - fuse.thing thing ro\n\
            31 29 0:42 / /c ro - fuse.thing thing ro\n32 31 0:43 / /c ro - tmpfs none ro\nbroken\n";
        assert_eq!(of_kind(table, "fuse.thing"), [PathBuf::from("/a b")]);
        assert!(of_kind(table, "fuse").is_empty());
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
