//! Second names of a file: when a hard link group can be made whole, and when one of its names must be left alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::plan::{Action, Others, Step};
use crate::diff::{Change, ChangeKind};
use crate::model::{Entry, Manifest, RelPath};

/// Number of names in a manifest of each file with several names, by inode.
#[derive(Debug, Default)]
pub(super) struct NameCounts(HashMap<u64, u32>);

impl NameCounts {
    pub(super) fn of(manifest: &Manifest) -> Self {
        let mut counts = HashMap::new();
        let entries = manifest.directories.iter().flat_map(|dir| &dir.entries);
        for entry in entries.filter(|entry| entry.nlink > 1) {
            *counts.entry(entry.ino).or_default() += 1;
        }
        Self(counts)
    }

    /// Returns true if a file of the manifest has names that the manifest does not show.
    pub(super) fn has_others(&self, entry: &Entry) -> bool {
        entry.nlink > 1 && self.0.get(&entry.ino).is_none_or(|shown| *shown < entry.nlink)
    }

    /// Returns true if a link to a file may part it from other names that the manifest shows, on a file system of layers. A file of a lower
    /// layer is copied when a name is linked to it, and its other names stay those of the lower file. How many names that one has is
    /// counted in its layer, where the deleted ones are still there.
    pub(super) fn may_be_parted(&self, entry: &Entry) -> bool {
        self.has_others(entry) && self.0.get(&entry.ino).is_some_and(|shown| *shown > 1)
    }

    /// Returns true if a path became a name of another file than in the target, one that has names elsewhere. It may be a file of the
    /// operator, which is neither changed nor given further names.
    pub(super) fn is_foreign(&self, then: &Entry, now: &Entry) -> bool {
        then.ino != now.ino && self.has_others(now)
    }
}

/// Paths that became names of foreign files while another name of their group changed. Only the file differs, so a comparison does
/// not show them; but the group is one file again only if they come back, too.
pub(super) fn linked_in(target: &Manifest, now: &Manifest, changes: &[Change]) -> Vec<Change> {
    let leader = |path: &RelPath, entry: &Entry| {
        let first = || entry.link.clone().unwrap_or_else(|| path.clone());
        entry.has_several_names().then(first)
    };
    let changed: BTreeSet<&RelPath> = changes.iter().map(|change| &change.path).collect();
    let torn = changes
        .iter()
        .filter_map(|change| leader(&change.path, change.from.as_ref()?));
    let torn: BTreeSet<RelPath> = torn.collect();
    if torn.is_empty() {
        return Vec::new();
    }
    let counts = NameCounts::of(now);
    let found = target.entries().filter_map(|(path, then)| {
        let first = leader(&path, then)?;
        let is = now.entry(&path)?;
        let is_alike = then.kind == is.kind && then.same_metadata(is);
        let is_unseen = is_alike && torn.contains(&first) && !changed.contains(&path);
        (is_unseen && counts.is_foreign(then, is)).then(|| Change {
            kind: ChangeKind::Metadata,
            from: Some(then.clone()),
            to: Some(is.clone()),
            from_path: None,
            path,
        })
    });
    found.collect()
}

/// The first name of the group that a path belonged to, when belonging to it is all that differs now.
pub(super) fn only_link_differs(change: &Change) -> Option<&RelPath> {
    let (from, to) = (change.from.as_ref()?, change.to.as_ref()?);
    let same = from.kind == to.kind && from.same_metadata(to);
    from.link
        .as_ref()
        .filter(|first| same && to.link.as_ref() != Some(*first))
}

/// Steps that would only make a file anew: its bytes are right, and the name that it should be linked to is neither what
/// it was nor restored by this plan.
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

/// Returns the names of each file that has several of them in the mount, by the first one.
pub(super) fn groups(manifest: &Manifest) -> HashMap<RelPath, Vec<RelPath>> {
    let mut groups: HashMap<RelPath, Vec<RelPath>> = HashMap::new();
    for dir in &manifest.directories {
        for entry in &dir.entries {
            if let Some(first) = &entry.link {
                groups
                    .entry(first.clone())
                    .or_insert_with(|| vec![first.clone()])
                    .push(dir.path.join(&entry.name));
            }
        }
    }
    groups
}

/// Every name of each file that has several.
fn all_names(manifest: &Manifest) -> HashMap<u64, Vec<RelPath>> {
    let mut names: HashMap<u64, Vec<RelPath>> = HashMap::new();
    let several = manifest.entries().filter(|(_, entry)| entry.has_several_names());
    for (path, entry) in several {
        names.entry(entry.ino).or_default().push(path);
    }
    names
}

/// Metadata are restored in place only when this plan has a step for every name of the file: one that was not asked for must
/// not change with the rest. Such a file is made again under the names that were asked for.
pub(super) fn part_from_others(now: &Manifest, steps: &mut BTreeMap<RelPath, Step>) {
    let names = all_names(now);
    let is_parted = |names: &Vec<RelPath>| names.iter().any(|name| !steps.contains_key(name));
    let parted: HashMap<u64, bool> = names
        .iter()
        .map(|(ino, names)| (*ino, is_parted(names)))
        .collect();
    let alone: Vec<RelPath> = steps
        .values()
        .filter(|step| step.action == Action::Metadata)
        .filter(|step| {
            let file = step.change.to.as_ref().and_then(|to| parted.get(&to.ino));
            file.is_some_and(|is_parted| *is_parted)
        })
        .map(|step| step.change.path.clone())
        .collect();
    for path in alone {
        if let Some(step) = steps.get_mut(&path) {
            step.action = Action::Replace;
        }
    }
}

/// The first name of a group whose other names are, without a step, what they are to be, and names of another file than it: it is
/// linked to them again, as any other name would be. To set its metadata in place would leave it apart.
pub(super) fn join_again(target: &Manifest, now: &Manifest, steps: &mut BTreeMap<RelPath, Step>) {
    let firsts = steps.values().filter(|step| step.action == Action::Metadata);
    let firsts: HashMap<&RelPath, u64> = firsts
        .filter(|step| step.change.from.as_ref().is_some_and(|from| from.nlink > 1))
        .filter_map(|step| Some((&step.change.path, step.change.to.as_ref()?.ino)))
        .collect();
    if firsts.is_empty() {
        return;
    }
    let apart = target.entries().filter_map(|(path, then)| {
        let first = then.link.as_ref()?;
        let is = now.entry(&path)?;
        let is_there = !steps.contains_key(&path) && is.kind == then.kind && is.same_metadata(then);
        (is_there && firsts.get(first).is_some_and(|ino| *ino != is.ino)).then(|| first.clone())
    });
    let apart: BTreeSet<RelPath> = apart.collect();
    for path in apart {
        if let Some(step) = steps.get_mut(&path) {
            step.action = Action::Replace;
        }
    }
}

/// Writes down which other names each step concerns: those of the file that is there, and those outside that the file had in the target.
pub(super) fn name_others(
    (target, now): (Option<&Manifest>, Option<&Manifest>),
    steps: &mut BTreeMap<RelPath, Step>,
) {
    let names = now.map(all_names).unwrap_or_default();
    let earlier = target.map(all_names).unwrap_or_default();
    let outside = |entry: &Entry, seen: &[RelPath]| {
        let seen = u32::try_from(seen.len()).unwrap_or(u32::MAX);
        entry.nlink.saturating_sub(seen)
    };
    let several = |entry: &&Entry| entry.has_several_names();
    // Once for each file, which may have thousands of names.
    let stay = |names: &Vec<RelPath>| {
        names
            .iter()
            .filter(|name| !steps.contains_key(*name))
            .cloned()
            .collect()
    };
    let staying: HashMap<u64, Arc<[RelPath]>> =
        names.iter().map(|(ino, names)| (*ino, stay(names))).collect();
    for step in steps.values_mut() {
        let to = step.change.to.as_ref().filter(several);
        let seen = to
            .and_then(|to| names.get(&to.ino))
            .map_or(&[][..], Vec::as_slice);
        let is = to.map_or(0, |to| outside(to, seen));
        let from = step.change.from.as_ref().filter(several);
        let was = from.map_or(0, |from| {
            outside(from, earlier.get(&from.ino).map_or(&[][..], Vec::as_slice))
        });
        step.others = match step.action {
            Action::Replace => Others {
                parted_from: to
                    .and_then(|to| staying.get(&to.ino))
                    .cloned()
                    .unwrap_or_default(),
                outside: is,
                unlinked: was.saturating_sub(is),
            },
            Action::Create => Others {
                unlinked: was,
                ..Others::default()
            },
            Action::Metadata => Others {
                outside: is,
                ..Others::default()
            },
            Action::Delete => Others::default(),
        };
    }
}
