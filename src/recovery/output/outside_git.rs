//! Git repositories in a written directory that are no copies of their own: git in them works on something outside.

use std::path::PathBuf;

use super::{Job, mount_directory};
use crate::git_directories::work_trees;
use crate::model::{Name, RelPath};
use git_reader::{Live, places_outside};
use handle_fs::Root;

/// Place outside of a written directory that git in it works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideGit {
    /// Directory of the copy in which git runs.
    pub directory: PathBuf,
    /// Repository, part of one, or work tree that git reads and writes then. It need not exist. `None` if it is not known, because a file of
    /// the repository cannot be read.
    pub place: Option<PathBuf>,
}

/// Finds the places outside of what a job wrote that git in it works on. The mounts of one job are one copy.
pub(in crate::recovery) fn outside_git(job: &Job<'_>) -> Vec<OutsideGit> {
    let Ok(root) = Root::open(job.store.transports(), job.directory) else {
        return Vec::new();
    };
    let live = Live::new(&root);
    let mut found = Vec::new();
    for part in job.parts {
        let directory = mount_directory(job.directory, job.target, &part.coverage);
        let top = match directory == job.directory {
            true => Some(RelPath::root()),
            false => RelPath::new(part.coverage.label.as_bytes()).ok(),
        };
        let Some(top) = top else { continue };
        for work in work_trees(&part.manifest) {
            let names = work.parts().filter_map(|name| Name::new(name).ok());
            let in_copy = names.fold(top.clone(), |path, name| path.join(&name));
            let (places, unread) = places_outside(&live, &in_copy);
            let unknown = unread.map(|_| None);
            found.extend(
                places
                    .into_iter()
                    .map(Some)
                    .chain(unknown)
                    .map(|place| OutsideGit {
                        directory: work.on_host(&directory),
                        place,
                    }),
            );
        }
    }
    found
}
