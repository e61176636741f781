//! Content that need not be written: another file of the same file system has it and lets its blocks be shared. What was shared is
//! read and compared with its digest like anything that is written.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::plan::{Action, Step};
use crate::capture::ContentSource;
use crate::model::{Content, Digest, Manifest, RelPath};
use crate::store::Blobs;
use handle_fs::File;
use handle_fs::{Dir, Root};

/// Smaller files are written faster than they are shared and looked at (bytes).
const LEAST: u64 = 16 << 10;

/// Files that have what is wanted.
#[derive(Default)]
pub(super) struct Twins<'a> {
    root: Option<&'a Root>,
    live: HashMap<Digest, RelPath>,
    /// Blocks cannot be shared here.
    is_useless: AtomicBool,
    shared: AtomicU64,
}

impl<'a> Twins<'a> {
    /// Finds the files of the live mount, as last scanned, that have contents that `steps` need.
    pub(super) fn of(root: Option<&'a Root>, now: Option<&Manifest>, steps: &[Step]) -> Self {
        let written = steps
            .iter()
            .filter(|step| matches!(step.action, Action::Create | Action::Replace));
        let contents = written.filter_map(|step| step.change.from.as_ref()?.content());
        let wanted: HashSet<Digest> = contents
            .filter(|content| content.size >= LEAST)
            .map(|content| content.digest)
            .collect();
        let mut live = HashMap::new();
        if let Some(now) = now.filter(|_| !wanted.is_empty() && root.is_some()) {
            for (path, entry) in now.entries() {
                if let Some(content) = entry.content().filter(|content| wanted.contains(&content.digest)) {
                    live.entry(content.digest).or_insert(path);
                }
            }
        }
        Self {
            root,
            live,
            ..Self::default()
        }
    }

    /// Returns the number of files that share their blocks with another file.
    pub(super) fn shared(&self) -> u64 {
        self.shared.load(Ordering::Relaxed)
    }

    /// Lets an empty file of jackin have `content` by sharing blocks. `false`: it has to be written, and is
    /// empty.
    ///
    /// # Errors
    /// When what it shared turned out to be something else, and it cannot be emptied again.
    pub(super) fn share(
        &self,
        file: &File,
        (dir, name): (&Dir, &OsStr),
        content: &Content,
        blobs: &Blobs,
    ) -> io::Result<bool> {
        if content.size < LEAST || self.is_useless.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let Some(twin) = blobs.native_file(content).or_else(|| self.open(content)) else {
            return Ok(false);
        };
        if let Err(error) = file.share_blocks_of(&twin) {
            // Something of it may be there already.
            file.set_len(0)?;
            // What one file cannot do here, no other one can.
            let never = matches!(
                error.kind(),
                io::ErrorKind::Unsupported | io::ErrorKind::CrossesDevices
            );
            self.is_useless.fetch_or(never, Ordering::Relaxed);
            return Ok(false);
        }
        // A live twin may have changed since the scan, or during the call. Only the digest of what arrived here counts.
        let is_it = read(dir, name, content).is_ok_and(|found| found == *content);
        match is_it {
            true => drop(self.shared.fetch_add(1, Ordering::Relaxed)),
            false => file.set_len(0)?,
        }
        Ok(is_it)
    }

    fn open(&self, content: &Content) -> Option<File> {
        let (parent, name) = self.live.get(&content.digest)?.split()?;
        let (file, stat) = self.root?.dir(&parent).ok()?.file(name.as_os_str()).ok()?;
        (stat.size == content.size).then_some(file)
    }
}

/// Hashes the current content of a file that the restore created.
fn read(dir: &Dir, name: &OsStr, wanted: &Content) -> io::Result<Content> {
    let (file, stat) = dir.file(name)?;
    ContentSource::new(file, &stat, Some(wanted.method))?.digest(|_| Ok(()))
}
