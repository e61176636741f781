//! Puts owner, attributes, mode and time of an object to what they were, by its name or by a handle.

use std::ffi::OsStr;
use std::io;

use super::RestoreError;
use super::file_identity::{is_only_for_root, is_opened, is_same, is_same_object, readable_attributes};
use super::problem::{Problem, is_out_of_space};
use crate::capture::{is_gone, words};
use crate::model::{Entry, EntryKind, Identity, RelPath, Time, Xattr};
use handle_fs::{Actor, AsHandle as _, Handle, HandleRef, NodeKind, Stat};
use handle_fs::{Dir, Root};

const SET_GROUP_ID: u32 = 0o2000;
const EPERM: i32 = 1;

/// Bytes of the largest attribute that Linux takes (`XATTR_SIZE_MAX`).
const LARGEST_ATTRIBUTE: u64 = 64 << 10;

/// Reference to an object, by name or by handle.
#[derive(Clone, Copy)]
pub(super) enum Object<'o> {
    /// By its name: whatever lies there, itself and not what it points to.
    Named(&'o Dir, &'o OsStr),
    /// By a handle, which takes fewer calls: a file or a directory.
    Open(HandleRef<'o>),
}

impl Object<'_> {
    fn actor(self) -> Actor {
        match self {
            Self::Named(dir, _) => dir.actor(),
            Self::Open(handle) => handle_fs::actor_of(handle),
        }
    }

    fn stat(self) -> io::Result<Stat> {
        match self {
            Self::Named(dir, name) => dir.look(name)?.ok_or_else(|| io::ErrorKind::NotFound.into()),
            Self::Open(handle) => handle_fs::stat_handle(handle),
        }
    }

    /// Returns true if the file system is not full: what it has no space for then is larger than it takes at all.
    fn has_room(self) -> bool {
        let free = match self {
            Self::Named(dir, _) => handle_fs::free_bytes(dir),
            Self::Open(handle) => handle_fs::free_bytes(handle),
        };
        free.is_ok_and(|free| free > LARGEST_ATTRIBUTE)
    }

    fn attributes(self) -> io::Result<Vec<Xattr>> {
        match self {
            Self::Named(dir, name) => dir.attributes(name),
            Self::Open(handle) => handle_fs::handle_attributes(handle),
        }
    }

    fn chown(self, uid: u32, gid: u32) -> io::Result<()> {
        match self {
            Self::Named(dir, name) => handle_fs::chown(dir, name, uid, gid),
            Self::Open(handle) => handle_fs::chown_handle(handle, uid, gid),
        }
    }

    fn chmod(self, mode: u32) -> io::Result<()> {
        match self {
            Self::Named(dir, name) => handle_fs::chmod_node(dir, name, mode),
            Self::Open(handle) => handle_fs::chmod_handle(handle, mode),
        }
    }

    /// Sets the mode, if need be without the set-group-id bit, and notes that.
    fn set_mode(self, mode: u32, notes: &mut Vec<Problem>) -> io::Result<()> {
        if let Some(error) = with_or_without_group_bit(mode, |mode| self.chmod(mode))? {
            let note = format!("set-group-id bit could not be set: {}", words(&error));
            notes.push(Problem::caused(note, &error));
        }
        Ok(())
    }

    fn set_attribute(self, attribute: &Xattr) -> io::Result<()> {
        match self {
            Self::Named(dir, name) => handle_fs::set_attribute(dir, name, attribute),
            Self::Open(handle) => handle_fs::set_handle_attribute(handle, attribute),
        }
    }

    fn remove_attribute(self, attribute: &[u8]) -> io::Result<()> {
        match self {
            Self::Named(dir, name) => handle_fs::remove_attribute(dir, name, attribute),
            Self::Open(handle) => handle_fs::remove_handle_attribute(handle, attribute),
        }
    }

    /// Sets the modification time.
    pub(super) fn set_mtime(self, mtime: Time) -> io::Result<()> {
        match self {
            Self::Named(dir, name) => handle_fs::set_mtime(dir, name, mtime),
            Self::Open(handle) => handle_fs::set_mtime_handle(handle, mtime),
        }
    }

    /// Puts owner, attributes and mode to what `entry` says; of a new object in a private directory (`mtime`) the modification time
    /// too. Returns what the system does not allow; the rest is done.
    ///
    /// An access list is removed first and set after other attributes, which it can forbid the owner to set. On macOS it can forbid
    /// that of the time, too. Where others reach the object the list precedes the mode, whose bits for the group are its mask (acl(5)).
    pub(super) fn set_metadata(self, entry: &Entry, mtime: Option<Time>) -> io::Result<Vec<Problem>> {
        let mut notes = Vec::new();
        let now = self.stat()?;
        let mut mode = entry.mode;
        // A change of the owner clears bits of the mode, an access list is a part of it.
        let mut is_mode_known = true;
        if (now.uid, now.gid) != (entry.uid, entry.gid) {
            is_mode_known = false;
            if let Err(error) = self.chown(entry.uid, entry.gid) {
                // The group alone may be one of ours.
                let is_of_group = now.gid == entry.gid || self.chown(now.uid, entry.gid).is_ok();
                let owner = format!("{}:{}", entry.uid, entry.gid);
                notes.push(Problem::caused(format!("owner {owner} could not be set"), &error));
                // A set-id bit under another owner would be a right that nobody gave.
                mode &= 0o1777;
                if !is_of_group {
                    mode = for_another_group(mode);
                }
            }
        }
        let present = self.attributes()?;
        let (lists, attributes): (Vec<&Xattr>, Vec<&Xattr>) = entry
            .xattrs
            .iter()
            .filter(|want| !present.contains(want))
            .partition(|want| want.is_access_list());
        if present != entry.xattrs {
            is_mode_known = false;
            if !may_write(&now, self.actor()) {
                // A user's attributes can be set only where the content could be written; the mode follows below.
                self.chmod(now.mode | 0o200)?;
            }
            self.remove_others(&present, &entry.xattrs, &mut notes);
            self.set_attributes(&attributes, &mut notes)?;
            if mtime.is_none() && !self.set_attributes(&lists, &mut notes)? {
                mode = without_list(mode, &lists);
            }
        }
        if !matches!(entry.kind, EntryKind::Symlink(_)) {
            let now = if is_mode_known {
                now.mode
            } else {
                self.stat()?.mode
            };
            if now != mode {
                self.set_mode(mode, &mut notes)?;
            }
        }
        if let Some(mtime) = mtime {
            self.set_mtime(mtime)?;
            if !self.set_attributes(&lists, &mut notes)? && mode != without_list(mode, &lists) {
                self.set_mode(without_list(mode, &lists), &mut notes)?;
            }
        }
        Ok(notes)
    }

    /// Removes the attributes that have none of the wanted names.
    fn remove_others(self, present: &[Xattr], wanted: &[Xattr], notes: &mut Vec<Problem>) {
        let is_wanted = |have: &&Xattr| wanted.iter().any(|want| want.name == have.name);
        let mut others: Vec<&Xattr> = present.iter().filter(|have| !is_wanted(have)).collect();
        others.sort_by_key(|other| !other.is_access_list());
        for other in others {
            if let Err(error) = self.remove_attribute(&other.name) {
                notes.push(attribute_note(other, "could not be removed", &error));
            }
        }
    }

    /// Sets attributes. Returns false if one of them could not be set.
    fn set_attributes(self, wanted: &[&Xattr], notes: &mut Vec<Problem>) -> io::Result<bool> {
        let mut are_set = true;
        for want in wanted {
            if let Err(error) = self.set_attribute(want) {
                // A file system that takes only small ones says ENOSPC as well.
                let is_too_large = error.kind() == io::ErrorKind::StorageFull && self.has_room();
                if is_out_of_space(&error) && !is_too_large {
                    return Err(error);
                }
                notes.push(attribute_note(want, "could not be set", &error));
                are_set = false;
            }
        }
        Ok(are_set)
    }
}

/// Returns the mode for an object whose group could not be set: the other group may do no more than everybody may.
fn for_another_group(mode: u32) -> u32 {
    mode & (!0o070 | (mode & 0o007) << 3)
}

/// Sets a mode. Returns the reason if it had to be set without the set-group-id bit.
///
/// macOS refuses this bit with EPERM to an owner who is not in the group, where Linux drops it. Other causes of EPERM remain without it.
fn with_or_without_group_bit(
    mode: u32,
    chmod: impl Fn(u32) -> io::Result<()>,
) -> io::Result<Option<io::Error>> {
    match chmod(mode) {
        Err(error) if mode & SET_GROUP_ID != 0 && error.raw_os_error() == Some(EPERM) => {
            chmod(mode & !SET_GROUP_ID).map(|()| Some(error))
        }
        other => other.map(|()| None),
    }
}

/// Returns the mode for an object whose access list could not be set: what was the mask of the list would be the rights of the group.
fn without_list(mode: u32, lists: &[&Xattr]) -> u32 {
    let rights = lists.iter().find_map(|list| list.rights_of_group());
    rights.map_or(mode, |rights| mode & (!0o070 | rights << 3))
}

/// Sets the metadata of the object at a name, if it is the `meant` one.
///
/// A file or directory is checked and changed through one handle, so that nothing that came into its place is changed. What cannot be
/// opened is checked and changed by name, one call after the other.
///
/// # Errors
/// What the system says; `NotFound` when something else is there by now.
pub(super) fn set_metadata(
    dir: &Dir,
    name: &OsStr,
    meant: impl Fn(&Stat) -> bool,
    entry: &Entry,
) -> io::Result<Vec<Problem>> {
    let opened = match &entry.kind {
        EntryKind::File(_) => dir.file(name).map(|(file, stat)| (Handle::from(file), stat)),
        EntryKind::Directory => dir
            .dir(name)
            .and_then(|opened| Ok((opened.stat()?, opened)))
            .map(|(stat, opened)| (Handle::from(opened), stat)),
        _ => return set_metadata_by_name(dir, name, meant, entry),
    };
    match opened {
        Ok((handle, stat)) => {
            if meant(&stat) {
                Object::Open(handle.as_handle()).set_metadata(entry, None)
            } else {
                Err(io::ErrorKind::NotFound.into())
            }
        }
        // Its own mode keeps us from opening it, or somebody's lease.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::WouldBlock
            ) =>
        {
            set_metadata_by_name(dir, name, meant, entry)
        }
        Err(error) if is_gone(&error) => Err(io::ErrorKind::NotFound.into()),
        Err(error) => Err(error),
    }
}

fn set_metadata_by_name(
    dir: &Dir,
    name: &OsStr,
    meant: impl Fn(&Stat) -> bool,
    entry: &Entry,
) -> io::Result<Vec<Problem>> {
    if dir.look(name)?.is_some_and(|is| meant(&is)) {
        Object::Named(dir, name).set_metadata(entry, None)
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Returns true if `is` describes the object that a move changes the metadata of: the journal's, and the plan's (`was`).
pub(super) fn is_meant(identity: Option<&Identity>, was: &Entry, is: &Stat) -> bool {
    identity.is_none_or(|identity| is_same(identity, is, was.is_dir())) && is_same_object(was, is)
}

/// Returns true if `is` describes the object whose metadata a move changes, before, after or on the way.
///
/// The identity in the journal is not enough: swapping files while the journal is written gets the identity of
/// a file into it that the plan never saw, such as another name of a file outside the mount.
///
/// # Errors
/// The system's, when the attributes cannot be listed.
pub(super) fn may_change(dir: &Dir, name: &OsStr, is: &Stat, was: &Entry, will: &Entry) -> io::Result<bool> {
    if !is_same_object(was, is) || !is_between(is, was, will, dir.actor()) {
        return Ok(false);
    }
    let present = readable_attributes(dir, name)?;
    Ok(present.is_none_or(|present| are_between(&present, was, will)))
}

/// Returns true if an object has the metadata that it had before a move, and nothing that the move sets. It may have other attributes.
///
/// # Errors
/// The system's, when the attributes cannot be listed.
pub(super) fn is_as_was(dir: &Dir, name: &OsStr, is: &Stat, was: &Entry, will: &Entry) -> io::Result<bool> {
    if !is_same_object(was, is) || (is.mode, is.uid, is.gid) != (was.mode, was.uid, was.gid) {
        return Ok(false);
    }
    let Some(present) = readable_attributes(dir, name)? else {
        return Ok(false);
    };
    let mut set = will.xattrs.iter().filter(|will| !was.xattrs.contains(will));
    Ok(was.xattrs.iter().all(|was| present.contains(was)) && !set.any(|will| present.contains(will)))
}

/// Returns true if attributes belong to one of the two states, or to a change from one to the other.
///
/// Each is set or removed by itself. A change of the owner takes those of the system along (capabilities(7)), and a change of the mode is
/// one of an access list.
fn are_between(present: &[Xattr], was: &Entry, will: &Entry) -> bool {
    let is_new_owner = (was.uid, was.gid) != (will.uid, will.gid);
    let either = || was.xattrs.iter().chain(&will.xattrs);
    let is_known = |have: &Xattr| match have.is_access_list() {
        true => either().any(|known| known.name == have.name),
        false => either().any(|known| known == have) || is_only_for_root(have, &was.xattrs),
    };
    let is_there = |kept: &Xattr| {
        present.iter().any(|have| have.name == kept.name)
            || is_new_owner && kept.name.starts_with(b"security.")
    };
    let mut kept = was.xattrs.iter().filter(|was| will.xattrs.contains(was));
    present.iter().all(is_known) && kept.all(is_there)
}

/// Returns true if mode and owner belong to one of the two states, or to a change from one to the other by [`set_metadata`].
///
/// The owner changes first, which clears set-id bits. Attributes follow, which need an object that is writable to an ordinary user. An
/// access list sets the mode.
pub(super) fn is_between(is: &Stat, was: &Entry, will: &Entry, actor: Actor) -> bool {
    let owner = [was.uid, will.uid].contains(&is.uid) && [was.gid, will.gid].contains(&is.gid);
    if matches!(was.kind, EntryKind::Symlink(_)) {
        return owner;
    }
    let mut modes = vec![was.mode, will.mode];
    modes.extend([was.mode, will.mode].map(|mode| mode & !SET_GROUP_ID));
    if (was.uid, was.gid) != (will.uid, will.gid) {
        modes.extend([was.mode & 0o1777, will.mode & 0o1777]);
        modes.extend([was.mode, will.mode].map(|mode| for_another_group(mode & 0o1777)));
    }
    if was.xattrs != will.xattrs {
        let lists: Vec<&Xattr> = will.xattrs.iter().collect();
        let narrowed: Vec<u32> = modes.iter().map(|mode| without_list(*mode, &lists)).collect();
        modes.extend(narrowed);
        let listed = |(by, rights): (u32, u32)| (by & 0o7000) | (rights & 0o777);
        let pairs = modes.iter().flat_map(|by| [(*by, was.mode), (*by, will.mode)]);
        let mixed: Vec<u32> = pairs.map(listed).collect();
        modes.extend(&mixed);
        if !actor.is_privileged() {
            modes.extend(mixed.iter().map(|mode| mode | 0o200));
        }
    }
    let is_open = |mode: &u32| was.is_dir() && is_opened(is.mode, *mode);
    owner && (modes.contains(&is.mode) || modes.iter().any(is_open))
}

/// Sets the mode of a directory if it is the `meant` one, through a handle wherever its mode lets one be had: what came into its
/// place keeps its own.
pub(super) fn set_directory_mode(
    dir: &Dir,
    name: &OsStr,
    mode: u32,
    meant: impl Fn(&Stat) -> bool,
) -> io::Result<()> {
    match dir.dir(name) {
        Ok(opened) if meant(&opened.stat()?) => handle_fs::chmod_handle(&opened, mode),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            handle_fs::chmod_node(dir, name, mode)
        }
        Err(error) => Err(error),
    }
}

/// Returns true unless the user owns the file or directory and its mode forbids the change of attributes.
fn may_write(now: &Stat, actor: Actor) -> bool {
    let plain = matches!(now.kind, NodeKind::File | NodeKind::Directory);
    let ours = now.uid == actor.uid && !actor.is_privileged();
    !(plain && ours && now.mode & 0o200 == 0)
}

fn attribute_note(attribute: &Xattr, what: &str, error: &io::Error) -> Problem {
    let name = attribute.name.escape_ascii();
    Problem::caused(format!("attribute {name} {what}: {}", words(error)), error)
}

/// Syncs the last changes on the file system of `root`: nothing repeats them once the journal is removed.
///
/// # Errors
/// [`RestoreError::Lasting`].
pub(super) fn sync_last(root: &Root) -> Result<(), RestoreError> {
    let synced = root.dir(&RelPath::root()).and_then(handle_fs::sync_file_system);
    synced.map_err(|source| RestoreError::Lasting {
        path: root.path().to_path_buf(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::{EPERM, with_or_without_group_bit};
    use std::cell::RefCell;
    use std::io;

    /// Sets a mode where some are refused. Returns the answer, and the modes that were tried.
    fn tried(mode: u32, refused: &[u32], code: i32) -> (Option<bool>, Vec<u32>) {
        let modes = RefCell::new(Vec::new());
        let set = with_or_without_group_bit(mode, |mode| {
            modes.borrow_mut().push(mode);
            match refused.contains(&mode) {
                true => Err(io::Error::from_raw_os_error(code)),
                false => Ok(()),
            }
        });
        (set.ok().map(|reason| reason.is_some()), modes.into_inner())
    }

    #[test]
    fn a_refused_set_group_id_bit_is_omitted_and_named() {
        assert_eq!(tried(0o2755, &[], EPERM), (Some(false), vec![0o2755]));
        assert_eq!(tried(0o2755, &[0o2755], EPERM), (Some(true), vec![0o2755, 0o755]));
        assert_eq!(
            tried(0o6755, &[0o6755], EPERM),
            (Some(true), vec![0o6755, 0o4755])
        );
    }

    #[test]
    fn a_mode_that_is_refused_for_another_reason_is_an_error() {
        assert_eq!(
            tried(0o2755, &[0o2755, 0o755], EPERM),
            (None, vec![0o2755, 0o755])
        );
        assert_eq!(tried(0o755, &[0o755], EPERM), (None, vec![0o755]));
        let eio = 5;
        assert_eq!(tried(0o2755, &[0o2755], eio), (None, vec![0o2755]));
    }
}
