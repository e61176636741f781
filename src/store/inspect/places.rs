//! Checks that everything in the store belongs to the current user alone: modes, owners, types, sizes. Follows no link.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use walkdir::WalkDir;

use super::{Inconsistency, UnexpectedFile};
use crate::store::durable::{DIRECTORY_MODE, FILE_MODE};
use crate::store::layout::WATCHER;

/// The store is this deep: `tmp/<draft>/<file>`. Deeper directories are not jackin's and not entered.
const DEEPEST: usize = 4;

/// Files and directories found in the store.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) odd: Vec<UnexpectedFile>,
}

/// Looks at `root` and all below it; `None` when nothing is there.
pub(super) fn look(root: &Path) -> Option<Seen> {
    let mut seen = Seen::default();
    // All of the store lies on one file system, because its files are renamed into place. A snapshot of a file system may be another
    // one, and is not opened.
    let mut walk = WalkDir::new(root)
        .same_file_system(true)
        .follow_root_links(false)
        .max_depth(DEEPEST)
        .sort_by_file_name()
        .into_iter();
    while let Some(found) = walk.next() {
        match found.and_then(|entry| Ok((entry.metadata()?, entry))) {
            Ok((meta, entry)) => {
                let (path, depth) = (entry.path(), entry.depth());
                seen.visit(path, &meta, depth);
                if meta.is_dir() && is_native(path, depth) {
                    walk.skip_current_dir();
                }
            }
            Err(error) => {
                let (path, depth) = (error.path().map(Path::to_path_buf), error.depth());
                match (path, error.into_io_error()) {
                    (_, Some(_)) if depth == 0 && root.is_symlink() => {
                        seen.note(root, depth, Inconsistency::Link);
                    }
                    (_, Some(error)) if error.kind() == io::ErrorKind::NotFound && depth == 0 => return None,
                    // Gone since it was listed: a store is in use while it is looked at.
                    (_, Some(error)) if error.kind() == io::ErrorKind::NotFound => {}
                    (Some(path), Some(error)) => seen.note(&path, depth, Inconsistency::Unseen(error)),
                    // One name of a listing could not be read.
                    _ => {}
                }
            }
        }
    }
    Some(seen)
}

/// Returns true for the root, and for what lies in it directly under the store's own names of directories. Files lie elsewhere.
fn is_directory(path: &Path, depth: usize) -> bool {
    let own = matches!(
        path.file_name().and_then(|name| name.to_str()),
        Some("snapshots" | "archives" | "locks" | "tmp")
    );
    depth == 0 || depth == 1 && own
}

/// Returns true for the socket of a session's watcher.
fn is_watcher(path: &Path, depth: usize) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    depth == 2
        && path.parent().is_some_and(|above| above.ends_with("locks"))
        && name.is_some_and(|name| name.starts_with(WATCHER))
}

/// Returns true for a snapshot of a file system. It is as open as what it shows, in a directory that is not.
fn is_native(path: &Path, depth: usize) -> bool {
    depth == 3
        && path
            .ancestors()
            .nth(2)
            .is_some_and(|above| above.ends_with("native"))
}

impl Seen {
    fn note(&mut self, path: &Path, depth: usize, lapse: Inconsistency) {
        self.odd.push(UnexpectedFile {
            path: path.to_path_buf(),
            directory: is_directory(path, depth),
            lapse,
        });
    }

    fn visit(&mut self, path: &Path, meta: &Metadata, depth: usize) {
        self.bytes += meta.blocks().saturating_mul(512);
        if meta.is_symlink() {
            return self.note(path, depth, Inconsistency::Link);
        }
        if meta.is_dir() && is_native(path, depth) {
            return;
        }
        let is_watcher = meta.file_type().is_socket() && is_watcher(path, depth);
        if !(is_watcher || meta.is_dir() || meta.is_file() && !is_directory(path, depth)) {
            return self.note(path, depth, Inconsistency::Kind);
        }
        if meta.uid() != handle_fs::own_ids().0 {
            self.note(path, depth, Inconsistency::Owner(meta.uid()));
        }
        let mode = meta.mode() & 0o7777;
        let whole = if meta.is_dir() { DIRECTORY_MODE } else { FILE_MODE };
        if mode & !DIRECTORY_MODE != 0 {
            self.note(path, depth, Inconsistency::Open(mode));
        } else if mode & whole != whole {
            self.note(path, depth, Inconsistency::Closed(mode));
        }
        if meta.is_file() {
            self.files += 1;
        }
    }
}
