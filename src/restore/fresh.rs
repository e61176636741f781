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

/// A directory that is being written. Dropped without [`Fresh::finish`] it is removed when it is empty.
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
        let draft = OsString::from(format!("{STAGING_PREFIX}{}", letters(random)));
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
            None => drop(platform::remove_file(&self.top, &mark())),
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
