//! Content by digest: where it lies is looked up in the indexes of the archives that a snapshot names.

use std::collections::HashMap;

use super::archive::{Archive, Blob, Piece};
use super::{Store, StoreError};
use crate::snapshot::{
    ArchiveId, ArchiveRef, Chunk, Digest, Manifest, ManifestList, MountRecord, SnapshotRecord,
};

/// A manifest chunk or list is never larger than this: 4096 entries with the longest names and attributes.
const LARGEST_PART: u64 = 512 << 20;

/// The content of a set of archives.
pub struct Blobs {
    refs: Vec<ArchiveRef>,
    archives: Vec<Archive>,
    places: HashMap<Digest, (usize, Blob)>,
    damaged: Vec<(ArchiveId, StoreError)>,
}

impl Blobs {
    pub(super) fn open(store: &Store, refs: &[ArchiveRef]) -> Self {
        let mut blobs = Self {
            refs: Vec::new(),
            archives: Vec::new(),
            places: HashMap::new(),
            damaged: Vec::new(),
        };
        for wanted in refs {
            match Archive::open(&store.layout().archive(&wanted.id), Some(wanted)) {
                Ok(archive) => {
                    let at = blobs.archives.len();
                    for blob in archive.blobs() {
                        blobs.places.entry(blob.digest).or_insert((at, *blob));
                    }
                    blobs.archives.push(archive);
                    blobs.refs.push(wanted.clone());
                }
                Err(error) => blobs.damaged.push((wanted.id.clone(), error.into())),
            }
        }
        blobs
    }

    /// Whether there is no content at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether the content with this digest is there.
    #[must_use]
    pub fn contains(&self, digest: &Digest) -> bool {
        self.places.contains_key(digest)
    }

    /// How many bytes of data the content with this digest has, holes left out.
    #[must_use]
    pub fn stored_bytes(&self, digest: &Digest) -> Option<u64> {
        self.places.get(digest).map(|(_, blob)| blob.stored)
    }

    /// The archives that opened.
    #[must_use]
    pub fn archives(&self) -> &[ArchiveRef] {
        &self.refs
    }

    /// The archives that did not open, with the reason.
    #[must_use]
    pub fn damaged(&self) -> &[(ArchiveId, StoreError)] {
        &self.damaged
    }

    /// Which of [`Blobs::archives`] holds the content.
    #[must_use]
    pub fn archive_of(&self, digest: &Digest) -> Option<usize> {
        self.places.get(digest).map(|(archive, _)| *archive)
    }

    /// Gives the content piece by piece. The bytes are not compared with the digest: the caller hashes what it takes.
    ///
    /// # Errors
    /// When the content is in no archive, or its archive is damaged, or `each` fails.
    pub fn stream(
        &self,
        digest: &Digest,
        each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        let (archive, blob) = self.place(digest)?;
        Ok(archive.stream(blob, each)?)
    }

    /// The whole content, checked against its digest; only for manifest parts, whose digest is plain.
    fn part(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
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

    fn place(&self, digest: &Digest) -> Result<(&Archive, &Blob), StoreError> {
        let found = self
            .places
            .get(digest)
            .and_then(|(at, blob)| Some((self.archives.get(*at)?, blob)));
        found.ok_or_else(|| {
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
        let list = ManifestList::decode(&self.part(digest)?).map_err(bad)?;
        let mut pieces = Vec::with_capacity(list.chunks.len());
        for chunk in &list.chunks {
            pieces.push(Chunk::decode(&self.part(chunk)?).map_err(bad)?);
        }
        list.assemble(pieces).map_err(bad)
    }
}

impl Store {
    /// Opens archives for reading their content. One that does not open is named by [`Blobs::damaged`].
    #[must_use]
    pub fn blobs(&self, archives: &[ArchiveRef]) -> Blobs {
        Blobs::open(self, archives)
    }

    /// The manifest of one mount of a snapshot; `None` when the mount root did not exist.
    ///
    /// # Errors
    /// When a part is missing or damaged.
    pub fn manifest(
        &self,
        record: &SnapshotRecord,
        mount: &MountRecord,
    ) -> Result<Option<Manifest>, StoreError> {
        match &mount.manifest {
            Some(digest) => self.blobs(&record.archives).manifest(digest).map(Some),
            None => Ok(None),
        }
    }
}
