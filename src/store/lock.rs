//! Locks that the kernel holds for a process and lets go with it, so that none is ever stale.
//!
//! They are `flock` locks: they belong to the open file, which is close-on-exec, so a child never inherits
//! one. A lock file is removed by who lets the lock go; the next one may therefore hold a lock on a file that
//! has lost its name, and checks for that.

mod held;

use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) use held::{held, is_held};

use super::{Layout, LockedObject, StoreError, durable, layout};
use crate::environment::Operator;
use crate::model::{Digest, InstanceId};
use handle_fs::remote::{Address, upwards};
use handle_fs::{File, Handle, Locations};

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(10);
/// Number of attempts for a lock that is held. More than one, because a check whether a session is locked takes its lock for an
/// instant.
const TRY: u32 = 10;
/// Beginnings of the names of the locks of mount roots, by path and by location on a file system.
const ROOT: &str = "root-";
const LOCATION: &str = "location-";
/// Attempts for a lock that is only held for moments: half a minute.
const WAIT: u32 = 3000;

/// A held lock, or several; let go when this is dropped, or when the process ends in whatever way.
#[derive(Debug)]
#[must_use = "the lock is let go when this is dropped"]
pub struct LockGuard {
    /// Mostly for what its drop does; in the order in which they were taken.
    held: Vec<Held>,
    /// Directories of other machines that are locked there.
    there: Vec<Handle>,
}

/// One lock.
#[derive(Debug)]
struct Held {
    path: PathBuf,
    file: File,
    /// The file goes with the lock.
    passing: bool,
    keeper: Option<Operator>,
}

/// Time to wait for a store that other processes use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Half a minute: the operator waits for the answer.
    Long,
    /// A moment: there will be another occasion.
    Short,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Shared,
    Exclusive,
}

/// Scope in which the roots of a restore are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// In the store alone.
    Here,
    /// On their own machines as well.
    There,
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        // Before the locks in the store, which go with the fields after this: the next restore that takes those finds these
        // free.
        for directory in &self.there {
            // Closed it would be let go with the next call, which may be long in coming.
            let _ = handle_fs::unlock(directory);
        }
    }
}

impl LockGuard {
    fn one(held: Held) -> Self {
        Self {
            held: vec![held],
            there: Vec::new(),
        }
    }

    /// Lets go, and leaves the lock's file where it is: what it stands for is still there.
    pub(super) fn keep_file(mut self) {
        self.held.iter_mut().for_each(|held| held.passing = false);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let kept = layout::enter(self.keeper, &self.path);
        // Only who holds the file alone, and under its name, may remove it.
        if self.passing
            && kept.is_ok()
            && self.file.try_lock(false).unwrap_or(false)
            && is_named(&self.file, &self.path).unwrap_or(false)
        {
            let _ = handle_fs::remove_file_at(&self.path);
        }
        // Said aloud, because a child between fork and exec still has the open file. Closing it does the same
        // later.
        let _ = self.file.unlock();
    }
}

fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.stat()?;
    let named = handle_fs::stat_path(path)?;
    Ok(named.is_some_and(|named| (held.place, held.ino) == (named.place, named.ino)))
}

fn attempt(file: &File, path: &Path, mode: Mode) -> Result<bool, StoreError> {
    file.try_lock(mode == Mode::Shared)
        .map_err(StoreError::io("lock", path))
}

fn acquire(
    layout: &Layout,
    path: &Path,
    mode: Mode,
    attempts: u32,
    passing: bool,
) -> Result<Option<Held>, StoreError> {
    for number in 0..attempts {
        if number > 0 {
            handle_fs::pause(PAUSE);
        }
        // Dropped on each way out of here but one, it lets go what it may have got.
        let mut held = Held {
            file: durable::open_or_create(path)?,
            path: path.to_path_buf(),
            passing: false,
            keeper: layout.keeper(),
        };
        let named = || is_named(&held.file, path).map_err(StoreError::io("look at", path));
        // In this order: until the lock is held, its last holder may still remove the file. A lock on a file without a name
        // would exclude no other process.
        if attempt(&held.file, path, mode)? && named()? {
            held.passing = passing;
            return Ok(Some(held));
        }
    }
    Ok(None)
}

/// The exclusive lock `name`, waited for.
pub(super) fn wait(layout: &Layout, name: &str) -> Result<LockGuard, StoreError> {
    let path = layout.lock(name);
    match acquire(layout, &path, Mode::Exclusive, WAIT, false)? {
        Some(held) => Ok(LockGuard::one(held)),
        None => Err(StoreError::Locked {
            object: LockedObject::File(path),
        }),
    }
}

/// The same, waited for no longer than other short waits.
pub(super) fn wait_briefly(layout: &Layout, name: &str) -> Result<LockGuard, StoreError> {
    let path = layout.lock(name);
    match acquire(layout, &path, Mode::Exclusive, TRY, false)? {
        Some(held) => Ok(LockGuard::one(held)),
        None => Err(StoreError::Locked {
            object: LockedObject::File(path),
        }),
    }
}

/// Takes the lock of a draft; `None` if a process holds it, so that the draft is alive.
pub(super) fn draft(layout: &Layout, path: PathBuf) -> Result<Option<LockGuard>, StoreError> {
    Ok(acquire(layout, &path, Mode::Exclusive, 1, false)?.map(LockGuard::one))
}

/// Takes the exclusive lock of a fork that is being written; `None` if a process holds it. Its file is removed with it.
pub(super) fn fork(layout: &Layout, name: &str) -> Result<Option<LockGuard>, StoreError> {
    Ok(acquire(layout, &layout.lock(name), Mode::Exclusive, 1, true)?.map(LockGuard::one))
}

/// Takes a lock like [`fork`], but waits up to half a minute for it.
pub(super) fn patient(layout: &Layout, name: &str) -> Result<Option<LockGuard>, StoreError> {
    Ok(acquire(layout, &layout.lock(name), Mode::Exclusive, WAIT, true)?.map(LockGuard::one))
}

fn instance_path(layout: &Layout, id: &InstanceId) -> PathBuf {
    layout.lock(&format!("instance-{id}"))
}

/// The exclusive lock of an instance.
pub(super) fn instance(
    layout: &Layout,
    id: &InstanceId,
    patience: Patience,
) -> Result<LockGuard, StoreError> {
    let attempts = match patience {
        Patience::Long => WAIT,
        Patience::Short => TRY,
    };
    match acquire(
        layout,
        &instance_path(layout, id),
        Mode::Exclusive,
        attempts,
        true,
    )? {
        Some(held) => Ok(LockGuard::one(held)),
        None => Err(StoreError::Locked {
            object: LockedObject::Instance(id.clone()),
        }),
    }
}

/// Returns true if a process holds the lock of a session. Creates nothing.
pub(super) fn instance_is_held(layout: &Layout, id: &InstanceId) -> Result<bool, StoreError> {
    is_taken(&instance_path(layout, id))
}

/// Returns true if a process holds the lock on the file at `path` exclusively. Creates nothing.
pub(super) fn is_taken(path: &Path) -> Result<bool, StoreError> {
    let Some(file) = durable::open(path)? else {
        return Ok(false);
    };
    // Shared, so that two concurrent checks do not take each other for the holder.
    let free = attempt(&file, path, Mode::Shared)?;
    if free {
        file.unlock().map_err(StoreError::io("unlock", path))?;
    }
    Ok(!free)
}

/// The name of the lock of a mount root: a path has more bytes than a name may have.
fn root_name(root: &Path) -> String {
    name_of(ROOT, root)
}

fn name_of(kind: &str, path: &Path) -> String {
    format!("{kind}{}", Digest::of(path.as_os_str().as_bytes()))
}

/// The locks for a restore: exclusive on each root, shared on every directory above it, so that a restore of
/// a directory and one of something below it exclude each other. In the order of the paths, so that two never
/// wait for each other. What another mount may show too is locked by its location as well: its paths differ.
pub(super) fn restore(
    layout: &Layout,
    (roots, locations): (&[PathBuf], &Locations),
    reach: Reach,
) -> Result<LockGuard, StoreError> {
    let doubled = roots.iter().filter(|root| locations.may_have_others(root));
    let doubled: Vec<(PathBuf, &PathBuf)> = doubled
        .filter_map(|root| Some((locations.of(root)?, root)))
        .collect();
    let places = roots.iter().map(|root| (ROOT, root, root));
    let places = places.chain(doubled.iter().map(|(place, root)| (LOCATION, place, *root)));
    let mut wanted: BTreeMap<(&str, &Path), (Mode, &Path)> = BTreeMap::new();
    for (kind, place, root) in places.clone() {
        for above in upwards(place).skip(1) {
            wanted.entry((kind, above)).or_insert((Mode::Shared, root));
        }
    }
    for (kind, place, root) in places {
        wanted.insert((kind, place), (Mode::Exclusive, root));
    }
    let (mut held, mut there) = (Vec::new(), Vec::new());
    for ((kind, path), (mode, root)) in wanted {
        let file = layout.lock(&name_of(kind, path));
        let taken = || StoreError::Locked {
            // One that let go meanwhile is not named.
            object: LockedObject::Root(
                root.to_path_buf(),
                is_held(&file).ok().flatten().unwrap_or_default(),
            ),
        };
        held.push(acquire(layout, &file, mode, TRY, true)?.ok_or_else(taken)?);
        if reach == Reach::Here || kind == LOCATION {
            continue;
        }
        match elsewhere(layout, path, mode) {
            Ok(Some(handle)) => there.push(handle),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(taken()),
            Err(error) if mode == Mode::Exclusive && !goes_without(&error) => {
                return Err(StoreError::io("lock", path)(error));
            }
            // Who may not look at a directory above works on none there.
            Ok(None) | Err(_) => {}
        }
    }
    Ok(LockGuard { held, there })
}

/// Returns true if a root need not be locked: its place has no locks, or it is gone and is restored as a whole.
fn goes_without(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::Unsupported | Kind::NotFound | Kind::NotADirectory
    )
}

/// Locks a directory of another machine there as well: a restore into it may run on a third one. `None`: it is on this machine.
fn elsewhere(layout: &Layout, path: &Path, mode: Mode) -> io::Result<Option<Handle>> {
    if Address::split(path).is_none() {
        return Ok(None);
    }
    let handle = layout.transports().open_root(path)?;
    for attempt in 0..TRY {
        if attempt > 0 {
            handle_fs::pause(PAUSE);
        }
        if handle_fs::try_lock(&handle, mode == Mode::Shared)? {
            return Ok(Some(handle));
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

const STORE: &str = "store";

/// Makes the file of the lock of the whole store, so that readers, who make nothing, can share it.
pub(super) fn prepare(layout: &Layout) -> Result<(), StoreError> {
    durable::open_or_create(&layout.lock(STORE)).map(drop)
}

/// Takes the lock of the whole store, shared: the caller needs content of archives. Creates nothing; if the file is missing, the
/// store was never opened for writing, so no process can hold it exclusively.
pub(super) fn share(layout: &Layout) -> Result<LockGuard, StoreError> {
    let path = layout.lock(STORE);
    // This file is never removed, so a lock on it always excludes the next process that opens the path. It needs no second
    // look at the name, as `acquire` takes.
    let Some(file) = durable::open(&path)? else {
        return Ok(LockGuard {
            held: Vec::new(),
            there: Vec::new(),
        });
    };
    // Archives go in moments, so that is waited for.
    for number in 0..WAIT {
        if number > 0 {
            handle_fs::pause(PAUSE);
        }
        if attempt(&file, &path, Mode::Shared)? {
            return Ok(LockGuard::one(Held {
                path,
                file,
                passing: false,
                keeper: layout.keeper(),
            }));
        }
    }
    Err(StoreError::Locked {
        object: LockedObject::Store(layout.root().to_path_buf()),
    })
}

/// The lock of the whole store, exclusive: archives may go.
pub(super) fn exclusive(layout: &Layout, patience: Patience) -> Result<LockGuard, StoreError> {
    let attempts = match patience {
        Patience::Long => WAIT,
        Patience::Short => TRY,
    };
    match acquire(layout, &layout.lock(STORE), Mode::Exclusive, attempts, false)? {
        Some(held) => Ok(LockGuard::one(held)),
        None => Err(StoreError::Locked {
            object: LockedObject::Store(layout.root().to_path_buf()),
        }),
    }
}
