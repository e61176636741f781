//! Which paths are git's own: what `--files-only` leaves out, and what must not change while git works on it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::RestoreError;
use super::propose::{Proposal, ProposedMount};
use crate::process;
use crate::snapshot::{Directory, Kind, Manifest, Name, RelPath};

/// The directories, and the files that point to one, in which git keeps its own things. Told by their names and what is in them,
/// on either side of a comparison: what a session removed is git's as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repositories(Vec<RelPath>);

impl Repositories {
    /// Those in any of `sides`.
    pub fn of<'m>(sides: impl IntoIterator<Item = &'m Manifest>) -> Self {
        let directories = sides.into_iter().flat_map(|side| &side.directories);
        let mut found: Vec<RelPath> = directories.flat_map(|dir| own(dir)).collect();
        found.sort();
        found.dedup();
        // One within another belongs to that.
        let mut outermost: Vec<RelPath> = Vec::new();
        for path in found {
            if !outermost.last().is_some_and(|last| path.is_within(last)) {
                outermost.push(path);
            }
        }
        Self(outermost)
    }

    /// The one that `path` lies in.
    #[must_use]
    pub fn holding(&self, path: &RelPath) -> Option<&RelPath> {
        let after = self.0.partition_point(|own| own <= path);
        let own = self.0.get(after.checked_sub(1)?)?;
        path.is_within(own).then_some(own)
    }
}

/// What is git's in one directory: its `.git`, or the directory itself when it is a bare repository.
fn own(dir: &Directory) -> Option<RelPath> {
    let entry = |name: &[u8]| dir.entry(&Name::new(name).ok()?);
    if let Some(own) = entry(b".git") {
        return Some(dir.path.join(&own.name));
    }
    let is_dir = |name| entry(name).is_some_and(|entry| entry.is_dir());
    let bare = entry(b"HEAD").is_some_and(|head| matches!(head.kind, Kind::File(_) | Kind::Symlink(_)));
    (bare && is_dir(b"objects") && is_dir(b"refs")).then(|| dir.path.clone())
}

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
        let works_in = own.split().map_or_else(RelPath::root, |(parent, _)| parent);
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
