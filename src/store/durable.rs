//! Durable writing, in one place: a file is made 0600, written, synced, renamed into place, and the directory
//! is synced. Also how files of the store are opened: never through a link, never something that is no
//! regular file.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use super::StoreError;
use handle_fs::{File, NodeKind, Opening};

/// Mode of every file of the store.
pub(super) const FILE_MODE: u32 = 0o600;
const NOT_REGULAR: &str = "it is not a regular file; move it away";
/// Mode of every directory of the store.
pub(super) const DIRECTORY_MODE: u32 = 0o700;

/// Makes a new file, 0600 whatever the umask says, open for reading and writing.
pub(super) fn create(path: &Path) -> Result<File, StoreError> {
    let made = || -> io::Result<File> {
        let file = handle_fs::open_path(path, Opening::Create)?;
        handle_fs::chmod_handle(&file, FILE_MODE)?;
        Ok(file)
    };
    made().map_err(|source| StoreError::Create {
        path: path.to_path_buf(),
        source,
    })
}

/// Opens a regular file for reading and writing, and makes it (0600) when it is missing.
pub(super) fn open_or_create(path: &Path) -> Result<File, StoreError> {
    let opened = || -> io::Result<File> {
        let file = handle_fs::open_path(path, Opening::WriteOrCreate)?;
        let stat = file.stat()?;
        if stat.kind != NodeKind::File {
            return Err(io::Error::other(NOT_REGULAR));
        }
        if stat.mode != FILE_MODE {
            handle_fs::chmod_handle(&file, FILE_MODE)?;
        }
        Ok(file)
    };
    opened().map_err(StoreError::io("open", path))
}

/// Opens a regular file for reading; `None` when there is none.
pub(super) fn open(path: &Path) -> Result<Option<File>, StoreError> {
    let file = match handle_fs::open_path(path, Opening::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if handle_fs::is_through_link(&error) => {
            return Err(not_regular(path));
        }
        Err(error) => return Err(StoreError::io("open", path)(error)),
    };
    let stat = file.stat().map_err(StoreError::io("read", path))?;
    if stat.kind == NodeKind::File {
        Ok(Some(file))
    } else {
        Err(not_regular(path))
    }
}

fn not_regular(path: &Path) -> StoreError {
    StoreError::Damaged {
        path: path.to_path_buf(),
        why: NOT_REGULAR.to_owned(),
    }
}

/// Returns true if anything exists at `path`, of whatever kind.
pub(super) fn is_there(path: &Path) -> Result<bool, StoreError> {
    let found = handle_fs::stat_path(path).map_err(StoreError::io("look at", path))?;
    Ok(found.is_some())
}

/// Reads a whole regular file; `None` when there is none. More than `limit` bytes are damage.
pub(super) fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(file) = open(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(StoreError::io("read", path))?;
    if bytes.len() as u64 > limit {
        let why = format!("it is longer than {limit} bytes");
        return Err(StoreError::Damaged {
            path: path.to_path_buf(),
            why,
        });
    }
    Ok(Some(bytes))
}

/// Writes a new file, which [`publish`] and [`replace`] bring to disk.
pub(super) fn write(path: &Path, parts: &[&[u8]]) -> Result<(), StoreError> {
    let mut file = create(path)?;
    for bytes in parts {
        file.write_all(bytes).map_err(StoreError::io("write", path))?;
    }
    Ok(())
}

/// Syncs the file `from`, renames it to `to`, and syncs the directory of `to`. When that last step fails the
/// file is taken away again as far as possible: what is not durable must not look finished.
pub(super) fn publish(from: &Path, to: &Path) -> Result<(), StoreError> {
    rename_synced(from, to)?;
    // The error of the sync is the one to report; a second one would say the same.
    sync_parent(to).inspect_err(|_| drop(withdraw(to)))
}

/// The same in the place of an older file, which must not be missing at any moment. When the last step fails, the new file
/// stays: the older one may be gone from the disk already.
pub(super) fn replace(from: &Path, to: &Path) -> Result<(), StoreError> {
    rename_synced(from, to)?;
    sync_parent(to)
}

fn rename_synced(from: &Path, to: &Path) -> Result<(), StoreError> {
    let Some(file) = open(from)? else {
        return Err(StoreError::io("publish", from)(io::ErrorKind::NotFound.into()));
    };
    // Before the rename: a name that reaches the disk before its content leads to an empty file after a power loss.
    file.sync().map_err(StoreError::io("sync", from))?;
    handle_fs::rename_path(from, to).map_err(StoreError::io("publish", to))
}

/// Removes a file that may be there, and may be on disk: when this returns there is none, and none comes back.
pub(super) fn withdraw(path: &Path) -> Result<(), StoreError> {
    remove(path)?;
    // Also when it was not there any more: that must last.
    sync_parent(path)
}

/// Removes a file, and makes that durable. A missing one is no error.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match handle_fs::remove_file_at(path) {
        Ok(()) => sync_parent(path),
        // Not synced: the process that removed it may not have come so far. A caller that needs the absence on disk uses
        // `withdraw`.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::io("remove", path)(error)),
    }
}

/// Removes a directory with all in it. A missing one is no error.
///
/// FUSE and NFS keep a removed file that is open under another name in its directory, and FUSE closes a file a moment after its process
/// does: while something comes into the directory, the removal is tried again.
pub(super) fn remove_directory(path: &Path) -> Result<(), StoreError> {
    const ATTEMPTS: usize = 20;
    const PAUSE: Duration = Duration::from_millis(5);
    let mut attempts = 1;
    loop {
        match handle_fs::remove_tree_at(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty && attempts < ATTEMPTS => {
                handle_fs::pause(PAUSE);
                attempts += 1;
            }
            removed => return removed.map_err(StoreError::io("remove", path)),
        }
    }
}

/// Makes a directory, 0700 whatever the umask says, durably. `false`: it was there already, as whatever it
/// is.
pub(super) fn make_directory(path: &Path) -> Result<bool, StoreError> {
    let is_new = make_directory_unsynced(path)?;
    if is_new {
        sync_parent(path)?;
    }
    Ok(is_new)
}

/// Makes a directory like [`make_directory`]; its name is not on disk yet.
pub(super) fn make_directory_unsynced(path: &Path) -> Result<bool, StoreError> {
    let failed = |source| StoreError::Create {
        path: path.to_path_buf(),
        source,
    };
    match handle_fs::make_dir_at(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(failed(error)),
    }
    handle_fs::chmod_dir_at(path, DIRECTORY_MODE).map_err(failed)?;
    Ok(true)
}

/// Makes the names in the directory of `path` durable.
pub(super) fn sync_parent(path: &Path) -> Result<(), StoreError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match handle_fs::sync_dir_at(parent) {
        // Some network and FUSE file systems cannot sync a directory, and say so with EINVAL (fsync(2)).
        Err(error) if handle_fs::is_sync_unsupported(&error) => Ok(()),
        other => other.map_err(StoreError::io("sync", parent)),
    }
}
