//! Names that a snapshot does not show: an excluded path may be another name of a file that comes back. It is found by its inode, and
//! taken only when it holds what the snapshot recorded.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;

use crate::capture::ContentSource;
use crate::model::{Entry, EntryKind, Name, RelPath};
use handle_fs::NodeKind;
use handle_fs::{Dir, Root};

/// Most entries that are inspected.
const ENOUGH: usize = 2_000_000;

/// One name below `root` of each wanted inode, none of which a snapshot of the tree shows: what it excludes is looked at as well.
pub(super) fn find(root: &Root, wanted: &HashSet<u64>) -> HashMap<u64, RelPath> {
    let mut found = HashMap::new();
    let mut left = ENOUGH;
    let mut stack = vec![RelPath::root()];
    while let Some(at) = stack.pop() {
        // What cannot be looked at holds no name that could be used.
        let Ok(looked) = root.dir(&at).and_then(|dir| dir.look_into()) else {
            continue;
        };
        for (name, stat) in looked.children {
            let (Ok(name), Ok(stat)) = (Name::new(&name), stat) else {
                continue;
            };
            match stat.kind {
                NodeKind::Directory => stack.push(at.join(&name)),
                NodeKind::File if wanted.contains(&stat.ino) => {
                    found.entry(stat.ino).or_insert_with(|| at.join(&name));
                }
                _ => {}
            }
            left = left.saturating_sub(1);
        }
        if found.len() == wanted.len() || left == 0 {
            break;
        }
    }
    found
}

/// Links `name` in `dir` to `other`, when that is what `entry` says. `false`: nothing is at `name`.
///
/// # Errors
/// When the new name can neither be used nor removed.
pub(super) fn link(
    root: &Root,
    other: &RelPath,
    entry: &Entry,
    (dir, name): (&Dir, &OsStr),
) -> io::Result<bool> {
    let Some((parent, old)) = other.split() else {
        return Ok(false);
    };
    let linked = root
        .dir(&parent)
        .and_then(|from| handle_fs::hard_link(&from, old.as_os_str(), dir, name));
    if linked.is_err() {
        return Ok(false);
    }
    // Looked at under the new name, which no other program knows: this is the object that comes back.
    if is_it(dir, name, entry).unwrap_or(false) {
        return Ok(true);
    }
    handle_fs::remove_file(dir, name)?;
    Ok(false)
}

fn is_it(dir: &Dir, name: &OsStr, entry: &Entry) -> io::Result<bool> {
    let EntryKind::File(content) = &entry.kind else {
        return Ok(false);
    };
    let (file, stat) = dir.file(name)?;
    let same = stat.ino == entry.ino
        && stat.size == content.size
        && stat.mode == entry.mode
        && (stat.uid, stat.gid) == (entry.uid, entry.gid)
        && stat.flags == entry.flags
        && dir.attributes(name)? == entry.xattrs;
    if !same {
        return Ok(false);
    }
    let found = ContentSource::new(file, &stat, Some(content.method))?.digest(|_| Ok(()))?;
    Ok(found == *content)
}
