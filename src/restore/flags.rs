//! Inode flags (`chattr`) around the moves. What keeps an object from being changed is taken off just before, where the
//! plan changes that object and it still is what the emergency snapshot holds; what an object shall have is set last.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use super::RestoreError;
use super::build_moves::{Move, Moves};
use super::file_identity::{fits, is_birth, is_same, is_same_object};
use super::metadata::sync_last;
use super::plan::{Action, Step};
use super::problem::Problem;
use super::stage::{OwnedInodes, Stage};
use crate::capture::{is_gone, words};
use crate::model::{BoundObject, Entry, Identity, InodeFlags, JournalMove, Manifest, RelPath, Stamp};
use handle_fs::Root;
use handle_fs::remote::Transports;
use handle_fs::{AsHandle as _, HandleRef, NodeKind, Stat};

/// Takes the flags that bind off what `steps` change. Moves that cannot be done because of a flag that stays are taken
/// out of `moves` and given with the reason: nothing is moved aside that could not be removed there.
pub(super) fn lift(
    root: &Root,
    before: &Manifest,
    steps: &[Step],
    moves: &mut Moves,
) -> Vec<(RelPath, Problem)> {
    let bound = take_off_all(root, steps, |_| true);
    let changed: BTreeMap<&RelPath, &Step> = steps.iter().map(|step| (&step.change.path, step)).collect();
    let mut stuck = Vec::new();
    moves.retain(|path, step| {
        let reason = stuck_by_itself(&bound, path, step)
            .or_else(|| stuck_by_directory(&bound, &changed, before, path, step));
        let moved = reason.is_none();
        stuck.extend(reason.map(|reason| (path.clone(), Problem::new(reason))));
        moved
    });
    stuck
}

/// The same before anything is staged, for files that another name shall be linked to: one that is immutable takes none.
/// What fails is tried again by [`lift`], which says so.
pub(super) fn lift_linked(root: &Root, steps: &[Step]) {
    take_off_all(root, steps, |step| {
        let linked = |entry: &Entry| entry.nlink > 1 && !entry.is_dir();
        step.action == Action::Metadata && step.change.from.as_ref().is_some_and(linked)
    });
}

fn take_off_all(
    root: &Root,
    steps: &[Step],
    wanted: impl Fn(&Step) -> bool,
) -> BTreeMap<RelPath, InodeFlags> {
    let mut names: HashMap<u64, u32> = HashMap::new();
    for was in steps.iter().filter_map(|step| step.change.to.as_ref()) {
        *names.entry(was.ino).or_default() += 1;
    }
    let mut bound = BTreeMap::new();
    for (path, was) in bound_now(steps.iter().filter(|step| wanted(step))) {
        // A flag belongs to all names of a file, and the others are not to change.
        let elsewhere = !was.is_dir() && names.get(&was.ino).is_none_or(|here| *here < was.nlink);
        if elsewhere || take_off(root, path, was).is_err() {
            bound.insert(path.clone(), was.flags);
        }
    }
    bound
}

/// Returns the objects whose flags [`lift`] may clear. The intent records them, so that a crash cannot leave the flags cleared.
pub(super) fn bound(steps: &[Step]) -> Vec<BoundObject> {
    bound_now(steps.iter())
        .map(|(path, was)| BoundObject {
            path: path.clone(),
            ino: was.ino,
            flags: was.flags,
        })
        .collect()
}

/// Restores what was taken off, after every move was rolled back, and makes that durable. Gives what could not be.
pub(super) fn put_back(root: &Root, bound: &[BoundObject]) -> Vec<RestoreError> {
    if bound.is_empty() {
        return Vec::new();
    }
    let mut failed = Vec::new();
    for was in bound {
        let done = on_object(root, &was.path, |handle, is| {
            // Another object at this path, and flags that another process set since, are left alone.
            if is.ino == was.ino && is.flags == was.flags.unbound() {
                handle_fs::set_inode_flags(handle, was.flags)
            } else {
                Ok(())
            }
        });
        match done {
            // It is nowhere any more.
            Err(error) if is_gone(&error) => {}
            Err(source) => failed.push(RestoreError::Unbound {
                path: was.path.on_host(root.path()),
                source,
            }),
            Ok(()) => {}
        }
    }
    // Nobody comes back to it once the papers are gone.
    failed.extend(sync_last(root).err());
    failed
}

/// Returns true if objects made in the staging directory inherit flags from it.
pub(super) fn inherits(stage: &Stage) -> bool {
    stage.dir().stat().is_ok_and(|stat| !stat.flags.is_empty())
}

/// Objects that a restore put at its paths or left there. What another process put there since is none of them.
pub(super) struct Placed<'a> {
    moves: HashMap<&'a RelPath, Vec<&'a JournalMove>>,
    known: &'a OwnedInodes,
}

impl<'a> Placed<'a> {
    pub(super) fn of(moves: &'a [JournalMove], known: &'a OwnedInodes) -> Self {
        let mut placed: HashMap<_, Vec<_>> = HashMap::new();
        for step in moves {
            placed.entry(&step.path).or_default().push(step);
        }
        Self { moves: placed, known }
    }

    /// Returns true if the object at the path of `step` is the restore's. What lies in a directory that was moved as a whole has
    /// no move of its own.
    fn holds(&self, step: &Step, is: &Stat, layered: bool) -> bool {
        let stayed = |was: &Entry| is_same_object(was, is);
        match self.moves.get(&step.change.path) {
            Some(moves) => {
                let mut named = moves.iter().flat_map(|step| [&step.old, &step.new]).flatten();
                named.any(|identity| is_placed(identity, is, layered))
            }
            None => self.known.has(is) || step.change.to.as_ref().is_some_and(stayed),
        }
    }
}

/// Returns true if `is` describes the object of `identity`. The times of a directory change with its entries; an overlay may copy
/// a directory, and the copy is born then.
fn is_placed(identity: &Identity, is: &Stat, layered: bool) -> bool {
    if is.kind != NodeKind::Directory {
        return is_same(identity, is, false);
    }
    let born = identity.born.zip(is.born.map(Stamp::from));
    identity.ino == is.ino && (layered || born.is_none_or(|(then, now)| is_birth(then, now)))
}

/// Gives what the restore put at the paths of `steps` the flags that it shall have, when all else is done; also to what could not
/// be changed the flags that it had. Gives what could not be set, with the reason.
pub(super) fn set(
    (transports, root): (&Transports, &Path),
    inherits: bool,
    steps: &[Step],
    placed: &Placed<'_>,
) -> Vec<(RelPath, Problem)> {
    let mut problems = Vec::new();
    let concerned: Vec<&Step> = concerned(inherits, steps).collect();
    if concerned.is_empty() {
        return problems;
    }
    let Ok(root) = Root::open(transports, root) else {
        // The look that follows says so.
        return problems;
    };
    // What lies in a directory before the directory.
    for step in concerned.into_iter().rev() {
        let path = &step.change.path;
        let done = on_object(&root, path, |handle, is| {
            let wanted = wanted(step, is).filter(|wanted| *wanted != is.flags);
            let Some(wanted) = wanted.filter(|_| placed.holds(step, is, root.is_layered())) else {
                return Ok(());
            };
            handle_fs::set_inode_flags(handle, wanted)
        });
        match done {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let note = format!("its flags could not be set: {}", words(&error));
                problems.push((path.clone(), Problem::caused(note, &error)));
            }
            _ => {}
        }
    }
    problems
}

/// Returns true if any of the steps concerns flags.
pub(super) fn concern(inherits: bool, steps: &[Step]) -> bool {
    concerned(inherits, steps).next().is_some()
}

fn concerned(inherits: bool, steps: &[Step]) -> impl Iterator<Item = &Step> {
    let has = |entry: &Option<Entry>| entry.as_ref().is_some_and(|entry| !entry.flags.is_empty());
    steps
        .iter()
        .filter(move |step| inherits || has(&step.change.from) || has(&step.change.to))
}

/// The flags of what is at the path of a step now.
fn wanted(step: &Step, is: &Stat) -> Option<InodeFlags> {
    let (from, to) = (&step.change.from, &step.change.to);
    let stayed = to
        .as_ref()
        .filter(|to| to.ino == is.ino && step.action != Action::Metadata);
    stayed.or(from.as_ref()).map(|entry| entry.flags)
}

/// The steps whose object binds, as it was before.
fn bound_now<'s>(steps: impl Iterator<Item = &'s Step>) -> impl Iterator<Item = (&'s RelPath, &'s Entry)> {
    steps
        .filter_map(|step| Some((&step.change.path, step.change.to.as_ref()?)))
        .filter(|(_, was)| was.flags.bind())
}

/// Takes the flags that bind off one object, when it still is what was recorded.
fn take_off(root: &Root, path: &RelPath, was: &Entry) -> io::Result<()> {
    on_object(root, path, |handle, is| {
        let same = fits(was, is, was.is_dir() || was.nlink > 1);
        if same && is.flags == was.flags {
            handle_fs::set_inode_flags(handle, was.flags.unbound())
        } else {
            // It has another name that was met before; or it changed, which whoever moves it notices.
            Ok(())
        }
    })
}

/// Returns the reason why a move is impossible: a flag binds the object or something in it.
fn stuck_by_itself(bound: &BTreeMap<RelPath, InodeFlags>, path: &RelPath, step: &Move) -> Option<String> {
    let (first, flags) = bound.range(path..).next()?;
    if first == path {
        Some(format!("it {}", says(*flags)))
    } else if first.is_within(path) && matches!(step, Move::Out(_) | Move::Swap(_)) {
        Some(format!("its content {}", says(*flags)))
    } else {
        None
    }
}

/// Returns the reason why a move is impossible: a flag keeps the directory from gaining or losing names.
fn stuck_by_directory(
    bound: &BTreeMap<RelPath, InodeFlags>,
    changed: &BTreeMap<&RelPath, &Step>,
    before: &Manifest,
    path: &RelPath,
    step: &Move,
) -> Option<String> {
    let (parent, _) = path.split()?;
    let flags = before.entry(&parent)?.flags;
    let adds = matches!(step, Move::In(_)) && !flags.contains(InodeFlags::IMMUTABLE);
    let lifted = changed.contains_key(&parent) && !bound.contains_key(&parent);
    let free = !flags.bind() || lifted || adds || matches!(step, Move::Metadata(_));
    (!free).then(|| format!("its directory {}", says(flags)))
}

fn says(flags: InodeFlags) -> String {
    let (immutable, append) = (
        flags.contains(InodeFlags::IMMUTABLE),
        flags.contains(InodeFlags::APPEND),
    );
    let (what, letters, words) = match (immutable, append) {
        (true, true) => ("immutable and append-only", "ia", "nouchg,nouappnd"),
        (true, false) => ("immutable", "i", "nouchg"),
        _ => ("append-only", "a", "nouappnd"),
    };
    match cfg!(target_vendor = "apple") {
        true => format!("is {what}; `chflags {words}` takes that off"),
        false => format!("is {what}; `chattr -{letters}` takes that off"),
    }
}

/// Does something with a file or directory through its own handle, to which no link and no mount led.
fn on_object(
    root: &Root,
    path: &RelPath,
    act: impl FnOnce(HandleRef<'_>, &Stat) -> io::Result<()>,
) -> io::Result<()> {
    let Some((parent, name)) = path.split() else {
        let dir = root.dir(path)?;
        return act(dir.as_handle(), &dir.stat()?);
    };
    let dir = root.dir(&parent)?;
    let name = name.as_os_str();
    match dir.look(name)?.map(|stat| stat.kind) {
        Some(NodeKind::File) => {
            let (file, stat) = dir.file(name)?;
            on_this_mount(root, &stat)?;
            act(file.as_handle(), &stat)
        }
        Some(NodeKind::Directory) => {
            let child = dir.dir(name)?;
            let stat = child.stat()?;
            on_this_mount(root, &stat)?;
            act(child.as_handle(), &stat)
        }
        // Nothing else has any.
        _ => Ok(()),
    }
}

fn on_this_mount(root: &Root, stat: &Stat) -> io::Result<()> {
    if stat.is_on(root.place()) {
        Ok(())
    } else {
        Err(io::ErrorKind::CrossesDevices.into())
    }
}
