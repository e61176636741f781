//! Paths that a restore could examine if the system did not deny this user access.

use std::collections::BTreeMap;
use std::io;

use super::problem::is_denial;
use super::proposal::ProposedMount;
use crate::model::{Listing, RelPath};
use handle_fs::{MountError, NodeKind, Root, own_ids};

/// Paths of a mount that the target can restore and that this user must not read.
#[derive(Debug, Default)]
pub struct Denied {
    /// Objects of this user whose mode does not let their owner read them. `chmod` is enough for these.
    pub closed: BTreeMap<RelPath, Closed>,
    /// True if there are paths that only root can read.
    pub needs_root: bool,
}

/// Object that its owner must not read.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    /// True for a directory.
    pub is_dir: bool,
    /// True if it was as unreadable at the end of the session: what is in it counts as a later edit.
    pub is_unseen: bool,
}

impl Denied {
    /// Looks at the paths of a mount that could not be examined.
    #[must_use]
    pub fn of(mount: &ProposedMount) -> Self {
        let known = |path: &&RelPath| {
            let Some(target) = &mount.target else {
                return false;
            };
            let listing = target.directory(path).map(|dir| dir.listing);
            // With the names in a directory unknown, nothing in it can be restored, by any user.
            target.entry(path).is_some() && listing != Some(Listing::Unreadable)
        };
        let gaps = mount.plan.not_covered.iter().map(|gap| &gap.path);
        let mut gaps = gaps.filter(known).peekable();
        let mut found = Self::default();
        if gaps.peek().is_none() {
            return found;
        }
        let root = match Root::open(&mount.transports, &mount.request.coverage.root.to_path()) {
            Ok(root) => root,
            Err(error) => {
                found.needs_root = matches!(error, MountError::Io { source, .. } if is_denial(&source));
                return found;
            }
        };
        let gaps = gaps.filter(|path| look(&root, path).is_err_and(|error| is_denial(&error)));
        for path in gaps {
            match closed_on_the_way(&root, path) {
                Some((at, is_dir)) => {
                    let is_unseen = mount.request.witness.has_not_seen(&at);
                    found.closed.insert(at, Closed { is_dir, is_unseen });
                }
                None => found.needs_root = true,
            }
        }
        found
    }
}

/// Returns the first object on the way to `path` that its owner must not read, if that is this user, and true if it is a directory. On
/// another machine `chmod` would have to run there.
fn closed_on_the_way(root: &Root, path: &RelPath) -> Option<(RelPath, bool)> {
    let is_below = |at: &RelPath| !at.is_root();
    let mut on_the_way = path.ancestors().chain([path.clone()]).filter(is_below);
    on_the_way.find_map(|at| {
        let (above, name) = at.split()?;
        let stat = root.dir(&above).ok()?.look(name.as_os_str()).ok()??;
        let is_dir = stat.kind == NodeKind::Directory;
        let needed = if is_dir { 0o500 } else { 0o400 };
        let is_closed = stat.mode & needed != needed && stat.uid == own_ids().0;
        (is_closed && !root.is_far()).then_some((at, is_dir))
    })
}

/// Opens a directory or a file for reading, as a capture does.
fn look(root: &Root, path: &RelPath) -> io::Result<()> {
    let Some((above, name)) = path.split() else {
        return root.dir(path)?.names().map(drop);
    };
    let dir = root.dir(&above)?;
    match dir.look(name.as_os_str())?.map(|stat| stat.kind) {
        Some(NodeKind::Directory) => dir.dir(name.as_os_str())?.names().map(drop),
        Some(NodeKind::File) => dir.file(name.as_os_str()).map(drop),
        _ => Ok(()),
    }
}
