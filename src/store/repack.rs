//! Repacks archives that are mostly dead, and many small ones into one. The new archive is written and read back beside the old
//! ones; then redirects lead to it (`archive_redirects.rs`), and only then are the old ones removed.

mod live;
mod write;

use std::collections::{BTreeMap, HashSet};

use super::archive::{Archive, BlobKind};
use super::{Draft, Sole, Store, StoreError, archive_redirects, durable, record};
use crate::clock::{Entropy, random};
use crate::model::{ArchiveId, ArchiveRef, Digest, Operation, SnapshotId, SnapshotRecord, Time};
use crate::observer::Observer;

use live::Live;

/// An archive of at most so many bytes is small: a checkpoint's, mostly.
const SMALL: u64 = 1 << 20;
/// Bytes that have to stay free beside new archives that cannot wait: for records, receipts and the catalog.
const MARGIN: u64 = 64 << 10;
/// So many small archives are few enough to be opened each time.
const FEW: usize = 32;

/// Archives whose content goes into one new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepackGroup {
    /// True if they hold the state of agents.
    pub state: bool,
    /// The archives, oldest first.
    pub from: Vec<ArchiveRef>,
    /// Bytes of content in them that records need.
    pub live: u64,
    /// All their bytes of content.
    pub total: u64,
}

impl RepackGroup {
    /// About how many bytes smaller the new archive will be: content of all archives is taken to be compressed alike.
    #[must_use]
    pub fn gain(&self) -> u64 {
        let size: u128 = self.from.iter().map(|archive| u128::from(archive.size)).sum();
        let dead = u128::from(self.total.saturating_sub(self.live));
        let gain = size * dead / u128::from(self.total.max(1));
        u64::try_from(gain).unwrap_or(u64::MAX)
    }

    /// Bytes that the new archive has at most: it compresses no worse than the old ones.
    fn most_bytes(&self) -> u64 {
        let old = self.from.iter().map(|archive| archive.size).sum();
        match self.from.is_empty() {
            true => self.live,
            false => self.live.min(old),
        }
    }
}

/// A chunk or manifest list that no archive has yet.
pub(super) struct NewPart {
    /// True if it belongs to the state of agents.
    pub(super) state: bool,
    /// Its kind.
    pub(super) kind: BlobKind,
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
}

/// Chunks and manifest lists that no archive has yet, by their digests.
#[derive(Default)]
pub(super) struct NewParts(pub(super) BTreeMap<Digest, NewPart>);

impl NewParts {
    /// Returns those of projects, or those of the state of agents.
    fn of(&self, state: bool) -> Vec<(&Digest, &NewPart)> {
        self.0.iter().filter(|(_, part)| part.state == state).collect()
    }

    /// Returns a group that replaces no archive, for parts of this kind; `None` if there are none.
    fn alone(&self, state: bool) -> Option<RepackGroup> {
        let parts = self.of(state);
        let bytes = parts.iter().map(|(_, part)| part.bytes.len() as u64).sum();
        (!parts.is_empty()).then(|| RepackGroup {
            state,
            from: Vec::new(),
            live: bytes,
            total: bytes,
        })
    }
}

/// Archives to repack, with the facts that the choice is based on.
pub struct RepackPlan {
    /// At most one for projects and one for the state of agents.
    pub groups: Vec<RepackGroup>,
    /// The snapshots whose needs are known.
    known: HashSet<SnapshotId>,
    live: Live,
}

/// A new archive in the store that no redirect leads to yet.
pub struct Repacked {
    /// Goes with its archive when that was never needed.
    draft: Draft,
    pub(super) into: ArchiveRef,
    pub(super) from: Vec<ArchiveRef>,
    known: HashSet<SnapshotId>,
}

impl Store {
    /// Plans a repack for the state after `without` is deleted. Plans none while a record or manifest that may need any of it is
    /// unreadable.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the records cannot be listed.
    pub fn plan_repack(
        &self,
        without: &HashSet<SnapshotId>,
        observer: &dyn Observer,
    ) -> Result<RepackPlan, StoreError> {
        let _kept = self.layout.enter()?;
        let mut plan = RepackPlan {
            groups: Vec::new(),
            known: HashSet::new(),
            live: Live::default(),
        };
        let mut records = Vec::new();
        for id in self.record_ids()? {
            if without.contains(&id) {
                continue;
            }
            match self.record(&id) {
                Ok(record) => records.push(record),
                Err(StoreError::NoSnapshot { .. } | StoreError::LostRecord { .. }) => {}
                Err(_) => return Ok(plan),
            }
        }
        // What the record of one that is lost needs, and may need again when it is put back, nobody knows.
        if self.catalog.unlisted()?.iter().any(|id| !without.contains(id)) {
            return Ok(plan);
        }
        // Oldest first, so that an archive's members have the paths that they had when it was written.
        records.sort_by(|a, b| (a.taken_at, &a.id).cmp(&(b.taken_at, &b.id)));
        plan.known.extend(records.iter().map(|record| record.id.clone()));
        let mut refs: Vec<ArchiveRef> = Vec::new();
        let mut seen = HashSet::new();
        for archive in records.iter().flat_map(|record| &record.archives) {
            if seen.insert(archive.id.clone()) {
                refs.push(archive.clone());
            }
        }
        let blobs = self.blobs(&refs);
        plan.live = Live::of(&records, &blobs, &NewParts::default(), observer);
        for state in [false, true] {
            let group = plan.live.group(&blobs, &records, state);
            plan.groups.extend(group.filter(|group| self.has_room(group)));
        }
        plan.live
            .keep_only(plan.groups.iter().flat_map(|group| &group.from), &blobs);
        Ok(plan)
    }

    /// Plans the repack of every archive with content that none of `records` needs, however little it is. `parts` are chunks and
    /// manifest lists that the records need and that no archive has yet. `shown` are contents of forgotten paths: where other paths keep
    /// one, its member may still have the name and the times of a forgotten one.
    ///
    /// # Errors
    /// [`StoreError::Unread`] when a manifest cannot be read; [`StoreError::NoRoom`] when the new archives do not fit.
    pub(super) fn plan_purge(
        &self,
        mut records: Vec<SnapshotRecord>,
        (parts, shown): (&NewParts, &HashSet<Digest>),
        observer: &dyn Observer,
    ) -> Result<RepackPlan, StoreError> {
        let _kept = self.layout.enter()?;
        // Those that a capture wrote have a list with each path of their members, which is dead then.
        let repacked = match shown.is_empty() {
            true => HashSet::new(),
            false => self.catalog.repacked_archives()?,
        };
        let shows = |archive: &ArchiveRef, opened: &Archive| {
            repacked.contains(&archive.id) && opened.blobs().iter().any(|blob| shown.contains(&blob.digest))
        };
        records.sort_by(|a, b| (a.taken_at, &a.id).cmp(&(b.taken_at, &b.id)));
        let mut seen = HashSet::new();
        let all = records.iter().flat_map(|record| &record.archives);
        let refs: Vec<ArchiveRef> = all.filter(|archive| seen.insert(&archive.id)).cloned().collect();
        let blobs = self.blobs(&refs);
        if let Some((archive, error)) = blobs.damaged().first() {
            return Err(StoreError::Damaged {
                path: self.layout.archive(archive),
                why: error.to_string(),
            });
        }
        let mut live = Live::of(&records, &blobs, parts, observer);
        live.check(&records)?;
        let mut groups = Vec::new();
        for state in [false, true] {
            let group = live.to_purge(&blobs, &records, state, &shows);
            // Other snapshots may need all that the archives have. The new parts still want one.
            groups.extend(group.or_else(|| parts.alone(state)));
        }
        // Unlike those that may wait, these have to be written wherever they fit.
        let most: u64 = groups.iter().map(RepackGroup::most_bytes).sum();
        let (need, free) = (most.saturating_add(most / 64 + MARGIN), self.free_bytes()?);
        if !groups.is_empty() && free < need {
            let path = self.layout.root().to_path_buf();
            return Err(StoreError::NoRoom { path, need, free });
        }
        live.keep_only(groups.iter().flat_map(|group| &group.from), &blobs);
        Ok(RepackPlan {
            groups,
            known: records.into_iter().map(|record| record.id).collect(),
            live,
        })
    }

    /// Returns true if many of these archives are small and of one kind: a hint that a plan is worthwhile. A plan reads all records, so the more there
    /// are, the more small archives are worth one.
    ///
    /// # Errors
    /// [`StoreError::Catalog`].
    pub fn has_many_small(&self, archives: &[(ArchiveId, u64)]) -> Result<bool, StoreError> {
        let small = archives.iter().filter(|(_, size)| *size <= SMALL);
        let (state, project): (Vec<_>, Vec<_>) = small.partition(|(id, _)| id.is_state());
        let most = state.len().max(project.len());
        Ok(most > FEW && most > self.catalog.snapshot_count()? / FEW)
    }

    /// Counts the archives that exist although a redirect leads from them to another one, because the repack was killed.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn half_replaced(&self) -> Result<u64, StoreError> {
        let _kept = self.layout.enter()?;
        let mut count = 0;
        for id in archive_redirects::all(&self.layout)?.keys() {
            count += u64::from(durable::is_there(&self.layout.archive(id))?);
        }
        Ok(count)
    }

    /// Returns the bytes of the archives that a snapshot itself brought, as far as they are there.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn bytes_brought_by(&self, id: &SnapshotId) -> Result<u64, StoreError> {
        let _kept = self.layout.enter()?;
        let mut bytes = 0;
        for archive in id.archives() {
            let path = self.layout.archive(&archive);
            let stat = handle_fs::stat_path(&path).map_err(StoreError::io("look at", &path))?;
            bytes += stat.map_or(0, |stat| stat.size);
        }
        Ok(bytes)
    }

    /// The archives that are there, with their sizes in bytes.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn archive_sizes(&self) -> Result<Vec<(ArchiveId, u64)>, StoreError> {
        let _kept = self.layout.enter()?;
        let mut sizes = Vec::new();
        for name in super::directory::names(&self.layout.archives())? {
            let id = name.to_str().and_then(|name| name.strip_suffix(".tar.zst"));
            let Some(id) = id.and_then(|id| ArchiveId::parse(id).ok()) else {
                continue;
            };
            let path = self.layout.archive(&id);
            let stat = handle_fs::stat_path(&path).map_err(StoreError::io("look at", &path))?;
            sizes.extend(stat.map(|stat| (id, stat.size)));
        }
        Ok(sizes)
    }

    /// The records that are there, with their sizes in bytes.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn record_sizes(&self) -> Result<Vec<(SnapshotId, u64)>, StoreError> {
        let _kept = self.layout.enter()?;
        let mut sizes = Vec::new();
        for id in record::ids(&self.layout)? {
            let path = self.layout.record(&id);
            let stat = handle_fs::stat_path(&path).map_err(StoreError::io("look at", &path))?;
            sizes.extend(stat.map(|stat| (id, stat.size)));
        }
        Ok(sizes)
    }

    /// Returns the bytes of the receipts and of the catalog: they only grow, whatever is deleted.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn lasting_bytes(&self) -> Result<u64, StoreError> {
        let _kept = self.layout.enter()?;
        let mut bytes = 0;
        for path in [self.layout.receipts(), self.layout.catalog()] {
            let stat = handle_fs::stat_path(&path).map_err(StoreError::io("look at", &path))?;
            bytes += stat.map_or(0, |stat| stat.size);
        }
        Ok(bytes)
    }

    /// All bytes of the file system that the store lies in.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn all_bytes(&self) -> Result<u64, StoreError> {
        let _kept = self.layout.enter()?;
        let root = self.layout.root();
        handle_fs::all_bytes_at(root).map_err(StoreError::io("ask for the size of the file system of", root))
    }

    /// Returns true if the new archive fits beside the old ones, even if it hardly compresses.
    fn has_room(&self, group: &RepackGroup) -> bool {
        self.free_bytes().is_ok_and(|free| free / 2 > group.live)
    }

    /// Writes the new archives. The caller holds the store shared meanwhile, so that no archive is removed. A group of which one was
    /// removed since the plan is skipped: another process deleted or repacked it. [`Sole::replace`] checks again what the old archives
    /// are needed for, since other processes may change the store before it is called.
    ///
    /// # Errors
    /// When content is damaged or cannot be written; then nothing is left of it.
    pub fn repack(
        &self,
        mut plan: RepackPlan,
        entropy: &dyn Entropy,
        observer: &dyn Observer,
    ) -> Result<Vec<Repacked>, StoreError> {
        let planned = std::mem::take(&mut plan.groups);
        {
            let _kept = self.layout.enter()?;
            for group in planned {
                if self.is_there_whole(&group)? {
                    plan.groups.push(group);
                }
            }
        }
        self.repack_with(plan, &NewParts::default(), entropy, observer)
    }

    /// Returns true if every archive of a group exists.
    fn is_there_whole(&self, group: &RepackGroup) -> Result<bool, StoreError> {
        for archive in &group.from {
            if !durable::is_there(&self.layout.archive(&archive.id))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The same, with chunks and manifest lists that no archive has yet.
    pub(super) fn repack_with(
        &self,
        plan: RepackPlan,
        parts: &NewParts,
        entropy: &dyn Entropy,
        observer: &dyn Observer,
    ) -> Result<Vec<Repacked>, StoreError> {
        let _kept = self.layout.enter()?;
        let mut done = Vec::new();
        for group in plan.groups {
            let id = SnapshotId::new(random(entropy));
            let draft = self.draft(id.clone())?;
            let id = if group.state {
                id.state_archive()
            } else {
                id.archive()
            };
            let added = parts.of(group.state);
            let into = write::write(self, &draft, id, (&group.from, added), &plan.live, observer)?;
            observer.reached("repack-written");
            done.push(Repacked {
                draft,
                into,
                from: group.from,
                known: plan.known.clone(),
            });
        }
        Ok(done)
    }
}

impl Repacked {
    /// Leaves the new archive in place: a receipt says that it took the place of others.
    pub(super) fn stays(&self) {
        self.draft.leave_archives();
    }
}

impl Sole<'_> {
    /// Replaces the old archives with the new one; one that a later snapshot needs stays. Returns the number of bytes freed. If one of them has
    /// gone, nothing is replaced: what it had was deleted, and the new archive may have it.
    ///
    /// # Errors
    /// [`StoreError::Io`], or as [`Store::append`]. What is not replaced then is as it was.
    pub fn replace(
        &self,
        (at, uid): (Time, u32),
        repacked: Repacked,
        observer: &dyn Observer,
    ) -> Result<u64, StoreError> {
        let store = self.store;
        let layout = store.layout();
        let _kept = layout.enter()?;
        let mut from = Vec::new();
        // Captures ran since the plan, and one may rely on content that the plan took for dead and the new archive lacks.
        let used = self.used_since(&repacked.known)?;
        for archive in &repacked.from {
            if !durable::is_there(&layout.archive(&archive.id))? {
                return Ok(0);
            }
            if !used.contains(&archive.id) {
                from.push(archive.clone());
            }
        }
        let old: u64 = from.iter().map(|archive| archive.size).sum();
        if from.is_empty() {
            return Ok(0);
        }
        let into = &repacked.into;
        self.redirect(&repacked, &from)?;
        self.shorten(&repacked, &from)?;
        observer.reached("repack-named");
        let bytes = old.saturating_sub(into.size);
        let act = Operation::Repack {
            from: from.iter().map(|archive| archive.id.clone()).collect(),
            into: into.clone(),
            bytes,
        };
        store.append(at, uid, None, act)?;
        repacked.stays();
        for archive in &from {
            durable::remove(&layout.archive(&archive.id))?;
            observer.reached("repack-removed");
        }
        Ok(bytes)
    }

    /// Writes the redirects from the old archives to the new one. They are on disk before the first old archive goes. As long as
    /// that is there its redirect is not followed, so a kill between the two loses nothing.
    pub(super) fn redirect(&self, repacked: &Repacked, from: &[ArchiveRef]) -> Result<(), StoreError> {
        let layout = self.store.layout();
        let into = &repacked.into;
        // What takes their places must be there, whatever happened meanwhile.
        Archive::open(&layout.archive(&into.id), Some(into))?;
        let draft = repacked.draft.directory();
        for archive in from {
            archive_redirects::write(layout, &draft, &archive.id, into)?;
        }
        Ok(())
    }

    /// Shortens the redirects that lead to the old archives: they lead to the new one. They are followed at once, so the new archive
    /// must have all that the old ones are needed for.
    pub(super) fn shorten(&self, repacked: &Repacked, from: &[ArchiveRef]) -> Result<(), StoreError> {
        let layout = self.store.layout();
        let draft = repacked.draft.directory();
        let ids: HashSet<&ArchiveId> = from.iter().map(|archive| &archive.id).collect();
        for (name, leads) in archive_redirects::all(layout)? {
            if leads.is_some_and(|leads| ids.contains(&leads.id)) {
                archive_redirects::write(layout, &draft, &name, &repacked.into)?;
            }
        }
        Ok(())
    }

    /// Returns the archives that snapshots need which came after the plan.
    fn used_since(&self, known: &HashSet<SnapshotId>) -> Result<HashSet<ArchiveId>, StoreError> {
        let layout = self.store.layout();
        let mut used = HashSet::new();
        for id in record::ids(layout)?.into_iter().filter(|id| !known.contains(id)) {
            let record = self.store.record(&id)?;
            used.extend(record.archives.into_iter().map(|archive| archive.id));
        }
        Ok(used)
    }
}
