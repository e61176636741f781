//! Archives that are open in this process. What two snapshots need is opened once, and its index decoded once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::archive::{Archive, ArchiveError};
use super::{Store, StoreError};
use crate::model::{ArchiveId, ArchiveRef};

/// Number of archives that stay open between two snapshots; more if the last snapshot needs more.
const MOST: usize = 64;

/// Number of index lines, of about 64 bytes each, that the same archives have at most.
const MOST_BLOBS: usize = 1 << 20;

/// Open archives by what a record says of them: one that has other bytes is another one.
#[derive(Debug, Default)]
pub(super) struct OpenArchives(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    known: HashMap<ArchiveId, (ArchiveRef, Weak<Archive>)>,
    /// Number of guards that wish archives to stay open.
    guards: usize,
    /// Those that stay, the last used at the end.
    kept: VecDeque<Arc<Archive>>,
}

/// Keeps archives open that several snapshots need, for a reader of many snapshots.
pub(crate) struct KeptOpen<'a>(&'a OpenArchives);

impl Drop for KeptOpen<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.guards -= 1;
        if state.guards == 0 {
            state.kept.clear();
        }
    }
}

impl OpenArchives {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, wanted: &ArchiveRef) -> Option<Arc<Archive>> {
        let state = self.state();
        let (known, archive) = state.known.get(&wanted.id)?;
        archive.upgrade().filter(|_| known == wanted)
    }

    /// Remembers the archives that a snapshot needs.
    fn note(&self, refs: &[ArchiveRef], archives: &[Arc<Archive>]) {
        let mut state = self.state();
        for (wanted, archive) in refs.iter().zip(archives) {
            let known = (wanted.clone(), Arc::downgrade(archive));
            state.known.insert(wanted.id.clone(), known);
        }
        if state.guards == 0 {
            return;
        }
        let own: HashSet<*const Archive> = archives.iter().map(Arc::as_ptr).collect();
        state.kept.retain(|kept| !own.contains(&Arc::as_ptr(kept)));
        let mut room = MOST.saturating_sub(archives.len());
        let mut blobs: usize = archives.iter().map(|archive| archive.blobs().len()).sum();
        let stay = state.kept.iter().rev().take_while(|archive| {
            blobs = blobs.saturating_add(archive.blobs().len());
            let fits = room > 0 && blobs <= MOST_BLOBS;
            room = room.saturating_sub(1);
            fits
        });
        let gone = state.kept.len() - stay.count();
        state.kept.drain(..gone);
        state.kept.extend(archives.iter().cloned());
    }

    /// Closes what stays open only for later.
    fn close_kept(&self) -> bool {
        let mut state = self.state();
        let any = !state.kept.is_empty();
        state.kept.clear();
        any
    }
}

impl Store {
    /// Keeps archives open from one snapshot to the next for as long as the guard lives.
    pub(crate) fn keep_archives_open(&self) -> KeptOpen<'_> {
        self.opened.state().guards += 1;
        KeptOpen(&self.opened)
    }

    /// Opens archives; returns those that opened, with their references, and the others with the reason.
    pub(super) fn open_archives(&self, refs: &[ArchiveRef]) -> Opened {
        let mut opened = Opened::default();
        for wanted in refs {
            match self.open_archive(wanted) {
                Ok(archive) => {
                    opened.archives.push(archive);
                    opened.refs.push(wanted.clone());
                }
                Err(error) => opened.damaged.push((wanted.id.clone(), error)),
            }
        }
        self.opened.note(&opened.refs, &opened.archives);
        opened
    }

    fn open_archive(&self, wanted: &ArchiveRef) -> Result<Arc<Archive>, StoreError> {
        if let Some(archive) = self.opened.find(wanted) {
            return Ok(archive);
        }
        let path = self.layout().archive(&wanted.id);
        let _kept = self.layout().enter()?;
        let archive = match Archive::open(&path, Some(wanted)) {
            Err(ArchiveError::Read { source, .. })
                if handle_fs::is_out_of_handles(&source) && self.opened.close_kept() =>
            {
                Archive::open(&path, Some(wanted))
            }
            other => other,
        }?;
        Ok(Arc::new(match &self.frames {
            Some(frames) => archive.keeping_frames_in(frames),
            None => archive,
        }))
    }
}

/// Archives that were to be opened.
#[derive(Default)]
pub(super) struct Opened {
    pub(super) refs: Vec<ArchiveRef>,
    pub(super) archives: Vec<Arc<Archive>>,
    pub(super) damaged: Vec<(ArchiveId, StoreError)>,
}
