//! Repositories that git works on: they are not pulled away under it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::RestoreError;
use super::propose::{Proposal, ProposedMount};
use crate::git::{Repositories, work_tree};
use crate::process;
use crate::snapshot::{Name, RelPath};

/// A lock in a repository, and who holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// The lock on the host.
    pub lock: PathBuf,
    /// Who: a number and what the process calls itself. None: it cannot be told.
    pub holder: Option<(u32, String)>,
}

impl fmt::Display for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lock = self.lock.display();
        match &self.holder {
            Some((pid, name)) => write!(f, "{lock} is held by {name} (process {pid})"),
            None => write!(f, "{lock} may be held by a process, which cannot be told here"),
        }
    }
}

/// Refuses to change a repository that git works on: one with a lock that a process holds. A lock that nobody holds was left by a
/// process that died.
///
/// # Errors
/// [`RestoreError::Locked`].
pub fn refuse_locked(proposal: &Proposal) -> Result<(), RestoreError> {
    match proposal.mounts.iter().find_map(locked) {
        Some(locked) => Err(RestoreError::Locked(Box::new(locked))),
        None => Ok(()),
    }
}

fn locked(mount: &ProposedMount) -> Option<Locked> {
    let now = mount.now.manifest.as_ref()?;
    let repositories = Repositories::of([now]);
    let touched: Vec<&RelPath> = mount
        .plan
        .steps
        .iter()
        .filter_map(|step| repositories.holding(&step.change.path))
        .collect();
    let root = mount.request.coverage.root.to_path();
    let mut locks: BTreeMap<&RelPath, Vec<PathBuf>> = BTreeMap::new();
    for dir in &now.directories {
        let Some(own) = repositories.holding(&dir.path) else {
            continue;
        };
        if touched.binary_search(&own).is_err() && !touched.contains(&own) {
            continue;
        }
        let held = dir.entries.iter().filter(|entry| is_lock(&entry.name));
        let held = held.map(|entry| dir.path.join(&entry.name).on_host(&root));
        locks.entry(own).or_default().extend(held);
    }
    for (own, locks) in locks {
        let works_in = work_tree(own);
        for lock in locks {
            match process::holder(&lock, &works_in.on_host(&root)) {
                Ok(None) => {}
                Ok(Some(holder)) => {
                    let holder = Some(holder);
                    return Some(Locked { lock, holder });
                }
                Err(_) => return Some(Locked { lock, holder: None }),
            }
        }
    }
    None
}

/// `index.lock` and its like; a branch cannot have such a name.
fn is_lock(name: &Name) -> bool {
    let name = name.as_bytes();
    name.ends_with(b".lock") || name == b"gc.pid"
}
