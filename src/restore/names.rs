//! Second names of a file: when a hard link group can be made whole, and when one of its names must be left alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::plan::{Action, Step};
use crate::diff::Change;
use crate::snapshot::{Manifest, RelPath};

/// The first name of the group that a path belonged to, when belonging to it is all that differs now.
pub(super) fn only_link_differs(change: &Change) -> Option<&RelPath> {
    let (from, to) = (change.from.as_ref()?, change.to.as_ref()?);
    let same = from.kind == to.kind && from.same_metadata(to);
    from.link
        .as_ref()
        .filter(|first| same && to.link.as_ref() != Some(*first))
}

/// Steps that would only make a file anew: its bytes are right, and the name that it should be linked to is neither what
/// it was nor put back by this plan.
pub(super) fn hopeless(
    changed: &BTreeSet<RelPath>,
    steps: &BTreeMap<RelPath, Step>,
) -> Vec<(RelPath, RelPath)> {
    let wanting = steps
        .values()
        .filter_map(|step| Some((&step.change.path, only_link_differs(&step.change)?)));
    wanting
        .filter(|(_, first)| changed.contains(*first) && !steps.contains_key(*first))
        .map(|(path, first)| (path.clone(), first.clone()))
        .collect()
}

/// Metadata are put back in place only when this plan has a step for every name of the file: one that was not asked for must
/// not change with the rest. Such a file is made anew under the names that were asked for.
pub(super) fn part_from_others(now: &Manifest, steps: &mut BTreeMap<RelPath, Step>) {
    let mut names: HashMap<u64, Vec<RelPath>> = HashMap::new();
    let several = now
        .entries()
        .filter(|(_, entry)| entry.nlink > 1 && !entry.is_dir());
    for (path, entry) in several {
        names.entry(entry.ino).or_default().push(path);
    }
    let alone: Vec<RelPath> = steps
        .values()
        .filter(|step| step.action == Action::Metadata)
        .filter(|step| {
            let file = step.change.to.as_ref().and_then(|to| names.get(&to.ino));
            file.is_some_and(|names| names.iter().any(|name| !steps.contains_key(name)))
        })
        .map(|step| step.change.path.clone())
        .collect();
    for path in alone {
        if let Some(step) = steps.get_mut(&path) {
            step.action = Action::Replace;
        }
    }
}
