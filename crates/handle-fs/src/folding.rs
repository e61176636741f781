//! Names that a file system takes for one although their bytes differ: most of them in case only, some in how a letter is composed.
//!
//! It is the directory that decides, so it is asked: APFS, FAT, exFAT, NTFS and SMB fold the names of a whole volume, ext4, F2FS and tmpfs
//! those of single directories. Nothing is written to find out.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::{AsHandle, Stat};

/// Maximum number of names of a directory that are tried in another case.
const TRIED: usize = 8;

/// Returns the form that is the same for all names which a file system may take for one because of case.
///
/// It follows Unicode's full case folding, and drops what ext4 ignores (`Default_Ignorable_Code_Point`, as far as it is used to hide a
/// name). It does not normalize. Bytes that are no UTF-8 are kept.
#[must_use]
pub fn fold_name(name: &[u8]) -> Cow<'_, [u8]> {
    if name.is_ascii() {
        return match name.iter().any(u8::is_ascii_uppercase) {
            true => Cow::Owned(name.to_ascii_lowercase()),
            false => Cow::Borrowed(name),
        };
    }
    let mut folded = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for letter in chunk.valid().chars().filter(|letter| !is_ignored(*letter)) {
            push_folded(&mut folded, letter);
        }
        folded.extend_from_slice(chunk.invalid());
    }
    Cow::Owned(folded)
}

/// Returns true if a file system that ignores case takes both for one name.
#[must_use]
pub fn is_one_name(one: &[u8], other: &[u8]) -> bool {
    fold_name(one) == fold_name(other)
}

fn push_folded(folded: &mut Vec<u8>, letter: char) {
    let mut room = [0; 4];
    // The dotless i is its own letter.
    if letter == 'ı' {
        folded.extend_from_slice(letter.encode_utf8(&mut room).as_bytes());
        return;
    }
    // By way of its capital: some letters have several small forms (σ and ς), or another one beside the usual (ſ).
    for small in letter.to_uppercase().flat_map(char::to_lowercase) {
        folded.extend_from_slice(small.encode_utf8(&mut room).as_bytes());
    }
}

/// Returns true for a letter without width that ext4 and HFS+ skip when they compare names.
fn is_ignored(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
    )
}

/// Returns a name with the case of every ASCII letter changed; `None` if it has none.
fn swapped(name: &[u8]) -> Option<Vec<u8>> {
    let swap = |byte: &u8| match byte.is_ascii_uppercase() {
        true => byte.to_ascii_lowercase(),
        false => byte.to_ascii_uppercase(),
    };
    let other: Vec<u8> = name.iter().map(swap).collect();
    (other != name).then_some(other)
}

/// Returns true if the directory takes names that differ in case only for one. It is asked for a name that it has, in another case;
/// an empty directory, and one without letters in its names, for the flag that ext4 sets or the number of its file system.
///
/// # Errors
/// The system's error.
pub fn folds_names(dir: impl AsHandle) -> io::Result<bool> {
    let names = sorted_names(&dir)?;
    let mut tried = 0;
    for name in &names {
        let Some(other) = swapped(name) else { continue };
        // Two names of one object are no proof.
        if names.binary_search(&other).is_ok() {
            continue;
        }
        let [is, same] = [name, &other].map(|name| look(&dir, OsStr::from_bytes(name)));
        match (is?, same?) {
            (Some(is), Some(same)) => return Ok(is.ino == same.ino && is.kind == same.kind),
            (Some(_), None) => return Ok(false),
            // It is gone meanwhile.
            (None, _) => {}
        }
        tried += 1;
        if tried == TRIED {
            break;
        }
    }
    Ok(is_marked(dir))
}

/// Returns true if a directory has exactly this name, and not only one that it takes for the same.
///
/// # Errors
/// The system's error.
pub fn holds_name(dir: impl AsHandle, name: &OsStr) -> io::Result<bool> {
    // Only where something answers to the name the names have to be read.
    Ok(look(&dir, name)?.is_some()
        && sorted_names(&dir)?
            .binary_search_by(|is| is[..].cmp(name.as_bytes()))
            .is_ok())
}

/// Returns false if a directory can have no such name: some file systems answer EILSEQ to a name that is no UTF-8 (APFS; ZFS with
/// `utf8only`), APFS also to letters that are younger than it is.
///
/// # Errors
/// The system's error.
pub fn takes_name(dir: impl AsHandle, name: &OsStr) -> io::Result<bool> {
    if name.is_ascii() {
        return Ok(true);
    }
    match look(&dir, name) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(Errno::ILSEQ.raw_os_error()) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the name under which a directory keeps what answers to `name`; `None` if nothing does.
///
/// # Errors
/// The system's error.
pub fn stored_name(dir: impl AsHandle, name: &OsStr) -> io::Result<Option<OsString>> {
    let Some(is) = look(&dir, name)? else {
        return Ok(None);
    };
    let names = sorted_names(&dir)?;
    if names.binary_search_by(|is| is[..].cmp(name.as_bytes())).is_ok() {
        return Ok(Some(name.to_owned()));
    }
    // Those that differ in case only come first, then those that are composed in another way.
    let (alike, others): (Vec<&Vec<u8>>, Vec<&Vec<u8>>) = names
        .iter()
        .partition(|other| is_one_name(other, name.as_bytes()));
    let composed = others.into_iter().filter(|other| !other.is_ascii());
    for other in alike.into_iter().chain(composed) {
        let found = look(&dir, OsStr::from_bytes(other))?;
        if found.is_some_and(|found| found.ino == is.ino && found.kind == is.kind) {
            return Ok(Some(OsString::from_vec(other.clone())));
        }
    }
    Ok(Some(name.to_owned()))
}

/// Returns a local path as its directories keep its names: on a file system that ignores case one directory has many paths, and only one
/// of them can be compared as text. What does not exist stays as it is.
#[must_use]
pub fn stored_path(path: &Path) -> PathBuf {
    let mut stored = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::Normal(name) => stored = stored_child(&stored, name),
            other => stored.push(other),
        }
    }
    stored
}

/// The same for one name in a directory whose own path is stored so.
#[must_use]
pub fn stored_child(dir: &Path, name: &OsStr) -> PathBuf {
    let plain = dir.join(name);
    let may_differ = || -> io::Result<bool> {
        let Some(is) = super::stat_path(&plain)? else {
            return Ok(false);
        };
        if !name.as_bytes().is_ascii() {
            return Ok(true);
        }
        let other = swapped(name.as_bytes()).map(|other| dir.join(OsStr::from_bytes(&other)));
        let other = other.map_or(Ok(None), |other| super::stat_path(&other))?;
        Ok(other.is_some_and(|other| other.ino == is.ino && other.kind == is.kind))
    };
    if !may_differ().unwrap_or(false) {
        return plain;
    }
    let found = super::open_root(dir).and_then(|dir| stored_name(dir, name));
    found.ok().flatten().map_or(plain, |found| dir.join(found))
}

fn look(dir: &impl AsHandle, name: &OsStr) -> io::Result<Option<Stat>> {
    match super::stat_child(dir, name) {
        Ok(stat) => Ok(Some(stat)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn sorted_names(dir: &impl AsHandle) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    super::names(dir, |name| names.push(name.to_vec()))?;
    names.sort_unstable();
    Ok(names)
}

/// Returns true if a directory bears ext4's flag, or lies on a file system that always ignores case.
#[cfg(target_os = "linux")]
fn is_marked(dir: impl AsHandle) -> bool {
    use super::kernel;
    /// `FS_CASEFOLD_FL`, ioctl_iflags(2).
    const CASEFOLD: u32 = 0x4000_0000;
    /// FAT, exFAT, HFS+.
    const FOLD: [u64; 3] = [0x4d44, 0x2011_bab0, 0x482b];
    let dir = dir.as_handle();
    kernel::inode_flags(dir).is_ok_and(|flags| flags & CASEFOLD != 0)
        || kernel::magic(dir).is_ok_and(|magic| FOLD.contains(&magic))
}

#[cfg(not(target_os = "linux"))]
fn is_marked(_: impl AsHandle) -> bool {
    false
}
