//! Checks that everything in the store belongs to the current user alone: modes, owners, types, sizes. Follows no link.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{Inconsistency, UnexpectedFile};
use crate::store::durable::{DIRECTORY_MODE, FILE_MODE};

/// The store is this deep: `tmp/<draft>/<file>`. Whatever lies deeper is not ours and not entered.
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
    match fs::symlink_metadata(root) {
        Ok(meta) => seen.visit(root.to_path_buf(), &meta, 0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => seen.note(root.to_path_buf(), true, Inconsistency::Unseen(error)),
    }
    Some(seen)
}

impl Seen {
    fn note(&mut self, path: PathBuf, directory: bool, lapse: Inconsistency) {
        self.odd.push(UnexpectedFile {
            path,
            directory,
            lapse,
        });
    }

    fn visit(&mut self, path: PathBuf, meta: &Metadata, depth: usize) {
        // The root and what lies in it directly under our names must be directories; files lie elsewhere.
        let own = matches!(
            path.file_name().and_then(|name| name.to_str()),
            Some("snapshots" | "archives" | "locks" | "tmp")
        );
        let directory = depth == 0 || depth == 1 && own;
        self.bytes += meta.blocks().saturating_mul(512);
        if meta.is_symlink() {
            return self.note(path, directory, Inconsistency::Link);
        }
        // A snapshot of a file system is as open as what it shows, in a directory that is not.
        let is_native = depth == 3
            && path
                .ancestors()
                .nth(2)
                .is_some_and(|above| above.ends_with("native"));
        if is_native && meta.is_dir() {
            return;
        }
        if !(meta.is_dir() || meta.is_file() && !directory) {
            return self.note(path, directory, Inconsistency::Kind);
        }
        if meta.uid() != handle_fs::own_ids().0 {
            self.note(path.clone(), directory, Inconsistency::Owner(meta.uid()));
        }
        let mode = meta.mode() & 0o7777;
        let whole = if meta.is_dir() { DIRECTORY_MODE } else { FILE_MODE };
        if mode & !DIRECTORY_MODE != 0 {
            self.note(path.clone(), directory, Inconsistency::Open(mode));
        } else if mode & whole != whole {
            self.note(path.clone(), directory, Inconsistency::Closed(mode));
        }
        if meta.is_file() {
            self.files += 1;
        } else if depth < DEEPEST {
            self.enter(&path, directory, depth);
        }
    }

    fn enter(&mut self, path: &Path, directory: bool, depth: usize) {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.note(path.to_path_buf(), directory, Inconsistency::Unseen(error)),
        };
        let mut children: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        children.sort();
        for child in children {
            match fs::symlink_metadata(&child) {
                Ok(meta) => self.visit(child, &meta, depth + 1),
                // Gone since it was listed: a store is in use while it is looked at.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => self.note(child, false, Inconsistency::Unseen(error)),
            }
        }
    }
}
