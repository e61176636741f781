//! Composed files: contents that no snapshot has, put together for a path from the target's content and the live one.
//!
//! A composed file replaces the entry in the target's manifest, and its bytes are lent to the content of the target. So it is compared,
//! staged, journaled, verified and undone like any other file. The intent and the receipt keep its entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::RestoreError;
use super::plan::Plan;
use crate::capture::PrivateOverlay;
use crate::model::{
    ByteString, ComposedFile, Composition, Content, Coverage, Digest, Entry, EntryKind, Manifest, Recorded,
    RelPath, Xattr,
};

/// Maximum bytes of a file that is composed, on each side.
pub const MAX_COMPOSED: u64 = 8 << 20;

/// Maximum bytes of all composed files of a mount: a restore keeps them in memory and in its intent.
pub const MAX_TOGETHER: u64 = 64 << 20;

/// The composed files of a mount, by path.
pub type ComposedFiles = BTreeMap<RelPath, Composed>;

/// A composed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composed {
    /// State of the file after the restore.
    pub entry: Entry,
    /// Digest of the live content that it was composed from.
    pub over: Digest,
    /// Origin of the content.
    pub by: Composition,
    /// The content.
    pub bytes: Arc<[u8]>,
    /// True if a part of it may be a later edit. Such a state counts as a later edit for all restores that follow.
    pub holds_later_edit: bool,
    /// True if the operator typed a part of it. Such a state counts as a later edit as well.
    pub is_typed: bool,
}

impl Composed {
    /// Composes a file with the metadata of `like`.
    #[must_use]
    pub fn new(bytes: Vec<u8>, like: &Entry, over: Digest, by: Composition) -> Self {
        Self {
            entry: Entry {
                kind: EntryKind::File(Content::of(&bytes)),
                ..like.clone()
            },
            over,
            by,
            bytes: bytes.into(),
            holds_later_edit: false,
            is_typed: false,
        }
    }

    /// Returns the number of places with conflict markers.
    #[must_use]
    pub fn marked(&self) -> u32 {
        match self.by {
            Composition::Merge { marked } => marked,
            Composition::Hunks { .. } => 0,
        }
    }
}

/// Returns true if an entry is a regular file with one name and a content that can be composed.
#[must_use]
pub fn can_be_composed(entry: &Entry) -> bool {
    let content = entry.content().filter(|content| content.size <= MAX_COMPOSED);
    content.is_some() && entry.nlink <= 1 && entry.link.is_none()
}

/// Bits of a mode that let the group, and all others, read a file; each with all bits of that class.
const CLASSES: [(u32, u32); 2] = [(0o040, 0o070), (0o004, 0o007)];

/// Returns `like`, closed to each class of users that cannot read the file of now.
pub(super) fn as_private_as(now: &Entry, like: Entry) -> Entry {
    let closed = CLASSES.into_iter().filter(|(reads, _)| now.mode & reads == 0);
    let closed = closed.fold(0, |closed, (_, class)| closed | class);
    Entry {
        mode: like.mode & !closed,
        ..like
    }
}

/// Returns true if a file with the metadata of `like` may be read by users who cannot read `side`.
///
/// Modes of files of another owner, group or access list are not compared: only a `side` that all may read is exposed to no one then.
pub(super) fn exposes(like: &Entry, side: &Entry) -> bool {
    let access = |entry: &'_ Entry| -> Vec<Xattr> {
        let lists = entry.xattrs.iter().filter(|xattr| xattr.is_access_list());
        lists.cloned().collect()
    };
    let is_open_to = |entry: &Entry, (reads, _): (u32, u32)| entry.mode & reads != 0;
    let lists = access(side);
    let is_open = lists.is_empty() && CLASSES.into_iter().all(|class| is_open_to(side, class));
    let has_same_readers = (like.uid, like.gid) == (side.uid, side.gid) && access(like) == lists;
    let is_wider = || {
        let mut classes = CLASSES.into_iter();
        classes.any(|class| is_open_to(like, class) && !is_open_to(side, class))
    };
    !is_open && (!has_same_readers || is_wider())
}

/// Returns the form in which an intent keeps composed files.
pub(super) fn recorded(files: &ComposedFiles) -> Vec<ComposedFile> {
    let each = files.iter().map(|(path, file)| ComposedFile {
        path: path.clone(),
        entry: Recorded(Box::new(file.entry.clone())),
        over: file.over,
        by: file.by,
        typed: file.is_typed,
        content: ByteString(file.bytes.to_vec()),
    });
    each.collect()
}

/// Returns the composed files of an intent.
#[must_use]
pub fn composed_again(files: &[ComposedFile]) -> ComposedFiles {
    let each = files.iter().map(|file| {
        let composed = Composed {
            entry: (*file.entry.0).clone(),
            over: file.over,
            by: file.by,
            bytes: file.content.0.as_slice().into(),
            holds_later_edit: false,
            is_typed: file.typed,
        };
        (file.path.clone(), composed)
    });
    each.collect()
}

/// Puts composed files into the manifest of the target, and lends their content.
pub(super) fn amend(target: Option<&mut Manifest>, files: &ComposedFiles, overlay: &mut PrivateOverlay) {
    let Some(target) = target else { return };
    for (path, file) in files {
        let Some((parent, name)) = path.split() else {
            continue;
        };
        let found = target.directories.binary_search_by(|dir| dir.path.cmp(&parent));
        let Some(directory) = found.ok().and_then(|at| target.directories.get_mut(at)) else {
            continue;
        };
        let directory = Arc::make_mut(directory);
        if let Ok(at) = directory.entries.binary_search_by(|known| known.name.cmp(&name))
            && let Some(entry) = directory.entries.get_mut(at)
        {
            *entry = Entry {
                name,
                ..file.entry.clone()
            };
        }
        if let Some(content) = file.entry.content() {
            overlay.lend(content.digest, Arc::clone(&file.bytes));
        }
    }
}

/// Compares composed files with the plan that they were composed for, and notes which ones hold later edits.
///
/// # Errors
/// [`RestoreError::Drift`] if the file at such a path is another one by now.
pub(super) fn check(files: &mut ComposedFiles, plan: &Plan, coverage: &Coverage) -> Result<(), RestoreError> {
    for (path, file) in files {
        let step = plan.steps.iter().find(|step| step.change.path == *path);
        let kept = plan.conflicts.iter().find(|kept| kept.change.path == *path);
        let change = step.map(|step| &step.change).or(kept.map(|kept| &kept.change));
        let live = change.and_then(|change| change.to.as_ref()?.content());
        if live.is_none_or(|live| live.digest != file.over) {
            return Err(RestoreError::Drift {
                path: path.on_host(&coverage.root.to_path()),
            });
        }
        file.holds_later_edit = step.is_none_or(|step| step.overrode);
    }
    Ok(())
}
