//! Content by digest: where it lies is looked up in the indexes of the archives that a snapshot names.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;

use super::archive::{Archive, Blob, DecodeBuffers, Piece};
use super::decoded::Decoded;
use super::fs_snapshot_trees::KeptTrees;
use super::git_blobs::Commits;
use super::{DecryptedContent, Store, StoreError};
use crate::model::{ArchiveId, ArchiveRef, Chunk, Content, Digest, Manifest, ManifestList, SnapshotRecord};
use crate::platform::{File, parallel};

/// A manifest chunk or list is never larger than this: 2048 entries with the longest names and attributes.
const LARGEST_PART: u64 = 512 << 20;

/// By digest: the archive, and the blob in its index.
type Places = HashMap<Digest, (u32, u32), RandomState>;

/// The content of a set of archives.
pub struct Blobs {
    refs: Vec<ArchiveRef>,
    archives: Vec<Archive>,
    /// Filled on first use; few reads search the indexes themselves.
    places: OnceLock<Places>,
    damaged: Vec<(ArchiveId, StoreError)>,
    decoded: Arc<Decoded>,
    /// Content that is deliberately in no archive, in the objects of commits.
    commits: Commits,
    /// The same, in snapshots of file systems.
    kept: KeptTrees,
    lent: DecryptedContent,
}

/// Location of content. Reads in this order decompress each frame once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlobPlace {
    archive: u32,
    frame: u32,
    offset: u32,
}

impl BlobPlace {
    /// Returns true if both begin in the same frame.
    #[must_use]
    pub fn is_adjacent(&self, other: &Self) -> bool {
        (self.archive, self.frame) == (other.archive, other.frame)
    }
}

/// One thread's way through the content: what it decompressed last.
#[derive(Default)]
pub struct BlobReader(Option<(u32, DecodeBuffers)>);

impl Blobs {
    pub(super) fn open(store: &Store, refs: &[ArchiveRef]) -> Self {
        let mut blobs = Self {
            refs: Vec::new(),
            archives: Vec::new(),
            places: OnceLock::new(),
            damaged: Vec::new(),
            decoded: Arc::clone(&store.decoded),
            commits: Commits::default(),
            kept: KeptTrees::default(),
            lent: DecryptedContent::default(),
        };
        for wanted in refs {
            let path = store.layout().archive(&wanted.id);
            let opened = store
                .layout()
                .enter()
                .and_then(|_kept| Ok(Archive::open(&path, Some(wanted))?));
            match opened {
                Ok(archive) => {
                    blobs.archives.push(archive);
                    blobs.refs.push(wanted.clone());
                }
                Err(error) => blobs.damaged.push((wanted.id.clone(), error)),
            }
        }
        blobs
    }

    /// The content of one archive that lies in no store.
    #[must_use]
    pub fn of_file(archive: Archive, whole: ArchiveRef) -> Self {
        Self {
            refs: vec![whole],
            archives: vec![archive],
            places: OnceLock::new(),
            damaged: Vec::new(),
            decoded: Arc::default(),
            commits: Commits::default(),
            kept: KeptTrees::default(),
            lent: DecryptedContent::default(),
        }
    }

    /// The same of several archives, and of the commits that the record of a snapshot names.
    #[must_use]
    pub fn of_files(files: Vec<(Archive, ArchiveRef)>, record: &SnapshotRecord) -> Self {
        let (archives, refs) = files.into_iter().unzip();
        let mut blobs = Self {
            refs,
            archives,
            places: OnceLock::new(),
            damaged: Vec::new(),
            decoded: Arc::default(),
            commits: Commits::default(),
            kept: KeptTrees::default(),
            lent: DecryptedContent::default(),
        };
        blobs.commits = Commits::within(record, &blobs);
        blobs
    }

    /// The digests of all content.
    pub fn digests(&self) -> impl Iterator<Item = Digest> {
        let blobs = self.archives.iter().flat_map(Archive::blobs);
        blobs.map(|blob| blob.digest)
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| {
            let mut places = Places::default();
            places.reserve(self.archives.iter().map(|archive| archive.blobs().len()).sum());
            // An index has fewer blobs than its 32-bit length has bytes, and nobody opens so many archives.
            for (at, archive) in (0..).zip(&self.archives) {
                for (number, blob) in (0..).zip(archive.blobs()) {
                    places.entry(blob.digest).or_insert((at, number));
                }
            }
            places
        })
    }

    /// Adds content that lies in memory.
    pub fn lend(&mut self, lent: &DecryptedContent) {
        self.lent.extend(lent);
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
        self.lent.get(&content.digest)
    }

    /// Returns true if the archives hold no content at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.archives.iter().all(|archive| archive.blobs().is_empty())
    }

    /// Returns true if an archive holds the content with this digest.
    #[must_use]
    pub fn contains(&self, digest: &Digest) -> bool {
        self.places().contains_key(digest)
    }

    /// Returns true if the content is available: in an archive, in memory, in a file-system snapshot or in a recorded commit.
    #[must_use]
    pub fn has(&self, digest: &Digest) -> bool {
        self.contains(digest)
            || self.lent.get(digest).is_some()
            || self.kept.have(digest)
            || self.commits.have(digest, self)
    }

    /// Returns the reason why content is not available, for messages.
    #[must_use]
    pub fn absence(&self, digest: &Digest) -> String {
        let lost = self.kept.lost(digest).or_else(|| self.commits.lost(digest));
        lost.unwrap_or_else(|| "its content is in no archive".to_owned())
    }

    /// Returns the number of bytes of data that the content with this digest has, without holes.
    #[must_use]
    pub fn stored_bytes(&self, digest: &Digest) -> Option<u64> {
        self.find(digest).map(|(_, blob)| blob.stored)
    }

    /// The sizes of all content in bytes, holes included.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        let blobs = self.archives.iter().flat_map(Archive::blobs);
        blobs.map(|blob| blob.logical)
    }

    /// Returns the archives that opened.
    #[must_use]
    pub fn archives(&self) -> &[ArchiveRef] {
        &self.refs
    }

    /// The same, open.
    pub(super) fn opened(&self) -> &[Archive] {
        &self.archives
    }

    /// The archives that did not open, with the reason.
    #[must_use]
    pub fn damaged(&self) -> &[(ArchiveId, StoreError)] {
        &self.damaged
    }

    /// Returns the index in [`Blobs::archives`] of the archive that holds the content.
    #[must_use]
    pub fn archive_of(&self, digest: &Digest) -> Option<usize> {
        let (archive, _) = self.places().get(digest)?;
        usize::try_from(*archive).ok()
    }

    /// Returns the location of the content.
    #[must_use]
    pub fn place_of(&self, digest: &Digest) -> Option<BlobPlace> {
        let (archive, _) = *self.places().get(digest)?;
        let (_, blob) = self.find(digest)?;
        let (frame, offset) = (blob.frame, blob.offset);
        Some(BlobPlace {
            archive,
            frame,
            offset,
        })
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
        if let Some(bytes) = self.lent.get(digest) {
            return give(digest, bytes, each);
        }
        match self.place(digest) {
            Ok((archive, blob)) => Ok(archive.stream(blob, each)?),
            Err(_) if self.kept.shows(digest) => self.kept.stream(digest, each),
            Err(error) => self.stream_committed(digest, error, each),
        }
    }

    /// With what a snapshot has elsewhere: in objects of commits, and in snapshots of file systems.
    pub(super) fn with_all_of(mut self, record: &SnapshotRecord) -> Self {
        self.commits = Commits::of(record, &self);
        self.kept = KeptTrees::of(record, &self);
        self
    }

    /// The file of a snapshot of a file system that has the content.
    #[must_use]
    pub fn native_file(&self, content: &Content) -> Option<File> {
        self.kept
            .open(&content.digest)
            .filter(|(_, size)| *size == content.size)
            .map(|(file, _)| file)
    }

    /// Streams like [`Blobs::stream`], without the objects of commits: git's own files are in archives or in a file-system
    /// snapshot.
    pub(super) fn stream_archived(
        &self,
        digest: &Digest,
        each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        if self.kept.shows(digest) && !self.contains(digest) {
            return self.kept.stream(digest, each);
        }
        let (archive, blob) = self.place(digest)?;
        Ok(archive.stream(blob, each)?)
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
        let Some((at, _)) = self.places().get(digest).copied() else {
            return self.stream(digest, each);
        };
        let (archive, blob) = self.place(digest)?;
        reader.0.take_if(|(held, _)| *held != at);
        let (_, desk) = reader.0.get_or_insert_with(|| (at, DecodeBuffers::default()));
        Ok(archive.stream_at(desk, blob, each)?)
    }

    /// Content of a work tree that was recorded by its commit.
    fn stream_committed(
        &self,
        digest: &Digest,
        error: StoreError,
        each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        match self.commits.read(digest, self) {
            Some(Ok(bytes)) => give(digest, &bytes, each),
            Some(Err(reason)) => Err(StoreError::Content {
                digest: *digest,
                reason,
            }),
            None => Err(error),
        }
    }

    /// The whole content, checked against its digest; only for what is no file of a mount, whose digest is plain.
    ///
    /// # Errors
    /// As [`Blobs::stream`]; also when it has another digest.
    pub fn whole(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let (archive, blob) = self.place(digest)?;
        let bytes = archive.bytes(blob, LARGEST_PART)?;
        if Digest::of(&bytes) == *digest {
            Ok(bytes)
        } else {
            Err(StoreError::Content {
                digest: *digest,
                reason: "its bytes have another digest".to_owned(),
            })
        }
    }

    fn find(&self, digest: &Digest) -> Option<(&Archive, &Blob)> {
        if let Some(places) = self.places.get() {
            let (archive, number) = places.get(digest)?;
            let archive = self.archives.get(usize::try_from(*archive).ok()?)?;
            return Some((archive, archive.blobs().get(usize::try_from(*number).ok()?)?));
        }
        let mut archives = self.archives.iter();
        archives.find_map(|archive| Some((archive, archive.locate(digest)?)))
    }

    fn place(&self, digest: &Digest) -> Result<(&Archive, &Blob), StoreError> {
        self.find(digest).ok_or_else(|| {
            let reason = match self.damaged.first() {
                Some((_, error)) => error.to_string(),
                None => "it is in no archive of this snapshot".to_owned(),
            };
            StoreError::Content {
                digest: *digest,
                reason,
            }
        })
    }

    /// Reads the manifest with this digest.
    ///
    /// # Errors
    /// When a part is missing or damaged.
    pub fn manifest(&self, digest: &Digest) -> Result<Manifest, StoreError> {
        let bad = |source| StoreError::Manifest {
            digest: *digest,
            source,
        };
        let list = ManifestList::decode(&self.whole(digest)?).map_err(bad)?;
        let decode = |chunk: &Digest| match self.decoded.find(chunk) {
            Some(parts) => Ok(parts),
            None => Chunk::decode(&self.whole(chunk)?).map_err(bad),
        };
        let parts: Result<Vec<_>, StoreError> = parallel::map(&list.chunks, decode).into_iter().collect();
        let parts = parts?;
        for (chunk, parts) in list.chunks.iter().zip(&parts) {
            self.decoded.keep(*chunk, parts);
        }
        list.assemble(parts).map_err(bad)
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
