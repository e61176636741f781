//! Content of a set of archives by digest: where it lies is looked up in their indexes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;

use super::archive::{Archive, Blob, DecodeBuffers, Piece};
use super::decoded::Decoded;
use super::{Store, StoreError};
use crate::model::{ArchiveId, ArchiveRef, Chunk, Digest, Manifest, ManifestList};
use handle_fs::parallel;
use handle_fs::remote::Transports;

/// A manifest chunk or list is never larger than this: 2048 entries with the longest names and attributes.
const LARGEST_PART: u64 = 512 << 20;

/// Number of questions that are answered from the indexes themselves. A table of all content takes longer than these.
const FEW: usize = 256;

/// By digest: the archive, and the blob in its index.
type Places = HashMap<Digest, (u32, u32), RandomState>;

/// Open archives, with what they hold.
pub(super) struct ArchiveBlobs {
    refs: Vec<ArchiveRef>,
    archives: Vec<Arc<Archive>>,
    /// Filled on first use; few reads search the indexes themselves.
    places: OnceLock<Places>,
    /// Number of contents that were asked for before that.
    asked: AtomicUsize,
    damaged: Vec<(ArchiveId, StoreError)>,
    decoded: Arc<Decoded>,
    /// Connections to the machines of recorded mounts.
    transports: Transports,
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

/// One thread's way through the content.
#[derive(Default)]
pub struct BlobReader {
    /// Frame that it decompressed last, with the number of its archive.
    decoded: Option<(u32, DecodeBuffers)>,
    /// Content that it read ahead on another machine ([`super::Blobs::read_ahead`]).
    pub(super) ahead: HashMap<Digest, Vec<u8>>,
}

impl ArchiveBlobs {
    /// Opens archives of a store, and notes those that do not open.
    pub(super) fn open(store: &Store, refs: &[ArchiveRef]) -> Self {
        let opened = store.open_archives(refs);
        Self {
            refs: opened.refs,
            archives: opened.archives,
            damaged: opened.damaged,
            transports: store.transports().clone(),
            ..Self::of_files(Vec::new(), Arc::clone(&store.decoded))
        }
    }

    /// Takes archives that are open.
    pub(super) fn of_files(files: Vec<(Archive, ArchiveRef)>, decoded: Arc<Decoded>) -> Self {
        let files = files.into_iter();
        let (archives, refs) = files.map(|(archive, whole)| (Arc::new(archive), whole)).unzip();
        Self {
            refs,
            archives,
            places: OnceLock::new(),
            asked: AtomicUsize::new(0),
            damaged: Vec::new(),
            decoded,
            transports: Transports::default(),
        }
    }

    /// Returns the connections to the machines of recorded mounts. Archives that lie in no store have none.
    pub(super) fn transports(&self) -> &Transports {
        &self.transports
    }

    /// All content, in the order of the archives.
    pub(super) fn blobs(&self) -> impl Iterator<Item = &Blob> {
        self.archives.iter().flat_map(|archive| archive.blobs())
    }

    /// Returns the archives that opened.
    pub(super) fn archives(&self) -> &[ArchiveRef] {
        &self.refs
    }

    /// The same, open.
    pub(super) fn opened(&self) -> &[Arc<Archive>] {
        &self.archives
    }

    /// The archives that did not open, with the reason.
    pub(super) fn damaged(&self) -> &[(ArchiveId, StoreError)] {
        &self.damaged
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

    /// Returns true if an archive holds the content with this digest.
    pub(super) fn contains(&self, digest: &Digest) -> bool {
        match self.places.get() {
            None if self.asked.fetch_add(1, Ordering::Relaxed) < FEW => self.find(digest).is_some(),
            _ => self.places().contains_key(digest),
        }
    }

    /// Returns the index of the archive that holds the content.
    pub(super) fn archive_of(&self, digest: &Digest) -> Option<usize> {
        let (archive, _) = self.places().get(digest)?;
        usize::try_from(*archive).ok()
    }

    /// Returns the location of the content.
    pub(super) fn place_of(&self, digest: &Digest) -> Option<BlobPlace> {
        let (archive, _) = *self.places().get(digest)?;
        let (_, blob) = self.find(digest)?;
        let (frame, offset) = (blob.frame, blob.offset);
        Some(BlobPlace {
            archive,
            frame,
            offset,
        })
    }

    /// Returns the archive that holds the content, and the content's line in its index.
    pub(super) fn find(&self, digest: &Digest) -> Option<(&Archive, &Blob)> {
        if let Some(places) = self.places.get() {
            let (archive, number) = places.get(digest)?;
            let archive = self.archives.get(usize::try_from(*archive).ok()?)?;
            return Some((archive, archive.blobs().get(usize::try_from(*number).ok()?)?));
        }
        let mut archives = self.archives.iter();
        archives.find_map(|archive| Some((&**archive, archive.locate(digest)?)))
    }

    /// Returns the same, or an error that names the reason.
    pub(super) fn place(&self, digest: &Digest) -> Result<(&Archive, &Blob), StoreError> {
        self.find(digest).ok_or_else(|| {
            let reason = match self.damaged.first() {
                Some((_, error)) => match error.refused() {
                    Some(refused) => return refused,
                    None => error.to_string(),
                },
                None => "it is in no archive of this snapshot".to_owned(),
            };
            StoreError::Content {
                digest: *digest,
                reason,
            }
        })
    }

    /// Passes the content to `each`, decompressed with what `reader` holds; false if no archive has it.
    pub(super) fn stream_by(
        &self,
        reader: &mut BlobReader,
        digest: &Digest,
        each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>,
    ) -> Result<bool, StoreError> {
        let Some((at, _)) = self.places().get(digest).copied() else {
            return Ok(false);
        };
        let (archive, blob) = self.place(digest)?;
        reader.decoded.take_if(|(held, _)| *held != at);
        let (_, desk) = reader
            .decoded
            .get_or_insert_with(|| (at, DecodeBuffers::default()));
        archive.stream_at(desk, blob, each)?;
        Ok(true)
    }

    /// The whole content, checked against its digest; only for what is no file of a mount, whose digest is plain.
    pub(super) fn whole(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
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

    /// Reads the manifest with this digest.
    pub(super) fn manifest(&self, digest: &Digest) -> Result<Manifest, StoreError> {
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
