//! The staging directory: where new content is written before anything live changes, and where old content lies until
//! everything new is in place. On the same mount as the tree, so that a rename is enough.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::RestoreError;
use super::aside::Known;
use super::identity::is_same;
use crate::clock::letters;
use crate::contract::{ASIDE_SUFFIX, staging_prefix};
use crate::mount::Dir;
use crate::platform::{self, NodeKind};
use crate::snapshot::{ByteString, Identity, StagePlace};

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
    inside: bool,
}

impl Stage {
    /// Where a staging directory for `root` will lie, under a name from random letters.
    #[must_use]
    pub(super) fn place(location: &Location, root: &Path, random: [u8; 8]) -> StagePlace {
        StagePlace {
            directory: ByteString::from(location.directory()),
            name: format!("{}{}", staging_prefix(root), letters(random)),
            inside: matches!(location, Location::Inside(_)),
        }
    }

    /// Where a directory for something that is set aside will lie, as [`Self::place`].
    #[must_use]
    pub(super) fn place_aside(location: &Location, root: &Path, random: [u8; 8]) -> StagePlace {
        let mut place = Self::place(location, root, random);
        place.name.push_str(ASIDE_SUFFIX);
        place
    }

    /// Makes it, mode 0700.
    pub(super) fn create(place: &StagePlace) -> Result<Self, RestoreError> {
        let (name, path) = (OsString::from(&place.name), place.path());
        let make = || -> io::Result<(Dir, Dir)> {
            let parent = Dir::open(&place.directory.to_path())?;
            let dir = make_private(&parent, &name)?;
            Ok((parent, dir))
        };
        match make() {
            Ok((parent, dir)) => Ok(Self {
                parent,
                name,
                dir,
                path,
                inside: place.inside,
            }),
            Err(source) => Err(RestoreError::Stage { path, source }),
        }
    }

    /// Makes one in the place of one that is gone; beside it when something else has its name now.
    pub(super) fn create_anew(place: &StagePlace) -> Result<Self, RestoreError> {
        let mut place = place.clone();
        for number in 1..100 {
            match Self::create(&place) {
                Err(RestoreError::Stage { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
                    // One that somebody made like this, and was killed before it held anything.
                    if let Ok(Some(stage)) = Self::reopen(&place, None)
                        && stage.dir.names().is_ok_and(|names| names.is_empty())
                    {
                        return Ok(stage);
                    }
                    place.name = format!("{}-{number}", place.name);
                }
                made => return made,
            }
        }
        Self::create(&place)
    }

    /// Opens the one that an interrupted restore made; `None` when it is gone, or another directory has its name. Without an
    /// `identity` any directory of ours counts.
    pub(super) fn reopen(
        place: &StagePlace,
        identity: Option<&Identity>,
    ) -> Result<Option<Self>, RestoreError> {
        let (name, path) = (OsString::from(&place.name), place.path());
        let open = || -> io::Result<Option<Self>> {
            let parent = Dir::open(&place.directory.to_path())?;
            let Some(stat) = parent.look(&name)? else {
                return Ok(None);
            };
            let ours = stat.kind == NodeKind::Directory && stat.uid == platform::own_ids().0;
            if !ours || identity.is_some_and(|identity| !is_same(identity, &stat, true)) {
                return Ok(None);
            }
            let dir = parent.dir(&name)?;
            Ok(Some(Self {
                parent,
                name: name.clone(),
                dir,
                path: path.clone(),
                inside: place.inside,
            }))
        };
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map_err(|source| RestoreError::Stage {
                path: path.clone(),
                source,
            }),
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

    /// Whether it lies in the mount root itself.
    pub(super) fn is_inside(&self) -> bool {
        self.inside
    }

    /// Removes it and what is known in it. When something else is in it, it stays with that.
    pub(super) fn settle(&self, known: &Known) -> Result<(), RestoreError> {
        known
            .empty(&self.dir)
            .and_then(|()| platform::remove_dir(&self.parent, &self.name))
            .and_then(|()| platform::sync_directory(&self.parent))
            .map_err(|source| RestoreError::Settle {
                path: self.path.clone(),
                source,
            })
    }

    /// Removes it with what was staged in it, for a restore that wrote no journal: all that was made there, and nothing that
    /// is older than it is.
    pub(super) fn forget(&self) -> Result<(), RestoreError> {
        let fail = |source| RestoreError::Stage {
            path: self.path.clone(),
            source,
        };
        let born = self.dir.stat().map_err(fail)?.born;
        let mut known = Known::default();
        known.staged_since(&self.dir, born).map_err(fail)?;
        self.settle(&known)
    }

    /// Makes what was staged durable.
    pub(super) fn sync(&self) -> Result<(), RestoreError> {
        platform::sync_file_system(&self.dir).map_err(|source| RestoreError::Stage {
            path: self.path.clone(),
            source,
        })
    }
}

/// Makes a directory that is open to its owner only, and opens it. One that cannot be used does not stay, if that can be helped.
pub(super) fn make_private(parent: &Dir, name: &OsStr) -> io::Result<Dir> {
    platform::make_dir(parent, name)?;
    let open = || -> io::Result<Dir> {
        let dir = parent.dir(name)?;
        // Whatever our mask made of it.
        platform::chmod_handle(&dir, 0o700)?;
        Ok(dir)
    };
    open().inspect_err(|_| drop(platform::remove_dir(parent, name)))
}

/// The name of the `number`-th new object.
pub(super) fn new_name(number: usize) -> OsString {
    OsString::from(format!("new-{number}"))
}

/// The name of the `number`-th old object.
pub(super) fn old_name(number: usize) -> OsString {
    OsString::from(format!("old-{number}"))
}
