//! Content of archives that is still needed. Every chunk of a manifest is read once, however many manifests have it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::super::archive::{Archive, BlobKind};
use super::super::{Blobs, StoreError};
use super::{FEW, NewParts, RepackGroup, SMALL};
use crate::model::{
    ArchiveId, ArchiveRef, Chunk, Digest, Entry, ManifestList, MountRecord, RelPath, SnapshotRecord,
};
use crate::observer::{Observer, Phase};

/// First location of a content: its mount, its path, and its entry without extended attributes.
pub(super) struct First {
    pub(super) label: String,
    pub(super) path: RelPath,
    pub(super) entry: Entry,
}

/// Content that records need.
#[derive(Default)]
pub(super) struct Live {
    digests: HashSet<Digest, RandomState>,
    /// Content of files.
    firsts: HashMap<Digest, First, RandomState>,
    /// Archives of records that are partly unreadable.
    barred: HashSet<ArchiveId>,
}

impl Live {
    /// Collects the content that `records` need, in that order.
    pub(super) fn of(
        records: &[SnapshotRecord],
        blobs: &Blobs,
        parts: &NewParts,
        observer: &dyn Observer,
    ) -> Self {
        let source = Source { blobs, parts };
        observer.begin(Phase::Verify);
        observer.expect(records.len() as u64, 0);
        let mut live = Self::default();
        let mut read = HashMap::new();
        for record in records {
            for mount in &record.mounts {
                if !live.add(mount, &source, &mut read) {
                    live.barred
                        .extend(record.archives.iter().map(|archive| archive.id.clone()));
                }
            }
            observer.advance(1, 0);
        }
        observer.end();
        live
    }

    /// Adds what a mount needs; returns true if all of it was readable. `read` has the lists and chunks so far, and whether they
    /// were readable.
    fn add(&mut self, mount: &MountRecord, source: &Source<'_>, read: &mut HashMap<Digest, bool>) -> bool {
        self.digests.extend(mount.private().map(|content| content.digest));
        let Some(digest) = mount.manifest else { return true };
        if let Some(known) = read.get(&digest) {
            return *known;
        }
        self.digests.insert(digest);
        let list = source.whole(&digest);
        let list = list.and_then(|bytes| ManifestList::decode(&bytes).ok());
        let mut whole = list.is_some();
        for chunk in list.into_iter().flat_map(|list| list.chunks) {
            let known = read.get(&chunk).copied();
            let is_read =
                known.unwrap_or_else(|| self.chunk(&chunk, &mount.coverage.label, source).is_some());
            read.insert(chunk, is_read);
            whole &= is_read;
        }
        read.insert(digest, whole);
        whole
    }

    /// Adds the content that a chunk names; `None` if it is unreadable.
    fn chunk(&mut self, digest: &Digest, label: &str, source: &Source<'_>) -> Option<()> {
        self.digests.insert(*digest);
        for part in Chunk::decode(&source.whole(digest)?).ok()? {
            let dir = part.part();
            for entry in &dir.entries {
                let Some(content) = entry.content().filter(|content| content.size > 0) else {
                    continue;
                };
                if self.digests.insert(content.digest) {
                    let mut entry = entry.clone();
                    // They are data of this one path, and may be secret; the content is also that of others.
                    entry.xattrs.clear();
                    let first = First {
                        label: label.to_owned(),
                        path: dir.path.join(&entry.name),
                        entry,
                    };
                    self.firsts.insert(content.digest, first);
                }
            }
        }
        Some(())
    }

    /// Fails if a manifest of `records` could not be read: any content may be needed, or forgotten, in it.
    pub(super) fn check(&self, records: &[SnapshotRecord]) -> Result<(), StoreError> {
        let is_barred = |archive: &ArchiveRef| self.barred.contains(&archive.id);
        let unread = records
            .iter()
            .find(|record| record.archives.iter().any(is_barred));
        match unread {
            Some(record) => Err(StoreError::Unread {
                snapshot: record.id.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Returns the archives with any content that is not needed, and those that `also` chooses, as one group; `None` if there are none.
    pub(super) fn to_purge(
        &self,
        blobs: &Blobs,
        records: &[SnapshotRecord],
        state: bool,
        also: &dyn Fn(&ArchiveRef, &Archive) -> bool,
    ) -> Option<RepackGroup> {
        let refs = blobs.archives().iter().zip(blobs.opened());
        let of_kind = refs.filter(|(archive, _)| archive.id.is_state() == state);
        let facts: Vec<(&ArchiveRef, u64, u64)> = of_kind
            .filter_map(|(archive, opened)| {
                let (live, total) = self.share(opened);
                (live < total || also(archive, opened)).then_some((archive, live, total))
            })
            .collect();
        (!facts.is_empty()).then(|| grouped(facts, records, state))
    }

    pub(super) fn needs(&self, digest: &Digest) -> bool {
        self.digests.contains(digest)
    }

    pub(super) fn first(&self, digest: &Digest) -> Option<&First> {
        self.firsts.get(digest)
    }

    /// Returns the archives that are worth a repack, as one group; `None` if there are none.
    pub(super) fn group(
        &self,
        blobs: &Blobs,
        records: &[SnapshotRecord],
        state: bool,
    ) -> Option<RepackGroup> {
        let refs = blobs.archives().iter().zip(blobs.opened());
        let of_kind =
            refs.filter(|(archive, _)| archive.id.is_state() == state && !self.barred.contains(&archive.id));
        let mut facts: Vec<(&ArchiveRef, u64, u64)> = Vec::new();
        for (archive, opened) in of_kind {
            let (live, total) = self.share(opened);
            facts.push((archive, live, total));
        }
        let is_small = |archive: &ArchiveRef| archive.size <= SMALL;
        let many = facts.iter().filter(|(archive, ..)| is_small(archive)).count() > FEW;
        let is_dead = |live: u64, total: u64| live <= total / 2;
        facts.retain(|(archive, live, total)| is_dead(*live, *total) || (many && is_small(archive)));
        let worth = facts.len() > 1 || facts.iter().any(|(_, live, total)| is_dead(*live, *total));
        if !worth {
            return None;
        }
        Some(grouped(facts, records, state))
    }

    /// Bytes that are needed, and all bytes. Each member has a header.
    fn share(&self, archive: &Archive) -> (u64, u64) {
        let (mut live, mut total) = (0, 0);
        for blob in archive.blobs() {
            let bytes = blob.stored + 512;
            total += bytes;
            // Content that no entry has is no file of a readable manifest: a list or a chunk of one that is gone.
            if self.needs(&blob.digest) {
                live += bytes;
            }
        }
        (live, total)
    }

    /// Forgets the locations of content that is in none of `from`.
    pub(super) fn keep_only<'a>(&mut self, from: impl Iterator<Item = &'a ArchiveRef>, blobs: &Blobs) {
        let wanted: HashSet<&ArchiveId> = from.map(|archive| &archive.id).collect();
        let opened = blobs.archives().iter().zip(blobs.opened());
        let mut found = HashSet::<Digest, RandomState>::default();
        for (_, archive) in opened.filter(|(archive, _)| wanted.contains(&archive.id)) {
            let contents = archive.blobs().iter();
            let contents = contents.filter(|blob| matches!(blob.kind, BlobKind::Content | BlobKind::Sparse));
            found.extend(contents.map(|blob| blob.digest));
        }
        self.firsts.retain(|digest, _| found.contains(digest));
    }
}

/// Content of archives, and parts of manifests that no archive has yet.
struct Source<'a> {
    blobs: &'a Blobs,
    parts: &'a NewParts,
}

impl Source<'_> {
    fn whole(&self, digest: &Digest) -> Option<Cow<'_, [u8]>> {
        match self.parts.0.get(digest) {
            Some(part) => Some(Cow::Borrowed(&part.bytes)),
            None => self.blobs.whole(digest).ok().map(Cow::Owned),
        }
    }
}

/// Makes a group of archives with their needed bytes and all their bytes, in the order in which records came to need them.
fn grouped(mut facts: Vec<(&ArchiveRef, u64, u64)>, records: &[SnapshotRecord], state: bool) -> RepackGroup {
    let order: HashMap<&ArchiveId, usize> = records
        .iter()
        .flat_map(|record| &record.archives)
        .enumerate()
        .map(|(at, archive)| (&archive.id, at))
        .collect();
    facts.sort_by_key(|(archive, ..)| order.get(&archive.id).copied());
    RepackGroup {
        state,
        live: facts.iter().map(|(_, live, _)| live).sum(),
        total: facts.iter().map(|(.., total)| total).sum(),
        from: facts.into_iter().map(|(archive, ..)| archive.clone()).collect(),
    }
}
