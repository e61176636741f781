//! Commits that no remote branch has: they exist here only.

use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

use super::error::shown;
use super::object::{Commit, ObjectKind};
use super::refs::Refs;
use super::repository::Repository;
use super::tips::Tip;
use super::{GitError, Oid};

/// Commits of a branch or other ref that no remote branch has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpushed {
    /// The branch (`refs/heads/main`), or the name of a [`Tip`].
    pub branch: Vec<u8>,
    /// How many commits.
    pub commits: u64,
    /// Whether there are more: not all were counted.
    pub more: bool,
}

/// A branch with more is counted so far.
const MOST_COMMITS: u64 = 10_000;
/// Commits and parents that are kept in mind, for all branches together.
const MOST_KNOWN: usize = 1_000_000;
/// Steps for all branches together: many branches may share a long history.
const MOST_STEPS: u64 = 5_000_000;
/// A commit with a longer message is not counted on.
const MOST_COMMIT: u64 = 4 << 20;
/// Bytes that are built to read all of them.
const MOST_EFFORT: u64 = 4 << 30;
/// Remote commits that are followed further than needed: clocks were wrong when some were made.
const SLOP: u32 = 256;

/// What the walk needs of a commit.
#[derive(Clone)]
struct Known {
    time: i64,
    parents: Vec<Oid>,
}

/// Newest first.
type Queue = BinaryHeap<(i64, Oid)>;

struct Walk<'w> {
    repository: &'w Repository<'w>,
    shallow: BTreeSet<Oid>,
    known: HashMap<Oid, Option<Known>>,
    kept: usize,
    steps: u64,
    most_effort: u64,
    /// All that remote branches reach, as far as it was followed, and where to follow it from.
    pushed: HashSet<Oid>,
    frontier: Queue,
    /// Commits already counted; branches are counted first.
    counted: HashSet<Oid>,
    is_exhausted: bool,
}

/// For each branch the commits that can be reached from it, and from no remote branch; then the same for everything else that holds
/// such commits: tags, notes, a detached HEAD, other work trees, ORIG_HEAD and its like. A missing commit is a doubt.
///
/// # Errors
/// [`GitError`] when the refs cannot be read.
pub fn unpushed(repository: &Repository) -> Result<Vec<Unpushed>, GitError> {
    let refs = repository.refs()?;
    repository.note_replaced(&refs);
    let mut walk = Walk {
        repository,
        shallow: repository.shallow(),
        known: HashMap::new(),
        kept: 0,
        steps: 0,
        most_effort: repository.effort.get().saturating_add(MOST_EFFORT),
        pushed: HashSet::new(),
        frontier: Queue::new(),
        counted: HashSet::new(),
        is_exhausted: false,
    };
    walk.begin(&refs);
    let branches = refs.iter().filter(|(name, _)| name.starts_with(b"refs/heads/"));
    let mut found: Vec<Unpushed> = branches
        .map(|(name, tip)| walk.branch(name, *tip, false))
        .collect();
    for tip in repository.tips(&refs) {
        let held = walk.tip(&tip);
        found.extend(held.filter(|held| held.commits > 0 || held.more));
    }
    Ok(found)
}

impl Walk<'_> {
    fn begin(&mut self, refs: &Refs) {
        for (name, tip) in refs.iter().filter(|(name, _)| name.starts_with(b"refs/remotes/")) {
            let mut tip = *tip;
            // Nearly always it is a commit, which is only read once then.
            if self.known(&tip).is_none() {
                match self.repository.peel(&tip) {
                    Ok(Some((ObjectKind::Commit, commit))) if commit != tip => tip = commit,
                    _ => {
                        let doubt = format!("{}: its commit cannot be read", shown(name));
                        self.repository.doubts.add(doubt);
                        continue;
                    }
                }
            }
            self.push_remote(tip);
        }
    }

    /// Returns the commit of a tip; `None` if its object is missing.
    fn tip(&mut self, tip: &Tip) -> Option<Unpushed> {
        if self.pushed.contains(&tip.oid) || self.counted.contains(&tip.oid) {
            return None;
        }
        let doubts = &self.repository.doubts;
        match self.repository.peel(&tip.oid) {
            Ok(Some((ObjectKind::Commit, commit))) => Some(self.branch(&tip.name, commit, true)),
            // The tree of a merge that had conflicts (`AUTO_MERGE`).
            Ok(Some(_)) if !tip.is_kept => None,
            Ok(Some((kind, _))) => {
                let name = shown(&tip.name);
                doubts.add(format!(
                    "{name} names a {}, and which remote has that is not known",
                    kind.word()
                ));
                None
            }
            // Git removed it already.
            Ok(None) if !tip.is_kept => None,
            Ok(None) => {
                doubts.add(format!("object {} is missing", tip.oid));
                None
            }
            Err(error) => {
                doubts.add(error);
                None
            }
        }
    }

    /// `only_new`: without what another one has that was counted before.
    fn branch(&mut self, name: &[u8], tip: Oid, only_new: bool) -> Unpushed {
        let (mut counted, mut seen) = (HashMap::new(), HashSet::new());
        let mut queue = Queue::new();
        let mut more = self.known(&tip).is_none();
        if let Some(known) = self.known(&tip) {
            queue.push((known.time, tip));
            seen.insert(tip);
        }
        while let Some((time, oid)) = queue.pop() {
            self.follow_remote(time);
            if self.pushed.contains(&oid) || (only_new && self.counted.contains(&oid)) {
                continue;
            }
            if counted.len() as u64 == MOST_COMMITS || !self.step() {
                more = true;
                break;
            }
            counted.insert(oid, time);
            for parent in self.known(&oid).map(|known| known.parents).unwrap_or_default() {
                if seen.insert(parent) {
                    match self.known(&parent) {
                        Some(known) => queue.push((known.time, parent)),
                        None => more = true,
                    }
                }
            }
        }
        // What a wrong clock made look newer than the remote branch that has it.
        if let Some(oldest) = counted.values().min() {
            self.follow_remote(*oldest);
            for _ in 0..SLOP {
                self.advance();
            }
        }
        counted.retain(|oid, _| !self.pushed.contains(oid));
        self.counted.extend(counted.keys());
        Unpushed {
            branch: name.to_vec(),
            commits: counted.len() as u64,
            more: more || self.is_exhausted,
        }
    }

    /// Follows remote branches back to this time.
    fn follow_remote(&mut self, time: i64) {
        while self.frontier.peek().is_some_and(|(newest, _)| *newest >= time) && self.step() {
            self.advance();
        }
    }

    fn advance(&mut self) {
        let Some((_, oid)) = self.frontier.pop() else {
            return;
        };
        for parent in self.known(&oid).map(|known| known.parents).unwrap_or_default() {
            self.push_remote(parent);
        }
    }

    fn push_remote(&mut self, oid: Oid) {
        if self.pushed.insert(oid)
            && let Some(known) = self.known(&oid)
        {
            self.frontier.push((known.time, oid));
        }
    }

    /// Counts a step; `false` when there were too many.
    fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS
            || self.kept > MOST_KNOWN
            || self.repository.effort.get() > self.most_effort
        {
            self.exhaust();
        }
        !self.is_exhausted
    }

    fn exhaust(&mut self) {
        self.is_exhausted = true;
        let what = "there are too many commits to tell for all which of them no remote branch has";
        self.repository.doubts.add(what);
    }

    fn known(&mut self, oid: &Oid) -> Option<Known> {
        if let Some(known) = self.known.get(oid) {
            return known.clone();
        }
        let is_too_much = self.kept > MOST_KNOWN || self.repository.effort.get() > self.most_effort;
        if is_too_much {
            self.exhaust();
            return None;
        }
        let known = self.read(oid);
        self.kept += 1 + known.as_ref().map_or(0, |known| known.parents.len());
        self.known.insert(*oid, known.clone());
        known
    }

    fn read(&self, oid: &Oid) -> Option<Known> {
        let doubts = &self.repository.doubts;
        let object = match self.repository.object_up_to(oid, MOST_COMMIT) {
            Ok(Some(object)) => object,
            Ok(None) => {
                doubts.add(format!("object {oid} is missing"));
                return None;
            }
            Err(error) => {
                doubts.add(error);
                return None;
            }
        };
        if object.kind != ObjectKind::Commit {
            return None;
        }
        let commit = Commit::parse(&object.bytes);
        if commit.is_none() {
            doubts.add(format!("object {oid} is not a commit"));
        }
        let commit = commit?;
        Some(Known {
            time: commit.commit_time,
            parents: if self.shallow.contains(oid) {
                Vec::new()
            } else {
                commit.parents
            },
        })
    }
}
