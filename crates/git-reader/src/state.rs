//! State in a git directory: unfinished operations, stashes, reflogs, locks, other work trees, missing objects.

use std::collections::BTreeSet;
use std::io::Read as _;

use super::error::shown;
use super::reading::{Stream, below, look, size, whole};
use super::repository::Repository;
use super::{GitError, Oid};
use handle_fs::{Name, RelPath};

/// Operation that was begun, and has to be finished or aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// `git merge`.
    Merge,
    /// `git rebase`.
    Rebase,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    /// `git bisect`.
    Bisect,
    /// `git am`.
    Am,
    /// Several commits that are picked or reverted one after the other.
    Sequencer,
}

impl Operation {
    /// Returns the name that git uses.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
            Self::Am => "am",
            Self::Sequencer => "sequencer",
        }
    }
}

/// Maximum bytes of a reflog that are counted.
const MOST_REFLOG: u64 = 64 << 20;
/// Bytes at the end of a reflog that count as recent: some two thousand moves.
const MOST_RECENT: u64 = 512 << 10;
/// Maximum bytes of `shallow`: a million commits.
const MOST_SHALLOW: u64 = 41 << 20;

impl Repository<'_> {
    /// Returns the number of stashes.
    #[must_use]
    pub fn stashes(&self) -> u64 {
        let Ok(common) = self.common_dir() else { return 0 };
        let lines = self.doubts.settle(self.lines(&below(common, "logs/refs/stash")));
        if lines > 0 || self.understood().is_err() {
            return lines;
        }
        u64::from(self.doubts.settle(self.reference(b"refs/stash")).is_some())
    }

    fn lines(&self, path: &RelPath) -> Result<u64, GitError> {
        let Some(size) = size(self.files, path)? else {
            return Ok(0);
        };
        if size > MOST_REFLOG {
            self.doubts.add(GitError::too_large(path, MOST_REFLOG));
        }
        let mut stream = Stream::new(self.files, path, 0, MOST_REFLOG);
        let (mut room, mut lines) = (vec![0; 64 << 10], 0);
        loop {
            let read = stream.read(&mut room);
            let count = read.map_err(|source| GitError::io(path, source))?;
            if count == 0 {
                return Ok(lines);
            }
            let part = room.get(..count).unwrap_or_default();
            lines += part.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
    }

    /// Returns the commits that HEAD was recently at, from its reflog.
    #[must_use]
    pub fn recent_heads(&self) -> BTreeSet<Oid> {
        let Some(own) = self.git_dir() else {
            return BTreeSet::new();
        };
        let path = below(own, "logs/HEAD");
        let tail = || -> Result<Vec<u8>, GitError> {
            let size = size(self.files, &path)?.unwrap_or(0);
            let from = size.saturating_sub(MOST_RECENT);
            let mut bytes = Vec::new();
            if size > 0 {
                Stream::new(self.files, &path, from, MOST_RECENT)
                    .read_to_end(&mut bytes)
                    .map_err(|source| GitError::io(&path, source))?;
            }
            Ok(bytes)
        };
        let bytes = self.doubts.settle(tail());
        // "<before> <after> <who> <when>\t<why>"; the first line may be cut.
        let after = |line: &[u8]| Oid::parse(line.split(|byte| *byte == b' ').nth(1)?);
        let lines = bytes.split(|byte| *byte == b'\n');
        lines.filter_map(after).filter(|oid| !oid.is_null()).collect()
    }

    /// Returns the names of all refs that have a reflog, sorted.
    #[must_use]
    pub fn reflog_names(&self) -> Vec<Vec<u8>> {
        let mut names = BTreeSet::new();
        for dir in [self.git_dir(), self.shared_git_dir()].into_iter().flatten() {
            let logs = below(dir, "logs");
            for (path, _) in self.files_below(&logs) {
                let name = path.as_bytes().strip_prefix(logs.as_bytes()).unwrap_or_default();
                names.insert(name.strip_prefix(b"/").unwrap_or(name).to_vec());
            }
        }
        names.into_iter().collect()
    }

    /// Returns the unfinished operations in this work tree.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        let Some(own) = self.git_dir() else {
            return Vec::new();
        };
        let is_there = |name: &str| {
            let found = look(self.files, &below(own, name)).map(|found| found.is_some());
            self.doubts.settle(found)
        };
        let mut found = Vec::new();
        let mut note = |is_so: bool, operation| found.extend(is_so.then_some(operation));
        let applies = is_there("rebase-apply");
        let is_am = applies && is_there("rebase-apply/applying");
        note(is_there("MERGE_HEAD"), Operation::Merge);
        note(is_there("rebase-merge") || applies && !is_am, Operation::Rebase);
        note(is_there("CHERRY_PICK_HEAD"), Operation::CherryPick);
        note(is_there("REVERT_HEAD"), Operation::Revert);
        note(is_there("BISECT_LOG"), Operation::Bisect);
        note(is_am, Operation::Am);
        note(is_there("sequencer"), Operation::Sequencer);
        found
    }

    /// Returns the names of the other work trees.
    #[must_use]
    pub fn worktrees(&self) -> Vec<Vec<u8>> {
        let Some(common) = self.shared_git_dir() else {
            return Vec::new();
        };
        let dir = below(common, "worktrees");
        let names = match look(self.files, &dir) {
            Ok(None) => Ok(Vec::new()),
            Ok(Some(_)) => (self.files.names(&dir)).map_err(|source| GitError::io(&dir, source)),
            Err(error) => Err(error),
        };
        let names = self.doubts.settle(names).into_iter();
        names.map(|name| name.as_bytes().to_vec()).collect()
    }

    /// Returns the lock files: git is running now, or was killed.
    #[must_use]
    pub fn locks(&self) -> Vec<RelPath> {
        let mut locks = BTreeSet::new();
        for dir in [self.git_dir(), self.shared_git_dir()].into_iter().flatten() {
            let names = (self.files.names(dir)).map_err(|source| GitError::io(dir, source));
            let top = self.doubts.settle(names).into_iter().map(|name| dir.join(&name));
            let refs = self.files_below(&below(dir, "refs"));
            let all = top.chain(refs.into_iter().map(|(path, _)| path));
            locks.extend(all.filter(|path| path.split().is_some_and(|(_, name)| is_lock(&name))));
        }
        locks.into_iter().collect()
    }

    /// Returns true if the clone lacks old commits.
    #[must_use]
    pub fn is_shallow(&self) -> bool {
        !self.shallow().is_empty()
    }

    /// Returns the commits whose parents were not cloned.
    pub(super) fn shallow(&self) -> BTreeSet<Oid> {
        let Some(common) = self.shared_git_dir() else {
            return BTreeSet::new();
        };
        let path = below(common, "shallow");
        let text = self.doubts.settle(whole(self.files, &path, MOST_SHALLOW));
        let text = text.unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let oids = lines.filter_map(|line| {
            let oid = Oid::parse(line);
            if oid.is_none() {
                let why = format!("not a commit: {}", shown(line));
                self.doubts.add(GitError::damaged(&path, why));
            }
            oid
        });
        oids.collect()
    }

    /// Returns true if the clone lacks objects on purpose, and git fetches them from a remote when needed.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        let config = self.config();
        let mut remotes = config.section("remote");
        config.last("extensions", None, "partialclone").is_some()
            || remotes.any(|entry| entry.key == b"promisor" && entry.truth() == Some(true))
            || self.has_promisor_pack()
    }

    /// Adds a doubt if git shows other objects in place of some (`git replace`). This crate does not follow them.
    pub(super) fn note_replaced(&self, refs: &super::Refs) {
        if refs.keys().any(|name| name.starts_with(b"refs/replace/")) {
            self.doubts
                .add("refs/replace: git shows other objects in place of some, which is not followed");
        }
    }
}

/// Returns true for `index.lock` and the like, which exist while git is at work, or after it was killed. A branch cannot have
/// such a name.
#[must_use]
pub fn is_lock(name: &Name) -> bool {
    let name = name.as_bytes();
    name.ends_with(b".lock") || name == b"gc.pid"
}
