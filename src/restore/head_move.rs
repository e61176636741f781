//! Changes that a restore makes to HEAD of each repository, and to the branch that is checked out.

use std::path::Path;

use super::plan::Plan;
use crate::git_directories::{Repositories, work_tree};
use crate::model::{Manifest, RelPath, SnapshotRecord};
use crate::store::{Store, StoredTree};
use git_reader::{Files, Head, Live, Repository};
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

/// Returns the moves that a plan makes. A repository is omitted if it cannot be read, is missing on one side, or keeps a part of what
/// decides about HEAD.
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
    let stays = plan.conflicts.iter().chain(&plan.kept);
    let stays: Vec<&RelPath> = stays.map(|kept| &kept.change.path).collect();
    for own in own {
        if stays.iter().any(|path| path.is_within(own) && decides(own, path)) {
            continue;
        }
        if let (Some(now), Some(then)) = (head(&live, own), head(&stored, own))
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
