//! Puts a new file in the place of an old one: written beside it, on disk, and then renamed. At every moment the name stands
//! for the whole old file or the whole new one.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::EditError;
use crate::clock::letters;
use crate::platform;

/// The new file under the name it has until it is renamed; removed when it never is.
struct Beside<'a> {
    directory: &'a File,
    name: OsString,
    renamed: bool,
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // What cannot be removed is harmless: no program takes a hidden file without `.toml` for a workspace.
            let _ = platform::remove_file(self.directory, &self.name);
        }
    }
}

/// Replaces the regular file `path`, which must still hold `old`, by one that holds `new`. `check` looks at the new file before
/// it takes the name.
pub(super) fn replace(
    path: &Path,
    old: &[u8],
    new: &[u8],
    random: [u8; 8],
    check: impl FnOnce(&Path) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let failed = |action| {
        move |source| EditError::Write {
            action,
            path: path.to_path_buf(),
            source,
        }
    };
    let (Some(parent), Some(own_name)) = (path.parent(), path.file_name()) else {
        return Err(failed("write")(io::ErrorKind::InvalidInput.into()));
    };
    unchanged(path, old)?;
    let directory = File::open(parent).map_err(failed("open the directory of"))?;
    let name = OsString::from(format!(".jackin-init-{}", letters(random)));
    let mut file = platform::create_file(&directory, &name).map_err(failed("write beside"))?;
    let mut beside = Beside {
        directory: &directory,
        name,
        renamed: false,
    };
    let written: PathBuf = parent.join(&beside.name);
    file.write_all(new).map_err(failed("write beside"))?;
    adopt(&directory, own_name, &file, &beside.name).map_err(failed("keep the owner and mode of"))?;
    file.sync().map_err(failed("write beside"))?;
    check(&written)?;
    unchanged(path, old)?;
    fs::rename(&written, path).map_err(failed("replace"))?;
    beside.renamed = true;
    match platform::sync_directory(&directory) {
        // Some network file systems cannot (fsync(2)).
        Err(error) if !platform::is_sync_unsupported(&error) => Err(failed(
            "make sure that a power loss does not take back the change of",
        )(error)),
        _ => Ok(()),
    }
}

/// Gives the new file owner, attributes (also access control lists) and mode of the old one, the mode last: it must never be
/// more readable than that.
fn adopt(directory: &File, old: &OsStr, file: &platform::File, new: &OsStr) -> io::Result<()> {
    let from = platform::stat_child(directory, old)?;
    let own = file.stat()?;
    if (own.uid, own.gid) != (from.uid, from.gid) {
        platform::chown(directory, new, from.uid, from.gid)?;
    }
    let has = platform::list_attributes(directory, new)?;
    for attribute in platform::list_attributes(directory, old)? {
        if !has.contains(&attribute) {
            platform::set_attribute(directory, new, &attribute)?;
        }
    }
    platform::chmod_handle(file, from.mode)
}

/// The file must be what was shown.
fn unchanged(path: &Path, old: &[u8]) -> Result<(), EditError> {
    let now = fs::read(path).map_err(|source| EditError::Write {
        action: "read",
        path: path.to_path_buf(),
        source,
    })?;
    if now == old {
        Ok(())
    } else {
        Err(EditError::Changed {
            path: path.to_path_buf(),
        })
    }
}
