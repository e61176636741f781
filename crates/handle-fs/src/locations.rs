//! Locations of paths inside their file systems, by the table of mounts (proc_pid_mountinfo(5)): a bind mount shows one directory
//! at several paths.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::mount_table::{MountLine, lines, mount_table, unescaped};

/// Locations of local paths inside their file systems. The table of mounts is read at the first question.
///
/// Paths on NFS have none: there the table says `/` for whatever a mount shows (`nfs_show_path` of Linux), and mounts of different directories of one
/// server have one device.
#[derive(Clone, Debug, Default)]
pub struct Locations {
    mounts: OnceLock<Vec<Mount>>,
    /// Each mount point with the location that is seen there.
    seen: OnceLock<Vec<(PathBuf, PathBuf)>>,
}

#[derive(Clone, Debug)]
struct Mount {
    id: u64,
    parent: u64,
    device: OsString,
    /// The directory of the file system that it shows; `None` if the table does not tell.
    root: Option<PathBuf>,
    point: PathBuf,
}

impl Locations {
    /// Returns the locations by a table in the form of `/proc/self/mountinfo`.
    #[must_use]
    pub fn by(table: &[u8]) -> Self {
        Self {
            mounts: OnceLock::from(mounts(table)),
            seen: OnceLock::new(),
        }
    }

    /// Returns the location of a path, which need not exist: the same for all paths at which mounts show it, and below the location of each
    /// directory above it on the same mount. `None` if the system does not tell, or the path lies on another machine.
    ///
    /// It is no path of this machine: `mount/8:1/srv/project`.
    #[must_use]
    pub fn of(&self, path: &Path) -> Option<PathBuf> {
        let mount = self.mount_of(path)?;
        let below = path.strip_prefix(&mount.point).ok()?;
        let root = mount.root.as_deref()?;
        let root = root.strip_prefix("/").unwrap_or(root);
        let top = Path::new("mount").join(&mount.device);
        // Part by part, because an empty one leaves a slash at the end, and locks are named after the bytes.
        let parts = [&top, root, below].into_iter().flat_map(Path::components);
        Some(parts.collect())
    }

    /// Returns the path of `inner` below `outer` inside their file system; `None` if it is neither the same nor below.
    #[must_use]
    pub fn below(&self, outer: &Path, inner: &Path) -> Option<PathBuf> {
        let (outer, inner) = (self.of(outer)?, self.of(inner)?);
        inner.strip_prefix(outer).ok().map(Path::to_path_buf)
    }

    /// Returns the mount points below a path, each with the location that is seen there.
    pub fn mounted_below(&self, path: &Path) -> impl Iterator<Item = &(PathBuf, PathBuf)> {
        let seen = self.seen.get_or_init(|| {
            let points = self.mounts().iter().map(|mount| &mount.point);
            points
                .filter_map(|point| Some((point.clone(), self.of(point)?)))
                .collect()
        });
        seen.iter()
            .filter(move |(point, _)| point != path && is_within(point, path))
    }

    /// Returns true if another mount may show the directory at `path`, or a part of it, at another path.
    #[must_use]
    pub fn may_have_others(&self, path: &Path) -> bool {
        let Some(own) = self.mount_of(path) else {
            return false;
        };
        let mut all = self.mounts().iter();
        all.any(|mount| mount.id != own.id && mount.device == own.device)
    }

    /// Follows a path from mount to mount: what a later one covers is not seen.
    fn mount_of(&self, path: &Path) -> Option<&Mount> {
        if !path.is_absolute() {
            return None;
        }
        let all = self.mounts();
        let is_top = |mount: &&Mount| mount.id == mount.parent || !all.iter().any(|at| at.id == mount.parent);
        let on_the_way = |mount: &&Mount| is_within(path, &mount.point);
        let first = |mount: &&Mount| mount.point.as_os_str().len();
        // Of several at one place the last one lies on top.
        let top = all.iter().rev().filter(on_the_way);
        let mut found = top.filter(is_top).min_by_key(first)?;
        for _ in all {
            let inner = all
                .iter()
                .rev()
                .filter(|mount| mount.parent == found.id && mount.id != found.id);
            match inner.filter(on_the_way).min_by_key(first) {
                Some(inner) => found = inner,
                None => break,
            }
        }
        Some(found)
    }

    fn mounts(&self) -> &[Mount] {
        self.mounts.get_or_init(|| {
            // A simulation has no mounts, whatever this machine has.
            #[cfg(any(test, debug_assertions, feature = "simulated"))]
            if crate::simulated::world().is_some() {
                return Vec::new();
            }
            let table = mount_table().unwrap_or_default();
            mounts(&table)
        })
    }
}

/// Like `starts_with`, which compares part by part and is slower: these paths have no dots and no double slashes.
fn is_within(path: &Path, point: &Path) -> bool {
    let rest = path
        .as_os_str()
        .as_bytes()
        .strip_prefix(point.as_os_str().as_bytes());
    point == Path::new("/") || rest.is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'/'))
}

fn mounts(table: &[u8]) -> Vec<Mount> {
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse().ok();
    let text = |field: &[u8]| OsString::from_vec(unescaped(field));
    let mount = |line: MountLine<'_>| {
        Some(Mount {
            id: number(line.id)?,
            parent: number(line.parent)?,
            device: text(line.device),
            root: (!line.kind.starts_with(b"nfs")).then(|| text(line.root).into()),
            point: line.point(),
        })
    };
    lines(table).filter_map(mount).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::Locations;

    #[test]
    fn a_directory_has_one_location_at_each_path_that_shows_it() {
        let all = Locations::by(
            b"29 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 29 8:1 /srv/a\\040b /mnt/b rw - ext4 /dev/sda1 rw\n\
            31 29 0:41 / /srv/other rw - btrfs /dev/sdb rw\nbroken\n",
        );
        let at = |path: &str| all.of(Path::new(path));
        assert_eq!(at("/mnt/b/c"), Some(PathBuf::from("mount/8:1/srv/a b/c")));
        assert_eq!(at("/mnt/b/c"), at("/srv/a b/c"));
        assert_eq!(at("/mnt/b"), at("/srv/a b"));
        assert_eq!(at("/mnt/b").unwrap().as_os_str(), "mount/8:1/srv/a b");
        assert_eq!(at("/mnt/bc"), Some(PathBuf::from("mount/8:1/mnt/bc")));
        assert_eq!(at("/srv/other/x"), Some(PathBuf::from("mount/0:41/x")));
        assert_eq!(at("ssh://host/srv"), None);
        let below = |outer: &str, inner: &str| all.below(Path::new(outer), Path::new(inner));
        assert_eq!(below("/srv", "/mnt/b/c"), Some(PathBuf::from("a b/c")));
        assert_eq!(below("/srv", "/srv/other"), None);
        assert_eq!(below("/mnt/b", "/srv"), None);
        let below = |path: &str| all.mounted_below(Path::new(path)).cloned().collect::<Vec<_>>();
        let other = (PathBuf::from("/srv/other"), PathBuf::from("mount/0:41"));
        assert_eq!((below("/srv"), below("/srv/other")), (vec![other], vec![]));
        let others = |path: &str| all.may_have_others(Path::new(path));
        assert!(others("/mnt/b/c") && others("/srv") && !others("/srv/other/x"));
    }

    #[test]
    fn a_mount_that_another_one_covers_is_not_seen() {
        let all = Locations::by(
            b"29 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 29 8:1 /a /over/in rw - ext4 /dev/sda1 rw\n\
            31 29 0:43 / /over rw - btrfs /dev/sdc rw\n32 31 0:44 / /over rw - tmpfs none rw\n",
        );
        assert_eq!(
            all.of(Path::new("/over/in/x")),
            Some(PathBuf::from("mount/0:44/in/x"))
        );
    }

    #[test]
    fn the_table_does_not_tell_what_a_mount_of_nfs_shows() {
        let all = Locations::by(
            b"29 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 29 0:52 / /home/alice rw shared:7 - nfs4 server:/export/alice rw\n\
            31 29 0:52 / /proj rw shared:8 - nfs4 server:/export/proj rw\n",
        );
        assert_eq!(all.of(Path::new("/proj/app")), None);
        assert_eq!(all.below(Path::new("/home/alice"), Path::new("/proj/app")), None);
        assert_eq!(all.mounted_below(Path::new("/")).count(), 0);
    }

    #[test]
    fn without_a_table_nothing_has_a_location() {
        assert_eq!(Locations::by(b"").of(Path::new("/srv")), None);
        // Below the directory of a change of root, mounts alone are in the table.
        let some = Locations::by(b"30 29 8:1 /a /mnt rw - ext4 /dev/sda1 rw\n");
        assert_eq!(some.of(Path::new("/srv")), None);
        assert_eq!(some.of(Path::new("/mnt/x")), Some(PathBuf::from("mount/8:1/a/x")));
    }
}
