//! The staging directory: where new content is written before anything live changes, and where old content lies until
//! everything new is in place. On the same mount as the tree, so that a rename is enough.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::RestoreError;
use super::aside::Known;
use crate::contract::STAGING_PREFIX;
use crate::mount::{Dir, Root};
use crate::platform;
use crate::snapshot::Digest;

/// Where the staging directory of a mount goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In the directory that the mount root lies in.
    Beside(PathBuf),
    /// In the mount root itself, because beside it is another mount or not ours to write.
    Inside(PathBuf),
}

impl Location {
    /// Where staging for `root` can go; nothing is written. A missing root is staged beside.
    #[must_use]
    pub fn choose(root: &Path) -> Self {
        let parent = root.parent().unwrap_or(root);
        let beside = || -> io::Result<bool> {
            let above = Dir::open(parent)?.stat()?;
            let same = match Dir::open(root) {
                Ok(dir) => dir.stat()?.place == above.place,
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            };
            Ok(same && parent != root && platform::may_write(parent))
        };
        if beside().unwrap_or(false) {
            Self::Beside(parent.into())
        } else {
            Self::Inside(root.into())
        }
    }

    /// The directory that will hold the staging directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        match self {
            Self::Beside(path) | Self::Inside(path) => path,
        }
    }
}

/// A staging directory that exists. It is removed by [`Stage::settle`]; when something unexpected had to be left in
/// it, it stays and is named.
pub(super) struct Stage {
    parent: Dir,
    name: OsString,
    dir: Dir,
    path: PathBuf,
}

impl Stage {
    /// Makes it, mode 0700, under a name from random letters.
    pub(super) fn create(location: &Location, root: &Path, random: [u8; 8]) -> Result<Self, RestoreError> {
        let mut name = prefix(root);
        name.push(random.iter().map(|b| format!("{b:02x}")).collect::<String>());
        let path = location.directory().join(&name);
        let make = || -> io::Result<(Dir, Dir)> {
            let parent = Dir::open(location.directory())?;
            platform::make_dir(&parent, &name)?;
            let dir = parent.dir(&name)?;
            platform::chmod_handle(&dir, 0o700)?;
            Ok((parent, dir))
        };
        match make() {
            Ok((parent, dir)) => Ok(Self {
                parent,
                name,
                dir,
                path,
            }),
            Err(source) => Err(RestoreError::Stage { path, source }),
        }
    }

    /// Its handle.
    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Its host path, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it lies directly in `root`.
    pub(super) fn is_inside(&self, root: &Root) -> bool {
        self.path.parent() == Some(root.path())
    }

    /// Where the mount root's own name lies, for making a missing root.
    pub(super) fn parent(&self) -> &Dir {
        &self.parent
    }

    /// Removes it and what is known in it. When something else is in it, it stays with that.
    pub(super) fn settle(self, known: &Known) -> Result<(), RestoreError> {
        known
            .empty(&self.dir)
            .and_then(|()| platform::remove_dir(&self.parent, &self.name))
            .and_then(|()| platform::sync_directory(&self.parent))
            .map_err(|source| RestoreError::Settle {
                path: self.path.clone(),
                source,
            })
    }

    /// Makes what was staged durable.
    pub(super) fn sync(&self) -> Result<(), RestoreError> {
        platform::sync_file_system(&self.dir).map_err(|source| RestoreError::Stage {
            path: self.path.clone(),
            source,
        })
    }
}

/// How the names of a mount's staging directories begin: each root has its own, for two roots may lie side by side.
fn prefix(root: &Path) -> OsString {
    let digest = Digest::of(root.as_os_str().as_bytes()).hex();
    let mut name = OsString::from(STAGING_PREFIX);
    name.push(digest.get(..8).unwrap_or_default());
    name.push("-");
    name
}

/// Staging directories that an interrupted restore of `root` left. Call it with the restore's lock held: nobody else's
/// restore of this root is under way then.
#[must_use]
pub(super) fn leftovers(root: &Path) -> Vec<PathBuf> {
    let prefix = prefix(root);
    let places = [root.parent().unwrap_or(root), root];
    let mut found = Vec::new();
    for place in places {
        let names = Dir::open(place).and_then(|dir| dir.names()).unwrap_or_default();
        let left = names
            .iter()
            .filter(|name| name.as_bytes().starts_with(prefix.as_bytes()));
        found.extend(left.map(|name| place.join(name.as_os_str())));
    }
    found.sort();
    found.dedup();
    found
}

/// The name of the `number`-th new object.
pub(super) fn new_name(number: usize) -> OsString {
    OsString::from(format!("new-{number}"))
}

/// The name of the `number`-th old object.
pub(super) fn old_name(number: usize) -> OsString {
    OsString::from(format!("old-{number}"))
}
