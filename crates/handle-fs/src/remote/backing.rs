//! Storage that shows the files at a path of another machine. The address stays the same when a container or a volume is replaced.

use std::path::{Path, PathBuf};

use crate::FileSystemId;

/// Number of a volume in a [`FileSystemId`], where `statfs(2)` has that of a file system's type.
const VOLUME: u64 = 1 << 32;
/// The same for what ends with a container, or with the pod of it.
const CONTAINER: u64 = VOLUME + 1;

/// Storage of the files at and below a path, by an identity that another one under the same name does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backing {
    /// The path there.
    pub at: PathBuf,
    /// Its identity, in any words.
    pub id: String,
    /// True for a volume. Anything else ends with the container or the pod.
    pub is_volume: bool,
}

/// Location of the files at and below a path of another machine, the same for all containers that show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// The path there.
    pub at: PathBuf,
    /// The location: a path of this machine if they lie on it, otherwise a relative path that begins with the kind and the address of what
    /// keeps them.
    pub place: PathBuf,
}

impl Storage {
    /// Returns the location of a path; `None` if it lies in no known storage.
    pub(super) fn of_path(all: &[Self], path: &Path) -> Option<PathBuf> {
        let above = all.iter().filter(|storage| path.starts_with(&storage.at));
        let found = above.max_by_key(|storage| storage.at.components().count())?;
        let below = path.strip_prefix(&found.at).ok()?;
        // Part by part, because an empty one leaves a slash at the end, and locks are named after the bytes.
        Some(found.place.components().chain(below.components()).collect())
    }
}

impl Backing {
    /// Returns the one that shows the files at a path.
    pub(super) fn of_path<'b>(all: &'b [Self], path: &Path) -> Option<&'b Self> {
        let above = all.iter().filter(|backing| path.starts_with(&backing.at));
        above.max_by_key(|backing| backing.at.components().count())
    }

    pub(super) fn file_system_id(&self) -> FileSystemId {
        let digest = blake3::hash(self.id.as_bytes());
        let first = digest.as_bytes().first_chunk().copied().unwrap_or_default();
        FileSystemId {
            own_mount: true,
            kind: if self.is_volume { VOLUME } else { CONTAINER },
            id: Some(u64::from_be_bytes(first)),
            root: None,
        }
    }
}

/// Returns true if the identity is that of something that ends with a container or a pod.
pub(crate) fn is_of_container(id: &FileSystemId) -> bool {
    id.kind == CONTAINER
}

/// Returns true if the identity is that of a volume.
pub(crate) fn is_of_volume(id: &FileSystemId) -> bool {
    id.kind == VOLUME
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Backing, Storage, is_of_container, is_of_volume};

    #[test]
    fn a_path_has_the_location_of_the_innermost_storage_and_what_lies_below() {
        let storage = |at: &str, place: &str| Storage {
            at: at.into(),
            place: place.into(),
        };
        let all = [
            storage("/data", "/srv/volume"),
            storage("/data/in", "docker/tcp/x"),
        ];
        let of = |path: &str| Storage::of_path(&all, path.as_ref());
        assert_eq!(of("/data"), Some(PathBuf::from("/srv/volume")));
        assert_eq!(of("/data").unwrap().as_os_str(), "/srv/volume");
        assert_eq!(of("/data/a/b"), Some(PathBuf::from("/srv/volume/a/b")));
        assert_eq!(of("/data/in/a"), Some(PathBuf::from("docker/tcp/x/a")));
        assert_eq!(of("/database"), None);
    }

    #[test]
    fn a_path_lies_on_the_innermost_one_and_another_id_is_another_one() {
        let backing = |at: &str, id: &str, is_volume| Backing {
            at: at.into(),
            id: id.to_owned(),
            is_volume,
        };
        let all = [backing("/", "layer", false), backing("/data", "disk", true)];
        let of = |path: &str| Backing::of_path(&all, path.as_ref()).unwrap().file_system_id();
        assert!(is_of_volume(&of("/data/x")) && is_of_container(&of("/database")));
        assert!(!of("/data").differs(&of("/data/x")));
        assert!(of("/data").differs(&backing("/data", "other disk", true).file_system_id()));
        assert!(of("/").differs(&backing("/", "other layer", false).file_system_id()));
        assert_eq!(Backing::of_path(&[], "/x".as_ref()), None);
    }
}
