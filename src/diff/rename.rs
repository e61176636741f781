//! Finds moved files: one deleted, one added, the same content.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use super::change::{Change, ChangeKind};
use crate::model::{Content, Entry, EntryKind, RelPath};
use git_reader::is_dot_git;

/// Replaces each pair of a deleted and an added regular file of the same content by one renamed path.
#[must_use]
pub fn pair_renames(changes: Vec<Change>) -> Vec<Change> {
    let all: Vec<&Change> = changes.iter().collect();
    let partner = renames(&all);
    if partner.is_empty() {
        return changes;
    }
    let moved: HashMap<usize, Change> = partner
        .values()
        .filter_map(|old| Some((*old, changes.get(*old)?.clone())))
        .collect();
    let mut paired = Vec::with_capacity(changes.len());
    for (at, change) in changes.into_iter().enumerate() {
        if moved.contains_key(&at) {
            continue;
        }
        match partner.get(&at).and_then(|old| moved.get(old)) {
            None => paired.push(change),
            Some(old) => paired.push(Change {
                kind: ChangeKind::Renamed,
                from: old.from.clone(),
                from_path: Some(old.path.clone()),
                has_secret_name: old.has_secret_name || change.has_secret_name,
                ..change
            }),
        }
    }
    paired
}

/// Returns the index of the deleted regular file that each added one was. Empty files prove no origin and are not paired. The
/// same inode is preferred, then a pair that keeps its name. A ref of git is no other ref: two that name one commit have one content.
#[must_use]
pub fn renames(changes: &[&Change]) -> HashMap<usize, usize> {
    let all = |kind| {
        let files = changes.iter().enumerate();
        files.filter_map(move |(at, change)| Some((at, Movable::new(change, kind)?)))
    };
    let mut partner: HashMap<usize, usize> = HashMap::new();
    let mut added: Vec<(usize, Movable<'_>)> = all(ChangeKind::Added).collect();
    if added.is_empty() {
        return partner;
    }
    let mut gone: Vec<(usize, Movable<'_>)> = all(ChangeKind::Deleted).collect();
    // First the inode, which a rename keeps. Then those that kept their name, so that a whole moved directory pairs file by file.
    for alike in [Alike::Inode, Alike::Name, Alike::Content] {
        // Each deleted file waits under the one key that its partner has: the first in the list comes first.
        let mut waiting: HashMap<Key<'_>, VecDeque<usize>> = HashMap::new();
        for (at, file) in &gone {
            waiting.entry(file.key(alike)).or_default().push_back(*at);
        }
        let mut left: HashSet<usize> = gone.iter().map(|(at, _)| *at).collect();
        added.retain(|(at, file)| {
            let found = waiting.get_mut(&file.key(alike)).and_then(VecDeque::pop_front);
            if let Some(old) = found {
                partner.insert(*at, old);
                left.remove(&old);
            }
            found.is_none()
        });
        gone.retain(|(at, _)| left.contains(at));
    }
    partner
}

/// Criteria that match a deleted file with an added one.
#[derive(Clone, Copy)]
enum Alike {
    Inode,
    Name,
    Content,
}

/// Properties that a deleted and an added file have in common: the content, the ref that it is, and the inode or the name.
type Key<'a> = (&'a Content, Option<&'a [u8]>, Option<u64>, Option<&'a [u8]>);

/// A regular file that may have moved.
struct Movable<'a> {
    content: &'a Content,
    ino: u64,
    name: &'a [u8],
    reference: Option<&'a [u8]>,
}

impl<'a> Movable<'a> {
    /// Returns the file of a change of this kind, unless it is empty or no regular file.
    fn new(change: &'a Change, kind: ChangeKind) -> Option<Self> {
        let side = match kind {
            ChangeKind::Deleted => &change.from,
            _ => &change.to,
        };
        let entry = side.as_ref().filter(|_| change.kind == kind)?;
        Some(Self {
            content: entry.content().filter(|content| content.size > 0)?,
            ino: entry.ino,
            name: name(&change.path),
            reference: reference(&change.path),
        })
    }

    fn key(&self, alike: Alike) -> Key<'a> {
        match alike {
            Alike::Inode => (self.content, self.reference, Some(self.ino), None),
            Alike::Name => (self.content, self.reference, None, Some(self.name)),
            Alike::Content => (self.content, self.reference, None, None),
        }
    }
}

/// Returns the path below its directory `.git` of a file that holds a ref.
fn reference(path: &RelPath) -> Option<&[u8]> {
    let bytes = path.as_bytes();
    let mut start = 0;
    for part in bytes.split(|byte| *byte == b'/') {
        start += part.len() + 1;
        let below = bytes.get(start..).unwrap_or_default();
        if is_dot_git(part) {
            // Also of a submodule or a linked work tree. The reflog of a branch moves with it.
            let mut parts = below.split(|byte| *byte == b'/');
            let kind = parts.find(|part| matches!(*part, b"refs" | b"logs"));
            let is_ref = kind == Some(b"refs") || kind.is_none() && below.ends_with(b"HEAD");
            return is_ref.then_some(below);
        }
    }
    None
}

/// Inode, kind and maybe name, by which an object is found again.
type ObjectKey<'a> = (u64, &'a EntryKind, Option<&'a [u8]>);

/// Returns every pair of an earlier and a later path of one object. Besides [`renames`], it finds moves that appear as other
/// changes, because a path was taken, or the object is empty or no regular file. Directories come first.
#[must_use]
pub fn moved(changes: &[Change]) -> Vec<(RelPath, RelPath)> {
    let all: Vec<&Change> = changes.iter().collect();
    let shown = renames(&all).into_iter();
    let mut pairs: BTreeSet<(RelPath, RelPath)> = shown
        .filter_map(|(new, old)| Some((changes.get(old)?.path.clone(), changes.get(new)?.path.clone())))
        .collect();
    let paired: BTreeSet<RelPath> = pairs.iter().map(|(_, new)| new.clone()).collect();
    // The first of each inode and kind, and the first of them with each name.
    let mut gone: HashMap<ObjectKey<'_>, (&RelPath, &Entry)> = HashMap::new();
    let ino = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.ino);
    let stays = |change: &&Change| ino(&change.from) == ino(&change.to);
    for change in changes.iter().filter(|change| !stays(change)) {
        if let Some(from) = &change.from {
            for name in [None, Some(name(&change.path))] {
                let key = (from.ino, &from.kind, name);
                gone.entry(key).or_insert((&change.path, from));
            }
        }
    }
    let mut directories = Vec::new();
    for change in changes.iter().filter(|change| !stays(change)) {
        let Some(to) = change.to.as_ref().filter(|_| !paired.contains(&change.path)) else {
            continue;
        };
        let first = |name| gone.get(&(to.ino, &to.kind, name));
        let Some((old, from)) = first(Some(name(&change.path))).or_else(|| first(None)) else {
            continue;
        };
        if reference(old) != reference(&change.path) {
            continue;
        }
        let pair = ((*old).clone(), change.path.clone());
        // A number may be given again once its object is gone. What a rename leaves alone is the time of the content.
        let is_full = to.content().is_some_and(|content| content.size > 0);
        if is_full || from.mtime == to.mtime {
            pairs.insert(pair);
        } else if to.is_dir() {
            directories.push(pair);
        }
    }
    // A directory in which something changed has another time: something that moved with it is the proof.
    let mut carried: BTreeSet<(RelPath, RelPath)> = BTreeSet::new();
    for (old, new) in &pairs {
        let (mut old, mut new) = (old.clone(), new.clone());
        while let (Some((above_old, a)), Some((above_new, b))) = (old.split(), new.split()) {
            if a != b || !carried.insert((above_old.clone(), above_new.clone())) {
                break;
            }
            (old, new) = (above_old, above_new);
        }
    }
    pairs.extend(directories.into_iter().filter(|pair| carried.contains(pair)));
    let is_dir: BTreeSet<&RelPath> = changes
        .iter()
        .filter(|change| change.to.as_ref().is_some_and(Entry::is_dir))
        .map(|change| &change.path)
        .collect();
    let (mut first, rest): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(_, new)| is_dir.contains(new));
    first.extend(rest);
    first
}

fn name(path: &RelPath) -> &[u8] {
    path.halves().1
}

#[cfg(test)]
mod tests {
    use super::reference;
    use crate::model::RelPath;

    #[test]
    fn a_file_with_a_ref_is_that_of_no_other_ref() {
        for (path, below) in [
            ("a/.git/refs/heads/x", Some("refs/heads/x")),
            (".git/modules/m/refs/heads/x", Some("modules/m/refs/heads/x")),
            (".git/worktrees/w/HEAD", Some("worktrees/w/HEAD")),
            (".git/ORIG_HEAD", Some("ORIG_HEAD")),
            (".git/logs/refs/heads/x", None),
            (".git/logs/HEAD", None),
            (".git/objects/ab/cd", None),
            ("refs/heads/x", None),
            (".git", None),
        ] {
            let path = RelPath::new(path.as_bytes()).unwrap();
            assert_eq!(reference(&path), below.map(str::as_bytes), "{path:?}");
        }
    }
}
