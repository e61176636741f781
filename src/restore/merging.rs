//! Merge of later edits: takes the session's change out of a file that was edited since, and keeps the edits.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::attribution::ChangeHistory;
use super::composed::{
    Composed, ComposedFiles, MAX_COMPOSED, MAX_TOGETHER, as_private_as, can_be_composed, exposes,
};
use super::packed_refs::PackedRefs;
use super::plan::{KeptPath, Plan, Why};
use super::scope::{Merging, Scope};
use super::states::same;
use super::vcs_stores::Stores;
use crate::contract::PrivateFiles;
use crate::diff::{
    Change, MergeLabels, MergeSides, Overlap, holds_key_or_setting, is_binary, is_secret_path, merge,
};
use crate::git_directories::Repositories;
use crate::model::{Composition, Content, Coverage, Entry, Manifest, RelPath, SnapshotRecord};
use crate::store::{Blobs, Store};
use handle_fs::Root;

/// Names of the three texts in conflict markers.
pub const LABELS: MergeLabels<'static> = MergeLabels {
    ours: "yours",
    base: "after the session",
    theirs: "before the session",
};

/// Most files of which the begin is read before `--merge` is proposed.
const LOOKED_AT: usize = 64;
/// Bytes of each that tell a binary file.
const BEGIN: usize = 8000;

/// Reason why a file with later edits is not merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmerged {
    /// The edits overlap with the session's change.
    Overlaps {
        /// The places.
        overlaps: Vec<Overlap>,
        /// True if the lines are not shown unless the operator asks for it.
        is_secret: bool,
    },
    /// One of the three states is no regular file.
    NoFile,
    /// The file has several names.
    Linked,
    /// The edits overlap with the session's change, and the file has conflict markers already.
    Marked,
    /// One of the contents is binary.
    Binary,
    /// One of the contents is larger than [`MAX_COMPOSED`], or the merged files together are larger than a restore keeps in memory.
    Large,
    /// The path is git's own.
    Git,
    /// The path is a part of the store of Mercurial or Jujutsu.
    Store,
    /// The session did not make the change that would be taken out, or not alone.
    Others,
    /// The path may hold secrets of an agent.
    Private,
    /// Mode, owner or attributes were changed by both.
    Metadata,
    /// Users who cannot read one of the texts could read the merged file.
    Exposed,
    /// A content cannot be read, for this reason.
    Unread(String),
}

/// The files of a mount that `--merge` concerns.
#[derive(Default)]
pub(super) struct Merges {
    pub(super) files: ComposedFiles,
    pub(super) unmerged: BTreeMap<RelPath, Unmerged>,
    /// Files that a merge leaves as they are: nothing that the session did to them is left.
    unneeded: BTreeSet<RelPath>,
}

impl Merges {
    /// Moves the files that need no merge from the conflicts of `plan` to the paths that stay without one.
    pub(super) fn settle(&self, plan: &mut Plan) {
        let unneeded = |kept: &mut KeptPath| self.unneeded.contains(&kept.change.path);
        for mut kept in plan.conflicts.extract_if(.., unneeded) {
            if let Why::LaterEdit(after) = kept.why {
                kept.why = Why::NothingToMerge(after);
            }
            plan.kept.push(kept);
        }
        plan.kept.sort_by(|a, b| a.change.path.cmp(&b.change.path));
    }
}

/// Sources of a merge.
pub(super) struct MergeSource<'a> {
    pub(super) store: &'a Store,
    pub(super) record: &'a SnapshotRecord,
    pub(super) coverage: &'a Coverage,
    /// States to restore and of now.
    pub(super) sides: [Option<&'a Manifest>; 2],
}

impl MergeSource<'_> {
    /// Merges the files that `plan` keeps because of a later edit. `composed` files are not merged.
    pub(super) fn merge(
        &self,
        plan: &Plan,
        witness: &ChangeHistory,
        merging: Merging,
        composed: &ComposedFiles,
    ) -> Merges {
        let mut merges = Merges::default();
        let later = plan
            .conflicts
            .iter()
            .filter(|kept| matches!(kept.why, Why::LaterEdit(_)) && kept.change.from.is_some())
            // Hunks that the operator chose are not merged over.
            .filter(|kept| !composed.contains_key(&kept.change.path));
        let mut later = later.map(|kept| &kept.change).peekable();
        if merging == Merging::Off || later.peek().is_none() {
            return merges;
        }
        let (Some(last), Some(id)) = (&witness.last, &witness.last_snapshot) else {
            return merges;
        };
        let repositories = Repositories::of(self.sides.into_iter().flatten());
        let stores = Stores::of(self.sides.into_iter().flatten());
        let target = self.store.contents(self.record);
        let left = match self.store.record(id) {
            Ok(record) => self.store.contents(&record),
            Err(error) => {
                let why = Unmerged::Unread(error.to_string());
                merges.unmerged = later.map(|change| (change.path.clone(), why.clone())).collect();
                return merges;
            }
        };
        let held = composed.values().map(|file| file.bytes.len() as u64);
        let mut room = MAX_TOGETHER.saturating_sub(held.sum());
        let private = PrivateFiles::of(self.coverage);
        let root = Root::open(self.store.transports(), &self.coverage.root.to_path());
        let root = root.map_err(|error| Unmerged::Unread(error.to_string()));
        for change in later {
            let path = change.path.clone();
            let merged = match repositories.holding(&path) {
                Some(_) => Err(Unmerged::Git),
                None if stores.holding(&path).is_some() => Err(Unmerged::Store),
                None if !witness.is_of_session(&path, change.from.as_ref()) => Err(Unmerged::Others),
                None if private.holds(&path) => Err(Unmerged::Private),
                // Of a file that the session did not change, any content is its operator's, also a binary one.
                None if same(last.entry(&path), change.from.as_ref()) => {
                    merges.unneeded.insert(path);
                    continue;
                }
                None => match &root {
                    Ok(root) => one(change, last.entry(&path), (&target, &left), root, merging),
                    Err(why) => Err(why.clone()),
                },
            };
            if let Ok(file) = &merged
                && same(Some(&file.entry), change.to.as_ref())
            {
                merges.unneeded.insert(path);
                continue;
            }
            let merged = merged.and_then(|file| match room.checked_sub(file.bytes.len() as u64) {
                Some(rest) => {
                    room = rest;
                    Ok(file)
                }
                None => Err(Unmerged::Large),
            });
            match merged {
                Ok(file) => drop(merges.files.insert(path, file)),
                Err(why) => drop(merges.unmerged.insert(path, why)),
            }
        }
        merges
    }
}

impl MergeSource<'_> {
    /// Returns true if `--merge` may settle a conflict of `plan`: a text with a later edit, or a file that the session did not change.
    ///
    /// Three texts may still overlap. Of the first files the begin is read, to tell texts from binary files; later ones count as texts.
    pub(super) fn may_merge(&self, plan: &Plan, witness: &ChangeHistory, composed: &ComposedFiles) -> bool {
        let (Some(last), Some(id)) = (&witness.last, &witness.last_snapshot) else {
            return false;
        };
        let private = PrivateFiles::of(self.coverage);
        let sides = plan.conflicts.iter().filter_map(|kept| {
            let (path, change) = (&kept.change.path, &kept.change);
            let (base, then, now) = (last.entry(path)?, change.from.as_ref()?, change.to.as_ref()?);
            let is_open = matches!(kept.why, Why::LaterEdit(_)) && !composed.contains_key(path);
            // Git's own files are never merged.
            // The own files of a version control system are never merged.
            let is_git = path.parts().any(|part| matches!(part, b".git" | b".hg" | b".jj"));
            let is_possible = is_open
                && !is_git
                && !private.holds(path)
                && [base, then, now].into_iter().all(can_be_composed)
                && merged_metadata(base, then, now).is_some_and(|like| {
                    let like = as_private_as(now, like);
                    ![then, now].into_iter().any(|side| exposes(&like, side))
                })
                && witness.is_of_session(path, Some(then));
            is_possible.then_some((path, base, then))
        });
        let mut sides = sides.peekable();
        if sides.peek().is_none() {
            return false;
        }
        let root = Root::open(self.store.transports(), &self.coverage.root.to_path());
        let (Ok(root), Ok(record)) = (root, self.store.record(id)) else {
            return false;
        };
        let (target, left) = (self.store.contents(self.record), self.store.contents(&record));
        sides.enumerate().any(|(number, (path, base, then))| {
            number >= LOOKED_AT
                || same(Some(base), Some(then))
                || is_text(|| live_begin(&root, path))
                    && [(&left, base), (&target, then)]
                        .into_iter()
                        .all(|(blobs, entry)| is_text(|| stored_begin(blobs, entry)))
        })
    }

    /// Composes each `packed-refs` that was changed after the session: a ref that was changed then stays, and the others are restored. Only
    /// where the whole git directory is restored, as a ref may have a file of its own as well, and where only the session changed refs before;
    /// an undo composes it for the refs that the restore changed.
    pub(super) fn packed_refs(&self, plan: &Plan, witness: &ChangeHistory, scope: &Scope) -> Merges {
        let mut merges = Merges::default();
        let mut root = None;
        let is_later = |kept: &&KeptPath| matches!(kept.why, Why::LaterEdit(_));
        let mut room = MAX_TOGETHER;
        for kept in plan.conflicts.iter().filter(is_later) {
            let (path, change) = (&kept.change.path, &kept.change);
            let then = |path: &RelPath| {
                self.sides
                    .first()
                    .copied()
                    .flatten()
                    .and_then(|then| then.entry(path))
            };
            let is_own = |path: &RelPath| witness.is_of_session(path, then(path));
            // An undo holds exactly what the restore changed.
            let holds = |path: &RelPath| scope.holds(path);
            let [_, present] = self.sides;
            let exists = |path: &RelPath| present.is_some_and(|now| now.entry(path).is_some());
            let is_whole = path.split().is_some_and(|(dir, _)| scope.holds(&dir));
            let may_be_composed = |packed: &PackedRefs| {
                witness.only_left || is_whole && is_own(path) && packed.restored().iter().all(is_own)
            };
            let packed = witness
                .links
                .packed(path)
                .filter(|packed| may_be_composed(packed));
            let packed = packed.cloned().and_then(|packed| packed.within(holds, exists));
            let (Some(packed), Some(then), Some(now)) = (packed, &change.from, &change.to) else {
                continue;
            };
            let sides = [then, now];
            let (true, [Some(then_content), Some(now_content)]) =
                (sides.into_iter().all(can_be_composed), sides.map(Entry::content))
            else {
                continue;
            };
            let root = root
                .get_or_insert_with(|| Root::open(self.store.transports(), &self.coverage.root.to_path()));
            let Ok(root) = root else { break };
            let target = stored(&self.store.contents(self.record), then_content);
            let (Ok(target), Ok(live)) = (target, live(root, path, now_content)) else {
                continue;
            };
            let Some((text, holds_later_edit)) = packed.compose(&target, &live) else {
                continue;
            };
            if text == live {
                merges.unneeded.insert(path.clone());
                continue;
            }
            let Some(rest) = room.checked_sub(text.len() as u64) else {
                continue;
            };
            room = rest;
            let like = as_private_as(now, then.clone());
            if exposes(&like, now) {
                continue;
            }
            let composed = Composed::new(text, &like, now_content.digest, Composition::Merge { marked: 0 });
            let composed = Composed {
                holds_later_edit,
                ..composed
            };
            merges.files.insert(path.clone(), composed);
        }
        merges
    }
}

/// Returns true if the begin of a content can be read, and is text.
fn is_text(begin: impl FnOnce() -> io::Result<Vec<u8>>) -> bool {
    begin().is_ok_and(|begin| !is_binary(&begin))
}

/// Reads the begin of a live file.
fn live_begin(root: &Root, path: &RelPath) -> io::Result<Vec<u8>> {
    let (parent, name) = path.split().ok_or(io::ErrorKind::InvalidInput)?;
    let (file, _) = root.dir(&parent)?.file(name.as_os_str())?;
    file.read_up_to(BEGIN)
}

/// Reads the begin of a content of a snapshot.
fn stored_begin(blobs: &Blobs, entry: &Entry) -> io::Result<Vec<u8>> {
    let content = entry.content().ok_or(io::ErrorKind::InvalidInput)?;
    let open = blobs.open_content(content).map_err(io::Error::other)?;
    let mut begin = vec![0; BEGIN];
    let length = blobs.read_at(&open, 0, &mut begin).map_err(io::Error::other)?;
    begin.truncate(length);
    Ok(begin)
}

/// Merges one file; `left`: the contents of the base.
fn one(
    change: &Change,
    base: Option<&Entry>,
    (target, left): (&Blobs, &Blobs),
    root: &Root,
    merging: Merging,
) -> Result<Composed, Unmerged> {
    let (Some(base), Some(then), Some(now)) = (base, &change.from, &change.to) else {
        return Err(Unmerged::NoFile);
    };
    let contents = (base.content(), then.content(), now.content());
    let (Some(base_content), Some(then_content), Some(now_content)) = contents else {
        return Err(Unmerged::NoFile);
    };
    for (entry, content) in [(base, base_content), (then, then_content), (now, now_content)] {
        if content.size > MAX_COMPOSED {
            return Err(Unmerged::Large);
        }
        if !can_be_composed(entry) {
            return Err(Unmerged::Linked);
        }
    }
    let like = merged_metadata(base, then, now).ok_or(Unmerged::Metadata)?;
    let entries = [base, then, now];
    let base = stored(left, base_content)?;
    let theirs = stored(target, then_content)?;
    let ours = live(root, &change.path, now_content)?;
    if [&base, &theirs, &ours].into_iter().any(|text| is_binary(text)) {
        return Err(Unmerged::Binary);
    }
    let sides = MergeSides {
        base: &base,
        ours: &ours,
        theirs: &theirs,
    };
    let merged = merge(sides, LABELS);
    if merging != Merging::Marked && !merged.overlaps.is_empty() {
        return Err(Unmerged::Overlaps {
            overlaps: merged.overlaps,
            is_secret: entries
                .iter()
                .any(|entry| is_secret_path(root.path(), &change.path, Some(entry)))
                || [&base, &ours, &theirs]
                    .iter()
                    .any(|text| holds_key_or_setting(&change.path.on_host(root.path()), text)),
        });
    }
    let has_markers = || {
        let mut lines = ours.split(|byte| *byte == b'\n');
        lines.any(|line| line.starts_with(b"<<<<<<< "))
    };
    if !merged.overlaps.is_empty() && has_markers() {
        return Err(Unmerged::Marked);
    }
    let wide = like.mode;
    let like = as_private_as(now, like);
    // The session's change of the mode is all that it did. After its change of the text was taken out, nothing is left to merge.
    if like.mode != wide && base == theirs {
        return Err(Unmerged::Exposed);
    }
    // Lines of the base are only between markers.
    let sides = entries.iter().skip(usize::from(merged.overlaps.is_empty()));
    if sides.into_iter().any(|side| exposes(&like, side)) {
        return Err(Unmerged::Exposed);
    }
    let marked = u32::try_from(merged.overlaps.len()).unwrap_or(u32::MAX);
    Ok(Composed {
        holds_later_edit: true,
        ..Composed::new(
            merged.text,
            &like,
            now_content.digest,
            Composition::Merge { marked },
        )
    })
}

/// Reads a live file, and compares it with what the scan saw.
fn live(root: &Root, path: &RelPath, content: &Content) -> Result<Vec<u8>, Unmerged> {
    let read = || -> io::Result<Vec<u8>> {
        let (parent, name) = path.split().ok_or(io::ErrorKind::InvalidInput)?;
        let (file, _) = root.dir(&parent)?.file(name.as_os_str())?;
        file.read_up_to(usize::try_from(content.size).map_err(io::Error::other)?)
    };
    let bytes = read().map_err(|error| Unmerged::Unread(error.to_string()))?;
    match content.is_of(&bytes) {
        true => Ok(bytes),
        false => Err(Unmerged::Unread("it changed while it was read".to_owned())),
    }
}

/// Reads a content of a snapshot.
pub(super) fn stored(blobs: &Blobs, content: &Content) -> Result<Vec<u8>, Unmerged> {
    let mut bytes = Vec::new();
    if content.size == 0 {
        return Ok(bytes);
    }
    let read = blobs.stream(&content.digest, &mut |piece| {
        piece.append_to(&mut bytes);
        Ok(())
    });
    match read {
        Ok(()) => Ok(bytes),
        Err(error) => Err(Unmerged::Unread(error.to_string())),
    }
}

/// Merges mode, owner, attributes and flags, each as a whole; `None` if both sides changed one of them.
pub(super) fn merged_metadata(base: &Entry, then: &Entry, now: &Entry) -> Option<Entry> {
    fn pick<'a, T: PartialEq>(base: &T, then: &'a T, now: &'a T) -> Option<&'a T> {
        match (then == base, now == base) {
            (_, true) => Some(then),
            (true, false) => Some(now),
            (false, false) => (then == now).then_some(now),
        }
    }
    Some(Entry {
        mode: *pick(&base.mode, &then.mode, &now.mode)?,
        uid: *pick(&base.uid, &then.uid, &now.uid)?,
        gid: *pick(&base.gid, &then.gid, &now.gid)?,
        xattrs: pick(&base.xattrs, &then.xattrs, &now.xattrs)?.clone(),
        flags: *pick(&base.flags, &then.flags, &now.flags)?,
        // No snapshot has this content, so under `--mtimes exact` the file keeps the time of the edit.
        mtime: now.mtime,
        ..then.clone()
    })
}
