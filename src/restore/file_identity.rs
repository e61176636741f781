//! Identity of an object, also after a crash and a reboot, and the exchange of two names of which each object is known.

use std::ffi::{OsStr, OsString};
use std::io;

use crate::model::{Entry, EntryKind, Identity, Stamp, Time, Xattr};
use crate::observer::Observer;
use handle_fs::{Dir, InodeFlags, NodeKind, Stat};

/// The identity of what `stat` describes.
pub(super) fn identity(stat: &Stat) -> Identity {
    Identity {
        ino: stat.ino,
        born: stat.born.map(Stamp::from),
        size: stat.size,
        mtime: stat.mtime.into(),
    }
}

/// Returns true if `stat` describes the object of `identity`, in whatever state.
///
/// Without equal birth times, an inode number may have been reused. In a staging directory of jackin (`ours`) no other process
/// uses it; elsewhere size and modification time must agree as well.
pub(super) fn is_same(identity: &Identity, stat: &Stat, ours: bool) -> bool {
    if identity.ino != stat.ino {
        return false;
    }
    match (identity.born, stat.born) {
        (Some(then), Some(now)) if is_birth(then, now.into()) => true,
        // A copy that an overlay makes of a lower file when it is moved is born then.
        _ if ours => true,
        (Some(_), Some(_)) | (None, _) | (_, None) => {
            identity.size == stat.size && identity.mtime == stat.mtime.into()
        }
    }
}

/// Returns true if an inode that was born `then` is still the same object when it says to be born `now`. Where an older modification
/// time takes the birth along, an earlier birth is still that of the same object, because a new one is born later.
pub(super) fn is_birth(then: Stamp, now: Stamp) -> bool {
    then == now || (handle_fs::births_move() && Time::from(now) < Time::from(then))
}

/// The rights that a directory gets for what moves in it.
pub(super) const FOR_ENTRIES: u32 = 0o700;

/// And for its own move, by which its entry `..` changes.
pub(super) const FOR_ITSELF: u32 = 0o200;

/// Method by which two objects changed places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// In one call: the path is never missing.
    AtOnce,
    /// One after the other.
    InSteps,
}

/// Exchanges a staged object with a live one. Where the file system cannot, in steps that [`finish_steps`] can finish: the
/// old one goes aside first, under [`aside_name`], and comes back when the new one cannot take its place.
pub(super) fn exchange(
    stage: &Dir,
    place: &OsStr,
    dir: &Dir,
    name: &OsStr,
    observer: &dyn Observer,
) -> io::Result<Exchange> {
    match handle_fs::exchange(stage, place, dir, name) {
        Err(error) if cannot_exchange(&error) => {
            exchange_in_steps(stage, place, dir, name, observer).map(|()| Exchange::InSteps)
        }
        done => done.map(|()| Exchange::AtOnce),
    }
}

/// Takes [`exchange`] back. XFS asks only the second directory of an exchange whether it takes the other object, and the staging directory
/// takes any: so an old file whose directory got a project id since can come back.
pub(super) fn exchange_back(
    stage: &Dir,
    place: &OsStr,
    dir: &Dir,
    name: &OsStr,
    observer: &dyn Observer,
) -> io::Result<()> {
    match handle_fs::exchange(dir, name, stage, place) {
        Err(error) if cannot_exchange(&error) => exchange_in_steps(stage, place, dir, name, observer),
        done => done,
    }
}

/// Returns true if a file system has no exchange in one call.
fn cannot_exchange(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
}

/// The name of an old object whose place the new one still has, in the staging directory or a holding directory.
///
/// A holding directory keeps the name of the path, which may be as long as the file system takes. It holds nothing else, so a fixed name
/// is free there.
pub(super) fn aside_name(place: &OsStr) -> OsString {
    /// Longer than each name in a staging directory.
    const LONG: usize = 64;
    if place.len() > LONG {
        return OsString::from("aside");
    }
    let mut aside = place.to_owned();
    aside.push("-aside");
    aside
}

fn exchange_in_steps(
    stage: &Dir,
    place: &OsStr,
    dir: &Dir,
    name: &OsStr,
    observer: &dyn Observer,
) -> io::Result<()> {
    let aside = aside_name(place);
    handle_fs::rename_new(dir, name, stage, &aside)?;
    observer.reached("parted");
    // Nothing is at the path now, and another process may create it. Then neither object can have the name, both stay in the
    // staging directory, and the restore waits.
    if let Err(error) = handle_fs::rename_new(stage, place, dir, name) {
        handle_fs::rename_new(stage, &aside, dir, name)?;
        return Err(error);
    }
    observer.reached("joined");
    handle_fs::rename_new(stage, &aside, stage, place)
}

/// Finishes an exchange in steps that stopped after the first or the second one.
pub(super) fn finish_steps(stage: &Dir, place: &OsStr, dir: &Dir, name: &OsStr) -> io::Result<()> {
    if stage.look(place)?.is_some() {
        handle_fs::rename_new(stage, place, dir, name)?;
    }
    handle_fs::rename_new(stage, &aside_name(place), stage, place)
}

/// An object with the mode, the owner and the attributes of another state.
pub(super) fn with_metadata_of(was: &Entry, will: &Entry) -> Entry {
    Entry {
        mode: will.mode,
        uid: will.uid,
        gid: will.gid,
        xattrs: will.xattrs.clone(),
        ..was.clone()
    }
}

/// Returns true if an object is still the recorded one. `loose` ignores what the restore's own moves change: the ctime, the
/// number of links, and for directories the mtime. Attributes and flags show in the ctime alone, so [`has_attributes`] follows then.
pub(super) fn fits(was: &Entry, is: &Stat, loose: bool) -> bool {
    if !loose {
        return crate::capture::same_moment(was, is);
    }
    // A directory may be open to us just now.
    let mode = was.mode == is.mode || (was.is_dir() && is_opened(is.mode, was.mode));
    is_same_object(was, is) && mode && (was.uid, was.gid) == (is.uid, is.gid)
}

/// Returns true if attributes and flags of the object `name` are the recorded ones. Asked where the restore's own moves have changed the
/// ctime, which else tells of both ([`fits`] is loose).
pub(super) fn has_attributes(dir: &Dir, name: &OsStr, is: &Stat, was: &Entry) -> io::Result<bool> {
    // A restore lifts these, and sets them at the end.
    let lifted = InodeFlags::IMMUTABLE.with(InodeFlags::APPEND);
    if is.flags.with(lifted) != was.flags.with(lifted) {
        return Ok(false);
    }
    let Some(present) = readable_attributes(dir, name)? else {
        return Ok(true);
    };
    // The rights that a restore adds to the mode are in the access list as well.
    let is_opened = is.mode != was.mode;
    let is_same = |have: &Xattr| {
        let mut was = was.xattrs.iter();
        was.any(|was| was == have || is_opened && is_same_list(was, have))
    };
    let mut present = present
        .iter()
        .filter(|have| !is_only_for_root(have, &was.xattrs))
        .peekable();
    let count = present.clone().count();
    Ok(count == was.xattrs.len() && present.all(is_same))
}

/// Returns true if two access lists differ at most in the rights of the owner. Behind the version (4 bytes) is an entry for each of those who
/// have rights, that of the owner first: 2 bytes of type, 2 of rights, 4 of id (linux/posix_acl_xattr.h).
fn is_same_list(was: &Xattr, have: &Xattr) -> bool {
    const RIGHTS: std::ops::Range<usize> = 6..8;
    let others = |list: &Xattr| {
        let mut value = list.value.clone();
        if let Some(rights) = value.get_mut(RIGHTS) {
            rights.fill(0);
        }
        value
    };
    was.name == have.name && have.is_access_list() && others(was) == others(have)
}

/// Returns true for an attribute that only root sees, of an object whose state was recorded by another user.
pub(super) fn is_only_for_root(have: &Xattr, recorded: &[Xattr]) -> bool {
    have.name.starts_with(b"trusted.") && !recorded.iter().any(|known| known.name == have.name)
}

/// Returns the attributes of an object; `None` if its mode forbids to read them. The mode is compared by itself.
pub(super) fn readable_attributes(dir: &Dir, name: &OsStr) -> io::Result<Option<Vec<Xattr>>> {
    match dir.attributes(name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        other => other.map(Some),
    }
}

/// Returns true if an object is the recorded one with the same content, whatever its metadata.
pub(super) fn is_same_object(was: &Entry, is: &Stat) -> bool {
    let kind = match (&was.kind, is.kind) {
        (EntryKind::File(content), NodeKind::File) => content.size == is.size && was.mtime == is.mtime,
        (EntryKind::Directory, NodeKind::Directory) => true,
        (EntryKind::Symlink(_), NodeKind::Symlink)
        | (EntryKind::Fifo, NodeKind::Fifo)
        | (EntryKind::Socket, NodeKind::Socket)
        | (EntryKind::CharDevice(..), NodeKind::CharDevice)
        | (EntryKind::BlockDevice(..), NodeKind::BlockDevice) => was.mtime == is.mtime,
        _ => false,
    };
    kind && was.ino == is.ino
}

/// Returns true if `mode` is `was` with the rights that a restore adds to move a directory or something in it.
pub(super) fn is_opened(mode: u32, was: u32) -> bool {
    mode == was | FOR_ENTRIES || mode == was | FOR_ITSELF
}

#[cfg(test)]
mod tests {
    use handle_fs::Xattr;

    use super::is_same_list;

    fn list(name: &[u8], owner: u8, user: u8) -> Xattr {
        let entry = |kind: u8, rights: u8, id: u8| [kind, 0, rights, 0, id, 0, 0, 0];
        let entries = [entry(1, owner, 255), entry(2, user, 7), entry(4, 5, 255)];
        let mut value = vec![2, 0, 0, 0];
        value.extend(entries.concat());
        Xattr {
            name: name.into(),
            value: value.into(),
        }
    }

    #[test]
    fn a_list_that_opening_a_directory_changed_is_the_same_and_no_other_one() {
        const ACCESS: &[u8] = b"system.posix_acl_access";
        let was = list(ACCESS, 5, 7);
        assert!(is_same_list(&was, &list(ACCESS, 7, 7)));
        assert!(!is_same_list(&was, &list(ACCESS, 7, 6)));
        assert!(!is_same_list(&was, &list(b"system.posix_acl_default", 7, 7)));
        let note = list(b"user.note", 5, 7);
        assert!(!is_same_list(&note, &list(b"user.note", 7, 7)));
    }
}
