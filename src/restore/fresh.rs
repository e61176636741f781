//! A new directory that a snapshot is written into: it appears when it is whole; one that was there says until then that it is
//! not.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::RestoreError;
use super::stage::make_private;
use crate::clock::letters;
use crate::contract::STAGING_PREFIX;
use crate::mount::Dir;
use crate::platform;

/// What lies in a directory that was there already until everything is written into it. No snapshot holds such a name.
const MARK: &str = "unfinished";

/// A directory that is being written. Dropped without [`Fresh::finish`] it is removed when it is
/// empty; else it keeps its first name, or its mark.
pub struct Fresh {
    parent: Dir,
    name: OsString,
    /// Under this name it lies in `parent` meanwhile; without one it was there already.
    draft: Option<OsString>,
    top: Dir,
    path: PathBuf,
    done: bool,
}

impl Fresh {
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
    /// As [`Fresh::make`].
    pub fn called(directory: &Path, draft: &str) -> Result<Self, RestoreError> {
        let fail = |source| RestoreError::Stage {
            path: directory.to_path_buf(),
            source,
        };
        let above = directory.parent().unwrap_or(directory);
        let name = directory.file_name().unwrap_or_default().to_owned();
        let parent = Dir::open(above).map_err(fail)?;
        if parent.look(&name).map_err(fail)?.is_some() {
            let top = parent.dir(&name).map_err(fail)?;
            if !top.names().map_err(fail)?.is_empty() {
                return Err(RestoreError::NotEmpty(directory.to_path_buf()));
            }
            platform::create_file(&top, &mark()).map_err(fail)?;
            // The mark is to be there for whoever looks after a power cut.
            platform::sync_directory(&top).map_err(fail)?;
            let path = directory.to_path_buf();
            return Ok(Self {
                parent,
                name,
                draft: None,
                top,
                path,
                done: false,
            });
        }
        let draft = OsString::from(draft);
        let top = make_private(&parent, &draft).map_err(|(source, _)| fail(source))?;
        Ok(Self {
            path: above.join(&draft),
            parent,
            name,
            draft: Some(draft),
            top,
            done: false,
        })
    }

    /// Where to write.
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
            platform::chmod_handle(&self.top, 0o700)?;
            match owner {
                Some((uid, gid)) => platform::chown_handle(&self.top, uid, gid),
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
        let finish = || match &self.draft {
            Some(draft) => {
                platform::rename_new(&self.parent, draft, &self.parent, &self.name)?;
                platform::sync_directory(&self.parent)
            }
            None => {
                platform::remove_file(&self.top, &mark())?;
                platform::sync_directory(&self.top)
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

impl Drop for Fresh {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // The error that led here is the one to report.
        match &self.draft {
            // What was written is removed by who wrote it; anything else in it stays, and keeps it.
            Some(draft) => drop(platform::remove_dir(&self.parent, draft)),
            // As long as anything lies in it, it says that it is not finished.
            None => {
                if is_empty(&self.top).unwrap_or(false) {
                    drop(platform::remove_file(&self.top, &mark()));
                }
            }
        }
    }
}

/// Whether a directory holds nothing, but for the mark.
pub(super) fn is_empty(directory: &Dir) -> io::Result<bool> {
    Ok(directory.names()?.iter().all(|name| is_mark(name.as_os_str())))
}

/// Whether this name is that of the mark.
pub(super) fn is_mark(name: &OsStr) -> bool {
    name == mark()
}

fn mark() -> OsString {
    OsString::from(format!("{STAGING_PREFIX}{MARK}"))
}
