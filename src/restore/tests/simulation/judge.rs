//! Checks of a world after all operations: the tree, the store, and no leftovers.

use std::collections::BTreeSet;
use std::path::Path;

use super::session::{Ended, ROOT, STORE, Session};
use crate::capture::tests::coverage;
use crate::restore::clear_up;
use crate::store::Store;
use handle_fs::simulated::{Shared, Tree};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exactness {
    /// All but the times of what was restored.
    Times,
    /// Everything.
    All,
}

/// Allowed trees, and the text that was reported.
pub(super) struct Verdict<'a> {
    pub(super) ended: Ended,
    pub(super) old: &'a Tree,
    pub(super) new: &'a Tree,
    /// Reported text. What it names may remain.
    pub(super) said: &'a str,
}

impl Session {
    /// Returns the faults after the recovery from a crash, in words.
    pub(super) fn judge(&self, world: &Shared, ended: Ended, new: &Tree) -> Vec<String> {
        let verdict = Verdict {
            ended,
            old: &self.old,
            new,
            said: "",
        };
        self.judge_by(world, &verdict)
    }

    /// Returns how the tree that a restore led to differs from the one before the session, except for times.
    pub(super) fn judge_model(&self, new: &Tree) -> Vec<String> {
        let timeless = |tree: &Tree| -> Tree {
            let mut tree = tree.clone();
            tree.values_mut().for_each(|object| object.mtime = 0);
            tree
        };
        let (new, before) = (timeless(new), timeless(&self.before));
        unlike(&new, &before, Exactness::All, &before)
    }

    /// Returns the faults, in words.
    pub(super) fn judge_by(&self, world: &Shared, verdict: &Verdict<'_>) -> Vec<String> {
        let mut wrong = self.next_command(world);
        let world = world.lock();
        let tree = world.tree(ROOT);
        wrong.extend(self.of_tree(&tree, verdict));
        for beside in world.names_in("/disk") {
            if beside != "project" && !verdict.said.contains(&beside) {
                wrong.push(format!("litter beside the mount: {beside:?}"));
            }
        }
        for place in ["tmp", "restores"] {
            let litter = world.names_in(&format!("{STORE}/{place}"));
            if !litter.is_empty() {
                wrong.push(format!("litter in the store's {place}: {litter:?}"));
            }
        }
        wrong
    }

    fn of_tree(&self, tree: &Tree, verdict: &Verdict<'_>) -> Vec<String> {
        let exactness = if self.exact_mtimes {
            Exactness::All
        } else {
            Exactness::Times
        };
        let old = || unlike(tree, verdict.old, Exactness::All, verdict.old);
        let new = || unlike(tree, verdict.new, exactness, verdict.old);
        match verdict.ended {
            Ended::Old => old(),
            Ended::New => new(),
            Ended::Either => {
                let (old, new) = (old(), new());
                if old.is_empty() || new.is_empty() {
                    return Vec::new();
                }
                let old = old.into_iter().map(|line| format!("not old: {line}"));
                old.chain(new.into_iter().map(|line| format!("not new: {line}")))
                    .collect()
            }
            // Each path is one or the other, or was named.
            Ended::Mixed => {
                let mut wrong = new();
                wrong.retain(|line| {
                    let path = line.split('"').nth(1).unwrap_or_default();
                    let named = verdict.said.contains(&format!("\"{path}\""));
                    let is_old = tree.get(path) == verdict.old.get(path);
                    !named && !is_old
                });
                wrong
            }
        }
    }

    /// Checks as any later command would: the store opens, its records and receipts are valid, and no restore waits.
    fn next_command(&self, world: &Shared) -> Vec<String> {
        let mut wrong = Vec::new();
        let _inside = world.enter();
        let store = match Store::open_write(Path::new(STORE)) {
            Ok(store) => store,
            Err(error) => return vec![format!("the store does not open: {error}")],
        };
        wrong.extend(
            store
                .warnings()
                .iter()
                .map(|warning| format!("the store: {warning}")),
        );
        wrong.extend(
            store
                .receipts()
                .err()
                .map(|error| format!("the receipts: {error}")),
        );
        for id in store.record_ids().unwrap_or_default() {
            wrong.extend(store.record(&id).err().map(|error| format!("a record: {error}")));
        }
        match clear_up(&store, &[coverage(Path::new(ROOT), "project")], &self.acting()) {
            Ok(cleared) => {
                let left = cleared.into_iter().flat_map(|cleared| cleared.left);
                wrong.extend(left.map(|left| format!("stays: {left}")));
            }
            Err(error) => wrong.push(format!("no way for the next command: {error}")),
        }
        wrong
    }
}

/// Returns the differences between two trees. With [`Exactness::Times`], what differs between `old` and `wanted` may have other
/// times.
fn unlike(tree: &Tree, wanted: &Tree, exactness: Exactness, old: &Tree) -> Vec<String> {
    let mut lines = Vec::new();
    let paths: BTreeSet<&String> = tree.keys().chain(wanted.keys()).collect();
    for path in paths {
        match (tree.get(path), wanted.get(path)) {
            (Some(is), Some(should)) => {
                let mut is = is.clone();
                let kept = exactness == Exactness::All || old.get(path) == Some(should);
                if !kept {
                    is.mtime = should.mtime;
                }
                if is != *should {
                    lines.push(format!("{path:?} is {is:?}, not {should:?}"));
                }
            }
            (Some(is), None) => lines.push(format!("{path:?} is there: {is:?}")),
            (None, should) => lines.push(format!("{path:?} is missing: {should:?}")),
        }
    }
    lines
}
