//! The store's directories: made private, and refused when somebody else could tamper with them.

use std::ffi::OsString;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::{Layout, StoreError, durable};

/// Makes what is missing, checks what is there, and takes read rights of others away.
pub(super) fn prepare(layout: &Layout) -> Result<(), StoreError> {
    make_with_ancestors(layout.root())?;
    for directory in all(layout) {
        durable::make_directory(&directory)?;
        // It was made or it was there; missing now means that it was removed in this moment.
        let Some(meta) = check(&directory)? else {
            let source = io::ErrorKind::NotFound.into();
            return Err(StoreError::Create {
                path: directory,
                source,
            });
        };
        // Rights are only taken away, never given: an operator who made the store read-only meant it.
        let mode = meta.mode() & 0o7777;
        if mode & !durable::DIRECTORY_MODE != 0 {
            fs::set_permissions(&directory, Permissions::from_mode(mode & durable::DIRECTORY_MODE))
                .map_err(StoreError::io("change the mode of", &directory))?;
        }
    }
    Ok(())
}

/// Whether there is a store. Its directories are checked; nothing is made or changed.
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
    let failed = StoreError::io("list", directory);
    let listed = match fs::read_dir(directory) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let names: io::Result<Vec<OsString>> = listed.map(|entry| Ok(entry?.file_name())).collect();
    names.map_err(failed)
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

/// What lies at `path` must be a real directory of our own that nobody else may write to. `None`: nothing is
/// there.
fn check(path: &Path) -> Result<Option<Metadata>, StoreError> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("look at", path)(error)),
    };
    let user = crate::platform::own_ids().0;
    let mode = meta.mode() & 0o7777;
    let why = if meta.is_symlink() {
        "it is a symbolic link; put a real directory there".to_owned()
    } else if !meta.is_dir() {
        "it is not a directory; move it away".to_owned()
    } else if meta.uid() != user {
        format!(
            "it belongs to user {}, and this is user {user}; run as its owner, or choose another home",
            meta.uid()
        )
    } else if mode & 0o022 != 0 {
        format!("its mode {mode:04o} lets others write to it; look at what it holds, then `chmod 700` it")
    } else {
        return Ok(Some(meta));
    };
    Err(StoreError::Unsafe {
        path: path.to_path_buf(),
        why,
    })
}

fn make_with_ancestors(path: &Path) -> Result<(), StoreError> {
    match durable::make_directory(path) {
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
            durable::make_directory(path).map(drop)
        }
        Err(error) => Err(error),
    }
}
