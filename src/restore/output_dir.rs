//! A new directory that a snapshot is written into: it appears when it is whole; one that was there says until then that it is
//! not.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::RestoreError;
use super::stage::make_private;
use crate::clock::letters;
use crate::contract::STAGING_PREFIX;
use handle_fs::Dir;
use handle_fs::NodeKind;
use handle_fs::remote::{above, is_elsewhere};

/// Name of the mark in a directory that already existed, until everything is written. No snapshot holds such a name.
const MARK: &str = "unfinished";

/// A directory that is being written. Dropped without [`OutputDir::finish`] it is removed when it is
/// empty; else it keeps its first name, or its mark.
pub struct OutputDir {
    top: Dir,
    path: PathBuf,
    /// Names for the final rename; `None` if the directory already existed.
    naming: Option<Naming>,
    done: bool,
}

/// A directory that has another name until it is whole.
struct Naming {
    parent: Dir,
    draft: OsString,
    name: OsString,
}

impl OutputDir {
    /// Makes room for what shall become `directory`, which must be absent or empty. `random` makes its first name.
    ///
    /// # Errors
    /// [`RestoreError::NotEmpty`], [`RestoreError::Stage`].
    pub fn make(directory: &Path, random: [u8; 8]) -> Result<Self, RestoreError> {
        Self::called(directory, &format!("{STAGING_PREFIX}{}", letters(random)))
    }

    /// The same, under a first name that the caller knows it by. No snapshot may hold such a name.
    ///
    /// # Errors
    /// As [`OutputDir::make`].
    pub fn called(directory: &Path, draft: &str) -> Result<Self, RestoreError> {
        let fail = |source| RestoreError::Stage {
            path: directory.to_path_buf(),
            source,
        };
        if let Some(top) = there(directory).map_err(fail)? {
            if !is_empty(&top).map_err(fail)? || top.look(&mark()).map_err(fail)?.is_some() {
                return Err(RestoreError::NotEmpty(directory.to_path_buf()));
            }
            handle_fs::create_file(&top, &mark()).map_err(fail)?;
            // The mark is to be there for whoever looks after a power cut.
            handle_fs::sync_directory(&top).map_err(fail)?;
            return Ok(Self {
                top,
                path: directory.to_path_buf(),
                naming: None,
                done: false,
            });
        }
        let above = above(directory).unwrap_or(directory);
        let naming = Naming {
            parent: Dir::open(above).map_err(fail)?,
            draft: OsString::from(draft),
            name: directory.file_name().unwrap_or_default().to_owned(),
        };
        let top = make_private(&naming.parent, &naming.draft).map_err(|(source, _)| fail(source))?;
        Ok(Self {
            top,
            path: above.join(&naming.draft),
            naming: Some(naming),
            done: false,
        })
    }

    /// Returns the directory to write into.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets its owner alone in, and makes it this user's and group's: whatever mode it had, and whoever runs.
    ///
    /// # Errors
    /// [`RestoreError::Stage`].
    pub fn make_private(&self, owner: Option<(u32, u32)>) -> Result<(), RestoreError> {
        let change = || {
            handle_fs::chmod_handle(&self.top, 0o700)?;
            match owner {
                Some((uid, gid)) => handle_fs::chown_handle(&self.top, uid, gid),
                None => Ok(()),
            }
        };
        change().map_err(|source| RestoreError::Stage {
            path: self.path.clone(),
            source,
        })
    }

    /// Everything is written and on disk: it gets its name, or loses its mark.
    ///
    /// # Errors
    /// [`RestoreError::Stage`]; `AlreadyExists` when something else took the name meanwhile.
    pub fn finish(mut self) -> Result<(), RestoreError> {
        let finish = || match &self.naming {
            Some(Naming { parent, draft, name }) => {
                // The name was free when the draft was made. What another process has put there since is not replaced.
                handle_fs::rename_new(parent, draft, parent, name)?;
                handle_fs::sync_directory(parent)
            }
            None => {
                handle_fs::remove_file(&self.top, &mark())?;
                handle_fs::sync_directory(&self.top)
            }
        };
        finish().map_err(|source| RestoreError::Stage {
            path: self.path.clone(),
            source,
        })?;
        self.done = true;
        Ok(())
    }
}

impl Drop for OutputDir {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // The error that led here is the one to report.
        match &self.naming {
            // What was written is removed by who wrote it; anything else in it stays, and keeps it.
            Some(Naming { parent, draft, .. }) => drop(handle_fs::remove_dir(parent, draft)),
            // As long as anything lies in it, it says that it is not finished.
            None => {
                if is_empty(&self.top).unwrap_or(false) {
                    drop(handle_fs::remove_file(&self.top, &mark()));
                }
            }
        }
    }
}

/// A directory that is there already. That of a volume has nothing above it that could be opened.
pub(super) fn there(directory: &Path) -> io::Result<Option<Dir>> {
    if is_elsewhere(directory) {
        return match Dir::open(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        };
    }
    let parent = Dir::open(above(directory).unwrap_or(directory))?;
    let name = directory.file_name().unwrap_or_default();
    match parent.look(name)? {
        Some(_) => parent.dir(name).map(Some),
        None => Ok(None),
    }
}

/// Returns true if a directory is empty, except for the mark and what a new file system contains.
///
/// # Errors
/// An I/O error if the directory cannot be read.
pub fn is_empty(directory: &Dir) -> io::Result<bool> {
    for name in directory.names()? {
        let name = name.as_os_str();
        let is_nothing = is_mark(name) || name == LOST_AND_FOUND && has_lost_and_found(directory)?;
        if !is_nothing {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Directory in a new ext4 file system (mklost+found(8)), into which fsck puts recovered files.
pub(super) const LOST_AND_FOUND: &str = "lost+found";

/// Returns true if a directory contains a `lost+found` that belongs to root and is closed to all others.
pub(super) fn has_lost_and_found(directory: &Dir) -> io::Result<bool> {
    let found = directory.look(LOST_AND_FOUND.as_ref())?;
    Ok(found.is_some_and(|stat| stat.kind == NodeKind::Directory && stat.uid == 0 && stat.mode & 0o077 == 0))
}

/// Returns true if `name` is the name of the mark.
pub(super) fn is_mark(name: &OsStr) -> bool {
    name == mark()
}

fn mark() -> OsString {
    OsString::from(format!("{STAGING_PREFIX}{MARK}"))
}
