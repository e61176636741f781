//! Excluded directories that are set aside, and restored by an undo: which may be, and what becomes of each in a proposal.

use std::io;
use std::path::{Path, PathBuf};

use super::file_identity::is_same;
use super::holding_dir::find;
use super::plan::{AsideWhy, KeptPath, Why};
use super::problem::Problem;
use super::proposal::{Proposal, ProposedMount};
use super::scope::Allow;
use super::stage::{Location, Stage};
use crate::clock::{Entropy, random};
use crate::contract::{Matcher, Verdict, is_staging_place};
use crate::diagnostic::{Diagnostic, ErrorKind};
use crate::diff::{Change, ChangeKind};
use crate::model::{AsideAct, AsideChange, AsideStep, ByteString, Identity, RelPath, StagePlace};
use handle_fs::remote::{Transports, above};
use handle_fs::{Dir, Root};
use handle_fs::{NodeKind, Stat, is_through_link};

/// Reason why a directory cannot be set aside. Each variant has its host path.
#[derive(Debug, thiserror::Error)]
pub enum AsideError {
    /// The directory does not exist.
    #[error("{} is not there, so it cannot be set aside", .0.display())]
    Missing(PathBuf),
    /// The directory is the mount root.
    #[error("{} is the mount itself, which cannot be set aside", .0.display())]
    Root(PathBuf),
    /// The path is a link, a file, or something else.
    #[error("{} is not a directory, or is reached through a link, so it cannot be set aside", .0.display())]
    NotADirectory(PathBuf),
    /// The snapshot's excludes do not leave it out.
    #[error("{} is not excluded by the snapshot, so it cannot be set aside", .0.display())]
    NotExcluded(PathBuf),
    /// The directory holds, or lies in, a path that is never touched.
    #[error("{} holds or is in {}, which is never changed", path.display(), withheld.display())]
    Withheld {
        /// The directory.
        path: PathBuf,
        /// The path that is never touched.
        withheld: PathBuf,
    },
    /// Another mount begins in it, or at it.
    #[error("another mount begins at {}, so {} cannot be set aside", mount.display(), path.display())]
    Holds {
        /// The directory.
        path: PathBuf,
        /// Path at which the mount begins.
        mount: PathBuf,
    },
    /// The directory cannot be examined.
    #[error("{} cannot be read: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
}

impl Diagnostic for AsideError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }
}

/// Adds an excluded directory of the mount with this number to what is set aside.
///
/// # Errors
/// [`AsideError`]; the proposal is as it was then.
pub fn set_aside(
    proposal: &mut Proposal,
    mount: usize,
    path: &RelPath,
    entropy: &dyn Entropy,
) -> Result<(), AsideError> {
    let Some(mount) = proposal.mounts.get_mut(mount) else {
        return Ok(());
    };
    let host = mount.request.coverage.root.to_path();
    let shown = path.on_host(&host);
    if path.is_root() {
        return Err(AsideError::Root(shown));
    }
    let io = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => AsideError::Missing(shown.clone()),
        io::ErrorKind::NotADirectory => AsideError::NotADirectory(shown.clone()),
        _ if is_through_link(&source) => AsideError::NotADirectory(shown.clone()),
        io::ErrorKind::CrossesDevices => AsideError::Holds {
            path: shown.clone(),
            mount: shown.clone(),
        },
        _ => AsideError::Io {
            path: shown.clone(),
            source,
        },
    };
    let root = Root::open(&mount.transports, &host).map_err(|_| AsideError::Missing(shown.clone()))?;
    let mut step = AsideStep {
        path: path.clone(),
        act: AsideAct::Away,
        place: Stage::place_aside(&mount.location, &host, random(entropy)),
        live: None,
        aside: None,
    };
    let (seat, live) = find(&root, &step).map_err(io)?;
    let stat = seat.dir.look(&seat.name).map_err(io)?;
    let Some(stat) = stat else {
        return Err(AsideError::Missing(shown));
    };
    // What cannot be put together otherwise may go, and nothing of it is lost.
    let is_stuck = mount.left_alone().any(|change| change.path == *path);
    if !is_stuck {
        if let Some(withheld) = withheld(mount, path) {
            return Err(AsideError::Withheld {
                path: shown,
                withheld: withheld.on_host(&host),
            });
        }
        if stat.kind != NodeKind::Directory {
            return Err(AsideError::NotADirectory(shown));
        }
        if !mount.now.skipped.iter().any(|left| path.is_within(&left.path)) {
            return Err(AsideError::NotExcluded(shown));
        }
    }
    if let Some(inner) = mount_in(&root, path, &stat) {
        return Err(AsideError::Holds {
            path: shown,
            mount: inner.on_host(&host),
        });
    }
    step.live = live;
    // What lies in another one goes with it.
    if !mount.aside.iter().any(|other| path.is_within(&other.path)) {
        mount.aside.retain(|other| !other.path.is_within(path));
        mount.aside.push(step);
        mount.aside.sort_by(|a, b| a.path.cmp(&b.path));
        mount.not_checked.retain(|left| !left.path.is_within(path));
    }
    Ok(())
}

/// Returns a path that is never touched and lies at, above or below `path`.
fn withheld(mount: &ProposedMount, path: &RelPath) -> Option<RelPath> {
    let coverage = &mount.request.coverage;
    let mut named = coverage.withheld.iter();
    let found = named.find(|other| other.path.is_within(path) || path.is_within(&other.path));
    if let Some(found) = found {
        return Some(found.path.clone());
    }
    let matcher = Matcher::new(coverage).ok()?;
    let is_withheld = matches!(matcher.verdict_with_parents(path, true), Verdict::Withheld(_));
    is_withheld.then(|| path.clone())
}

/// Returns a mount point at or below `path`, if there is one. It would move along, and its owner would find it elsewhere.
/// Directories that cannot be listed are skipped.
fn mount_in(root: &Root, path: &RelPath, stat: &Stat) -> Option<RelPath> {
    if stat.place != root.place() {
        return Some(path.clone());
    }
    let mut stack = vec![path.clone()];
    while let Some(at) = stack.pop() {
        let Ok(dir) = root.dir(&at) else { continue };
        for name in dir.names().unwrap_or_default() {
            let Ok(Some(stat)) = dir.look(name.as_os_str()) else {
                continue;
            };
            if stat.place != root.place() {
                return Some(at.join(&name));
            }
            if stat.kind == NodeKind::Directory {
                stack.push(at.join(&name));
            }
        }
    }
    None
}

/// Adds to an undo what its restore set aside or restored. What cannot be undone is a conflict.
pub fn bring_back(proposal: &mut Proposal, changes: &[AsideChange], entropy: &dyn Entropy) {
    let allow = proposal.allow;
    for mount in &mut proposal.mounts {
        let label = &mount.request.coverage.label;
        for change in changes.iter().filter(|change| change.mount == *label) {
            let root = mount.request.coverage.root.to_path();
            match reverse(&mount.transports, &root, &mount.location, change, allow, entropy) {
                Ok(step) => mount.aside.push(step),
                Err(why) => mount.plan.conflicts.push(kept(&change.path, why)),
            }
        }
        mount
            .plan
            .conflicts
            .sort_by(|a, b| a.change.path.cmp(&b.change.path));
        let aside = &mount.aside;
        let goes = |path: &RelPath| aside.iter().any(|step| path.is_within(&step.path));
        mount.not_checked.retain(|left| !goes(&left.path));
    }
}

fn kept(path: &RelPath, why: AsideWhy) -> KeptPath {
    let kind = match why {
        AsideWhy::Missing | AsideWhy::Gone(_) | AsideWhy::NoParent(_) => ChangeKind::Deleted,
        AsideWhy::Taken(_) | AsideWhy::Other | AsideWhy::Holds(_) | AsideWhy::Unseen(..) => ChangeKind::Added,
    };
    KeptPath {
        change: Change {
            path: path.clone(),
            kind,
            from: None,
            to: None,
            from_path: None,
            has_secret_name: false,
        },
        why: Why::Aside(why),
    }
}

/// Returns the step that reverses a change.
fn reverse(
    transports: &Transports,
    host: &Path,
    location: &Location,
    change: &AsideChange,
    allow: Allow,
    entropy: &dyn Entropy,
) -> Result<AsideStep, AsideWhy> {
    let lies = change.place.to_path();
    let unseen = |why: &io::Error| AsideWhy::Unseen(lies.clone(), Problem::from(why));
    let root = match Root::open(transports, host) {
        Ok(root) => root,
        Err(handle_fs::MountError::Io { source, .. }) => return Err(unseen(&source)),
        Err(_) if change.leaves() => return Err(AsideWhy::NoParent(lies)),
        Err(_) => return Err(AsideWhy::Missing),
    };
    let mut step = AsideStep {
        path: change.path.clone(),
        act: AsideAct::Away,
        place: Stage::place_aside(location, host, random(entropy)),
        live: None,
        aside: None,
    };
    if change.leaves() {
        let gone = || AsideWhy::Gone(lies.clone());
        step.place = place_of(change, host).ok_or_else(gone)?;
        let found = Dir::open(transports, &step.place.path()).and_then(|dir| match lies.file_name() {
            Some(name) => dir.look(name),
            None => Ok(None),
        });
        let found = match found {
            Err(error) if !is_gone(&error) => return Err(unseen(&error)),
            found => found.ok().flatten(),
        };
        let then = change.aside.as_ref();
        let same = then
            .zip(found.as_ref())
            .filter(|(then, now)| is_same(then, now, true));
        let (_, now) = same.ok_or_else(gone)?;
        step.aside = Some(super::file_identity::identity(now));
    }
    let stat = match find(&root, &step) {
        Ok((seat, live)) => {
            step.live = live;
            seat.dir.look(&seat.name).map_err(|error| unseen(&error))?
        }
        Err(error) if !is_gone(&error) => return Err(unseen(&error)),
        Err(_) if change.leaves() => return Err(AsideWhy::NoParent(lies)),
        Err(_) => return Err(AsideWhy::Missing),
    };
    let Some(stat) = stat else {
        step.act = AsideAct::Back;
        return if change.leaves() {
            Ok(step)
        } else {
            Err(AsideWhy::Missing)
        };
    };
    let as_left = |then: &Identity| is_same(then, &stat, false);
    if !change.live.as_ref().is_some_and(as_left) && !allow.overwrite_later {
        return Err(if change.leaves() {
            AsideWhy::Taken(lies)
        } else {
            AsideWhy::Other
        });
    }
    if let Some(inner) = mount_in(&root, &change.path, &stat) {
        return Err(AsideWhy::Holds(inner.on_host(host)));
    }
    if change.leaves() {
        step.act = AsideAct::Exchanged;
    }
    Ok(step)
}

fn is_gone(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    kinds.contains(&error.kind()) || is_through_link(error)
}

/// The directory of jackin that a receipt names, if it is one.
fn place_of(change: &AsideChange, host: &Path) -> Option<StagePlace> {
    let place = change.directory()?;
    let directory = above(&place)?;
    let found = StagePlace {
        directory: ByteString::from(directory),
        name: place.file_name()?.to_str()?.to_owned(),
        inside: directory == host,
    };
    is_staging_place(&found, host, true).then_some(found)
}
