//! Writes trees of manifests into one archive that needs no other. Every content is compared with its digest before it is written.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::thread;

use super::TransferError;
use super::stream::{Fault, is_small, look, pipe, send};
use crate::model::{Content, Digest, Entry, Manifest, ManifestList, MountRecord, RelPath, runs};
use crate::observer::Observer;
use crate::store::Blobs;
use crate::store::archive::{BlobKind, Finished, Segment, Stored, Writer};
use handle_fs::parallel;

/// zstd's level: what leaves a store is written once and carried about.
const LEVEL: i32 = 3;

/// Members that an archive gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Members {
    /// One for each entry, so that stock tar extracts the tree. Content that occurs twice is stored twice, because only names that
    /// were one file may become one.
    All,
    /// One for each content.
    Contents,
}

/// An archive that is being written.
pub(super) struct Packing<'a, W: Write> {
    writer: Writer<W>,
    blobs: &'a Blobs,
    observer: &'a dyn Observer,
    members: Members,
    /// Content that other archives hold, by the number of the archive; `relied` has the numbers of those in use.
    known: Option<&'a HashMap<Digest, usize>>,
    relied: HashSet<usize>,
}

impl<'a, W: Write> Packing<'a, W> {
    pub(super) fn new(out: W, members: Members, blobs: &'a Blobs, observer: &'a dyn Observer) -> Self {
        Self {
            writer: Writer::new(out, LEVEL),
            blobs,
            observer,
            members,
            known: None,
            relied: HashSet::new(),
        }
    }

    /// Returns the same, for an archive beside others that hold `known`: it is not stored again.
    pub(super) fn beside(self, known: &'a HashMap<Digest, usize>) -> Self {
        Self {
            known: Some(known),
            ..self
        }
    }

    /// Returns the numbers of the archives that are relied on.
    pub(super) fn relied(&self) -> impl Iterator<Item = usize> {
        self.relied.iter().copied()
    }

    /// Returns true if another archive holds the content; that archive is relied on from then on.
    fn is_known(&mut self, digest: &Digest) -> bool {
        let place = self.known.and_then(|known| known.get(digest)).copied();
        self.relied.extend(place);
        place.is_some()
    }

    /// Adds a blob that is not a file of a mount, unless it is stored already.
    fn blob(&mut self, kind: BlobKind, digest: Digest, bytes: &[u8]) -> Result<(), TransferError> {
        if self.is_known(&digest) {
            return Ok(());
        }
        Ok(self.writer.blob(kind, digest, bytes)?)
    }

    /// Returns true if nothing was written.
    pub(super) fn is_empty(&self) -> bool {
        self.writer.is_empty()
    }

    /// The files of one mount.
    pub(super) fn tree(&mut self, label: &str, manifest: &Manifest) -> Result<(), TransferError> {
        let all = self.members == Members::All;
        if all {
            self.writer.member(label, &RelPath::root(), &manifest.root)?;
        }
        // Of files with several names the one that has a member, by the first of their names.
        let mut written: HashMap<RelPath, (RelPath, Digest)> = HashMap::new();
        for (path, entry) in depth_first(manifest) {
            if self.observer.cancelled() {
                return Err(TransferError::Interrupted);
            }
            let Some(content) = entry.content().filter(|content| content.size > 0) else {
                if all {
                    self.writer.member(label, &path, entry)?;
                }
                self.observer.advance(1, 0);
                continue;
            };
            let leader = entry.link.as_ref().unwrap_or(&path);
            match written
                .get(leader)
                .filter(|(_, digest)| *digest == content.digest)
            {
                Some((first, _)) => self.writer.hard_link(label, &path, entry, (label, first))?,
                None if all || !(self.writer.holds(&content.digest) || self.is_known(&content.digest)) => {
                    self.file(label, &path, entry, content)?;
                    if all && entry.nlink > 1 {
                        written.insert(leader.clone(), (path, content.digest));
                    }
                }
                None => {}
            }
            self.observer.advance(1, content.size);
        }
        Ok(())
    }

    fn file(
        &mut self,
        label: &str,
        path: &RelPath,
        entry: &Entry,
        content: &Content,
    ) -> Result<(), TransferError> {
        let (blobs, observer) = (self.blobs, self.observer);
        let fail = |fault| match fault {
            Fault::Interrupted => TransferError::Interrupted,
            Fault::Store(error) => TransferError::Store(error),
            Fault::Wrong(why) => TransferError::Content {
                label: label.to_owned(),
                path: path.clone(),
                why: why.to_owned(),
            },
        };
        let cancelled = || observer.cancelled();
        let data = |segments: Option<&[Segment]>| match segments {
            Some(segments) => segments.iter().map(|segment| segment.length).sum(),
            None => content.size,
        };
        let (stored, wanted): (Stored, u64) = if is_small(blobs, content) {
            let mut held = Vec::new();
            let mut keep = |bytes: &[u8]| held.extend_from_slice(bytes);
            let segments = look(blobs, content, &cancelled, &mut keep).map_err(fail)?;
            let segments = segments.as_deref();
            let stored = self
                .writer
                .file(label, path, entry, segments, &mut held.as_slice())?;
            (stored, data(segments))
        } else {
            let segments = look(blobs, content, &cancelled, &mut |_| {}).map_err(fail)?;
            let segments = segments.as_deref();
            let stored = self.large(label, path, entry, content, segments)?;
            (stored, data(segments))
        };
        if stored.error.is_some() || stored.given != wanted {
            return Err(fail(Fault::Wrong("it ended too early")));
        }
        self.writer.index(stored, content.digest);
        Ok(())
    }

    /// The second time that content is read its bytes are those of the first time: each frame of an archive has a digest.
    fn large(
        &mut self,
        label: &str,
        path: &RelPath,
        entry: &Entry,
        content: &Content,
        segments: Option<&[Segment]>,
    ) -> Result<Stored, TransferError> {
        let (blobs, writer) = (self.blobs, &mut self.writer);
        thread::scope(|scope| {
            let (to, mut coming) = pipe();
            let sender = scope.spawn(move || send(blobs, content, &to));
            let stored = writer.file(label, path, entry, segments, &mut coming);
            // What the other thread still holds is not wanted.
            drop(coming);
            let sent = sender.join();
            let stored = stored?;
            match sent {
                Ok(sent) => sent?,
                Err(_) => return Err(TransferError::Interrupted),
            }
            Ok(stored)
        })
    }

    /// Chunks and list of a manifest as they are stored.
    pub(super) fn copy_manifest(&mut self, digest: &Digest) -> Result<(), TransferError> {
        let list = self.blobs.whole(digest)?;
        let decoded = ManifestList::decode(&list).map_err(|source| {
            TransferError::Store(crate::store::StoreError::Manifest {
                digest: *digest,
                source,
            })
        })?;
        for chunk in &decoded.chunks {
            let bytes = self.blobs.whole(chunk)?;
            self.blob(BlobKind::Chunk, *chunk, &bytes)?;
        }
        self.blob(BlobKind::List, *digest, &list)
    }

    /// Adds the chunks and the list of a manifest, encoded anew; returns the list's digest.
    pub(super) fn manifest(&mut self, manifest: &Manifest) -> Result<Digest, TransferError> {
        /// So many chunks are in memory at once.
        const WINDOW: usize = 64;
        let runs = runs(manifest);
        let mut chunks = Vec::with_capacity(runs.len());
        for window in runs.chunks(WINDOW) {
            for chunk in parallel::map(window, |run| run.encode(manifest)) {
                self.blob(BlobKind::Chunk, chunk.digest, &chunk.bytes)?;
                chunks.push(chunk.digest);
            }
        }
        let root = manifest.root.clone();
        let bytes = ManifestList { root, chunks }.encode();
        let digest = Digest::of(&bytes);
        self.blob(BlobKind::List, digest, &bytes)?;
        Ok(digest)
    }

    /// Adds the stored parts of private files as they are: settings without their secrets, and encrypted bundles.
    pub(super) fn private(&mut self, mount: &MountRecord) -> Result<(), TransferError> {
        for content in mount.private().filter(|content| content.size > 0) {
            let sealed = mount
                .sealed
                .as_ref()
                .is_some_and(|sealed| sealed.digest == content.digest);
            let kind = if sealed {
                BlobKind::Sealed
            } else {
                BlobKind::Settings
            };
            let bytes = self.blobs.whole(&content.digest)?;
            self.blob(kind, content.digest, &bytes)?;
        }
        Ok(())
    }

    /// Adds the export note.
    pub(super) fn note(&mut self, bytes: &[u8]) -> Result<(), TransferError> {
        Ok(self.writer.blob(BlobKind::Export, Digest::of(bytes), bytes)?)
    }

    /// Ends the archive.
    pub(super) fn finish(self) -> Result<(W, Finished), TransferError> {
        Ok(self.writer.finish()?)
    }
}

/// Every entry below the root, each directory followed by what lies in it: stock tar sets the time of a directory when it leaves it.
fn depth_first(manifest: &Manifest) -> impl Iterator<Item = (RelPath, &Entry)> {
    let entries = |path: &RelPath| manifest.directory(path).map(|dir| (dir, dir.entries.iter()));
    let mut open: Vec<_> = entries(&RelPath::root()).into_iter().collect();
    std::iter::from_fn(move || {
        loop {
            let (dir, left) = open.last_mut()?;
            let Some(entry) = left.next() else {
                open.pop();
                continue;
            };
            let path = dir.path.join(&entry.name);
            if entry.is_dir() {
                open.extend(entries(&path));
            }
            return Some((path, entry));
        }
    })
}
