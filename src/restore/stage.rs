//! The staging directory: where new content is written before anything live changes, and where old content lies until
//! everything new is in place. On the same mount as the tree, so that a rename is enough.
//!
//! It is emptied of the objects that are still what the restore moved or staged there, and of no others.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::file_identity::{fits, has_attributes, is_same, with_metadata_of};
use super::metadata::set_directory_mode;
use super::survey::{self, TOGETHER};
use super::{RestoreError, left};
use crate::capture::ContentSource;
use crate::clock::letters;
use crate::contract::{ASIDE_SUFFIX, staging_prefix};
use crate::model::{
    ByteString, Entry, EntryKind, Identity, KnownObject, KnownState, Manifest, Name, RelPath, StagePlace,
    Stamp, Time,
};
use handle_fs::remote::{Transports, above};
use handle_fs::{Actor, Dir, Inheritance, NodeKind, Stat, Survey};

/// Location of a mount's staging directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In the directory that the mount root lies in.
    Beside(PathBuf),
    /// In the mount root itself, because its parent is another mount or not writable, or because the root takes only what was made in it.
    Inside(PathBuf),
}

impl Location {
    /// Chooses the location of staging for `root`, and writes nothing. A missing root is staged beside its path.
    #[must_use]
    pub fn choose(transports: &Transports, root: &Path) -> Self {
        let parent = above(root).unwrap_or(root);
        let beside = || -> io::Result<bool> {
            let above = Dir::open(transports, parent)?;
            let place = above.stat()?.place;
            let same = match Dir::open(transports, root) {
                Ok(dir) => Inheritance::of(&above).suits(Inheritance::of(&dir)) && dir.stat()?.place == place,
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            };
            Ok(same && parent != root && transports.may_write(parent))
        };
        if beside().unwrap_or(false) {
            Self::Beside(parent.into())
        } else {
            Self::Inside(root.into())
        }
    }

    /// Checks that a missing `root` can be created: the directory that it lay in exists.
    ///
    /// # Errors
    /// [`RestoreError::NoParent`].
    pub(super) fn check_parent(transports: &Transports, root: &Path) -> Result<(), RestoreError> {
        let parent = above(root).unwrap_or(root);
        match transports.stat_path(parent) {
            Ok(None) => Err(RestoreError::NoParent {
                root: root.into(),
                parent: parent.into(),
            }),
            // Any other error is reported by the staging, with its own cause.
            _ => Ok(()),
        }
    }

    /// The directory that will hold the staging directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        match self {
            Self::Beside(path) | Self::Inside(path) => path,
        }
    }
}

/// Evidence that a directory is the staging directory of an interrupted restore.
///
/// Another directory under its name is left alone: jackin would move or delete what another user put in it.
#[derive(Clone, Copy)]
pub(super) enum Maker<'i> {
    /// The journal has its identity. The owner proves nothing then.
    Known(&'i Identity),
    /// No journal was written. It belongs to the user who began the restore, or acts now.
    User(u32),
    /// It belongs to the user who acts now.
    Actor,
}

impl Maker<'_> {
    fn is_known(self) -> bool {
        matches!(self, Self::Known(_))
    }

    fn made(self, stat: &Stat, actor: Actor) -> bool {
        stat.kind == NodeKind::Directory
            && match self {
                Self::Known(identity) => is_same(identity, stat, true),
                Self::User(uid) => [uid, actor.uid].contains(&stat.uid),
                Self::Actor => stat.uid == actor.uid,
            }
    }
}

/// Nanoseconds by which two times that one call sets may differ, where the clock ticks in between or is finer for one of them.
pub(super) const TICK: i128 = 50_000_000;

/// A staging directory that exists. It is removed by [`Stage::settle`]; when something unexpected had to be left in
/// it, it stays and is named.
pub(super) struct Stage {
    parent: Dir,
    name: OsString,
    dir: Dir,
    path: PathBuf,
    inside: bool,
    /// Modification time of the directory that it lies in from before, when that is the mount root.
    found: Option<Stamp>,
}

impl Stage {
    /// Returns the user as whom jackin acts on the machine of the staging directory.
    pub(super) fn actor(&self) -> Actor {
        self.dir.actor()
    }

    /// Returns the place of a staging directory for `root`, with random letters in its name.
    #[must_use]
    pub(super) fn place(location: &Location, root: &Path, random: [u8; 8]) -> StagePlace {
        StagePlace {
            directory: ByteString::from(location.directory()),
            name: format!("{}{}", staging_prefix(root), letters(random)),
            inside: matches!(location, Location::Inside(_)),
        }
    }

    /// Returns the place of a holding directory for something that is set aside, named like [`Self::place`] plus a suffix.
    #[must_use]
    pub(super) fn place_aside(location: &Location, root: &Path, random: [u8; 8]) -> StagePlace {
        let mut place = Self::place(location, root, random);
        place.name.push_str(ASIDE_SUFFIX);
        place
    }

    /// Makes it, mode 0700, in a directory that was last changed at `found`, when that is the mount root.
    pub(super) fn create(
        transports: &Transports,
        place: &StagePlace,
        found: Option<Stamp>,
    ) -> Result<Self, RestoreError> {
        let (name, path) = (OsString::from(&place.name), place.path());
        let fail = |source| RestoreError::Stage {
            path: path.clone(),
            source,
        };
        let parent = Dir::open(transports, &place.directory.to_path()).map_err(fail)?;
        // When somebody else has changed it since, it is his time.
        let is_so = |found: &Stamp| parent.stat().is_ok_and(|stat| Stamp::from(stat.mtime) == *found);
        let found = found.filter(is_so);
        match make_private(&parent, &name) {
            Ok(dir) => Ok(Self {
                parent,
                name,
                dir,
                path,
                inside: place.inside,
                found,
            }),
            Err((source, None)) => Err(fail(source)),
            Err((source, Some(Ok(())))) => {
                put_back_time(&parent, found);
                Err(fail(source))
            }
            // It stays, and so must the papers that name it.
            Err((source, Some(Err(stays)))) => {
                let stays = RestoreError::Settle {
                    path: path.clone(),
                    source: stays,
                };
                Err(left(fail(source), Err(stays)))
            }
        }
    }

    /// The same, where the directory that it lies in was last changed at `found`.
    pub(super) fn since(self, found: Option<Stamp>) -> Self {
        Self { found, ..self }
    }

    /// Makes one in the place of one that is gone; beside it when something else has its name now.
    pub(super) fn create_anew(transports: &Transports, place: &StagePlace) -> Result<Self, RestoreError> {
        let mut place = place.clone();
        for number in 1..100 {
            match Self::create(transports, &place, None) {
                Err(RestoreError::Stage { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
                    // One that somebody made like this, and was killed before it held anything.
                    if let Ok(Some(stage)) = Self::reopen(transports, &place, Maker::Actor)
                        && stage.dir.names().is_ok_and(|names| names.is_empty())
                    {
                        return Ok(stage);
                    }
                    place.name = format!("{}-{number}", place.name);
                }
                made => return made,
            }
        }
        Self::create(transports, &place, None)
    }

    /// Opens the one that an interrupted restore made; `None` when it is gone, or another directory has its name.
    ///
    /// # Errors
    /// [`RestoreError::OtherUser`] when it exists and belongs to another user, as after `sudo`. It is not gone then, and what lies in it
    /// may be the only copy.
    pub(super) fn reopen(
        transports: &Transports,
        place: &StagePlace,
        maker: Maker<'_>,
    ) -> Result<Option<Self>, RestoreError> {
        let (name, path) = (OsString::from(&place.name), place.path());
        let open = || -> io::Result<Option<Result<Self, u32>>> {
            let parent = Dir::open(transports, &place.directory.to_path())?;
            let Some(stat) = parent.look(&name)? else {
                return Ok(None);
            };
            let actor = parent.actor();
            if !maker.made(&stat, actor) {
                return Ok(None);
            }
            let opened = parent.dir(&name);
            // Where a mount maps the owners, a directory of one's own has another, and can be used all the same.
            let is_open = || opened.as_ref().is_ok_and(|dir| dir.names().is_ok());
            if stat.uid != actor.uid && !actor.is_privileged() && !(maker.is_known() && is_open()) {
                return Ok(Some(Err(stat.uid)));
            }
            let dir = opened?;
            // Compared again through its handle: another directory may have taken the name in between.
            if !maker.made(&dir.stat()?, actor) {
                return Ok(None);
            }
            Ok(Some(Ok(Self {
                parent,
                name: name.clone(),
                dir,
                path: path.clone(),
                inside: place.inside,
                found: None,
            })))
        };
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Ok(Some(Err(uid))) => Err(RestoreError::OtherUser { path, uid }),
            Ok(stage) => Ok(stage.and_then(Result::ok)),
            Err(source) => Err(RestoreError::Stage { path, source }),
        }
    }

    /// Its handle.
    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Its host path, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the staging directory lies in the mount root itself.
    pub(super) fn is_inside(&self) -> bool {
        self.inside
    }

    /// Removes it and what is known in it. When something else is in it, it stays with that.
    pub(super) fn settle(&self, known: &OwnedInodes) -> Result<(), RestoreError> {
        // It goes only if nothing stayed in it. The removal is synced before the restore's files go, which alone know this
        // name.
        self.remove_mark()
            .and_then(|()| known.empty(&self.dir))
            .and_then(|()| handle_fs::remove_dir(&self.parent, &self.name))
            .and_then(|()| handle_fs::sync_directory(&self.parent))
            .map_err(|source| RestoreError::Settle {
                path: self.path.clone(),
                source,
            })
    }

    /// Removes the staging directory like [`Self::settle`], if nothing was moved. Also resets the time of the mount root, if the
    /// creation of this directory was its last change.
    pub(super) fn unmake(&self, known: &OwnedInodes) -> Result<(), RestoreError> {
        // Read before the directory goes, because its removal changes the parent's time.
        let born = self.dir.stat().ok().and_then(|stat| stat.born);
        let changed = self.parent.stat().ok().map(|stat| stat.mtime);
        let is_last = |changed: Time, born: Time| (0..TICK).contains(&(changed.nanos() - born.nanos()));
        let found = self.found.filter(|_| {
            changed
                .zip(born)
                .is_some_and(|(changed, born)| is_last(changed, born))
        });
        self.settle(known)?;
        put_back_time(&self.parent, found);
        Ok(())
    }

    /// Removes it with what was staged in it, for a restore that wrote no journal: all that was made there, and nothing that
    /// is older than it is.
    pub(super) fn forget(&self) -> Result<(), RestoreError> {
        let fail = |source| RestoreError::Stage {
            path: self.path.clone(),
            source,
        };
        let born = match self.needs_mark().map_err(fail)? {
            // Without the mark all of it was staged.
            true => None,
            false => self.dir.stat().map_err(fail)?.born,
        };
        let mut known = OwnedInodes::default();
        known.staged_since(&self.dir, born).map_err(fail)?;
        self.unmake(&known)
    }

    /// Makes it take what lies in any directory of the tree, when nothing is made in it any more.
    pub(super) fn take_all(&self) {
        take_all(&self.dir);
    }

    /// Notes that a name of a file of the tree may be staged, before it is: that one is older than the directory.
    pub(super) fn stages_links(&self) -> io::Result<()> {
        match handle_fs::births_move() {
            true => Ok(()),
            false => handle_fs::make_dir(&self.dir, OsStr::new(LINKED)),
        }
    }

    /// Returns true unless the birth of an object shows that it was moved here.
    fn needs_mark(&self) -> io::Result<bool> {
        Ok(handle_fs::births_move() || self.dir.look(OsStr::new(LINKED))?.is_some())
    }

    /// Marks that moves begin, on disk, where the birth of an object does not show that it was moved there.
    ///
    /// # Errors
    /// [`RestoreError::Stage`]; nothing was moved.
    pub(super) fn begin_moves(&self) -> Result<(), RestoreError> {
        let mark = || -> io::Result<()> {
            if !self.needs_mark()? {
                return Ok(());
            }
            match handle_fs::make_dir(&self.dir, OsStr::new(MOVING)) {
                // By the process that began.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                made => made.and_then(|()| handle_fs::sync_directory(&self.dir)),
            }
        };
        mark().map_err(|source| RestoreError::Stage {
            path: self.path.clone(),
            source,
        })
    }

    /// Removes the mark of [`Self::begin_moves`], which no journal lists. It may be there alone: a power loss can keep it and lose the
    /// directory [`LINKED`], which was made before it.
    fn remove_mark(&self) -> io::Result<()> {
        match handle_fs::remove_dir(&self.dir, OsStr::new(MOVING)) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(())
            }
            removed => removed,
        }
    }

    /// Something in it that only a move can have put there: an old object, or what is older than the directory is and has no other
    /// name; or the mark of [`Self::begin_moves`].
    pub(super) fn moved(&self) -> Result<Option<Name>, RestoreError> {
        let look = || -> io::Result<Option<Name>> {
            let needs_mark = self.needs_mark()?;
            let since = self.dir.stat()?.born.filter(|_| !needs_mark);
            for name in self.dir.names()? {
                let Some(stat) = self.dir.look(name.as_os_str())? else {
                    continue;
                };
                let older = since.zip(stat.born).is_some_and(|(since, born)| born < since);
                let is_alone = stat.nlink < 2 || stat.kind == NodeKind::Directory;
                let is = |prefix: &str| name.as_bytes().starts_with(prefix.as_bytes());
                if is(OLD) || is(MOVING) || is(NEW) && older && is_alone {
                    return Ok(Some(name));
                }
            }
            Ok(None)
        };
        look().map_err(|source| RestoreError::Stage {
            path: self.path.clone(),
            source,
        })
    }

    /// Makes what was staged durable.
    pub(super) fn sync(&self) -> Result<(), RestoreError> {
        handle_fs::sync_file_system(&self.dir).map_err(|source| RestoreError::Stage {
            path: self.path.clone(),
            source,
        })
    }
}

/// Makes a directory of jackin take what lies in any directory of the tree. Where that fails, a move into it may fail, which is found then.
pub(super) fn take_all(dir: &Dir) {
    if !Inheritance::of(dir).is_empty() {
        let _ = handle_fs::end_inheritance(dir);
    }
}

/// Gives a directory the time that it had. One that cannot be set harms nothing.
fn put_back_time(dir: &Dir, found: Option<Stamp>) {
    if let Some(found) = found {
        let set = handle_fs::set_mtime_handle(dir, found.into());
        drop(set.and_then(|()| handle_fs::sync_directory(dir)));
    }
}

/// Error of a creation, and the result of removing the directory again; `None` if it does not exist.
pub(super) type Unmade = (io::Error, Option<io::Result<()>>);

/// Makes a directory that is open to its owner only, and opens it. One that cannot be used does not stay, if that can be helped.
pub(super) fn make_private(parent: &Dir, name: &OsStr) -> Result<Dir, Unmade> {
    handle_fs::make_dir(parent, name).map_err(|source| {
        let made = after_failed_creation(parent, name, &source);
        (source, made)
    })?;
    let open = || -> io::Result<Dir> {
        let dir = parent.dir(name)?;
        // Whatever our mask made of it.
        handle_fs::chmod_handle(&dir, 0o700)?;
        Ok(dir)
    };
    open().map_err(|source| {
        let removed = handle_fs::remove_dir(parent, name).and_then(|()| handle_fs::sync_directory(parent));
        (source, Some(removed))
    })
}

/// Removes a directory whose creation failed, if it exists nevertheless. Returns `None` if it does not.
///
/// A connection that is lost loses the answer, not the request: the other machine may have created the directory. Without this, the
/// restore would end without a trace of it.
fn after_failed_creation(parent: &Dir, name: &OsStr, source: &io::Error) -> Option<io::Result<()>> {
    // The name is another process's directory, or nothing was created.
    const CERTAIN: [io::ErrorKind; 3] = [
        io::ErrorKind::AlreadyExists,
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::ReadOnlyFilesystem,
    ];
    if CERTAIN.contains(&source.kind()) {
        return None;
    }
    match parent.look(name) {
        Ok(None) => None,
        Ok(Some(_)) => {
            Some(handle_fs::remove_dir(parent, name).and_then(|()| handle_fs::sync_directory(parent)))
        }
        Err(unknown) => Some(Err(unknown)),
    }
}

/// Name of the directory that marks that moves began.
const MOVING: &str = "moving";

/// Name of the directory that marks that names of files of the tree may be staged.
const LINKED: &str = "linked";

/// Prefix of the names of new objects.
const NEW: &str = "new-";

/// The name of the `number`-th new object.
pub(super) fn new_name(number: usize) -> OsString {
    OsString::from(format!("{NEW}{number}"))
}

/// Prefix of the names of old objects.
const OLD: &str = "old-";

/// The name of the `number`-th old object.
pub(super) fn old_name(number: usize) -> OsString {
    OsString::from(format!("{OLD}{number}"))
}

/// The objects that may be removed, by inode: what was staged, and what the emergency snapshot holds of what was there.
#[derive(Debug, Default)]
pub(super) struct OwnedInodes(HashMap<u64, KnownState>);

fn state(stat: &Stat) -> KnownState {
    match stat.kind {
        NodeKind::File => KnownState::File(stat.size, stat.mtime.into()),
        NodeKind::Directory => KnownState::Directory,
        _ => KnownState::Other(stat.mtime.into()),
    }
}

/// Returns true if the object is a directory that may have entries. One that the user may not enter was staged empty.
fn enters(stat: &Stat, actor: Actor) -> bool {
    stat.kind == NodeKind::Directory && (actor.is_privileged() || stat.mode & 0o500 == 0o500)
}

impl OwnedInodes {
    /// Returns the objects that a journal lists.
    pub(super) fn of(objects: &[KnownObject]) -> Self {
        Self(
            objects
                .iter()
                .map(|KnownObject(ino, state)| (*ino, *state))
                .collect(),
        )
    }

    /// For a journal, in the order of the inodes.
    pub(super) fn objects(&self) -> Vec<KnownObject> {
        let mut objects: Vec<KnownObject> = self
            .0
            .iter()
            .map(|(ino, state)| KnownObject(*ino, *state))
            .collect();
        objects.sort_unstable_by_key(|KnownObject(ino, _)| *ino);
        objects
    }

    /// The state that the emergency snapshot holds.
    pub(super) fn held(&mut self, entry: &Entry) {
        let state = match &entry.kind {
            EntryKind::File(content) => KnownState::File(content.size, entry.mtime.into()),
            EntryKind::Directory => KnownState::Directory,
            _ => KnownState::Other(entry.mtime.into()),
        };
        self.0.insert(entry.ino, state);
    }

    /// Removes an object from them.
    pub(super) fn disown(&mut self, ino: u64) {
        self.0.remove(&ino);
    }

    /// Everything that lies below `top` now.
    pub(super) fn staged(&mut self, top: &Dir) -> io::Result<()> {
        self.staged_since(top, None)
    }

    /// Adds objects like [`Self::staged`], except those made before `since`, which came from elsewhere.
    pub(super) fn staged_since(&mut self, top: &Dir, since: Option<Time>) -> io::Result<()> {
        let mut stack = vec![RelPath::root()];
        while let Some(at) = stack.pop() {
            let dir = top.dir_below(&at)?;
            let (names, mut seen) = (dir.names()?, None);
            for (number, name) in names.iter().enumerate() {
                survey_some(&mut seen, &dir, number, names.iter());
                let Some(stat) = dir.look(name.as_os_str())? else {
                    continue;
                };
                // A second name of a file that lives elsewhere is ours to remove.
                let older = since.zip(stat.born).is_some_and(|(since, born)| born < since);
                if older && (stat.nlink < 2 || stat.kind == NodeKind::Directory) {
                    continue;
                }
                self.0.insert(stat.ino, state(&stat));
                if enters(&stat, dir.actor()) {
                    stack.push(at.join(name));
                }
            }
        }
        Ok(())
    }

    /// Returns true if the object itself is known.
    pub(super) fn has(&self, stat: &Stat) -> bool {
        self.0.get(&stat.ino) == Some(&state(stat))
    }

    /// Returns true if an object, and everything below it, is known.
    pub(super) fn holds(&self, dir: &Dir, name: &OsStr) -> io::Result<bool> {
        let Some(stat) = dir.look(name)? else {
            return Ok(false);
        };
        if !self.has(&stat) {
            return Ok(false);
        }
        let mut stack = Vec::new();
        if enters(&stat, dir.actor()) {
            stack.push(RelPath::new(name.as_encoded_bytes()).map_err(io::Error::other)?);
        }
        while let Some(at) = stack.pop() {
            let below = dir.dir_below(&at)?;
            for name in below.names()? {
                match below.look(name.as_os_str())? {
                    Some(stat) if self.has(&stat) => {
                        if enters(&stat, dir.actor()) {
                            stack.push(at.join(&name));
                        }
                    }
                    _ => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// Removes what is known below `top`, one by one, following nothing and crossing no mount. The rest stays.
    ///
    /// # Errors
    /// The first reason why something stays.
    pub(super) fn empty(&self, top: &Dir) -> io::Result<()> {
        let mut kept: Option<io::Error> = None;
        let mut seen = Vec::new();
        let mut stack = vec![RelPath::root()];
        while let Some(at) = stack.pop() {
            match self.files(top, &at) {
                Ok((below, problem)) => {
                    stack.extend(below);
                    kept = kept.or(problem);
                }
                Err(error) => kept = kept.or(Some(error)),
            }
            seen.push(at);
        }
        // Deepest first. Where something stayed, its directories do.
        for (parent, name) in seen.iter().rev().filter_map(RelPath::split) {
            let gone = top
                .dir_below(&parent)
                .and_then(|dir| handle_fs::remove_dir(&dir, name.as_os_str()));
            if let Err(error) = gone {
                kept = kept.or(Some(error));
            }
        }
        kept.map_or(Ok(()), Err)
    }

    /// Removes those names that are known and no directories, if nothing keeps it from that. The others are looked at by themselves.
    fn known_files_together(&self, dir: &Dir, names: &[Name]) -> io::Result<()> {
        let names: Vec<&OsStr> = names.iter().map(Name::as_os_str).collect();
        let seen = survey::of_names(dir, &names, false);
        let mut known = Vec::new();
        for name in names {
            let stat = dir.look(name)?;
            let is_known = |stat: &Stat| self.has(stat) && stat.kind != NodeKind::Directory;
            known.extend(stat.is_some_and(|stat| is_known(&stat)).then_some(name));
        }
        drop(seen);
        if !known.is_empty() {
            // The look that follows finds what stayed, and tells why.
            let _ = handle_fs::remove_many(dir, &known);
        }
        Ok(())
    }

    /// Removes what is known in one directory and is none; gives the known directories in it.
    fn files(&self, top: &Dir, at: &RelPath) -> io::Result<(Vec<RelPath>, Option<io::Error>)> {
        if let Some((parent, name)) = at.split() {
            let dir = top.dir_below(&parent)?;
            let mode = dir.look(name.as_os_str())?.map_or(0o700, |stat| stat.mode);
            if mode & 0o700 != 0o700 && !dir.actor().is_privileged() {
                set_directory_mode(&dir, name.as_os_str(), mode | 0o700, |is| self.has(is))?;
            }
        }
        let dir = top.dir_below(at)?;
        let (mut below, mut kept) = (Vec::new(), None);
        let mut names = dir.names()?;
        if handle_fs::is_far(&dir) && !names.is_empty() {
            for some in names.chunks(TOGETHER) {
                self.known_files_together(&dir, some)?;
            }
            names = dir.names()?;
        }
        for name in names {
            let Some(stat) = dir.look(name.as_os_str())? else {
                continue;
            };
            // The last look before the removal. A write through a descriptor that is still open changes size or time, and the
            // object stays. Only a write between these two calls is lost, and nothing can close that.
            if !self.has(&stat) {
                let place = at.join(&name);
                let changed = format!(
                    "{place:?} in it is nothing that the restore put there: move it to where it belongs"
                );
                kept = kept.or(Some(io::Error::other(changed)));
            } else if stat.kind == NodeKind::Directory {
                below.push(at.join(&name));
            } else if let Err(error) = handle_fs::remove_file(&dir, name.as_os_str()) {
                kept = kept.or(Some(error));
            }
        }
        Ok((below, kept))
    }
}

/// Returns true if the object `place` in `stage`, and all below it, is what the manifest holds at `path`, where it is `was`. `changed`
/// holds, by inode, the metadata that the restore itself has set through another name of a file.
///
/// `again` is true if the object may have been moved long ago, by a process that died.
pub(super) fn is_as_before(
    stage: &Dir,
    place: &OsStr,
    path: &RelPath,
    (was, before, again): (&Entry, &Manifest, bool),
    changed: &HashMap<u64, &Entry>,
) -> io::Result<bool> {
    // A rename moves the ctime of what is renamed, and of nothing below it.
    let top = if again { Moved::LongAgo } else { Moved::JustNow };
    if !one_fits(stage, place, was, top, changed)? {
        return Ok(false);
    }
    let mut stack = Vec::new();
    if was.is_dir() {
        let top = RelPath::new(place.as_encoded_bytes()).map_err(io::Error::other)?;
        stack.push((top, path.clone()));
    }
    while let Some((at, path)) = stack.pop() {
        let dir = stage.dir_below(&at)?;
        let known = before.directory(&path);
        let entries = || known.iter().flat_map(|dir| &dir.entries);
        let names: Vec<&Name> = entries().map(|entry| &entry.name).collect();
        if !dir.names()?.iter().eq(names) {
            return Ok(false);
        }
        let mut seen = None;
        for (number, entry) in entries().enumerate() {
            survey_some(&mut seen, &dir, number, entries().map(|entry| &entry.name));
            if !one_fits(&dir, entry.name.as_os_str(), entry, Moved::Within, changed)? {
                return Ok(false);
            }
            if entry.is_dir() {
                stack.push((at.join(&entry.name), path.join(&entry.name)));
            }
        }
    }
    Ok(true)
}

/// Looks at the next names of a directory at once, before the first of them is looked at.
fn survey_some<'n>(
    seen: &mut Option<Survey>,
    dir: &Dir,
    number: usize,
    names: impl Iterator<Item = &'n Name>,
) {
    if number.is_multiple_of(TOGETHER) && handle_fs::is_far(dir) {
        drop(seen.take());
        let some: Vec<&OsStr> = names.skip(number).take(TOGETHER).map(Name::as_os_str).collect();
        *seen = Some(survey::of_names(dir, &some, false));
    }
}

/// Rename that an object went through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moved {
    /// It was looked at just before, so its attributes are not read again.
    JustNow,
    /// Another process made it.
    LongAgo,
    /// A directory above it was renamed.
    Within,
}

fn one_fits(
    dir: &Dir,
    name: &OsStr,
    was: &Entry,
    moved: Moved,
    changed: &HashMap<u64, &Entry>,
) -> io::Result<bool> {
    let Some(is) = dir.look(name)? else {
        return Ok(false);
    };
    // Where a store through a mapping may leave the times as they were, only the bytes tell.
    let shows_stores = handle_fs::file_system(dir).is_ok_and(|facts| facts.writes_back && !facts.layered);
    // Taking off the flags that were in the way moved the ctime as well.
    let loose = moved != Moved::Within || was.nlink > 1 || was.flags.bind();
    if !fits(was, &is, false) {
        let done = changed.get(&was.ino).map(|will| with_metadata_of(was, will));
        let state = match done {
            _ if loose && fits(was, &is, true) => was,
            Some(ref done) if fits(done, &is, true) => done,
            _ => return Ok(false),
        };
        if moved != Moved::JustNow && !has_attributes(dir, name, &is, state)? {
            return Ok(false);
        }
    }
    match &was.kind {
        EntryKind::File(content) if (loose || !shows_stores) && content.size > 0 => {
            let (file, stat) = dir.file(name)?;
            let mut source = ContentSource::new(file, &stat, Some(content.method))?;
            Ok(source.digest(|_| Ok(()))? == *content)
        }
        _ => Ok(true),
    }
}
