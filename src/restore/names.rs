//! Second names of a file: when a hard link group can be made whole, and when one of its names must be left alone.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::Step;
use crate::diff::Change;
use crate::snapshot::RelPath;

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
