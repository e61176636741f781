//! Puts a new file in the place of an old one, or where none was: written beside it, on disk, and then renamed. At every moment
//! the name stands for the whole old file or the whole new one. For files of others: settings and configuration.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File as Directory};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::change::{chmod_handle, chown, remove_file, rename_new, sync_directory};
use super::{
    File, Opening, is_sync_unsupported, kernel, open_child_file, open_path, own_ids, stat_child, system,
};
use super::{list_attributes, set_attribute};
use crate::Xattr;
use crate::letters;

/// Reason why a file was not replaced. Nothing was written, unless the action says so.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// Another process changed the file in the meantime.
    #[error("{path:?} changed in the meantime; nothing was written")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot {action} {path:?}: {source}")]
    Write {
        /// Action that failed; the path follows in the message.
        action: &'static str,
        /// Path that the action failed on.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// Replaces, creates and removes files of others, and makes the directories that they lack.
///
/// The two names are the calling program's own, and stay the same in all its versions.
#[derive(Clone, Copy, Debug)]
pub struct FileReplacer {
    /// First part of the name that a new file has until it is renamed: hidden, without an ending by which programs find their files.
    pub temporary_prefix: &'static str,
    /// Extended attribute on a directory that was made for a file, so that it can go with the file. Where there are no attributes it
    /// stays.
    pub made_attribute: &'static str,
}

/// The new file under the name it has until it is renamed; removed when it never is.
struct Beside<'a> {
    directory: &'a Directory,
    name: OsString,
    renamed: bool,
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // What cannot be removed is harmless: no program takes a hidden file without its ending for one of its own.
            let _ = remove_file(self.directory, &self.name);
        }
    }
}

/// A file by its path, in the held directory that it lies in.
struct Target<'a> {
    path: &'a Path,
    directory: Directory,
    name: &'a OsStr,
}

impl<'a> Target<'a> {
    fn open(path: &'a Path) -> Result<Self, ReplaceError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(path, "write")(io::ErrorKind::InvalidInput.into()));
        };
        let directory = Directory::open(parent).map_err(failed(path, "open the directory of"))?;
        Ok(Self {
            path,
            directory,
            name,
        })
    }

    /// The file must be what was shown.
    fn unchanged(&self, old: &[u8]) -> Result<(), ReplaceError> {
        let failed = failed(self.path, "read");
        let (file, _) = open_child_file(&self.directory, self.name).map_err(&failed)?;
        let mut now = Vec::new();
        let most = old.len() as u64 + 1;
        file.take(most).read_to_end(&mut now).map_err(&failed)?;
        if now == old {
            Ok(())
        } else {
            Err(ReplaceError::Changed {
                path: self.path.to_path_buf(),
            })
        }
    }

    /// Writes `new` under a name of its own that begins with `prefix`.
    fn beside(
        &self,
        prefix: &str,
        random: [u8; 8],
        new: &[u8],
        mode: Mode,
    ) -> Result<(Beside<'_>, File), ReplaceError> {
        let failed = failed(self.path, "write beside");
        let name = OsString::from(format!("{prefix}{}", letters(random)));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = kernel::openat(&self.directory, name.as_os_str(), flags, mode);
        let mut file: File = opened.map_err(|error| failed(error.into()))?.into();
        let beside = Beside {
            directory: &self.directory,
            name,
            renamed: false,
        };
        file.write_all(new).map_err(&failed)?;
        Ok((beside, file))
    }

    /// Makes the new name durable.
    fn sync(&self) -> Result<(), ReplaceError> {
        const ACTION: &str = "sync the change of";
        match sync_directory(&self.directory) {
            // Some network file systems cannot (fsync(2)).
            Err(error) if !is_sync_unsupported(&error) => Err(failed(self.path, ACTION)(error)),
            _ => Ok(()),
        }
    }
}

fn failed(path: &Path, action: &'static str) -> impl Fn(io::Error) -> ReplaceError {
    move |source| ReplaceError::Write {
        action,
        path: path.to_path_buf(),
        source,
    }
}

impl FileReplacer {
    /// Replaces the regular file `path`, which must still hold `old`, by one that holds `new`, with its owner, attributes and mode.
    /// `check` looks at the new file before it takes the name.
    ///
    /// # Errors
    /// [`ReplaceError`]; what `check` says.
    pub fn replace<E: From<ReplaceError>>(
        &self,
        path: &Path,
        old: &[u8],
        new: &[u8],
        random: [u8; 8],
        check: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let target = Target::open(path)?;
        target.unchanged(old)?;
        let (mut beside, file) =
            target.beside(self.temporary_prefix, random, new, Mode::RUSR | Mode::WUSR)?;
        adopt(&target.directory, target.name, &file, &beside.name)
            .map_err(failed(path, "keep the owner and mode of"))?;
        file.sync().map_err(failed(path, "write beside"))?;
        check(&path.with_file_name(&beside.name))?;
        target.unchanged(old)?;
        kernel::renameat(&target.directory, &beside.name, &target.directory, target.name)
            .map_err(|error| failed(path, "replace")(error.into()))?;
        beside.renamed = true;
        Ok(target.sync()?)
    }

    /// Makes the file `path`, which must not be there, for everyone to read whom the mask of the process lets. The directory must be
    /// there. Root gives it to the owner of the directory.
    ///
    /// # Errors
    /// [`ReplaceError`]; `Changed` when it is there.
    pub fn write_new(&self, path: &Path, new: &[u8], random: [u8; 8]) -> Result<(), ReplaceError> {
        const EVERYONE: u32 = 0o666;
        self.write_new_as(path, new, EVERYONE, random)
    }

    /// Makes the file as [`Self::write_new`] does, with those bits of `mode` that the mask of the process leaves.
    ///
    /// # Errors
    /// As [`Self::write_new`].
    pub fn write_new_as(
        &self,
        path: &Path,
        new: &[u8],
        mode: u32,
        random: [u8; 8],
    ) -> Result<(), ReplaceError> {
        let target = Target::open(path)?;
        let mode = system::own::mode_of(mode);
        let (mut beside, file) = target.beside(self.temporary_prefix, random, new, mode)?;
        give_to_owner_of(&target.directory, &beside.name).map_err(failed(path, "set the owner of"))?;
        file.sync().map_err(failed(path, "write beside"))?;
        match rename_new(&target.directory, &beside.name, &target.directory, target.name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ReplaceError::Changed {
                    path: path.to_path_buf(),
                });
            }
            other => other.map_err(failed(path, "write"))?,
        }
        beside.renamed = true;
        target.sync()
    }

    /// Removes the regular file `path`, which must still hold `old`.
    ///
    /// # Errors
    /// [`ReplaceError`].
    pub fn remove_known(&self, path: &Path, old: &[u8]) -> Result<(), ReplaceError> {
        let target = Target::open(path)?;
        target.unchanged(old)?;
        remove_file(&target.directory, target.name).map_err(failed(path, "remove"))?;
        target.sync()
    }

    /// Makes every directory on the way from `base`, which must be there, to `directory`. Root gives each to the owner of the one it
    /// lies in.
    ///
    /// # Errors
    /// [`ReplaceError::Write`]; directories that were made until then are removed again.
    pub fn make_directories(&self, base: &Path, directory: &Path) -> Result<(), ReplaceError> {
        let mut missing = Vec::new();
        let mut at = directory;
        while at != base && at.starts_with(base) && fs::symlink_metadata(at).is_err() {
            missing.push(at);
            let Some(above) = at.parent() else { break };
            at = above;
        }
        for directory in missing.iter().rev() {
            if let Err(source) = self.make(directory) {
                self.remove_made_directories(base, directory);
                return Err(failed(directory, "make the directory")(source));
            }
        }
        Ok(())
    }

    /// Removes `directory` and those above it, up to `base`, as far as [`Self::make_directories`] made them and they are empty.
    pub fn remove_made_directories(&self, base: &Path, directory: &Path) {
        let mut at = directory;
        while at != base && at.starts_with(base) {
            let ours = Directory::open(at)
                .and_then(|handle| list_attributes(&handle, OsStr::new("")))
                .is_ok_and(|found| {
                    found
                        .iter()
                        .any(|attribute| &*attribute.name == self.made_attribute.as_bytes())
                });
            // One that holds anything is not removed: rmdir(2) refuses.
            if !ours || fs::remove_dir(at).is_err() {
                return;
            }
            let Some(above) = at.parent() else { return };
            at = above;
        }
    }

    fn make(&self, directory: &Path) -> io::Result<()> {
        fs::create_dir(directory)?;
        let mark = Xattr {
            name: self.made_attribute.as_bytes().into(),
            value: b"1".as_slice().into(),
        };
        // Without it the directory stays when the file goes: harmless.
        let _ = set_attribute(&Directory::open(directory)?, OsStr::new(""), &mark);
        match (directory.parent(), directory.file_name()) {
            (Some(parent), Some(name)) => give_to_owner_of(&Directory::open(parent)?, name),
            _ => Ok(()),
        }
    }
}

/// Reads a small regular file; `None` if there is nothing at the path. A link as the last part is not followed.
///
/// # Errors
/// The system's error; `InvalidInput` if it is no regular file, `FileTooLarge` if it holds more than `most` bytes.
pub fn read_small_file(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match open_path(path, Opening::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    if file.stat()?.kind != super::NodeKind::File {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        ));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {} MiB, which no such file is", most >> 20),
        ));
    }
    Ok(Some(bytes))
}

/// Root works for others here: what it makes in their directory must be theirs.
fn give_to_owner_of(directory: &Directory, name: &OsStr) -> io::Result<()> {
    let owner = stat_child(directory, OsStr::new("."))?;
    let own = own_ids().0;
    if own == 0 && owner.uid != own {
        chown(directory, name, owner.uid, owner.gid)?;
    }
    Ok(())
}

/// Gives the new file owner, attributes (also access control lists) and mode of the old one, the mode last: it must never be
/// more readable than that.
fn adopt(directory: &Directory, old: &OsStr, file: &File, new: &OsStr) -> io::Result<()> {
    let from = stat_child(directory, old)?;
    let own = file.stat()?;
    if (own.uid, own.gid) != (from.uid, from.gid) {
        chown(directory, new, from.uid, from.gid)?;
    }
    let has = list_attributes(directory, new)?;
    for attribute in list_attributes(directory, old)? {
        if !has.contains(&attribute) {
            set_attribute(directory, new, &attribute)?;
        }
    }
    chmod_handle(file, from.mode)
}
