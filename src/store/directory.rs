//! The store's directories: created private, and refused if another user could tamper with them.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::{Layout, StoreError, durable};
use handle_fs::{NodeKind, Stat};

/// Makes what is missing, checks what is there, and takes read rights of others away.
pub(super) fn prepare(layout: &Layout) -> Result<(), StoreError> {
    make_with_ancestors(layout.root())?;
    let mut is_new = false;
    for directory in all(layout) {
        is_new |= durable::make_directory_unsynced(&directory)?;
        // It was made or it was there; missing now means that it was removed in this moment.
        let Some(stat) = check(&directory)? else {
            let source = io::ErrorKind::NotFound.into();
            return Err(StoreError::Create {
                path: directory,
                source,
            });
        };
        // Rights are only taken away, never given: an operator who made the store read-only meant it.
        if stat.mode & !durable::DIRECTORY_MODE != 0 {
            handle_fs::chmod_dir_at(&directory, stat.mode & durable::DIRECTORY_MODE)
                .map_err(StoreError::io("change the mode of", &directory))?;
        }
    }
    if is_new {
        durable::sync_parent(&layout.snapshots())?;
    }
    if !durable::is_there(&layout.receipts())? {
        // Whoever made the directories may have been killed before their names were on disk. No receipt is written before they are.
        for path in layout.root().ancestors().filter(|path| path.parent().is_some()) {
            match durable::sync_parent(path) {
                // A directory that is not ours to list was there before.
                Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {}
                synced => synced?,
            }
        }
    }
    Ok(())
}

/// Creates a directory of jackin beside the store if it is missing, and checks it.
pub(super) fn make(path: &Path) -> Result<(), StoreError> {
    durable::make_directory(path)?;
    check(path).map(drop)
}

/// Returns true if there is a store. Checks its directories; creates and changes nothing.
pub(super) fn inspect(layout: &Layout) -> Result<bool, StoreError> {
    if check(layout.root())?.is_none() {
        return Ok(false);
    }
    for directory in all(layout) {
        check(&directory)?;
    }
    Ok(true)
}

/// The names in one of the store's directories; none when it is not there.
pub(super) fn names(directory: &Path) -> Result<Vec<OsString>, StoreError> {
    match handle_fs::names_at(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed.map_err(StoreError::io("list", directory)),
    }
}

fn all(layout: &Layout) -> [std::path::PathBuf; 6] {
    [
        layout.root().to_path_buf(),
        layout.snapshots(),
        layout.archives(),
        layout.locks(),
        layout.drafts(),
        layout.restores(),
    ]
}

/// Checks that `path` is a real directory of the current user that no other user may write to. Returns `None` if nothing exists
/// there.
fn check(path: &Path) -> Result<Option<Stat>, StoreError> {
    let Some(stat) = handle_fs::stat_path(path).map_err(StoreError::io("look at", path))? else {
        return Ok(None);
    };
    let user = handle_fs::own_ids().0;
    let mode = stat.mode;
    let why = if stat.kind == NodeKind::Symlink {
        "it is a symbolic link; put a real directory there".to_owned()
    } else if stat.kind != NodeKind::Directory {
        "it is not a directory; move it away".to_owned()
    } else if stat.uid != user {
        format!(
            "it belongs to user {}, and this is user {user}; run as its owner, or choose another home",
            stat.uid
        )
    } else if mode & 0o022 != 0 {
        format!("its mode {mode:04o} lets others write to it; look at what it holds, then `chmod 700` it")
    } else {
        return Ok(Some(stat));
    };
    Err(StoreError::Unsafe {
        path: path.to_path_buf(),
        why,
    })
}

/// Makes a directory and those above it. Their names come to disk with [`prepare`].
fn make_with_ancestors(path: &Path) -> Result<(), StoreError> {
    match durable::make_directory_unsynced(path) {
        Ok(_) => Ok(()),
        Err(StoreError::Create { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                Some(parent) => make_with_ancestors(parent)?,
                None => {
                    return Err(StoreError::Create {
                        path: path.to_path_buf(),
                        source,
                    });
                }
            }
            durable::make_directory_unsynced(path).map(drop)
        }
        Err(error) => Err(error),
    }
}
