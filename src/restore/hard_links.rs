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

/// Returns the first name of the file at `path`, if it has several.
fn leader(path: &RelPath, entry: &Entry) -> Option<RelPath> {
    let first = || entry.link.clone().unwrap_or_else(|| path.clone());
    entry.has_several_names().then(first)
}

/// Paths that became names of foreign files while another name of their group changed. Only the file differs, so a comparison does
/// not show them; but the group is one file again only if they come back, too.
pub(super) fn linked_in(target: &Manifest, now: &Manifest, changes: &[Change]) -> Vec<Change> {
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
            has_secret_name: false,
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

/// Names of one file that were several files: metadata are restored in place for one of these only, for that which the file was if it is among
/// them.
pub(super) fn part_from_each_other(steps: &mut BTreeMap<RelPath, Step>) {
    let in_place = |step: &Step| {
        let (from, to) = (step.change.from.as_ref()?, step.change.to.as_ref()?);
        let is_meant = step.action == Action::Metadata && to.has_several_names();
        let first = || leader(&step.change.path, from).unwrap_or_else(|| step.change.path.clone());
        is_meant.then(|| (to.ino, first(), from.ino == to.ino))
    };
    let mut files: HashMap<u64, RelPath> = HashMap::new();
    for (ino, first, is_own) in steps.values().filter_map(in_place) {
        match is_own {
            true => drop(files.insert(ino, first)),
            false => drop(files.entry(ino).or_insert(first)),
        }
    }
    for step in steps.values_mut() {
        if in_place(step).is_some_and(|(ino, first, _)| files.get(&ino) != Some(&first)) {
            step.action = Action::Replace;
        }
    }
}

/// Metadata of a group are restored in place in one file only, which its other names are linked to again: in one of which a name already is
/// what it is to be, else in that of the target. A name of another file is linked to it as any other name is; to
/// set its metadata in place would leave it apart.
pub(super) fn join_again(target: &Manifest, now: &Manifest, steps: &mut BTreeMap<RelPath, Step>) {
    let in_place = steps.values().filter(|step| step.action == Action::Metadata);
    let mut groups: BTreeMap<RelPath, Joined> = BTreeMap::new();
    for step in in_place {
        if let Some((from, to)) = step.change.from.as_ref().zip(step.change.to.as_ref())
            && let Some(first) = leader(&step.change.path, from)
        {
            let group = groups.entry(first).or_default();
            group.in_place.push((step.change.path.clone(), to.ino));
        }
    }
    if groups.is_empty() {
        return;
    }
    let counts = NameCounts::of(now);
    for (path, then) in target.entries() {
        let Some(group) = leader(&path, then).and_then(|first| groups.get_mut(&first)) else {
            continue;
        };
        group.own = then.ino;
        let is_there = |is: &&Entry| {
            let is_right = is.kind == then.kind && is.same_metadata(then);
            is_right && !steps.contains_key(&path) && !counts.is_foreign(then, is)
        };
        group
            .there
            .extend(now.entry(&path).filter(is_there).map(|is| is.ino));
    }
    for group in groups.into_values() {
        let file = group.file();
        for (path, _) in group.in_place.iter().filter(|(_, ino)| Some(*ino) != file) {
            if let Some(step) = steps.get_mut(path) {
                step.action = Action::Replace;
            }
        }
    }
}

/// The files that the names of one group are names of now.
#[derive(Default)]
struct Joined {
    /// Inode that the group had in the target.
    own: u64,
    /// Names whose metadata are to be restored in place, with their inodes.
    in_place: Vec<(RelPath, u64)>,
    /// Inodes of the names that are what they are to be.
    there: BTreeSet<u64>,
}

impl Joined {
    /// Returns the inode of the file that the group is to be.
    fn file(&self) -> Option<u64> {
        let candidates: BTreeSet<u64> = match self.there.is_empty() {
            true => self.in_place.iter().map(|(_, ino)| *ino).collect(),
            false => self.there.clone(),
        };
        let own = candidates.get(&self.own);
        own.or_else(|| candidates.first()).copied()
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
