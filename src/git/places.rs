//! Which paths of a mount are git's own.

use crate::model::{Content, Directory, EntryKind, Manifest, Name, RelPath};

/// The directories, and the files that point to one, in which git keeps its own things. Told by their names and what is in them,
/// on any side of a comparison: what a session removed is git's as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repositories(Vec<RelPath>);

impl Repositories {
    /// Those in any of `sides`.
    pub fn of<'m>(sides: impl IntoIterator<Item = &'m Manifest>) -> Self {
        let directories = sides.into_iter().flat_map(|side| &side.directories);
        Self::outermost(directories.filter_map(|dir| own(dir)).collect())
    }

    /// Those in `target`, and in `now` those that a name tells: what a session made must not take a directory of files for a bare
    /// repository.
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

    /// The one that `path` lies in.
    #[must_use]
    pub fn holding(&self, path: &RelPath) -> Option<&RelPath> {
        let after = self.0.partition_point(|own| own <= path);
        let own = self.0.get(after.checked_sub(1)?)?;
        path.is_within(own).then_some(own)
    }

    /// All of them, in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = &RelPath> {
        self.0.iter()
    }
}

/// The work tree that belongs to what is git's own; a bare repository has none and is named itself.
#[must_use]
pub fn work_tree(own: &RelPath) -> RelPath {
    match own.split() {
        Some((parent, name)) if name.as_bytes() == b".git" => parent,
        _ => own.clone(),
    }
}

/// The files of a work tree that have any bytes, with those of repositories in it, and without what is git's own.
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

/// `index.lock` and its like, while git is at work or when it was killed; a branch cannot have such a name.
#[must_use]
pub fn is_lock(name: &Name) -> bool {
    let name = name.as_bytes();
    name.ends_with(b".lock") || name == b"gc.pid"
}

/// What is git's in one directory: its `.git`, or the directory itself when it is a bare repository.
fn own(dir: &Directory) -> Option<RelPath> {
    if let Some(own) = dot_git(dir) {
        return Some(own);
    }
    let entry = |name: &[u8]| dir.entry(&Name::new(name).ok()?);
    let is_dir = |name| entry(name).is_some_and(|entry| entry.is_dir());
    let bare =
        entry(b"HEAD").is_some_and(|head| matches!(head.kind, EntryKind::File(_) | EntryKind::Symlink(_)));
    (bare && is_dir(b"objects") && is_dir(b"refs")).then(|| dir.path.clone())
}

fn dot_git(dir: &Directory) -> Option<RelPath> {
    let entry = dir.entry(&Name::new(b".git").ok()?)?;
    Some(dir.path.join(&entry.name))
}
