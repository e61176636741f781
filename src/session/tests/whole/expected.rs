//! Model of a restore, independent of the planner. Its input: the trees before the session, at its end and now, the excludes, the
//! requested paths, and what the operator allows.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{Rule, is_hidden, leaves_out};
use super::seen::{Node, Seen};

/// Request of the operator.
pub(super) struct Asked<'a> {
    pub(super) rules: &'a [Rule],
    /// The session was about these directories only; none: about everything.
    pub(super) tracked: Vec<String>,
    /// Requested paths, with everything below them; `None`: all paths.
    pub(super) scope: Option<Vec<String>>,
    pub(super) overwrite: bool,
    pub(super) delete: bool,
    /// Paths that stay because they were moved from one that stays.
    pub(super) moved: &'a [String],
}

/// Expected result.
pub(super) struct Expected {
    /// Everything that a diff shows: it differs, and both sides know it.
    pub(super) differs: BTreeSet<String>,
    /// Paths that change.
    pub(super) changed: BTreeSet<String>,
    /// Requested paths that differ and stay.
    pub(super) stays: BTreeSet<String>,
    /// The tree afterwards.
    pub(super) after: Seen,
}

impl Expected {
    /// Returns the paths that should not change and are another object or have another time now.
    ///
    /// A directory whose entries changed may have another time.
    pub(super) fn stirred(&self, now: &Seen, after: &Seen) -> Vec<String> {
        let mut stirred = Vec::new();
        for (path, was) in now {
            let Some(is) = after.get(path).filter(|_| !self.changed.contains(path)) else {
                continue;
            };
            let entries = self.changed.iter().any(|below| parent(below) == Some(path));
            let timed = was.mtime == is.mtime || was.is_dir() && entries;
            if was.ino != is.ino || !timed {
                stirred.push(path.clone());
            }
        }
        stirred
    }
}

/// Returns true if `path` is `top` or lies below it.
fn is_within(path: &str, top: &str) -> bool {
    path.strip_prefix(top)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

impl Asked<'_> {
    /// Returns true if a directory that the session was about lies below `path`.
    fn is_on_the_way(&self, path: &str) -> bool {
        self.tracked.iter().any(|top| top != path && is_within(top, path))
    }

    /// Returns true if no snapshot of the session may know `path`.
    fn hides(&self, path: &str, is_dir: bool) -> bool {
        let inside = self.tracked.is_empty() || self.tracked.iter().any(|top| is_within(path, top));
        is_hidden(self.rules, path, is_dir) || !(inside || self.is_on_the_way(path))
    }
}

/// The part of a tree that a snapshot may know.
fn covered<'a>(tree: &'a Seen, asked: &Asked<'_>) -> BTreeMap<&'a str, &'a Node> {
    tree.iter()
        .filter(|(path, node)| !asked.hides(path, node.is_dir()))
        .map(|(path, node)| (path.as_str(), node))
        .collect()
}

pub(super) fn expected(before: &Seen, ended: &Seen, now: &Seen, asked: &Asked<'_>) -> Expected {
    let [then, last, live] = [before, ended, now].map(|tree| covered(tree, asked));
    let like = |a: Option<&&Node>, b: Option<&&Node>| match (a, b) {
        (Some(a), Some(b)) => a.is_like(b),
        (None, None) => true,
        _ => false,
    };
    // Something is there now that may not be looked at: what was there before is not known to be gone.
    let is_veiled = |path: &str| {
        now.iter()
            .any(|(top, node)| is_within(path, top) && asked.hides(top, node.is_dir()))
    };
    let paths: BTreeSet<&str> = then.keys().chain(live.keys()).copied().collect();
    let differs: BTreeSet<&str> = paths
        .into_iter()
        .filter(|path| !is_veiled(path) && !like(then.get(path), live.get(path)))
        .collect();
    let in_scope = |path: &str| {
        let scope = asked.scope.as_ref();
        scope.is_none_or(|tops| tops.iter().any(|top| is_within(path, top)))
    };
    // A directory without which nothing that was asked for could come back.
    let leads_to = |path: &str| {
        then.get(path).is_some_and(|node| node.is_dir())
            && !live.get(path).is_some_and(|node| node.is_dir())
            && differs
                .iter()
                .any(|below| in_scope(below) && then.contains_key(below) && is_within(below, path))
    };
    let may = |path: &str| {
        let (was, is) = (then.get(path), live.get(path));
        let is_sessions_own = like(last.get(path), is);
        if asked.moved.iter().any(|moved| moved == path) {
            return false;
        }
        match (was, is) {
            // It may have been there as something that the excludes name.
            (None, Some(is)) if leaves_out(asked.rules, path, !is.is_dir()) => false,
            (None, _) => is_sessions_own || asked.delete,
            _ => is_sessions_own || asked.overwrite,
        }
    };
    let wanted: BTreeSet<&str> = differs
        .iter()
        .copied()
        .filter(|path| in_scope(path) || leads_to(path))
        .collect();
    let mut changed: BTreeSet<&str> = wanted.iter().copied().filter(|path| may(path)).collect();
    loop {
        let is_dir_after = |path: &str| {
            if changed.contains(path) {
                then.get(path).is_some_and(|node| node.is_dir())
            } else {
                now.get(path).is_some_and(Node::is_dir)
            }
        };
        let cannot = changed.iter().copied().find(|path| {
            let (was, is) = (then.get(path), live.get(path));
            let goes = is.is_some_and(|is| is.is_dir()) && !was.is_some_and(|was| was.is_dir());
            let holds = || {
                now.keys()
                    .any(|below| below != path && is_within(below, path) && !changed.contains(below.as_str()))
            };
            let hangs = was.is_some() && parent(path).is_some_and(|parent| !is_dir_after(parent));
            (goes && holds()) || hangs
        });
        match cannot {
            Some(path) => drop(changed.remove(path)),
            None => break,
        }
    }
    let mut after = now.clone();
    for path in &changed {
        match then.get(path) {
            Some(node) => drop(after.insert((*path).to_owned(), (*node).clone())),
            None => drop(after.remove(*path)),
        }
    }
    let owned = |paths: &BTreeSet<&str>| paths.iter().map(|path| (*path).to_owned()).collect();
    Expected {
        stays: owned(&wanted.difference(&changed).copied().collect()),
        differs: owned(&differs),
        changed: owned(&changed),
        after,
    }
}
