//! Walks a mount on all cores: every directory listed, every entry's facts taken, nothing read yet. What the reference
//! snapshot proves unchanged keeps its content digest; the rest is pending.

mod guard;
mod known;
mod limits;
mod scan;
mod workers;

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::facts::{entry, insert_gap, same_moment};
use super::remote_compare::unchanged;
use super::{CaptureError, Limits};
use crate::contract::Matcher;
use crate::model::{Directory, Entry, EntryKind, Gap, GapReason, Manifest, Name, RelPath, Time, add_sizes};
use crate::observer::Observer;
use crate::store::Blobs;
use handle_fs::Root;
use limits::Tally;
use scan::Job;

/// Longest time that a page fault takes from where it moves the file's times to the store that it is for. The thread may lose the
/// processor in between, or wait for the disk: what it stores comes after a capture then, and its time before.
pub(super) const FAULT_NANOS: i128 = 1_000_000_000;

/// An earlier state of the same mount. What stat data prove unchanged since is taken from it.
#[derive(Clone, Copy, Debug)]
pub struct Earlier<'a> {
    /// Manifest of that state.
    pub manifest: &'a Manifest,
    /// Time when that capture or live scan began.
    pub started_at: Time,
    /// True if it had the same coverage, so that the names in its directories still count.
    pub same_rules: bool,
    /// True if its files were written back before they were read, so that their times show every later change.
    pub written_back: bool,
}

/// Earlier state of the same mount. Its digests are reused where stat data prove that nothing changed.
#[derive(Clone, Copy)]
pub(super) struct Reference<'a> {
    /// Earlier state, with the time of its capture.
    pub earlier: Earlier<'a>,
    /// The archives that must hold the content; `None` when it will not be needed.
    pub known: Option<&'a Blobs>,
}

impl Reference<'_> {
    /// Restricts the reference to what counts on this file system: the times of a layered directory are those of its upper layer,
    /// and do not show changes in a lower one.
    pub(super) fn on(mut self, root: &Root) -> Self {
        self.earlier.same_rules &= !root.is_layered();
        // A frozen state may be older than what was captured since: what was changed in the moment before it may have been changed again
        // in the same one.
        if let Some(since) = root.frozen_since() {
            self.earlier.started_at = self.earlier.started_at.min(since);
        }
        self
    }

    fn holds(&self, entry: &Entry) -> bool {
        match (self.known, entry.content()) {
            (Some(known), Some(content)) => content.size == 0 || known.contains(&content.digest),
            _ => true,
        }
    }

    /// Returns true if the facts prove that nothing changed since: they are equal, and so old that a later change would have
    /// another time. They prove a file's content only if it was written back before it was read, because dirty pages take stores
    /// through a mapping without a new time, and if no fault of such a store was under way then.
    fn is_unchanged(&self, old: &Entry, stat: &handle_fs::Stat) -> bool {
        let is_filled = old.content().is_some_and(|content| content.size != 0);
        // Nothing but a change sets the ctime, so it shows in which steps the file system tells time.
        let step = handle_fs::step_of(old.ctime);
        let age = if is_filled { step.max(FAULT_NANOS) } else { step };
        let quiet = self.earlier.started_at.plus_nanos(-age);
        let shows_stores = self.earlier.written_back || !is_filled;
        shows_stores && !old.unstable && old.ctime < quiet && old.mtime < quiet && same_moment(old, stat)
    }
}

/// Parameters of a walk.
pub(super) struct Walk<'a> {
    /// The mount.
    pub root: &'a Root,
    /// Excludes and skipped paths of the coverage.
    pub matcher: &'a Matcher,
    /// Directory of the store, which is skipped under any path.
    pub store: &'a Path,
    /// Earlier state to reuse, if any.
    pub reference: Option<Reference<'a>>,
    /// True if digests of the reference may be reused at all.
    pub trust_stat: bool,
    /// Upper limits for the walk.
    pub limits: Limits,
    /// Observer of the progress.
    pub observer: &'a dyn Observer,
}

/// Excluded path; its descendants were not examined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// Below the mount root.
    pub path: RelPath,
    /// True for a directory.
    pub is_dir: bool,
}

/// Result of a walk: a manifest whose pending files still lack their digest.
pub(super) struct Walked {
    /// Everything that was found.
    pub manifest: Manifest,
    /// Files that have to be read, as indexes of directory and entry, in manifest order.
    pub pending: Vec<(usize, usize)>,
    /// Excluded paths, sorted.
    pub skipped: Vec<Skipped>,
    /// Entries and bytes that count toward the limits.
    pub taken: Limits,
    /// Start of the walk, by the clock that stamps files.
    pub started_at: Time,
}

impl Walked {
    /// Returns the sum of the sizes of the files that have to be read.
    pub(super) fn bytes_to_read(&self) -> u64 {
        let entry = |(at, index): &(usize, usize)| self.manifest.directories.get(*at)?.entries.get(*index);
        let contents = self.pending.iter().filter_map(entry).filter_map(Entry::content);
        contents.map(|content| content.size).fold(0, add_sizes)
    }

    /// Replaces a directory that is gone, or was replaced after it was listed, by a gap in its parent.
    fn vanished(&mut self, path: &RelPath) {
        // The root's own loss is an error of the walk.
        let Some((parent, name)) = path.split() else {
            return;
        };
        let directories = &mut self.manifest.directories;
        let Ok(at) = directories.binary_search_by(|dir| dir.path.cmp(&parent)) else {
            return;
        };
        let Some(directory) = directories.get_mut(at).map(Arc::make_mut) else {
            return;
        };
        let Ok(entry) = directory.entries.binary_search_by(|entry| entry.name.cmp(&name)) else {
            return;
        };
        directory.entries.remove(entry);
        for (_, later) in self
            .pending
            .iter_mut()
            .filter(|(dir, later)| *dir == at && *later > entry)
        {
            *later -= 1;
        }
        insert_gap(
            directory,
            Gap {
                name,
                reason: GapReason::Moving,
            },
        );
    }
}

impl Walk<'_> {
    /// Walks the mount.
    ///
    /// # Errors
    /// When the root cannot be listed, a limit is exceeded, or the operator stopped it. What cannot be read further
    /// down is a gap in the result, not an error.
    pub(super) fn run(&self) -> Result<Walked, CaptureError> {
        // Read before the first look. A change during the walk then has a time that is not older than this, and the next
        // capture reads that file again.
        let started_at = self.root.clock().map_err(|e| self.root_error(e))?;
        let top = self.root.dir(&RelPath::root()).map_err(|e| self.root_error(e))?;
        let stat = top.stat().map_err(|e| self.root_error(e))?;
        let name = Name::new(b"root").map_err(|e| self.root_error(io::Error::other(e)))?;
        let xattrs = top
            .attributes(std::ffi::OsStr::new(""))
            .map_err(|e| self.root_error(e))?;
        let root = Entry {
            xattrs,
            ..entry(name, &stat, EntryKind::Directory)
        };
        drop(top);
        let tally = Tally::new(self.root.file_system().is_ok_and(|facts| facts.shows_holes));
        let known = self.reference.filter(|reference| {
            let earlier = &reference.earlier;
            earlier.same_rules && self.trust_stat && reference.is_unchanged(&earlier.manifest.root, &stat)
        });
        let top = Job {
            path: RelPath::root(),
            seen: stat,
            known: known.map(|_| 0),
        };
        let directories = known.iter().flat_map(|known| &known.earlier.manifest.directories);
        let askable = directories.map(|dir| Some(&**dir).filter(|dir| known::has_all_names(dir)));
        // Without proof of content every directory would have to be looked at once more.
        // Asked after `started_at` was read: a change that the answers miss has a later time, and the next capture finds it.
        let unchanged = match known.is_some_and(|known| known.earlier.written_back) {
            true => unchanged(self.root, askable),
            false => Vec::new(),
        };
        let mut found = workers::run(self, &tally, unchanged, top)?;
        if let Some(exceeded) = tally.exceeded() {
            return Err(self.limit_error(
                exceeded,
                found.directories.iter().map(|scanned| &*scanned.directory),
            ));
        }
        // Threads find directories in any order; the manifest is sorted by path, like the reference.
        found.directories.sort_by(|a, b| match (a.place, b.place) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.directory.path.cmp(&b.directory.path),
        });
        let mut directories = Vec::with_capacity(found.directories.len());
        let mut pending = Vec::new();
        for (at, scanned) in found.directories.into_iter().enumerate() {
            pending.extend(scanned.pending.into_iter().map(|index| (at, index)));
            directories.push(scanned.directory);
        }
        let mut walked = Walked {
            manifest: Manifest { root, directories },
            pending,
            skipped: found.skipped,
            taken: tally.taken(),
            started_at,
        };
        walked.skipped.sort_unstable();
        for path in &found.vanished {
            walked.vanished(path);
        }
        Ok(walked)
    }

    fn root_error(&self, source: io::Error) -> CaptureError {
        let missing = Some(source.kind())
            .filter(|kind| *kind == io::ErrorKind::NotFound)
            .and_then(|_| handle_fs::missing_proc());
        let source = missing.unwrap_or(source);
        CaptureError::Root {
            path: self.root.path().to_path_buf(),
            source,
        }
    }

    /// Returns the error about too many entries, or too many bytes.
    fn limit_error<'d>(&self, by_entries: bool, so_far: impl Iterator<Item = &'d Directory>) -> CaptureError {
        CaptureError::Limit {
            path: self.root.path().to_path_buf(),
            entries: by_entries,
            limit: if by_entries {
                self.limits.max_entries
            } else {
                self.limits.max_bytes
            },
            biggest: super::limit::biggest(so_far, by_entries),
        }
    }
}
