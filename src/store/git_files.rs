//! The files of one mount of a snapshot, in the form that the reader of git repositories needs.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::archive::Piece;
use super::direct_blobs::DirectBlobs;
use crate::contract::{Matcher, Verdict};
use crate::model::{Digest, Entry, EntryKind, Manifest, Name, RelPath};
use git_reader::{Files, Found};

/// A file that is larger is not read: it is in memory as a whole.
const LARGEST: u64 = 512 << 20;
/// So many files stay in memory, while they are smaller than [`LARGEST`] together.
const KEPT: usize = 64;

/// One mount of a snapshot.
pub struct StoredTree<'a> {
    manifest: &'a Manifest,
    blobs: &'a DirectBlobs,
    host: &'a Path,
    excludes: Option<&'a Matcher>,
    kept: Kept,
    effort: Cell<u64>,
}

/// Files that were read and stay in memory, the last one first.
#[derive(Clone, Default)]
pub(super) struct Kept(Arc<Mutex<VecDeque<Content>>>);

type Content = (Digest, Arc<Vec<u8>>);

impl Kept {
    fn find(&self, digest: &Digest) -> Option<Arc<Vec<u8>>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, bytes) = kept.iter().find(|(known, _)| known == digest)?;
        Some(Arc::clone(bytes))
    }

    fn add(&self, digest: Digest, bytes: &Arc<Vec<u8>>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front((digest, Arc::clone(bytes)));
        let mut held = 0;
        let wanted = kept.iter().take(KEPT).take_while(|(_, bytes)| {
            held += bytes.len() as u64;
            held <= LARGEST
        });
        let wanted = wanted.count().max(1);
        kept.truncate(wanted);
    }
}

impl<'a> StoredTree<'a> {
    /// Creates the tree that `manifest` describes, with content from `blobs`; its root is at `host`.
    pub(super) fn of(manifest: &'a Manifest, blobs: &'a DirectBlobs, host: &'a Path) -> Self {
        Self {
            manifest,
            blobs,
            host,
            excludes: None,
            kept: Kept::default(),
            effort: Cell::default(),
        }
    }

    /// The same, with what was read before and what is read now in memory.
    pub(super) fn keeping(self, kept: Kept) -> Self {
        Self { kept, ..self }
    }

    /// The same, which knows what the snapshot excludes.
    #[must_use]
    pub fn excluding(self, excludes: Option<&'a Matcher>) -> Self {
        Self { excludes, ..self }
    }

    fn content(&self, path: &RelPath) -> io::Result<Arc<Vec<u8>>> {
        let entry = self.manifest.entry(path).ok_or(io::ErrorKind::NotFound)?;
        let content = entry
            .content()
            .ok_or_else(|| io::Error::other("it is not a regular file"))?;
        if let Some(bytes) = self.kept.find(&content.digest) {
            return Ok(bytes);
        }
        if let Some(bytes) = self.blobs.lent(content) {
            return Ok(Arc::new(bytes.to_vec()));
        }
        let size = usize::try_from(content.size)
            .ok()
            .filter(|_| content.size <= LARGEST);
        let size = size.ok_or_else(|| io::Error::other("it is too large to be read here"))?;
        let mut bytes = Vec::with_capacity(size);
        if size > 0 {
            let read = self.blobs.stream_archived(&content.digest, &mut |piece| {
                match piece {
                    Piece::Data(data) => bytes.extend_from_slice(data),
                    Piece::Hole(length) => {
                        let length = usize::try_from(length).map_err(io::Error::other)?;
                        bytes.resize(bytes.len().saturating_add(length).min(size), 0);
                    }
                }
                Ok(())
            });
            read.map_err(io::Error::other)?;
        }
        let bytes = Arc::new(bytes);
        self.kept.add(content.digest, &bytes);
        Ok(bytes)
    }
}

/// Returns the object of an entry as a repository is read.
#[must_use]
pub fn found(entry: &Entry) -> Found {
    match &entry.kind {
        EntryKind::File(content) => Found::File {
            size: content.size,
            executable: entry.mode & 0o111 != 0,
        },
        EntryKind::Directory => Found::Directory,
        EntryKind::Symlink(target) => Found::Symlink(target.to_vec()),
        _ => Found::Other,
    }
}

impl Files for StoredTree<'_> {
    fn look(&self, path: &RelPath) -> io::Result<Option<Found>> {
        Ok(self.manifest.entry(path).map(found))
    }

    fn names(&self, dir: &RelPath) -> io::Result<Vec<Name>> {
        let dir = self.manifest.directory(dir).ok_or(io::ErrorKind::NotFound)?;
        Ok(dir.entries.iter().map(|entry| entry.name.clone()).collect())
    }

    fn read_at(&self, path: &RelPath, room: &mut [u8], at: u64) -> io::Result<usize> {
        let bytes = self.content(path)?;
        let from = usize::try_from(at).unwrap_or(usize::MAX);
        let rest = bytes.get(from..).unwrap_or_default();
        let count = rest.len().min(room.len());
        let (Some(to), Some(what)) = (room.get_mut(..count), rest.get(..count)) else {
            return Ok(0);
        };
        to.copy_from_slice(what);
        Ok(count)
    }

    fn effort(&self) -> &Cell<u64> {
        &self.effort
    }

    fn excludes(&self, path: &RelPath) -> bool {
        let is_excluded = |is_dir| {
            let verdict = self.excludes.map(|all| all.verdict_with_parents(path, is_dir));
            matches!(verdict, Some(Verdict::Excluded(_)))
        };
        is_excluded(true) || is_excluded(false)
    }

    fn host_path(&self) -> Option<&Path> {
        Some(self.host)
    }
}
