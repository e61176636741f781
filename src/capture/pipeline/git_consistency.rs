//! Keeps git repositories consistent that change while they are captured. Otherwise a captured ref may name a commit whose
//! objects were listed before it was made, or a ref may be missed because it moved into `packed-refs`. Changed parts are walked
//! again: everything, until all but the objects hold still, then the objects, so that refs are read before objects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::{Capture, matcher};
use crate::capture::CaptureError;
use crate::capture::contents::{complete, group_links};
use crate::capture::facts::{insert_gap, same_moment};
use crate::capture::pack::Packer;
use crate::capture::walk::{Earlier, Reference, Skipped, Walk};
use crate::git_directories::Repositories;
use crate::model::{Coverage, Directory, Manifest, RelPath, Time};
use git_reader::{below, is_lock};
use handle_fs::Root;

/// Maximum number of repeated walks of a changing repository.
const ROUNDS: usize = 5;
/// Number of waits for a lock that git holds, and length of each.
const PATIENCE: (usize, Duration) = (2, Duration::from_millis(20));

/// A mount that was captured.
pub(super) struct Taken<'a> {
    pub(super) root: &'a Root,
    pub(super) coverage: &'a Coverage,
    pub(super) started_at: Time,
    pub(super) manifest: &'a mut Manifest,
    /// True if every file was written back before it was read.
    pub(super) written_back: bool,
    /// Files that changed after they were read.
    pub(super) changed: Vec<RelPath>,
    pub(super) skipped: &'a mut Vec<Skipped>,
}

/// Part of a repository that changed since it was listed.
enum Moved {
    /// Refs, index, or anything else but objects.
    Much,
    /// Objects alone.
    Objects,
    /// Lock that announces a change; nothing changed yet.
    Locked(RelPath),
}

impl Capture<'_> {
    /// Walks repositories again until they hold still. Returns those that were walked again, each with a message if it did not
    /// hold still.
    pub(super) fn steady(
        &self,
        taken: &mut Taken<'_>,
        packer: &mut Packer<'_>,
    ) -> Result<BTreeMap<RelPath, Option<String>>, CaptureError> {
        let mut again = BTreeMap::new();
        let all = Repositories::of([&*taken.manifest]);
        for own in all.iter() {
            let mut round = 0;
            let doubt = loop {
                let moved = taken.moved(own);
                let part = match &moved {
                    None => break None,
                    Some(Moved::Locked(lock)) if round >= PATIENCE.0 => {
                        let lock = lock.as_path().display();
                        break Some(format!("{lock}: git is running there, or was killed"));
                    }
                    Some(_) if round == ROUNDS => break Some("it changed while it was captured".to_owned()),
                    // Refs and index have held still since they were listed. Git writes an object before it names it, so a
                    // list of objects that is made now has all that they name.
                    Some(Moved::Objects) => below(own, "objects"),
                    Some(Moved::Much) => own.clone(),
                    Some(Moved::Locked(_)) => {
                        thread::sleep(PATIENCE.1);
                        own.clone()
                    }
                };
                self.again(taken, &part, packer)?;
                round += 1;
            };
            if round > 0 {
                again.insert(own.clone(), doubt);
            }
        }
        if !again.is_empty() {
            group_links(&mut taken.manifest.directories);
        }
        Ok(again)
    }

    /// Captures a path and everything below it once more.
    fn again(
        &self,
        taken: &mut Taken<'_>,
        path: &RelPath,
        packer: &mut Packer<'_>,
    ) -> Result<(), CaptureError> {
        let tracked = &taken.coverage.tracked;
        // Nothing that is not tracked comes in because of it.
        let is_whole = tracked.is_empty() || tracked.iter().any(|outer| path.is_within(outer));
        let tracked = if is_whole {
            vec![path.clone()]
        } else {
            let inner = tracked.iter().filter(|inner| inner.is_within(path));
            inner.cloned().collect()
        };
        let coverage = Coverage {
            tracked,
            ..taken.coverage.clone()
        };
        let reference = Reference {
            earlier: Earlier {
                manifest: taken.manifest,
                started_at: taken.started_at,
                // Every directory is listed anew: the earlier lists are what is in doubt.
                same_rules: false,
                written_back: taken.written_back,
            },
            known: None,
        };
        let walk = Walk {
            root: taken.root,
            matcher: &matcher(&coverage)?,
            store: self.store.layout().root(),
            reference: Some(reference),
            trust_stat: self.trusts(taken.root),
            limits: self.request.limits,
            observer: self.observer,
        };
        let mut walked = walk.run()?;
        taken.skipped.retain(|skipped| !skipped.path.is_within(path));
        let skipped = std::mem::take(&mut walked.skipped);
        taken
            .skipped
            .extend(skipped.into_iter().filter(|skipped| skipped.path.is_within(path)));
        taken.skipped.sort();
        let part = complete(
            taken.root,
            &coverage,
            walked,
            Some(reference),
            packer,
            self.observer,
        )?;
        taken.written_back &= part.written_back;
        taken.changed.retain(|changed| !changed.is_within(path));
        taken.changed.extend(part.changed);
        splice(taken.manifest, part.manifest, path);
        Ok(())
    }
}

impl Taken<'_> {
    /// Returns the part of a repository that changed since it was listed. Every change that git makes to names, refs, the index
    /// or objects is a rename in a directory, and shows in its times.
    fn moved(&self, own: &RelPath) -> Option<Moved> {
        let objects = below(own, "objects");
        let (mut moved, mut lock) = (None, None);
        for dir in self.manifest.directories_within(own) {
            let is_objects = dir.path.is_within(&objects);
            if !self.is_as_listed(dir) {
                if !is_objects {
                    return Some(Moved::Much);
                }
                moved = Some(Moved::Objects);
            }
            if lock.is_none() && !is_objects {
                let mut entries = dir.entries.iter();
                let found = entries.find(|entry| is_lock(&entry.name));
                lock = found.map(|entry| dir.path.join(&entry.name));
            }
        }
        moved.or(lock.map(Moved::Locked))
    }

    fn is_as_listed(&self, dir: &Directory) -> bool {
        let listed = self.manifest.entry(&dir.path);
        let now = self.root.dir(&dir.path).and_then(|dir| dir.stat());
        listed
            .zip(now.ok())
            .is_some_and(|(listed, now)| same_moment(listed, &now))
    }
}

/// Replaces a path and everything below it in the manifest by the same path of `part`.
fn splice(manifest: &mut Manifest, part: Manifest, path: &RelPath) {
    let Some((parent, name)) = path.split() else {
        *manifest = part;
        return;
    };
    let above = part.directory(&parent).cloned();
    manifest.directories.retain(|dir| !dir.path.is_within(path));
    let inside = part
        .directories
        .into_iter()
        .filter(|dir| dir.path.is_within(path));
    manifest.directories.extend(inside);
    manifest.directories.sort_by(|a, b| a.path.cmp(&b.path));
    let mut directories = manifest.directories.iter_mut();
    let Some(dir) = directories.find(|dir| dir.path == parent).map(Arc::make_mut) else {
        return;
    };
    dir.entries.retain(|entry| entry.name != name);
    dir.gaps.retain(|gap| gap.name != name);
    let Some(above) = above else { return };
    if let Some(entry) = above.entry(&name) {
        let at = dir.entries.partition_point(|other| other.name < name);
        dir.entries.insert(at, entry.clone());
    }
    if let Some(gap) = above.gap(&name) {
        insert_gap(dir, gap.clone());
    }
}
