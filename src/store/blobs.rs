//! Content of a snapshot by digest, wherever it lies: in memory, in archives, in snapshots of file systems, in objects of commits.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::archive::{Archive, Piece};
use super::archive_blobs::{ArchiveBlobs, BlobPlace, BlobReader};
use super::decrypted_content::DecryptedContent;
use super::direct_blobs::DirectBlobs;
use super::fs_snapshot_trees::KeptTrees;
use super::git_blobs::Commits;
use super::git_files::StoredTree;
use super::{Store, StoreError};
use crate::model::{ArchiveId, ArchiveRef, Content, Digest, Manifest, SnapshotRecord};
use handle_fs::File;
use handle_fs::remote::Transports;

/// The content of a set of archives.
pub struct Blobs {
    pub(super) direct: DirectBlobs,
    /// Content that is deliberately in no archive, in the objects of commits.
    commits: Commits,
}

impl Blobs {
    pub(super) fn open(store: &Store, refs: &[ArchiveRef]) -> Self {
        Self::of_archives(ArchiveBlobs::open(store, refs))
    }

    fn of_archives(archives: ArchiveBlobs) -> Self {
        Self {
            direct: DirectBlobs::of(archives),
            commits: Commits::default(),
        }
    }

    /// The content of one archive that lies in no store.
    #[must_use]
    pub fn of_file(archive: Archive, whole: ArchiveRef) -> Self {
        Self::of_archives(ArchiveBlobs::of_files(vec![(archive, whole)], Arc::default()))
    }

    /// The same of several archives, and of the commits that the record of a snapshot names.
    #[must_use]
    pub fn of_files(files: Vec<(Archive, ArchiveRef)>, record: &SnapshotRecord) -> Self {
        let mut blobs = Self::of_archives(ArchiveBlobs::of_files(files, Arc::default()));
        blobs.commits = Commits::within(record, &blobs.direct);
        blobs
    }

    /// Returns the connections to the machines of recorded mounts.
    #[must_use]
    pub fn transports(&self) -> &Transports {
        self.direct.archives.transports()
    }

    /// The digests of all content.
    pub fn digests(&self) -> impl Iterator<Item = Digest> {
        self.direct.archives.blobs().map(|blob| blob.digest)
    }

    /// Adds content that lies in memory.
    pub fn lend(&mut self, lent: &DecryptedContent) {
        self.direct.lent.extend(lent);
    }

    /// The same with content that lies in memory.
    #[must_use]
    pub fn lending(mut self, lent: &DecryptedContent) -> Self {
        self.lend(lent);
        self
    }

    /// Content that lies in memory.
    #[must_use]
    pub fn lent(&self, content: &Content) -> Option<&[u8]> {
        self.direct.lent(content)
    }

    /// Returns true if the archives hold no content at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.direct.archives.blobs().next().is_none()
    }

    /// Returns true if an archive holds the content with this digest.
    #[must_use]
    pub fn contains(&self, digest: &Digest) -> bool {
        self.direct.archives.contains(digest)
    }

    /// Returns true if the content is available: in an archive, in memory, in a file-system snapshot or in a recorded commit.
    #[must_use]
    pub fn has(&self, digest: &Digest) -> bool {
        self.contains(digest)
            || self.direct.lent.get(digest).is_some()
            || self.direct.kept.have(digest)
            || self.commits.have(digest, &self.direct)
    }

    /// Returns the reason why content is not available, for messages.
    #[must_use]
    pub fn absence(&self, digest: &Digest) -> String {
        let lost = self
            .direct
            .kept
            .lost(digest)
            .or_else(|| self.commits.lost(digest));
        lost.unwrap_or_else(|| "its content is in no archive".to_owned())
    }

    /// Returns the number of bytes of data that the content with this digest has, without holes.
    #[must_use]
    pub fn stored_bytes(&self, digest: &Digest) -> Option<u64> {
        self.direct.archives.find(digest).map(|(_, blob)| blob.stored)
    }

    /// The sizes of all content in bytes, holes included.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        self.direct.archives.blobs().map(|blob| blob.logical)
    }

    /// Returns the archives that opened.
    #[must_use]
    pub fn archives(&self) -> &[ArchiveRef] {
        self.direct.archives.archives()
    }

    /// The same, open.
    pub(super) fn opened(&self) -> &[Arc<Archive>] {
        self.direct.archives.opened()
    }

    /// The archives that did not open, with the reason.
    #[must_use]
    pub fn damaged(&self) -> &[(ArchiveId, StoreError)] {
        self.direct.archives.damaged()
    }

    /// Returns the index in [`Blobs::archives`] of the archive that holds the content.
    #[must_use]
    pub fn archive_of(&self, digest: &Digest) -> Option<usize> {
        self.direct.archives.archive_of(digest)
    }

    /// Returns the location of the content.
    #[must_use]
    pub fn place_of(&self, digest: &Digest) -> Option<BlobPlace> {
        self.direct.archives.place_of(digest)
    }

    /// Passes the content to `each`, piece by piece. The bytes are not compared with the digest: the caller hashes what it takes.
    ///
    /// # Errors
    /// When the content is in no archive, or its archive is damaged, or `each` fails.
    pub fn stream(
        &self,
        digest: &Digest,
        each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        if let Some(bytes) = self.direct.lent.get(digest) {
            return give(digest, bytes, each);
        }
        match self.direct.archives.place(digest) {
            Ok((archive, blob)) => Ok(archive.stream(blob, each)?),
            Err(_) if self.direct.kept.shows(digest) => self.direct.kept.stream(digest, each),
            Err(error) => self.stream_committed(digest, error, each),
        }
    }

    /// With what a snapshot has elsewhere: in objects of commits, and in snapshots of file systems.
    pub(super) fn with_all_of(mut self, record: &SnapshotRecord) -> Self {
        self.commits = Commits::of(record, &self.direct);
        self.direct.kept = KeptTrees::of(record, &self.direct.archives);
        self
    }

    /// The file of a snapshot of a file system that has the content.
    #[must_use]
    pub fn native_file(&self, content: &Content) -> Option<File> {
        self.direct
            .kept
            .open(&content.digest)
            .filter(|(_, size)| *size == content.size)
            .map(|(file, _)| file)
    }

    /// Streams like [`Blobs::stream`], for a thread that reads a lot, in the order of [`Blobs::place_of`].
    ///
    /// # Errors
    /// As [`Blobs::stream`].
    pub fn stream_by(
        &self,
        reader: &mut BlobReader,
        digest: &Digest,
        each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        if let Some(bytes) = reader.ahead.get(digest) {
            return give(digest, bytes, each);
        }
        match self.direct.archives.stream_by(reader, digest, each)? {
            true => Ok(()),
            false => self.stream(digest, each),
        }
    }

    /// Reads content that is streamed next. It only saves time: small files of file-system snapshots on other machines are
    /// requested together.
    pub fn read_ahead<'c>(&self, reader: &mut BlobReader, next: impl Iterator<Item = &'c Content>) {
        let stored = |content: &&Content| !self.contains(&content.digest);
        reader.ahead = match self.direct.kept.is_empty() {
            true => HashMap::new(),
            false => self.direct.kept.load(next.filter(stored)),
        };
    }

    /// Content of a work tree that was recorded by its commit.
    fn stream_committed(
        &self,
        digest: &Digest,
        error: StoreError,
        each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        match self.commits.read(digest, &self.direct) {
            Some(Ok(bytes)) => give(digest, &bytes, each),
            Some(Err(reason)) => Err(StoreError::Content {
                digest: *digest,
                reason,
            }),
            None => Err(error),
        }
    }

    /// Returns content of a work tree that was recorded by its commit, compared with its digest; `error` if it is none.
    pub(super) fn committed(&self, digest: &Digest, error: StoreError) -> Result<Vec<u8>, StoreError> {
        let mut whole = Vec::new();
        self.stream_committed(digest, error, &mut |piece| {
            piece.append_to(&mut whole);
            Ok(())
        })?;
        Ok(whole)
    }

    /// The whole content, checked against its digest; only for what is no file of a mount, whose digest is plain.
    ///
    /// # Errors
    /// As [`Blobs::stream`]; also when it has another digest.
    pub fn whole(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.direct.archives.whole(digest)
    }

    /// Reads the manifest with this digest.
    ///
    /// # Errors
    /// When a part is missing or damaged.
    pub fn manifest(&self, digest: &Digest) -> Result<Manifest, StoreError> {
        self.direct.archives.manifest(digest)
    }
}

impl<'a> StoredTree<'a> {
    /// Creates the tree that `manifest` describes, with content from `blobs`; its root is at `host`. A work tree that was recorded
    /// by its commit has no file that configures git.
    #[must_use]
    pub fn new(manifest: &'a Manifest, blobs: &'a Blobs, host: &'a Path) -> Self {
        Self::of(manifest, &blobs.direct, host)
    }
}

/// Passes on content that is in memory.
fn give(
    digest: &Digest,
    bytes: &[u8],
    each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>,
) -> Result<(), StoreError> {
    if bytes.is_empty() {
        return Ok(());
    }
    each(Piece::Data(bytes)).map_err(|source| StoreError::Content {
        digest: *digest,
        reason: source.to_string(),
    })
}
