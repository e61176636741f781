//! States of single paths in many snapshots: reads only the manifest chunks that lead to a path, each once, and opens only the archives
//! that hold them.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::Arc;

use super::archive::{Archive, Piece};
use super::{Store, StoreError};
use crate::model::{
    ArchiveId, Chunk, Content, DecodeError, Digest, Directory, Entry, Gap, Listing, ManifestList, Name, Part,
    RelPath, SnapshotId, SnapshotRecord,
};

/// Maximum size of a part of a manifest in bytes: 2048 entries with the longest names and attributes.
const LARGEST_PART: u64 = 512 << 20;

/// State of a path in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathState {
    /// The snapshot does not cover the path, or cannot prove that nothing was there.
    Unknown,
    /// Nothing was there.
    Absent,
    /// The object that was there.
    Present(Box<Entry>),
}

/// Number of parts of manifests that a lookup has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartsRead {
    /// Lists of chunks.
    pub lists: u64,
    /// Chunks.
    pub chunks: u64,
}

/// Reader of single paths in snapshots of one store.
pub struct PathLookup<'s> {
    store: &'s Store,
    /// `None` for one that does not open.
    archives: HashMap<ArchiveId, Option<Archive>>,
    lists: HashMap<Digest, Arc<ManifestList>>,
    chunks: HashMap<Digest, Arc<Vec<Part>>>,
    read: PartsRead,
}

/// Parts of one directory, in the order of their entries.
struct Parts(Vec<(Arc<Vec<Part>>, usize)>);

impl Parts {
    fn each(&self) -> impl Iterator<Item = &Directory> {
        self.0
            .iter()
            .filter_map(|(chunk, at)| Some(chunk.get(*at)?.part()))
    }

    fn entry(&self, name: &Name) -> Option<&Entry> {
        self.each().find_map(|part| part.entry(name))
    }

    fn gap(&self, name: &Name) -> Option<&Gap> {
        self.each().find_map(|part| part.gap(name))
    }

    fn is_listed(&self) -> bool {
        self.each()
            .all(|part| matches!(part.listing, Listing::Proven | Listing::Partial))
    }
}

impl<'s> PathLookup<'s> {
    /// Creates a lookup that has read nothing.
    #[must_use]
    pub fn new(store: &'s Store) -> Self {
        Self {
            store,
            archives: HashMap::new(),
            lists: HashMap::new(),
            chunks: HashMap::new(),
            read: PartsRead::default(),
        }
    }

    /// Returns how much was read until now.
    #[must_use]
    pub fn read(&self) -> PartsRead {
        self.read
    }

    /// Returns the state of `path` in the manifest with the digest `manifest` of a snapshot. The caller applies excludes: an
    /// excluded path counts as absent.
    ///
    /// # Errors
    /// [`StoreError::Content`], [`StoreError::Manifest`] or [`StoreError::Archive`] if a part is missing or damaged.
    pub fn state(
        &mut self,
        record: &SnapshotRecord,
        manifest: &Digest,
        path: &RelPath,
    ) -> Result<PathState, StoreError> {
        let list = self.list(record, manifest)?;
        let Some((parent, name)) = path.split() else {
            return Ok(PathState::Present(Box::new(list.root.clone())));
        };
        if let Some(parts) = self.directory(record, &list, &parent)? {
            return Ok(state_in(&parts, &name));
        }
        // The nearest directory above that was entered has the first missing part of the path, or what is there in its place.
        let above: Vec<RelPath> = parent.ancestors().collect();
        let mut missing = parent;
        for directory in above.into_iter().rev() {
            if let Some(parts) = self.directory(record, &list, &directory)? {
                let Some((_, name)) = missing.split() else { break };
                return Ok(match state_in(&parts, &name) {
                    PathState::Present(entry) if !entry.is_dir() => PathState::Absent,
                    PathState::Present(_) => PathState::Unknown,
                    other => other,
                });
            }
            missing = directory;
        }
        Ok(PathState::Unknown)
    }

    /// Returns the bytes of a file, at most `most`; `None` if it has more.
    ///
    /// # Errors
    /// [`StoreError::Content`] or [`StoreError::Archive`] if the content is missing or damaged.
    pub fn bytes(
        &mut self,
        record: &SnapshotRecord,
        content: &Content,
        most: u64,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        if content.size > most {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.stream(record, content, &mut |piece: Piece<'_>| {
            piece.append_to(&mut bytes);
            Ok(())
        })?;
        Ok(Some(bytes))
    }

    /// Passes the content of a file to `each`, piece by piece. The bytes are not compared with the digest.
    ///
    /// # Errors
    /// As [`Self::bytes`]; also if `each` fails.
    pub fn stream(
        &mut self,
        record: &SnapshotRecord,
        content: &Content,
        each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        match self.holder(record, &content.digest) {
            _ if content.size == 0 => {}
            Some(archive) => {
                if let Some(blob) = archive.locate(&content.digest) {
                    archive.stream(blob, each)?;
                }
            }
            // In objects of commits, or in a snapshot of a file system.
            None => self.store.contents(record).stream(&content.digest, each)?,
        }
        Ok(())
    }

    /// Returns the digests of the chunks of a manifest.
    ///
    /// # Errors
    /// As [`Self::state`].
    pub fn chunks(&mut self, record: &SnapshotRecord, manifest: &Digest) -> Result<Vec<Digest>, StoreError> {
        Ok(self.list(record, manifest)?.chunks.clone())
    }

    /// Returns the directories in a chunk, which is not kept in memory.
    ///
    /// # Errors
    /// As [`Self::state`].
    pub fn directories(&mut self, record: &SnapshotRecord, chunk: &Digest) -> Result<Vec<Part>, StoreError> {
        let parts = Chunk::decode(&self.part(record, chunk)?).map_err(bad(chunk))?;
        self.read.chunks += 1;
        Ok(parts)
    }

    /// Returns the bytes of a file from an archive of a snapshot; `None` if none of them has it.
    ///
    /// # Errors
    /// [`StoreError::Archive`] if the content is damaged.
    pub fn archived(
        &mut self,
        record: &SnapshotRecord,
        content: &Content,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(archive) = self.holder(record, &content.digest) else {
            return Ok(None);
        };
        let Some(blob) = archive.locate(&content.digest) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        archive.stream(blob, &mut |piece| {
            piece.append_to(&mut bytes);
            Ok(())
        })?;
        Ok(Some(bytes))
    }

    /// Returns true if a snapshot shows something at `path` of the mount with this label; false if it or its manifest cannot be read.
    pub fn shows(&mut self, snapshot: &SnapshotId, label: &str, path: &RelPath) -> bool {
        let Ok(record) = self.store.record(snapshot) else {
            return false;
        };
        let mut mounts = record.mounts.iter();
        let mount = mounts.find(|mount| mount.coverage.label == label);
        mount
            .and_then(|mount| mount.manifest.as_ref())
            .is_some_and(|manifest| matches!(self.state(&record, manifest, path), Ok(PathState::Present(_))))
    }

    /// Returns the archive of a snapshot that has the content.
    fn holder(&mut self, record: &SnapshotRecord, digest: &Digest) -> Option<&Archive> {
        let layout = self.store.layout();
        let mut found = None;
        // A snapshot's own archive has what it added, and comes last.
        for wanted in record.archives.iter().rev() {
            let archive = match self.archives.entry(wanted.id.clone()) {
                Slot::Occupied(known) => known.into_mut(),
                Slot::Vacant(free) => {
                    let path = layout.archive(&wanted.id);
                    let opened = layout
                        .enter()
                        .and_then(|_kept| Ok(Archive::open(&path, Some(wanted))?));
                    free.insert(opened.ok())
                }
            };
            if archive.as_ref().is_some_and(|open| open.locate(digest).is_some()) {
                found = Some(&wanted.id);
                break;
            }
        }
        self.archives.get(found?)?.as_ref()
    }

    /// Reads a part of a manifest, checked against its digest.
    fn part(&mut self, record: &SnapshotRecord, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let lacking = |reason: &str| StoreError::Content {
            digest: *digest,
            reason: reason.to_owned(),
        };
        let archive = self
            .holder(record, digest)
            .ok_or_else(|| lacking("it is in no archive of this snapshot"))?;
        let blob = archive
            .locate(digest)
            .ok_or_else(|| lacking("it is in no archive of this snapshot"))?;
        let bytes = archive.bytes(blob, LARGEST_PART)?;
        match Digest::of(&bytes) == *digest {
            true => Ok(bytes),
            false => Err(lacking("its bytes have another digest")),
        }
    }

    fn list(&mut self, record: &SnapshotRecord, digest: &Digest) -> Result<Arc<ManifestList>, StoreError> {
        if let Some(known) = self.lists.get(digest) {
            return Ok(Arc::clone(known));
        }
        let list = ManifestList::decode(&self.part(record, digest)?).map_err(bad(digest))?;
        self.read.lists += 1;
        let list = Arc::new(list);
        self.lists.insert(*digest, Arc::clone(&list));
        Ok(list)
    }

    fn chunk(&mut self, record: &SnapshotRecord, digest: &Digest) -> Result<Arc<Vec<Part>>, StoreError> {
        if let Some(known) = self.chunks.get(digest) {
            return Ok(Arc::clone(known));
        }
        let parts = Chunk::decode(&self.part(record, digest)?).map_err(bad(digest))?;
        self.read.chunks += 1;
        let parts = Arc::new(parts);
        self.chunks.insert(*digest, Arc::clone(&parts));
        Ok(parts)
    }

    /// Returns a directory by a binary search in the list of chunks, whose directories are sorted by path; `None` if none was entered
    /// there.
    fn directory(
        &mut self,
        record: &SnapshotRecord,
        list: &ManifestList,
        path: &RelPath,
    ) -> Result<Option<Parts>, StoreError> {
        let (mut low, mut high) = (0, list.chunks.len());
        // The first chunk whose last directory does not come before the path.
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(digest) = list.chunks.get(middle) else {
                break;
            };
            let chunk = self.chunk(record, digest)?;
            let is_before = chunk.last().is_some_and(|last| last.part().path < *path);
            if is_before {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let mut found = Vec::new();
        for digest in list.chunks.iter().skip(low) {
            let chunk = self.chunk(record, digest)?;
            let Some(at) = chunk.iter().position(|part| part.part().path == *path) else {
                break;
            };
            let goes_on = chunk.get(at).is_some_and(|part| part.directory().is_none());
            found.push((chunk, at));
            if !goes_on {
                break;
            }
        }
        Ok((!found.is_empty()).then_some(Parts(found)))
    }
}

fn bad(digest: &Digest) -> impl Fn(DecodeError) -> StoreError {
    let digest = *digest;
    move |source| StoreError::Manifest { digest, source }
}

fn state_in(parts: &Parts, name: &Name) -> PathState {
    match (parts.entry(name), parts.gap(name)) {
        (Some(entry), _) => PathState::Present(Box::new(entry.clone())),
        (None, None) if parts.is_listed() => PathState::Absent,
        _ => PathState::Unknown,
    }
}
