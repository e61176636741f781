//! Changes that a restore makes to HEAD of each repository, and to the branch that is checked out.

use std::cell::Cell;
use std::collections::HashSet;
use std::io;
use std::path::Path;

use super::plan::Plan;
use crate::git_directories::{Repositories, work_tree};
use crate::model::{Manifest, Name, RelPath, SnapshotRecord};
use crate::store::{Store, StoredTree};
use git_reader::{Files, Found, Head, Live, Repository};
use handle_fs::Root;

/// Move of HEAD by a restore. Both positions are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadMove {
    /// Git directory.
    pub own: RelPath,
    /// Position before the restore.
    pub now: Head,
    /// Position after it.
    pub then: Head,
}

/// Tree after a plan: the snapshot's at the paths of its steps, and the live one everywhere else.
struct Planned<'p> {
    live: &'p Live<'p>,
    stored: &'p StoredTree<'p>,
    steps: HashSet<&'p RelPath>,
}

impl Planned<'_> {
    fn side(&self, path: &RelPath) -> &dyn Files {
        match self.steps.contains(path) {
            true => self.stored,
            false => self.live,
        }
    }
}

impl Files for Planned<'_> {
    fn look(&self, path: &RelPath) -> io::Result<Option<Found>> {
        self.side(path).look(path)
    }

    fn names(&self, dir: &RelPath) -> io::Result<Vec<Name>> {
        let of = |files: &dyn Files, is_step: bool| -> io::Result<Vec<Name>> {
            let names = match files.look(dir)? {
                Some(Found::Directory) => files.names(dir)?,
                _ => Vec::new(),
            };
            let is_meant = |name: &Name| self.steps.contains(&dir.join(name)) == is_step;
            Ok(names.into_iter().filter(is_meant).collect())
        };
        let mut names = of(self.live, false)?;
        names.extend(of(self.stored, true)?);
        names.sort();
        Ok(names)
    }

    fn read_at(&self, path: &RelPath, room: &mut [u8], at: u64) -> io::Result<usize> {
        self.side(path).read_at(path, room, at)
    }

    fn effort(&self) -> &Cell<u64> {
        self.live.effort()
    }

    fn host_path(&self) -> Option<&Path> {
        self.live.host_path()
    }
}

/// Returns the moves that a plan makes. A repository is omitted if it cannot be read, or is missing on one side.
pub(super) fn head_moves(
    (store, target): (&Store, &SnapshotRecord),
    host: &Path,
    (then, now): (Option<&Manifest>, Option<&Manifest>),
    plan: &Plan,
) -> Vec<HeadMove> {
    let (Some(then), Some(now)) = (then, now) else {
        return Vec::new();
    };
    let mut moved = Vec::new();
    let all = Repositories::of([then, now]);
    let steps = || plan.steps.iter().map(|step| &step.change.path);
    let mut own: Vec<&RelPath> = steps()
        .filter_map(|path| all.holding(path).filter(|own| decides(own, path)))
        .collect();
    own.dedup();
    if own.is_empty() {
        return moved;
    }
    let Ok(root) = Root::open(store.transports(), host) else {
        return moved;
    };
    let live = Live::new(&root);
    let blobs = store.contents(target);
    let stored = StoredTree::new(then, &blobs, host);
    let planned = Planned {
        live: &live,
        stored: &stored,
        steps: steps().collect(),
    };
    for own in own {
        if let (Some(now), Some(then)) = (head(&live, own), head(&planned, own))
            && now != then
        {
            let own = own.clone();
            moved.push(HeadMove { own, now, then });
        }
    }
    moved
}

/// Returns true for a file from which git learns where HEAD is.
fn decides(own: &RelPath, path: &RelPath) -> bool {
    let rest = path.as_bytes().strip_prefix(own.as_bytes()).unwrap_or_default();
    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
    rest == b"HEAD" || rest == b"packed-refs" || rest.starts_with(b"refs/heads/")
}

fn head(files: &dyn Files, own: &RelPath) -> Option<Head> {
    let repository = Repository::open(files, &work_tree(own)).ok()??;
    repository.head().ok()
}
