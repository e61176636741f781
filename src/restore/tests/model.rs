//! A plan carried out on a made-up tree, and the random trees that plans are tried on.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Action, Plan, path};
use crate::diff::tests::{Tree, dir, file, symlink, tree, with_mode};
use crate::model::{Entry, Listing, Manifest, RelPath};

pub(super) type Paths = BTreeMap<RelPath, Entry>;

/// Few names, so that two random trees often meet at one path.
const PATHS: [&str; 10] = ["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/b", "e", "e/a"];

/// Doubt about one path of a random tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    None,
    Gap,
    Skip,
    Unsettled,
    Unreadable,
}

fn state() -> impl Strategy<Value = Option<Entry>> {
    prop_oneof![
        3 => Just(None),
        2 => Just(Some(file("one"))),
        2 => Just(Some(file("two"))),
        1 => Just(Some(with_mode(file("one"), 0o600))),
        4 => Just(Some(dir())),
        1 => Just(Some(with_mode(dir(), 0o700))),
        1 => Just(Some(symlink("a"))),
    ]
}

fn doubt() -> impl Strategy<Value = Doubt> {
    prop_oneof![
        12 => Just(Doubt::None),
        1 => Just(Doubt::Gap),
        1 => Just(Doubt::Skip),
        1 => Just(Doubt::Unsettled),
        1 => Just(Doubt::Unreadable),
    ]
}

/// A tree in which everything is known.
pub(super) fn known() -> impl Strategy<Value = Tree> {
    prop::collection::vec(state(), PATHS.len()).prop_map(|states| grow(&states, &[]))
}

/// A tree with gaps, excluded paths and doubtful lists.
pub(super) fn doubtful() -> impl Strategy<Value = Tree> {
    let all = (
        prop::collection::vec(state(), PATHS.len()),
        prop::collection::vec(doubt(), PATHS.len()),
    );
    all.prop_map(|(states, doubts)| grow(&states, &doubts))
}

/// Puts states at paths, those that have a directory to lie in.
fn grow(states: &[Option<Entry>], doubts: &[Doubt]) -> Tree {
    let mut grown = tree([]);
    for (number, (at, state)) in PATHS.iter().zip(states).enumerate() {
        let at = path(at);
        let (parent, _) = at.split().unwrap();
        let has_place = parent.is_root() || grown.entries.get(&parent).is_some_and(Entry::is_dir);
        let Some(entry) = state.clone().filter(|_| has_place) else {
            continue;
        };
        let text = PATHS[number];
        match doubts.get(number).copied().unwrap_or(Doubt::None) {
            Doubt::Gap => grown = grown.gap(text),
            Doubt::Skip => grown = grown.skip(text),
            Doubt::Unsettled if entry.is_dir() => {
                grown.entries.insert(at, entry);
                grown = grown.listing(text, Listing::Unsettled);
            }
            // Nothing can lie in it: what is listed later finds a file here.
            Doubt::Unreadable if entry.is_dir() => grown = grown.gap(text),
            _ => {
                grown.entries.insert(at, entry);
            }
        }
    }
    grown
}

/// Carries a plan out; an error says which step cannot be done.
pub(super) fn carry_out(now: &Paths, plan: &Plan) -> Result<Paths, String> {
    let mut tree = now.clone();
    let is_dir = |state: &Option<Entry>| state.as_ref().is_some_and(Entry::is_dir);
    // What goes, goes from below.
    for step in plan.steps.iter().rev() {
        let at = &step.change.path;
        let leaves = step.action == Action::Delete || step.action == Action::Replace;
        if !leaves {
            continue;
        }
        let holds = tree.keys().find(|other| *other != at && other.is_within(at));
        if let Some(held) = holds.filter(|_| is_dir(&step.change.to)) {
            return Err(format!("{at:?} goes and takes {held:?} along"));
        }
        if tree.remove(at).is_none() {
            return Err(format!("{at:?} is not there to go"));
        }
    }
    for step in &plan.steps {
        let at = &step.change.path;
        let Some(entry) = &step.change.from else { continue };
        let (parent, name) = at.split().ok_or("the root")?;
        if !parent.is_root() && !tree.get(&parent).is_some_and(Entry::is_dir) {
            return Err(format!("{at:?} has no directory to come to"));
        }
        let there = tree.insert(
            at.clone(),
            Entry {
                name,
                ..entry.clone()
            },
        );
        if there.is_some() != (step.action == Action::Metadata) {
            return Err(format!(
                "{at:?} comes to a path that is taken, or is changed and missing"
            ));
        }
    }
    Ok(tree)
}

/// Returns true if two states are the same to a user.
pub(super) fn same(a: Option<&Entry>, b: Option<&Entry>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.same_state(b),
        _ => false,
    }
}

/// Returns true if a manifest proves that nothing was at `at`. Decides from the top, independently of the tested code.
pub(super) fn provably_absent(manifest: &Manifest, at: &RelPath) -> bool {
    let mut here = RelPath::root();
    for part in at.parts() {
        let name = crate::model::Name::new(part).unwrap();
        let Some(dir) = manifest.directories.iter().find(|dir| dir.path == here) else {
            return false;
        };
        match dir.entries.iter().find(|entry| entry.name == name) {
            Some(entry) if entry.is_dir() => {}
            // A file has nothing below it; the path itself is there.
            Some(_) => return here.join(&name) != *at,
            None => {
                let gap = dir.gaps.iter().any(|gap| gap.name == name);
                return !gap && dir.listing == Listing::Proven;
            }
        }
        here = here.join(&name);
    }
    false
}
