//! Files of a lower layer of an overlay that have several names. When one of the names is moved, the overlay copies the file for that name
//! alone, and the copy has another inode number, by which nothing would know it again. So the copies are made before anything is looked at.

use std::collections::BTreeSet;
use std::io;

use super::plan::{Action, Step};
use super::proposal::ProposedMount;
use crate::model::{Entry, RelPath};
use handle_fs::{Dir, NodeKind, Root};

/// Set-group-ID, which `chmod` takes from a file whose group the user is not in.
const SETGID: u32 = 0o2000;

/// The paths of a mount whose files got another inode number, and with it no other content and no other metadata.
#[derive(Debug, Default)]
pub(super) struct Parted(BTreeSet<RelPath>);

impl Parted {
    /// Returns true if `again` is the state of `path` that was `shown`, as a file of its own at most.
    pub(super) fn is_same(&self, path: &RelPath, shown: &Entry, again: &Entry) -> bool {
        match self.0.is_empty() {
            true => shown.same_state(again) && shown.ino == again.ino,
            // The groups of names are others where one of them was parted.
            false => {
                let is_known = shown.ino == again.ino || self.0.contains(path);
                is_known && shown.kind == again.kind && shown.same_metadata(again)
            }
        }
    }
}

/// Copies what the plan moves of such files to the upper layer. What cannot be copied is left as it is: the move itself fails then.
pub(super) fn part(mount: &ProposedMount) -> Parted {
    let moved = |step: &&Step| {
        let is_moved = matches!(step.action, Action::Delete | Action::Replace);
        let there = step.change.to.as_ref();
        is_moved && there.is_some_and(|entry| !entry.is_dir() && entry.nlink > 1)
    };
    let mut paths = mount.plan.steps.iter().filter(moved).peekable();
    if !mount.now.layered || paths.peek().is_none() {
        return Parted::default();
    }
    let root = Root::open(&mount.transports, &mount.request.coverage.root.to_path());
    let Ok(root) = root else { return Parted::default() };
    let paths = paths.map(|step| &step.change.path);
    Parted(paths.filter(|path| copy(&root, path)).cloned().collect())
}

/// Changes nothing of an object, which is copied for that.
fn copy(root: &Root, path: &RelPath) -> bool {
    let touch = || -> io::Result<bool> {
        let Some((parent, name)) = path.split() else {
            return Ok(false);
        };
        let dir: Dir = root.dir(&parent)?;
        let name = name.as_os_str();
        let Some(is) = dir.look(name)? else {
            return Ok(false);
        };
        match is.kind {
            NodeKind::Symlink => handle_fs::chown(&dir, name, is.uid, is.gid)?,
            _ if is.mode & SETGID != 0 && !dir.actor().is_privileged() => return Ok(false),
            _ => handle_fs::chmod_node(&dir, name, is.mode)?,
        }
        Ok(dir.look(name)?.is_some_and(|now| now.ino != is.ino))
    };
    touch().unwrap_or(false)
}
