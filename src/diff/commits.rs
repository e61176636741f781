//! The commits that one state of a repository reaches and another does not.

use std::collections::{BinaryHeap, HashMap, HashSet};

use git_reader::{ObjectKind, Oid, Repository};

/// Maximum number of listed commits.
const MOST_COMMITS: usize = 100;
/// Maximum number of commits that are examined to find them.
const MOST_SEEN: usize = 50_000;
/// Number of further commits that are followed, in case clocks were wrong.
const SLOP: u32 = 256;

/// A commit in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitLine {
    /// Its id.
    pub id: Oid,
    /// The first line of its message: hostile text.
    pub subject: String,
}

/// Commits, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commits {
    /// Up to a hundred.
    pub listed: Vec<CommitLine>,
    /// True if there are more, or some could not be read.
    pub more: bool,
}

/// Returns the commits that `tips` reach and `not` do not, the newest first. Commits are looked up in all of `sides`.
pub(super) fn between(sides: &[&Repository<'_>], tips: &[Oid], not: &[Oid]) -> Commits {
    // What both reach is the usual case, and needs no look at all that one of them reaches.
    let reached: HashSet<&Oid> = not.iter().collect();
    if tips.iter().all(|tip| reached.contains(tip)) {
        return Commits::default();
    }
    let mut walk = Walk {
        sides,
        seen: HashMap::new(),
        queue: BinaryHeap::new(),
        fresh: 0,
        more: false,
    };
    for (tips, old) in [(not, true), (tips, false)] {
        for tip in tips {
            walk.reach(walk.commit_of(tip), old);
        }
    }
    let unread = |tip: &&Oid| !walk.seen.contains_key(&walk.commit_of(tip));
    walk.more |= tips.iter().any(|tip| unread(&tip));
    while walk.fresh > 0 && walk.advance() {}
    // What the other side reaches too may be as old as what was found, or look older by a wrong clock.
    let found = walk.seen.values().filter(|seen| !seen.old);
    if let Some(oldest) = found.map(|seen| seen.time).min() {
        while walk.queue.peek().is_some_and(|(time, _)| *time >= oldest) && walk.advance() {}
        for _ in 0..SLOP {
            walk.advance();
        }
    }
    let fresh = walk.seen.into_iter().filter(|(_, seen)| !seen.old);
    let mut listed: Vec<(i64, CommitLine)> = fresh
        .map(|(id, Seen { time, subject, .. })| (time, CommitLine { id, subject }))
        .collect();
    listed.sort_by(|(a, one), (b, other)| (b, other.id).cmp(&(a, one.id)));
    let more = walk.more || listed.len() > MOST_COMMITS;
    let listed = listed.into_iter().take(MOST_COMMITS).map(|(_, line)| line);
    Commits {
        listed: listed.collect(),
        more,
    }
}

/// Commit that the walk has met.
struct Seen {
    /// True if the other side reaches it.
    old: bool,
    /// True if its parents were not followed yet.
    waits: bool,
    time: i64,
    subject: String,
    parents: Vec<Oid>,
}

struct Walk<'w> {
    sides: &'w [&'w Repository<'w>],
    seen: HashMap<Oid, Seen>,
    /// Commits whose parents were not followed yet, the newest first.
    queue: BinaryHeap<(i64, Oid)>,
    /// Number of them that only one side reaches.
    fresh: usize,
    /// True if some could not be read, or there are too many.
    more: bool,
}

impl Walk<'_> {
    /// Follows the newest commit in the queue; returns false if there is none.
    fn advance(&mut self) -> bool {
        let Some((_, oid)) = self.queue.pop() else {
            return false;
        };
        let Some(seen) = self.seen.get_mut(&oid) else {
            return true;
        };
        seen.waits = false;
        self.fresh -= usize::from(!seen.old);
        let (parents, old) = (seen.parents.clone(), seen.old);
        for parent in parents {
            self.reach(parent, old);
        }
        true
    }

    /// Returns the commit that a tag names, or the commit itself.
    fn commit_of(&self, tip: &Oid) -> Oid {
        let mut peeled = self.sides.iter().map(|side| side.peel(tip));
        let commit = peeled.find_map(|peeled| match peeled {
            Ok(Some((ObjectKind::Commit, commit))) => Some(commit),
            _ => None,
        });
        commit.unwrap_or(*tip)
    }

    fn reach(&mut self, oid: Oid, old: bool) {
        let mut stack = vec![oid];
        while let Some(oid) = stack.pop() {
            if let Some(seen) = self.seen.get_mut(&oid) {
                if old && !seen.old {
                    seen.old = true;
                    if seen.waits {
                        self.fresh -= 1;
                    } else {
                        stack.extend(&seen.parents);
                    }
                }
                continue;
            }
            if self.seen.len() == MOST_SEEN {
                self.more = true;
                continue;
            }
            // Where history ends for us, as in a shallow clone, it ends for both.
            let Some(commit) = self.sides.iter().find_map(|side| side.commit(&oid).ok()?) else {
                continue;
            };
            self.queue.push((commit.commit_time, oid));
            self.fresh += usize::from(!old);
            self.seen.insert(
                oid,
                Seen {
                    old,
                    waits: true,
                    time: commit.commit_time,
                    subject: commit.subject,
                    parents: commit.parents,
                },
            );
        }
    }
}
