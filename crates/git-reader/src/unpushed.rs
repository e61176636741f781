//! Commits that no remote branch has: they exist here only.

use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

use super::error::shown;
use super::object::Commit;
use super::object_kind::ObjectKind;
use super::repository::Repository;
use super::tips::Tip;
use super::{GitError, Oid, Refs};

/// Commits of a branch or other ref that no remote branch has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpushed {
    /// Branch (`refs/heads/main`), or name of a [`Tip`].
    pub branch: Vec<u8>,
    /// Number of counted commits.
    pub commits: u64,
    /// True if there are more that were not counted.
    pub more: bool,
}

/// Maximum number of commits that are counted for a branch.
const MOST_COMMITS: u64 = 10_000;
/// Maximum number of commits and parents in memory, for all branches together.
const MOST_KNOWN: usize = 1_000_000;
/// Maximum number of steps for all branches together, which may share a long history.
const MOST_STEPS: u64 = 5_000_000;
/// Maximum bytes of a commit; none is followed beyond a larger one.
const MOST_COMMIT: u64 = 4 << 20;
/// Maximum bytes that are built to read all commits.
const MOST_EFFORT: u64 = 4 << 30;
/// Number of remote commits that are followed further than needed, in case clocks were wrong.
const SLOP: u32 = 256;

/// Facts of a commit that the walk needs.
#[derive(Clone)]
struct Known {
    time: i64,
    parents: Vec<Oid>,
}

/// Commits, the newest first.
type Queue = BinaryHeap<(i64, Oid)>;

struct Walk<'w> {
    repository: &'w Repository<'w>,
    shallow: BTreeSet<Oid>,
    known: HashMap<Oid, Option<Known>>,
    kept: usize,
    steps: u64,
    most_effort: u64,
    /// Commits that remote branches reach, as far as they were followed; `frontier` is where to continue.
    pushed: HashSet<Oid>,
    frontier: Queue,
    /// Commits already counted; branches are counted first.
    counted: HashSet<Oid>,
    is_exhausted: bool,
}

/// Returns for each branch the commits that it reaches, and no remote branch does. The same follows for everything else that
/// holds such commits: tags, notes, a detached HEAD, other work trees, ORIG_HEAD and the like. A missing commit is a doubt.
///
/// # Errors
/// [`GitError`] if the refs cannot be read.
pub fn unpushed(repository: &Repository) -> Result<Vec<Unpushed>, GitError> {
    let refs = repository.readable_refs()?;
    repository.note_replaced(&refs);
    let mut walk = Walk {
        repository,
        shallow: repository.shallow(),
        known: HashMap::new(),
        kept: 0,
        steps: 0,
        most_effort: repository.files.effort().get().saturating_add(MOST_EFFORT),
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

    /// Counts the commits that only a tip holds; `None` if there is nothing to count, or its object is missing.
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

    /// Counts the commits of a branch or tip. `only_new` skips those that were counted for another one.
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

    /// Counts a step; returns false after too many.
    fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS
            || self.kept > MOST_KNOWN
            || self.repository.files.effort().get() > self.most_effort
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
        let is_too_much = self.kept > MOST_KNOWN || self.repository.files.effort().get() > self.most_effort;
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
