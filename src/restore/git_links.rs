//! Files of git whose meaning lies in other files: a ref that is absent may be packed, HEAD names a branch, and a repository may borrow the
//! objects of another one. A plan that looks at each file alone would move a branch back over later commits, or delete objects that are needed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::git_formats::GitFormats;
use super::git_objects::GoneObjects;
use super::git_parts::reflog;
use super::left_tree::{LeftStates, LeftTree};
use super::packed_refs::PackedRefs;
use crate::git_directories::{Repositories, is_git_directory, shared_git_directory, work_tree};
use crate::model::{Digest, Manifest, Name, RelPath, SnapshotId, SnapshotRecord};
use crate::store::{Store, StoredTree};
use git_reader::{Files, GitError, Live, Oid, Refs, Repository, below, whole};
use handle_fs::Root;
use handle_fs::remote::Address;

/// Maximum bytes of HEAD and of a list of borrowed objects.
const SMALL: u64 = 64 << 10;
/// Maximum bytes of a list of commits whose parents are missing.
const LONG: u64 = 4 << 20;

/// Maximum bytes of a list of packed refs.
const LONGEST: u64 = 64 << 20;

/// Relations between files of git directories in a mount, as they are now.
#[derive(Clone, Debug, Default)]
pub struct GitLinks {
    /// Refs that have another object than the session left them with, by the path of their own file, whether or not that exists. True for
    /// one that was deleted.
    later: HashMap<RelPath, bool>,
    /// Refs that have the object with which the session left them, by the path of their own file, and the directories of these: git only
    /// packed some of them.
    same: HashSet<RelPath>,
    /// Git directories whose refs could not be compared.
    unread: HashSet<RelPath>,
    /// For each HEAD that names a branch, the path of that branch's own file.
    branches: HashMap<RelPath, RelPath>,
    /// Operations that are under way, and were not in the target.
    operations: Vec<UnderWay>,
    /// Files in work trees that point to a git directory, where the target has something else, with that directory; `None` if it is unknown.
    pointers: HashMap<RelPath, Option<RelPath>>,
    /// Lists of commits whose parents git takes for missing, as the target has them, although these parents are there now.
    deepened: HashSet<RelPath>,
    /// Git directories that borrow objects, with those that lend them.
    lenders: Vec<(RelPath, RelPath)>,
    /// Files of objects that are gone.
    gone: GoneObjects,
    /// Changed lists of packed refs.
    packed: HashMap<RelPath, PackedRefs>,
    /// Refs that the target has, also packed, by the path of their own file.
    in_target: HashSet<RelPath>,
    /// Those that are as the target has them, and the directories that have no others.
    as_in_target: HashSet<RelPath>,
    /// Lists of packed refs that would bring back refs that were deleted after the session, or one beside which a later ref cannot be.
    opposing: HashSet<RelPath>,
    /// Lists in which git has packed a ref that a restore gave a file of its own, which its undo deletes.
    packed_away: HashSet<RelPath>,
    /// Lists in which the session packed refs of its operator.
    operators: HashSet<RelPath>,
    /// Git directories of another format than in the target.
    formats: GitFormats,
}

/// An operation that was begun: git finishes it only where it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnderWay {
    /// A file that exists as long as the operation is not over.
    pub file: RelPath,
    /// HEAD of the work tree.
    pub head: RelPath,
    /// The path of the own file of the branch, if it is on one.
    pub branch: Option<RelPath>,
    /// The reflogs of HEAD and the branch, whose last lines say where these are.
    pub logs: Vec<RelPath>,
}

/// Files that exist as long as an operation is not over.
const OPERATIONS: [&str; 7] = [
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "rebase-merge/head-name",
    "rebase-apply/next",
    "sequencer/todo",
];

/// States with which the git directories of a mount are compared.
pub(super) struct KnownStates<'a> {
    pub store: &'a Store,
    pub target: (&'a SnapshotRecord, Option<&'a Manifest>),
    /// The last state that was seen while the session may have changed it, if any.
    pub last: Option<(&'a Manifest, &'a SnapshotId)>,
    /// The states that restores left, if the target is the state before one of them, which is undone.
    pub left: Option<&'a LeftStates>,
}

impl GitLinks {
    /// Reads the relations in `now`, the live state of the mount at `root`. Contents are read only where files differ.
    pub(super) fn find(known: &KnownStates<'_>, root: &Path, now: &Manifest) -> Self {
        let mut found = Self::default();
        let repositories = Repositories::of(known.last.map(|(last, _)| last).into_iter().chain([now]));
        if repositories.iter().next().is_none() {
            return found;
        }
        let Ok(opened) = Root::open(known.store.transports(), root) else {
            return found;
        };
        let live = Live::new(&opened);
        if let (record, Some(target)) = known.target {
            let blobs = known.store.contents(record);
            let stored = StoredTree::new(target, &blobs, root);
            found.formats = GitFormats::find((target, &stored), (now, &live));
            found.gone = GoneObjects::find([target, now], &stored, &live);
            let dirs = now
                .directories
                .iter()
                .filter(|dir| repositories.holding(&dir.path).is_some());
            let lists = dirs.map(|dir| below(&dir.path, "shallow"));
            let changed = lists.filter(|list| {
                let was = digest(target, list);
                was.is_some() && was != digest(now, list)
            });
            found.deepened = changed.filter(|list| is_deepened(&stored, &live, list)).collect();
        }
        found.compare_refs(known, root, now, &live);
        let target = known.target.1;
        let pointers = repositories.iter().filter(|own| {
            let is = digest(now, own);
            is.is_some() && target.is_some_and(|target| digest(target, own) != is)
        });
        found.pointers = pointers.map(|own| (own.clone(), pointed(&live, own))).collect();
        let differs = |path: &RelPath| {
            known
                .target
                .1
                .is_some_and(|target| digest(target, path) != digest(now, path))
        };
        for dir in &now.directories {
            let Some(own) = repositories.holding(&dir.path) else {
                continue;
            };
            let head = below(&dir.path, "HEAD");
            if differs(&head)
                && is_git_directory(now, &dir.path)
                && let Some(name) = named(&live, &head)
                && let Some(branch) = file_of(&shared_git_directory(now, &dir.path), &name)
            {
                found.branches.insert(head, branch);
            }
            if is_git_directory(now, &dir.path) {
                let begun = OPERATIONS.map(|file| below(&dir.path, file));
                let begun = begun.into_iter().filter(differs);
                let begun = begun.filter(|file| digest(now, file).is_some());
                found
                    .operations
                    .extend(begun.map(|file| under_way(&live, now, &dir.path, file)));
            }
            let is_borrowing = || digest(now, &below(&dir.path, "alternates")).is_some();
            if dir.path.as_bytes().ends_with(b"objects/info") && is_borrowing() {
                // From a place that is not found it may borrow anything: an address or a container has other paths.
                let is_known =
                    |path: &RelPath| now.directory(path).is_some() && repositories.holding(path).is_some();
                let lenders = lenders(&live, &dir.path, root);
                let lenders = lenders.filter(|lenders| lenders.iter().all(is_known));
                let lenders = lenders.unwrap_or_else(|| repositories.iter().cloned().collect());
                found
                    .lenders
                    .extend(lenders.into_iter().map(|path| (own.clone(), path)));
            }
        }
        found
    }

    fn compare_refs(&mut self, known: &KnownStates<'_>, root: &Path, now: &Manifest, live: &Live<'_>) {
        let (record, target) = known.target;
        let blobs = known.store.contents(record);
        let stored = target.map(|target| StoredTree::new(target, &blobs, root));
        let last_blobs = known.last.and_then(|(_, id)| {
            let record = known.store.record(id).ok()?;
            Some(known.store.contents(&record))
        });
        let seen = known.last.zip(last_blobs.as_ref());
        let seen = seen.map(|((last, _), blobs)| StoredTree::new(last, blobs, root));
        // After a restore the files are as the target of its undo has them, but for what it changed.
        let left = known.left.zip(stored.as_ref());
        let left = left.map(|(left, stored)| {
            let of = (known.store, &record.instance);
            LeftTree::new(of, left, stored, (now, live))
        });
        let (before, left_now) = match (known.last, known.left, target) {
            (Some((last, _)), ..) => (last, None),
            (None, Some(left), Some(target)) => (target, Some(left)),
            _ => return,
        };
        let last: Option<&dyn Files> = match &left {
            Some(left) if left_now.is_some() => Some(left),
            _ => seen.as_ref().map(|seen| seen as &dyn Files),
        };
        let was = |path: &RelPath| match left_now.and_then(|left| left.get(path)?.first()) {
            Some(left) => Some(left.state.as_ref()?.content()?.digest),
            None => digest(before, path),
        };
        let dirs = now.directories.iter().chain(&before.directories);
        let dirs: BTreeSet<&RelPath> = dirs
            .map(|dir| &dir.path)
            .filter(|dir| is_git_directory(now, dir) || is_git_directory(before, dir))
            .filter(|dir| {
                let path = below(dir, "packed-refs");
                let is = digest(now, &path);
                is != was(&path) || target.is_some_and(|target| digest(target, &path) != is)
            })
            .collect();
        for dir in dirs {
            let states = || Some((refs(last?, dir).ok()?, refs(live, dir).ok()?));
            let Some((last, live)) = states() else {
                self.unread.insert(dir.clone());
                continue;
            };
            // What is as the target has it loses nothing.
            let list = below(dir, "packed-refs");
            let listed = stored
                .as_ref()
                .and_then(|stored| whole(stored, &list, LONGEST).ok()?);
            let listed = listed.unwrap_or_default();
            let listed: HashSet<&[u8]> = listed.split(|byte| *byte == b'\n').filter_map(name_in).collect();
            let target = stored.as_ref().and_then(|target| refs(target, dir).ok());
            let target = target.unwrap_or_default();
            // Git packs what a ref that names another one leads to.
            let is_symbolic = |path: &RelPath| {
                let gone = known.target.1.filter(|_| now.entry(path).is_none());
                let text = || whole(stored.as_ref()?, path, SMALL).ok()?;
                gone.and_then(|target| target.entry(path)).is_some_and(|entry| {
                    entry.content().is_none() || text().is_some_and(|text| text.starts_with(b"ref:"))
                })
            };
            let names: BTreeSet<&Vec<u8>> = target.keys().chain(last.keys()).chain(live.keys()).collect();
            let mut packed = PackedRefs::default();
            let all = below(dir, "refs");
            // Refs that were moved or made after the session.
            let mut moved: HashSet<&[u8]> = HashSet::new();
            let [mut alike, mut differing]: [HashSet<RelPath>; 2] = Default::default();
            for name in names {
                let Some(path) = file_of(dir, name) else { continue };
                let is = live.get(name);
                if target.contains_key(name) {
                    self.in_target.insert(path.clone());
                    let above = path.ancestors().filter(|above| above.is_within(&all));
                    match is == target.get(name) && !is_symbolic(&path) {
                        true => alike.extend(above.chain([path.clone()])),
                        false => differing.extend(above),
                    }
                }
                packed.add(name, &path, [target.get(name), last.get(name), is]);
                if is == last.get(name) {
                    let sides = [known.target.1, Some(now)];
                    let has_file = sides
                        .into_iter()
                        .flatten()
                        .any(|side| side.entry(&path).is_some());
                    let is_left = left_now.is_some_and(|left| left.contains_key(&path));
                    if is_left && !has_file && is.is_some() && is != target.get(name) {
                        self.packed_away.insert(list.clone());
                    }
                    let above = path.ancestors().filter(|above| above.is_within(&all));
                    self.same.extend(above);
                    self.same.insert(path);
                } else if is != target.get(name) {
                    if is.is_none() && listed.contains(name.as_slice()) {
                        self.opposing.insert(list.clone());
                    }
                    if is.is_some() {
                        moved.insert(name);
                    }
                    self.later.insert(path, is.is_none());
                }
            }
            // Where one of two refs is a directory of the other, git reads only one of them.
            let is_opposed = moved
                .iter()
                .any(|name| directories_of(name).any(|dir| listed.contains(dir)))
                || listed
                    .iter()
                    .any(|name| directories_of(name).any(|dir| moved.contains(dir)));
            if is_opposed {
                self.opposing.insert(list.clone());
            }
            self.as_in_target.extend(alike.difference(&differing).cloned());
            self.packed.insert(list, packed);
        }
    }

    /// Returns true if the ref with this file was changed after the session, or may have been, although the file itself shows no change.
    #[must_use]
    pub(super) fn is_later(&self, path: &RelPath) -> bool {
        let is_ref = |dir: &RelPath| path.is_within(&below(dir, "refs"));
        self.later.contains_key(path) || self.unread.iter().any(is_ref)
    }

    /// Returns true if the ref with this file was deleted after the session, and not only its file.
    #[must_use]
    pub(super) fn is_deleted(&self, path: &RelPath) -> bool {
        self.later.get(path).copied().unwrap_or_default()
    }

    /// Returns true if the ref with this file has the object with which the session left it, also if the file is gone; or for a directory of
    /// such refs.
    #[must_use]
    pub(super) fn is_same(&self, path: &RelPath) -> bool {
        self.same.contains(path)
    }

    /// Returns the branch that the HEAD at this path names, by the path of its file.
    #[must_use]
    pub(super) fn branch(&self, head: &RelPath) -> Option<&RelPath> {
        self.branches.get(head)
    }

    /// Returns each HEAD that is not the target's and names a branch, with the path of that branch's own file.
    pub(super) fn heads(&self) -> impl Iterator<Item = (&RelPath, &RelPath)> {
        self.branches.iter()
    }

    /// Returns true if the target has the ref with this file, wherever git stores it there.
    pub(super) fn is_in_target(&self, path: &RelPath) -> bool {
        self.in_target.contains(path)
    }

    /// Returns the operations that are under way.
    pub(super) fn operations(&self) -> &[UnderWay] {
        &self.operations
    }

    /// Returns the git directory to which a file in a work tree points, where the target has something else: `Some(None)` if it is unknown.
    pub(super) fn pointer(&self, path: &RelPath) -> Option<Option<&RelPath>> {
        self.pointers.get(path).map(Option::as_ref)
    }

    /// Returns true for a list of commits whose parents git takes for missing, if these are there now: with the list of the target the history
    /// of a ref that stays would end there.
    pub(super) fn is_deepened(&self, list: &RelPath) -> bool {
        self.deepened.contains(list)
    }

    /// Returns the comparison of the packed refs in the file at this path, if it was changed after the session.
    pub(super) fn packed(&self, path: &RelPath) -> Option<&PackedRefs> {
        self.packed.get(path)
    }

    /// Returns true if the target has the ref with this file, or may have it: without the file the ref has its value from a list.
    pub(super) fn may_be_packed_in_target(&self, path: &RelPath) -> bool {
        let is_ref = |dir: &RelPath| path.is_within(&below(dir, "refs"));
        self.in_target.contains(path) || self.unread.iter().any(is_ref)
    }

    /// Returns true if the ref with this file is as the target has it, wherever git stores it; also for a directory of only such refs.
    pub(super) fn is_as_in_target(&self, path: &RelPath) -> bool {
        self.as_in_target.contains(path)
    }

    /// Returns the lists in which git has packed a ref that a restore gave a file of its own, which its undo deletes.
    pub(super) fn packed_away(&self) -> impl Iterator<Item = &RelPath> {
        self.packed_away.iter()
    }

    /// Returns true for a list of packed refs that would bring back a ref that was deleted after the session, or one beside which a later ref
    /// cannot be.
    pub(super) fn opposes_later_refs(&self, path: &RelPath) -> bool {
        self.opposing.contains(path)
    }

    /// Returns the git directories of another format than in the target.
    pub(super) fn formats(&self) -> &GitFormats {
        &self.formats
    }

    /// Notes the refs that have the object with which their operator left them, and are packed now: `refs` are their own files, and `oid` reads
    /// one of these. Returns those.
    pub(super) fn note_packed<'r>(
        &mut self,
        (root, now): (&Root, &Manifest),
        refs: impl Iterator<Item = &'r RelPath>,
        oid: &dyn Fn(&RelPath) -> Option<Oid>,
    ) -> HashSet<RelPath> {
        let repositories = Repositories::of([now]);
        let live = Live::new(root);
        let mut known: HashMap<RelPath, Refs> = HashMap::new();
        let mut found = HashSet::new();
        for path in refs.filter(|path| now.entry(path).is_none()) {
            let Some(own) = repositories.holding(path) else {
                continue;
            };
            let packed = known
                .entry(own.clone())
                .or_insert_with(|| self::refs(&live, own).unwrap_or_default());
            let name = path.as_bytes().get(own.as_bytes().len()..).unwrap_or_default();
            let is = packed.get(name.strip_prefix(b"/").unwrap_or(name));
            if is.is_some() && is.copied() == oid(path) {
                self.operators.insert(below(own, "packed-refs"));
                found.insert(path.clone());
            }
        }
        found
    }

    /// Returns true for a list in which the session packed refs of its operator.
    pub(super) fn has_operators_refs(&self, list: &RelPath) -> bool {
        self.operators.contains(list)
    }

    /// Returns the files of objects that are gone.
    pub(super) fn gone_objects(&self) -> &GoneObjects {
        &self.gone
    }

    /// Returns each git directory that borrows objects with a place that lends them.
    pub(super) fn lenders(&self) -> &[(RelPath, RelPath)] {
        &self.lenders
    }
}

/// Returns the operation of which `file` exists in the git directory `git`.
fn under_way(live: &Live<'_>, now: &Manifest, git: &RelPath, file: RelPath) -> UnderWay {
    let head = below(git, "HEAD");
    // A rebase leaves the branch, and names it in a file.
    let rebased = || {
        let (dir, _) = file.split()?;
        let text = whole(live, &below(&dir, "head-name"), SMALL).ok()??;
        Some(text.trim_ascii().to_vec())
    };
    let name = named(live, &head).or_else(rebased);
    let shared = shared_git_directory(now, git);
    let branch = name.and_then(|name| file_of(&shared, &name));
    let log = branch.as_ref().and_then(|branch| reflog(&shared, branch));
    UnderWay {
        file,
        head,
        branch,
        logs: log.into_iter().chain([below(git, "logs/HEAD")]).collect(),
    }
}

/// Returns the git directory to which the file `own` points; `None` if it is not known to be in the mount.
fn pointed(live: &Live<'_>, own: &RelPath) -> Option<RelPath> {
    let repository = Repository::open(live, &work_tree(own)).ok()??;
    repository.git_dir().cloned()
}

/// Returns the names that are directories of a ref.
fn directories_of(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    ends.filter_map(|(at, _)| name.get(..at))
}

/// Returns true if `list` is a list of commits in the target, and all of their parents are there now.
fn is_deepened(stored: &dyn Files, live: &Live<'_>, list: &RelPath) -> bool {
    let repository = || {
        let (dir, _) = list.split()?;
        Repository::open(live, &work_tree(&dir)).ok()?
    };
    let Some((text, repository)) = whole(stored, list, LONG).ok().flatten().zip(repository()) else {
        return false;
    };
    let mut parents = BTreeSet::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let commit = Oid::parse(line).and_then(|id| repository.commit(&id).ok()?);
        match commit {
            Some(commit) => parents.extend(commit.parents),
            None => return false,
        }
    }
    repository
        .missing(&parents)
        .is_ok_and(|missing| missing.is_empty())
}

/// Returns the path of the file of a ref; `None` if no file can have its name.
fn file_of(dir: &RelPath, name: &[u8]) -> Option<RelPath> {
    let parts = name.split(|byte| *byte == b'/');
    let mut names = parts.map(|part| Name::new(part).ok());
    names.try_fold(dir.clone(), |above, name| Some(above.join(&name?)))
}

fn digest(manifest: &Manifest, path: &RelPath) -> Option<Digest> {
    Some(manifest.entry(path)?.content()?.digest)
}

/// Returns the name of the ref in a line of a list of packed refs, if it has one.
fn name_in(line: &[u8]) -> Option<&[u8]> {
    let at = line.iter().position(|byte| *byte == b' ')?;
    line.get(at + 1..).filter(|_| !line.starts_with(b"#"))
}

/// Returns all refs of a git directory; none if it does not exist.
fn refs(files: &dyn Files, dir: &RelPath) -> Result<Refs, GitError> {
    match Repository::open(files, &work_tree(dir))? {
        Some(repository) => repository.refs(),
        None => Ok(Refs::new()),
    }
}

/// Returns the ref that HEAD names; `None` if it names a commit, or cannot be read.
fn named(live: &Live<'_>, head: &RelPath) -> Option<Vec<u8>> {
    let text = whole(live, head, SMALL).ok()??;
    let name = text.strip_prefix(b"ref:")?.trim_ascii();
    name.starts_with(b"refs/").then(|| name.to_vec())
}

/// Returns the directories of objects in the mount from which the one above `info` borrows; `None` if that is unknown.
fn lenders(live: &Live<'_>, info: &RelPath, root: &Path) -> Option<Vec<RelPath>> {
    let text = whole(live, &below(info, "alternates"), SMALL)
        .ok()?
        .unwrap_or_default();
    // On another machine the address is no part of a path.
    let root = Address::split(root).map_or_else(|| root.to_path_buf(), |(_, path)| path);
    let objects = info.split()?.0.on_host(&root);
    let mut found = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let path = plain(&objects.join(OsStr::from_bytes(line)));
        let below = path.strip_prefix(&root).ok()?;
        found.push(RelPath::new(below.as_os_str().as_bytes()).ok()?);
    }
    Some(found)
}

/// Returns an absolute path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}
