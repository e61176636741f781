//! Covered paths that differ from HEAD, byte by byte. Stat data of the index, attributes and filters are not consulted.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::staged::{converts, staged};
use super::{Before, MOST_LISTED, WorktreeStatus};
use crate::model::{
    Differs, Directory, DirtyPath, Entry, EntryKind, Manifest, Name, RelPath, RepositoryFacts,
};
use git_reader::{
    COMMIT, EXECUTABLE, LINK, Live, Named, ObjectKind, Oid, Repository, Unreadable, below, blob_id,
};
use handle_fs::Root;
use handle_fs::parallel;

impl WorktreeStatus<'_> {
    /// Fills in the differing and staged paths. Returns the reason why git could hide a difference, if any.
    pub(super) fn find(
        &self,
        facts: &mut RepositoryFacts,
        known: Option<(Before<'_>, &RepositoryFacts)>,
    ) -> Option<String> {
        let work = super::work_tree(self.own);
        // A bare repository has no work tree, and one that lies elsewhere cannot be asked.
        if work == *self.own || facts.state.elsewhere.is_some() {
            return None;
        }
        let commit = facts
            .state
            .commit
            .as_ref()
            .and_then(|commit| Oid::parse(commit.as_bytes()));
        let tree = commit.and_then(|commit| match self.repository.commit(&commit) {
            Ok(Some(commit)) => Some(commit.tree),
            _ => {
                facts
                    .state
                    .doubts
                    .push(format!("the commit {commit} cannot be read"));
                None
            }
        });
        let named = Named::new(self.repository);
        let index = below(self.own, "index");
        let entry = |manifest: &Manifest| manifest.entry(&index)?.content().copied();
        let same_index = |before: &Before<'_>| {
            entry(before.manifest).is_some() && entry(before.manifest) == entry(self.manifest)
        };
        let known = known
            .filter(|(before, known)| known.state.doubts.is_empty() && self.has_same_inside(&work, before));
        let staged_then =
            known.filter(|(before, known)| known.state.commit == facts.state.commit && same_index(before));
        let usable = known.filter(|(_, known)| known.differing == known.differs.len() as u64);
        let moved =
            usable.and_then(|(_, known)| self.moved(&work, &named, known.state.commit.as_deref(), tree));
        let (asked, kept) = match usable.zip(moved) {
            Some(((before, known), moved)) => {
                let mut asked = self.changed(&work, before.manifest);
                asked.extend(moved.into_iter().filter(|path| self.is_ours(&work, path)));
                let kept = known.differs.iter().filter(|dirty| !asked.contains(&dirty.path));
                let kept: Vec<DirtyPath> = kept.cloned().collect();
                (asked, kept)
            }
            None => (self.everything(&work, &named, tree, facts), Vec::new()),
        };
        let mut differs: Vec<DirtyPath> = self.judge(&work, &named, tree, asked, facts);
        differs.extend(kept);
        differs.sort_by(|a, b| a.path.cmp(&b.path));
        facts.differing = differs.len() as u64;
        differs.truncate(MOST_LISTED);
        facts.differs = differs;
        let hidden = staged(
            self,
            &work,
            &named,
            tree,
            facts,
            staged_then.map(|(_, known)| known.staged),
        );
        hidden.or_else(|| converts(self, &work))
    }

    /// Returns the paths that HEAD names differently from the commit `then`; `None` if they are unknown.
    fn moved(
        &self,
        work: &RelPath,
        named: &Named<'_>,
        then: Option<&str>,
        tree: Option<Oid>,
    ) -> Option<BTreeSet<RelPath>> {
        let then = Oid::parse(then?.as_bytes())?;
        let old = self.repository.commit(&then).ok()??.tree;
        named.between(work, old, tree?)
    }

    /// Returns true if an exclude covers the path.
    fn is_left_out(&self, path: &RelPath) -> bool {
        self.skipped.contains(path) || path.ancestors().any(|above| self.skipped.contains(&above))
    }

    /// Returns true if the work tree holds the same repositories as before. They decide which files belong to it.
    fn has_same_inside(&self, work: &RelPath, before: &Before<'_>) -> bool {
        let then = before.facts.iter().map(|facts| super::work_tree(&facts.own));
        let then: BTreeSet<RelPath> = then.filter(|other| other.is_within(work)).collect();
        let now = self.works.iter().filter(|other| other.is_within(work));
        now.eq(then.iter())
    }

    /// Returns every path that exists or that HEAD names.
    fn everything(
        &self,
        work: &RelPath,
        named: &Named<'_>,
        tree: Option<Oid>,
        facts: &mut RepositoryFacts,
    ) -> BTreeSet<RelPath> {
        let mut paths = BTreeSet::new();
        for dir in self.manifest.directories_within(work) {
            if dir.path != *work && !self.is_ours(work, &dir.path) {
                continue;
            }
            paths.extend(files(dir).filter(|path| self.is_ours(work, path)));
        }
        if let Some(tree) = tree
            && !named.walk(work, tree, &mut paths)
        {
            facts
                .state
                .doubts
                .push("not every tree of HEAD can be read".to_owned());
        }
        // A repository in it is one path to git.
        paths.extend(
            self.works
                .iter()
                .filter(|other| *other != work && other.is_within(work))
                .cloned(),
        );
        paths
    }

    /// Returns the paths of the work tree that changed since `before`.
    fn changed(&self, work: &RelPath, before: &Manifest) -> BTreeSet<RelPath> {
        let mut changed = BTreeSet::new();
        let mut note = |path: RelPath| {
            if self.is_ours(work, &path) {
                changed.insert(path);
            }
        };
        let (mut old, mut new) = (
            before.directories.iter().peekable(),
            self.manifest.directories.iter().peekable(),
        );
        loop {
            match (old.peek(), new.peek()) {
                (Some(was), Some(is)) if was.path == is.path => {
                    if !Arc::ptr_eq(was, is) {
                        between(was, is, &mut note);
                    }
                    old.next();
                    new.next();
                }
                (Some(was), Some(is)) if was.path < is.path => {
                    files(was).for_each(&mut note);
                    old.next();
                }
                (Some(was), None) => {
                    files(was).for_each(&mut note);
                    old.next();
                }
                (_, Some(is)) => {
                    files(is).for_each(&mut note);
                    new.next();
                }
                (None, None) => break,
            }
        }
        // Whether a repository in it is where HEAD wants it is asked each time.
        changed.extend(
            self.works
                .iter()
                .filter(|other| *other != work && other.is_within(work))
                .cloned(),
        );
        changed
    }

    fn judge(
        &self,
        work: &RelPath,
        named: &Named<'_>,
        tree: Option<Oid>,
        asked: BTreeSet<RelPath>,
        facts: &mut RepositoryFacts,
    ) -> Vec<DirtyPath> {
        let mut differs = Vec::new();
        let mut hash = Vec::new();
        for path in asked {
            let mut differ = |how| {
                differs.push(DirtyPath {
                    path: path.clone(),
                    how,
                });
            };
            let wanted = match tree.map(|tree| named.entry(work, &path, tree)) {
                Some(Ok(wanted)) => wanted,
                Some(Err(Unreadable)) => {
                    facts
                        .state
                        .doubts
                        .push("not every tree of HEAD can be read".to_owned());
                    None
                }
                None => None,
            };
            if self.works.contains(&path) && path != *work {
                if !self.is_at(&path, wanted) {
                    differ(if wanted.is_some() {
                        Differs::Changed
                    } else {
                        Differs::Untracked
                    });
                }
                continue;
            }
            // Git knows no directories.
            let entry = self.manifest.entry(&path).filter(|entry| !entry.is_dir());
            match (entry, wanted) {
                (None, None) => {}
                (None, Some(_)) if self.is_left_out(&path) => {}
                (None, Some(_)) => differ(Differs::Missing),
                (Some(_), None) => differ(Differs::Untracked),
                (Some(entry), Some((mode, oid))) => match (&entry.kind, mode) {
                    (EntryKind::Symlink(target), LINK) => {
                        if Oid::of(ObjectKind::Blob, target) != Some(oid) {
                            differ(Differs::Changed);
                        }
                    }
                    (EntryKind::File(_), mode)
                        if mode != LINK && mode != COMMIT && may_run(entry) == (mode == EXECUTABLE) =>
                    {
                        hash.push((path, oid));
                    }
                    _ => differ(Differs::Changed),
                },
            }
        }
        let root = self.root;
        let same = parallel::map(&hash, |(path, oid)| blob(root, path) == Some(*oid));
        let changed = hash.into_iter().zip(same).filter(|(_, same)| !same);
        differs.extend(changed.map(|((path, _), _)| DirtyPath {
            path,
            how: Differs::Changed,
        }));
        differs
    }

    /// Returns true if a repository in the work tree is at the commit that HEAD names for it.
    fn is_at(&self, path: &RelPath, wanted: Option<(u32, Oid)>) -> bool {
        let live = Live::new(self.root);
        let Ok(Some(inner)) = Repository::open(&live, path) else {
            return false;
        };
        let at = inner.head().ok().and_then(|head| head.commit);
        wanted.is_some_and(|(mode, oid)| mode == COMMIT && at == Some(oid))
    }
}

/// Returns the id that git gives to the raw content of a file.
fn blob(root: &Root, path: &RelPath) -> Option<Oid> {
    let (parent, name) = path.split()?;
    let (file, stat) = root.dir(&parent).ok()?.file(name.as_os_str()).ok()?;
    blob_id(stat.size, file).ok()
}

/// Returns true if the owner may execute the file; git records no other permission.
fn may_run(entry: &Entry) -> bool {
    entry.mode & 0o100 != 0
}

/// Returns the paths of a directory's entries that are no directories.
fn files(dir: &Arc<Directory>) -> impl Iterator<Item = RelPath> {
    let files = dir.entries.iter().filter(|entry| !entry.is_dir());
    files.map(|entry| dir.path.join(&entry.name))
}

/// Notes the files that differ between two states of a directory.
fn between(was: &Directory, is: &Directory, note: &mut impl FnMut(RelPath)) {
    let names: BTreeSet<&Name> = was
        .entries
        .iter()
        .chain(&is.entries)
        .map(|entry| &entry.name)
        .collect();
    for name in names {
        let (before, now) = (was.entry(name), is.entry(name));
        let same = before
            .zip(now)
            .is_some_and(|(before, now)| before.kind == now.kind && may_run(before) == may_run(now));
        let is_file = |entry: Option<&Entry>| entry.is_some_and(|entry| !entry.is_dir());
        if !same && (is_file(before) || is_file(now)) {
            note(is.path.join(name));
        }
    }
}
