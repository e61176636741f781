//! Git directories of a mount, and the files of their work trees.

use git_reader::{Named, Oid, Unreadable, is_dot_git};

use crate::model::{Content, Directory, EntryKind, Manifest, RelPath};

/// Directories in which git keeps its data, and files that point to one. They are recognized by name and content, on any side of
/// a comparison: a git directory that a session deleted counts as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repositories(Vec<RelPath>);

impl Repositories {
    /// Finds the git directories in any of `sides`.
    pub fn of<'m>(sides: impl IntoIterator<Item = &'m Manifest>) -> Self {
        let directories = sides.into_iter().flat_map(|side| &side.directories);
        Self::outermost(directories.filter_map(|dir| own(dir)).collect())
    }

    /// Finds the git directories in `target`, and those in `now` that are named `.git`: the session must not make an ordinary
    /// directory pass for a bare repository.
    #[must_use]
    pub fn of_target(target: Option<&Manifest>, now: Option<&Manifest>) -> Self {
        let named = now
            .into_iter()
            .flat_map(|side| &side.directories)
            .filter_map(|dir| dot_git(dir));
        let target = target.into_iter().flat_map(|side| &side.directories);
        Self::outermost(target.filter_map(|dir| own(dir)).chain(named).collect())
    }

    fn outermost(mut found: Vec<RelPath>) -> Self {
        found.sort();
        found.dedup();
        // One within another belongs to that.
        let mut outermost: Vec<RelPath> = Vec::new();
        for path in found {
            if !outermost.last().is_some_and(|last| path.is_within(last)) {
                outermost.push(path);
            }
        }
        Self(outermost)
    }

    /// Returns the git directory that holds `path`.
    #[must_use]
    pub fn holding(&self, path: &RelPath) -> Option<&RelPath> {
        let after = self.0.partition_point(|own| own <= path);
        let own = self.0.get(after.checked_sub(1)?)?;
        path.is_within(own).then_some(own)
    }

    /// Returns the repository of a submodule within a git directory that holds `path`: submodules have theirs in `.git/modules`.
    #[must_use]
    pub fn submodule_holding(&self, path: &RelPath, sides: &[&Manifest]) -> Option<RelPath> {
        let modules = git_reader::below(self.holding(path)?, "modules");
        if !path.is_within(&modules) {
            return None;
        }
        let within = path.ancestors().filter(|above| above.is_within(&modules));
        let is_one = |dir: &RelPath| {
            let mut found = sides.iter().filter_map(|side| side.directory(dir));
            found.any(|dir| is_repository(dir))
        };
        within.filter(is_one).last()
    }

    /// Returns all of them, in path order.
    pub fn iter(&self) -> impl Iterator<Item = &RelPath> {
        self.0.iter()
    }
}

/// Returns the work tree of a git directory; a bare repository has none and is returned itself.
#[must_use]
pub fn work_tree(own: &RelPath) -> RelPath {
    match own.split() {
        Some((parent, name)) if is_dot_git(name.as_bytes()) => parent,
        _ => own.clone(),
    }
}

/// Returns the directories of a mount in which git finds a repository, also those in another one's work tree: each has a `.git`, or is bare.
/// The content of a `.git` belongs to that.
pub fn work_trees(manifest: &Manifest) -> impl Iterator<Item = &RelPath> {
    let found = manifest.directories.iter().filter(|dir| own(dir).is_some());
    let is_own = |path: &RelPath| path.parts().any(is_dot_git);
    found.map(|dir| &dir.path).filter(move |path| !is_own(path))
}

/// Returns the nonempty files of a work tree, also those of repositories inside it, but none of the git directory.
pub fn work_files<'m>(
    manifest: &'m Manifest,
    own: &'m RelPath,
) -> impl Iterator<Item = (RelPath, &'m Content)> {
    let entries = manifest.entries().filter_map(|(path, entry)| {
        let content = entry.content().filter(|content| content.size > 0)?;
        Some((path, content))
    });
    let work = work_tree(own);
    entries.filter(move |(path, _)| path.is_within(&work) && !path.is_within(own))
}

/// Returns the nonempty files of a work tree, with the objects that the tree of a commit names for them. Files of another
/// repository have no place in this one's tree.
///
/// # Errors
/// [`Unreadable`].
pub fn named_files<'m>(
    commits: &Named<'_>,
    manifest: &'m Manifest,
    own: &'m RelPath,
    tree: Oid,
) -> Result<Vec<(RelPath, &'m Content, Oid)>, Unreadable> {
    let work = work_tree(own);
    let mut found = Vec::new();
    for (path, content) in work_files(manifest, own) {
        if let Some((_, oid)) = commits.entry(&work, &path, tree)? {
            found.push((path, content, oid));
        }
    }
    Ok(found)
}

/// Returns the git directory of one directory: its `.git`, or the directory itself if it is a bare repository.
fn own(dir: &Directory) -> Option<RelPath> {
    if let Some(own) = dot_git(dir) {
        return Some(own);
    }
    is_repository(dir).then(|| dir.path.clone())
}

fn is_repository(dir: &Directory) -> bool {
    let is_dir = |name| dir.named(name).is_some_and(|entry| entry.is_dir());
    has_head(dir) && is_dir(b"objects") && is_dir(b"refs")
}

fn has_head(dir: &Directory) -> bool {
    dir.named(b"HEAD")
        .is_some_and(|head| matches!(head.kind, EntryKind::File(_) | EntryKind::Symlink(_)))
}

/// Returns true if git takes the directory for a repository, or for the part of one that belongs to a linked work tree.
#[must_use]
pub fn is_git_directory(manifest: &Manifest, path: &RelPath) -> bool {
    let dir = manifest.directory(path);
    dir.is_some_and(|dir| is_repository(dir) || (has_head(dir) && dir.named(b"commondir").is_some()))
}

/// Returns the outermost directory named `.git` that a path is or is in.
#[must_use]
pub fn dot_git_above(path: &RelPath) -> Option<RelPath> {
    let mut end = 0;
    for part in path.parts() {
        end += part.len();
        if is_dot_git(part) {
            return RelPath::new(path.as_bytes().get(..end)?).ok();
        }
        end += 1;
    }
    None
}

/// Returns the git directory that has the branches and the configuration of another one: `worktrees/NAME` lies in the one that all work trees
/// share.
#[must_use]
pub fn shared_git_directory(now: &Manifest, git: &RelPath) -> RelPath {
    let is_linked = now.entry(&git_reader::below(git, "commondir")).is_some();
    match git.split().and_then(|(all, _)| all.split()) {
        Some((common, _)) if is_linked => common,
        _ => git.clone(),
    }
}

fn dot_git(dir: &Directory) -> Option<RelPath> {
    let exact = dir.named(b".git");
    let alike = || dir.entries.iter().find(|entry| is_dot_git(entry.name.as_bytes()));
    let entry = exact.or_else(alike)?;
    Some(dir.path.join(&entry.name))
}
