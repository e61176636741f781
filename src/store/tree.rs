//! The files of one mount of a snapshot, as whoever reads repositories wants them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::rc::Rc;

use super::Blobs;
use super::archive::Piece;
use crate::git::{Files, Found};
use crate::snapshot::{Digest, Kind, Manifest, Name, RelPath};

/// A file that is larger is not read: it is in memory as a whole.
const LARGEST: u64 = 512 << 20;
/// So many files stay in memory, while they are smaller than [`LARGEST`] together.
const KEPT: usize = 64;

/// One mount of a snapshot.
pub struct StoredTree<'a> {
    manifest: &'a Manifest,
    blobs: &'a Blobs,
    host: &'a Path,
    kept: RefCell<VecDeque<(Digest, Rc<Vec<u8>>)>>,
}

impl<'a> StoredTree<'a> {
    /// What `manifest` describes, with the content in `blobs`; its root lies at `host`.
    #[must_use]
    pub fn new(manifest: &'a Manifest, blobs: &'a Blobs, host: &'a Path) -> Self {
        Self {
            manifest,
            blobs,
            host,
            kept: RefCell::default(),
        }
    }

    fn content(&self, path: &RelPath) -> io::Result<Rc<Vec<u8>>> {
        let entry = self.manifest.entry(path).ok_or(io::ErrorKind::NotFound)?;
        let content = entry
            .content()
            .ok_or_else(|| io::Error::other("it is not a regular file"))?;
        let mut kept = self.kept.borrow_mut();
        if let Some((_, bytes)) = kept.iter().find(|(digest, _)| *digest == content.digest) {
            return Ok(Rc::clone(bytes));
        }
        let size = usize::try_from(content.size)
            .ok()
            .filter(|_| content.size <= LARGEST);
        let size = size.ok_or_else(|| io::Error::other("it is too large to be read here"))?;
        let mut bytes = Vec::with_capacity(size);
        if size > 0 {
            let read = self.blobs.stream(&content.digest, &mut |piece| {
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
        let bytes = Rc::new(bytes);
        kept.push_front((content.digest, Rc::clone(&bytes)));
        let mut held = 0;
        let wanted = kept.iter().take(KEPT).take_while(|(_, bytes)| {
            held += bytes.len() as u64;
            held <= LARGEST
        });
        let wanted = wanted.count().max(1);
        kept.truncate(wanted);
        Ok(bytes)
    }
}

impl Files for StoredTree<'_> {
    fn look(&self, path: &RelPath) -> io::Result<Option<Found>> {
        Ok(self.manifest.entry(path).map(|entry| match &entry.kind {
            Kind::File(content) => Found::File {
                size: content.size,
                executable: entry.mode & 0o111 != 0,
            },
            Kind::Directory => Found::Directory,
            Kind::Symlink(target) => Found::Symlink(target.to_vec()),
            _ => Found::Other,
        }))
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

    fn host_path(&self) -> Option<&Path> {
        Some(self.host)
    }
}
