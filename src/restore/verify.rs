//! Reads what a restore made back from the tree, path by path, and compares it with what it should be. Nothing else is looked
//! at: what was not touched is as it was.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::rc::Rc;
use std::sync::OnceLock;

use super::folded_names::is_by_another_name;
use super::hard_links::groups;
use super::plan::Step;
use super::survey::{self, TOGETHER};
use crate::capture::{ContentSource, entry_of, is_gone, words};
use crate::model::{Content, Entry, EntryKind, Manifest, Name, RelPath};
use crate::observer::{Observer, Phase};
use handle_fs::{Dir, Root};
use handle_fs::{NodeKind, Stat, parallel};

/// Up to so many bytes a file is read at once.
const SMALL: u64 = 1 << 20;

/// Result of the comparison after a restore.
#[derive(Debug, Default)]
pub(super) struct Verified {
    /// Paths that are not what they should be.
    pub(super) differ: BTreeSet<RelPath>,
    /// Differing paths that have their target state, but are not linked to the other names of their file.
    pub(super) apart: BTreeSet<RelPath>,
    /// Differing paths that do not have their old state either, with what is there.
    pub(super) changed: BTreeMap<RelPath, Option<Entry>>,
    /// Paths that could not be read back, with the reason.
    pub(super) unread: BTreeMap<RelPath, String>,
}

/// Compares the paths of `steps` below `root` with `target`.
pub(super) fn verify(
    root: &Root,
    steps: &[Step],
    target: Option<&Manifest>,
    observer: &dyn Observer,
) -> Verified {
    observer.begin(Phase::Compare);
    observer.expect(steps.len() as u64, 0);
    let groups = target.map(LinkGroups::of);
    let found = in_parts(
        root,
        steps,
        |step| &step.change.path,
        |eye, step| {
            let verdict = eye.judge(step, groups.as_ref());
            observer.advance(
                1,
                step.change
                    .from
                    .as_ref()
                    .and_then(Entry::content)
                    .map_or(0, |c| c.size),
            );
            verdict
        },
    );
    observer.end();
    let mut verified = Verified::default();
    for (step, verdict) in steps.iter().zip(found) {
        let path = &step.change.path;
        match verdict {
            Ok(Verdict::Right) => {}
            Ok(Verdict::Before) => {
                verified.differ.insert(path.clone());
            }
            Ok(Verdict::Apart { as_before }) => {
                verified.differ.insert(path.clone());
                verified.apart.insert(path.clone());
                if !as_before {
                    verified.changed.insert(path.clone(), None);
                }
            }
            Ok(Verdict::Other(live)) => {
                verified.differ.insert(path.clone());
                verified.changed.insert(path.clone(), live.map(|live| *live));
            }
            Err(error) => {
                verified.unread.insert(path.clone(), words(&error));
            }
        }
    }
    verified
}

/// Result of reading back the paths that were written.
#[derive(Debug, Default)]
pub(super) struct ReadBack {
    /// Paths that differ from the manifest.
    pub(super) differ: Vec<RelPath>,
    /// Number of paths that this user may not read.
    pub(super) unread: u64,
}

/// Compares `paths` below `root` with `manifest`, whose whole tree was written there. If it is stopped, the
/// result is shorter.
pub(super) fn read_back(
    root: &Root,
    manifest: &Manifest,
    paths: &[&RelPath],
    observer: &dyn Observer,
) -> ReadBack {
    observer.begin(Phase::Verify);
    observer.expect(paths.len() as u64, 0);
    let groups = LinkGroups::of(manifest);
    let found = in_parts(
        root,
        paths,
        |path| *path,
        |eye, path| {
            if observer.cancelled() {
                return Ok(true);
            }
            let wanted = manifest.entry(path);
            let is_right = eye.is_written(path, wanted, &groups);
            let size = wanted.and_then(Entry::content).map_or(0, |content| content.size);
            observer.advance(1, size);
            is_right
        },
    );
    observer.end();
    let mut seen = ReadBack::default();
    for (path, found) in paths.iter().zip(found) {
        match found {
            Ok(true) => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => seen.unread += 1,
            Ok(false) | Err(_) => seen.differ.push((*path).clone()),
        }
    }
    seen
}

/// Looks at all items by their paths. Those of another machine are read together, some at a time.
fn in_parts<'i, T: Sync, R: Send>(
    root: &Root,
    items: &'i [T],
    path: impl Fn(&'i T) -> &'i RelPath,
    look: impl Fn(&mut Eye<'_>, &T) -> R + Sync,
) -> Vec<R> {
    let is_layered = root.is_layered();
    let eye = || Eye {
        root,
        is_layered,
        held: None,
        inodes: HashMap::new(),
    };
    if !root.is_far() {
        return parallel::map_with(items, eye, look);
    }
    let mut found = Vec::with_capacity(items.len());
    for some in items.chunks(TOGETHER) {
        let _view = survey::of_paths(root, some.iter().map(&path), true);
        let mut eye = eye();
        found.extend(some.iter().map(|item| look(&mut eye, item)));
    }
    found
}

enum Verdict {
    /// The path has its target state.
    Right,
    /// The path has its old state.
    Before,
    /// The path has its target state, but is another file than the other names of its group; that may be its old state, too.
    Apart { as_before: bool },
    /// Neither, but this.
    Other(Option<Box<Entry>>),
}

/// The names of each file of the target that has several.
struct LinkGroups<'m> {
    target: &'m Manifest,
    /// By the first name, once they were asked for.
    names: OnceLock<HashMap<RelPath, Vec<RelPath>>>,
}

impl<'m> LinkGroups<'m> {
    fn of(target: &'m Manifest) -> Self {
        Self {
            target,
            names: OnceLock::new(),
        }
    }

    /// Returns the names of the file at `path`, which has several; none if the target has only one of them.
    fn holding(&self, path: &RelPath, entry: &Entry) -> &[RelPath] {
        let first = entry.link.as_ref().unwrap_or(path);
        let names = self.names.get_or_init(|| groups(self.target)).get(first);
        names.map(Vec::as_slice).unwrap_or_default()
    }
}

/// Looks at one path after the other, with the last directory in hand.
struct Eye<'a> {
    root: &'a Root,
    is_layered: bool,
    held: Option<(RelPath, Dir)>,
    /// Inodes of the names of a group, by its first name. Nothing moves any more.
    inodes: HashMap<RelPath, Rc<[Option<u64>]>>,
}

impl Eye<'_> {
    fn judge(&mut self, step: &Step, target: Option<&LinkGroups<'_>>) -> io::Result<Verdict> {
        let (from, to) = (step.change.from.as_ref(), step.change.to.as_ref());
        let live = match self.state(&step.change.path, from.and_then(Entry::content)) {
            Ok(live) => live,
            // What was put back lets its owner in no more; it was compared when it was written.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Verdict::Right),
            // A socket, for example, in the place of a file is no error of reading.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(Verdict::Other(None)),
            Err(error) => return Err(error),
        };
        // What a directory that ignores case shows for a name that is gone is another path.
        let live = match from {
            None if live.is_some() && is_by_another_name(self.root, &step.change.path) => None,
            _ => live,
        };
        let is_linked = |eye: &mut Self| {
            let wanted = from.zip(live.as_ref()).zip(target);
            wanted.is_none_or(|((wanted, live), groups)| {
                eye.is_linked(&step.change.path, (wanted, live), groups)
            })
        };
        let is_right = is_like(from, live.as_ref());
        if is_right && is_linked(self) {
            return Ok(Verdict::Right);
        }
        // Content is digested as each side has it.
        let as_it_was = self.state(&step.change.path, to.and_then(Entry::content))?;
        Ok(match is_like(to, as_it_was.as_ref()) {
            as_before if is_right => Verdict::Apart { as_before },
            true => Verdict::Before,
            false => Verdict::Other(live.map(Box::new)),
        })
    }

    /// Returns true if a path that was written matches the manifest.
    fn is_written(
        &mut self,
        path: &RelPath,
        wanted: Option<&Entry>,
        groups: &LinkGroups<'_>,
    ) -> io::Result<bool> {
        let content = wanted.and_then(Entry::content);
        let mut live = self.state(path, content)?;
        // A copy gets no inode flags but those that its directory passes on.
        if let (Some(live), Some(wanted)) = (&mut live, wanted) {
            live.flags = wanted.flags;
        }
        if content.is_some() && wanted.is_some_and(|wanted| wanted.mode & 0o400 == 0) {
            // Above, what may not be read is taken by its size; here that is told.
            let (parent, name) = path.split().ok_or(io::ErrorKind::InvalidInput)?;
            self.dir(&parent)?.file(name.as_os_str())?;
        }
        let is_linked = |eye: &mut Self| {
            let wanted = wanted.zip(live.as_ref());
            wanted.is_none_or(|states| eye.is_linked(path, states, groups))
        };
        Ok(is_like(wanted, live.as_ref()) && is_linked(self))
    }

    /// Returns true if the object is the same file as another name of its group. It stands for itself if no other one is as in the
    /// target and may be linked to.
    fn is_linked(
        &mut self,
        path: &RelPath,
        (wanted, live): (&Entry, &Entry),
        groups: &LinkGroups<'_>,
    ) -> bool {
        if wanted.nlink < 2 {
            return true;
        }
        let names = groups.holding(path, wanted);
        let Some(first) = names.first() else {
            return true;
        };
        let inodes = self.inodes_of(first, names);
        let others = || {
            let all = names.iter().zip(&*inodes).filter(|(name, _)| *name != path);
            all.filter_map(|(name, ino)| Some((name, (*ino)?)))
        };
        let is_joined = others().any(|(_, ino)| ino == live.ino);
        // Only an overlay parts a file from its other names.
        if is_joined && !self.is_layered {
            return true;
        }
        // A name of another file than in the target, which has names elsewhere: nothing is linked to that.
        let is_foreign = |then: &Entry, now: &Entry| {
            let shown = others().filter(|(_, ino)| *ino == now.ino).count();
            then.ino != now.ino && usize::try_from(now.nlink).is_ok_and(|all| all > shown)
        };
        let is_apart = |(name, ino): (&RelPath, u64)| {
            let then = groups.target.entry(name)?;
            // The contents of the others are not asked for: there may be many.
            let is_asked = ino != live.ino && (!is_joined || then.ino == ino);
            let now = is_asked
                .then(|| self.state(name, then.content()).ok())
                .flatten()??;
            let is_meant = is_joined || !is_foreign(then, &now);
            (is_meant && is_like(Some(then), Some(&now))).then_some(())
        };
        others().find_map(is_apart).is_none()
    }

    /// Returns the inode of each name of a group.
    fn inodes_of(&mut self, first: &RelPath, names: &[RelPath]) -> Rc<[Option<u64>]> {
        if let Some(known) = self.inodes.get(first) {
            return Rc::clone(known);
        }
        let look = |name: &RelPath| {
            let (parent, name) = name.split()?;
            Some(self.dir(&parent).ok()?.look(name.as_os_str()).ok()??.ino)
        };
        let found: Rc<[Option<u64>]> = names.iter().map(look).collect();
        self.inodes.insert(first.clone(), Rc::clone(&found));
        found
    }

    /// Returns the current entry at a path. Content is hashed with the method of `expected`.
    fn state(&mut self, path: &RelPath, expected: Option<&Content>) -> io::Result<Option<Entry>> {
        let (parent, name) = match path.split() {
            Some((parent, name)) => (parent, name),
            // The root's own name is never used.
            None => (RelPath::root(), Name::new(b"root").map_err(io::Error::other)?),
        };
        let dir = match self.dir(&parent) {
            Err(error) if is_gone(&error) => return Ok(None),
            other => other?,
        };
        let at = if path.is_root() {
            std::ffi::OsStr::new(".")
        } else {
            name.as_os_str()
        };
        let Some(stat) = dir.look(at)? else {
            return Ok(None);
        };
        let kind = kind(dir, at, &stat, expected)?;
        let mut entry = entry_of(name.clone(), &stat, kind);
        entry.xattrs = dir.attributes(at)?;
        Ok(Some(entry))
    }

    fn dir(&mut self, parent: &RelPath) -> io::Result<&Dir> {
        let held = match self.held.take() {
            Some((path, dir)) if path == *parent => (path, dir),
            _ => (parent.clone(), self.root.dir(parent)?),
        };
        Ok(&self.held.insert(held).1)
    }
}

fn kind(dir: &Dir, name: &std::ffi::OsStr, stat: &Stat, expected: Option<&Content>) -> io::Result<EntryKind> {
    Ok(match stat.kind {
        NodeKind::File => {
            let (file, stat) = match (dir.file(name), expected) {
                (Err(error), Some(expected))
                    if error.kind() == io::ErrorKind::PermissionDenied && expected.size == stat.size =>
                {
                    return Ok(EntryKind::File(*expected));
                }
                (opened, _) => opened?,
            };
            let mut source = ContentSource::new(file, &stat, expected.map(|content| content.method))?;
            EntryKind::File(if stat.size <= SMALL {
                source.load()?.0
            } else {
                source.digest(|_| Ok(()))?
            })
        }
        NodeKind::Directory => EntryKind::Directory,
        NodeKind::Symlink => EntryKind::Symlink(dir.link_target(name)?.into()),
        NodeKind::Fifo => EntryKind::Fifo,
        NodeKind::Socket => EntryKind::Socket,
        NodeKind::CharDevice => EntryKind::CharDevice(stat.rdev.0, stat.rdev.1),
        NodeKind::BlockDevice => EntryKind::BlockDevice(stat.rdev.0, stat.rdev.1),
        NodeKind::Other => return Err(io::ErrorKind::Unsupported.into()),
    })
}

/// The same state, but for times, inodes and the hard link group.
fn is_like(wanted: Option<&Entry>, live: Option<&Entry>) -> bool {
    match (wanted, live) {
        (None, None) => true,
        (Some(wanted), Some(live)) => wanted.kind == live.kind && wanted.same_metadata(live),
        _ => false,
    }
}
