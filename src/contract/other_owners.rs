//! Counts what only another user can read or replace, and what lies on other file systems, so that the contract can say
//! how much of a mount it cannot promise. A bounded look by mode bits, not a proof: the capture itself finds the rest.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Matcher, PatternError, Verdict};
use crate::model::{ByteString, Coverage, Name, RelPath};
use handle_fs::remote::{Transports, is_elsewhere, place_there};
use handle_fs::{MountError, Root};
use handle_fs::{NodeKind, Stat, parallel};

/// Number of entries that can be counted within about a second.
pub const MAX_VISITED: u64 = 200_000;

/// Ids of a user, as the kernel compares them with those of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Effective user id.
    pub uid: u32,
    /// Effective group id and all supplementary ones.
    pub groups: Vec<u32>,
}

impl Identity {
    /// Returns the identity of this process.
    #[must_use]
    pub fn current() -> Self {
        Self {
            uid: handle_fs::own_ids().0,
            groups: handle_fs::own_groups(),
        }
    }

    /// Returns the identity that acts at `root`; on another machine it is a different user.
    #[must_use]
    pub fn at(transports: &Transports, root: &Path) -> Self {
        match transports.actor_near(root) {
            Some((uid, groups)) => Self { uid, groups },
            None => Self::current(),
        }
    }

    /// Returns true if the mode bits grant `bits` (4 read, 2 write, 1 search). ACLs are ignored.
    fn may(&self, stat: &Stat, bits: u32) -> bool {
        let shift = if stat.uid == self.uid {
            6
        } else if self.groups.contains(&stat.gid) {
            3
        } else {
            0
        };
        self.uid == 0 || (stat.mode >> shift) & bits == bits
    }

    /// Returns true if this user can remove or rename an entry of a directory (unlink(2): the sticky bit keeps it to owners).
    fn may_replace(&self, directory: &Stat, entry: &Stat) -> bool {
        const STICKY: u32 = 0o1000;
        let sticky = directory.mode & STICKY != 0 && directory.uid != self.uid && entry.uid != self.uid;
        self.uid == 0 || (self.may(directory, 3) && !sticky)
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Foreign {
    /// Covered files and directories that this user cannot read.
    pub unreadable: u64,
    /// Covered entries that this user cannot replace or remove.
    pub irreplaceable: u64,
    /// Covered entries that belong to another user: their owner cannot be restored without privilege.
    pub other_owner: u64,
    /// Covered files that take less room than they have bytes, on a file system whose holes are not trusted: they are stored and
    /// restored in full.
    #[serde(default)]
    pub sparse: u64,
    /// Directories where another file system begins; a capture does not enter them.
    pub mount_points: u64,
    /// How many entries were looked at.
    pub visited: u64,
    /// The count stopped at its bound, so the true numbers may be larger.
    pub stopped: bool,
}

/// Walks a mount and counts, at most `limit` entries ([`MAX_VISITED`]). Links are not followed.
///
/// # Errors
/// When an exclude of the coverage does not parse.
pub fn count_foreign(
    transports: &Transports,
    coverage: &Coverage,
    identity: &Identity,
    limit: u64,
) -> Result<Foreign, PatternError> {
    let matcher = Matcher::new(coverage)?;
    if let Some(found) = counted_there(transports, coverage, limit) {
        return Ok(found);
    }
    let root = match Root::open(transports, &coverage.root.to_path()) {
        Ok(root) => root,
        Err(MountError::Io { .. }) => {
            return Ok(Foreign {
                unreadable: 1,
                ..Foreign::default()
            });
        }
        // A missing root has no entries to count.
        Err(_) => return Ok(Foreign::default()),
    };
    let top = root.stat();
    let count = Count {
        root: &root,
        matcher: &matcher,
        identity,
        limit,
        visited: AtomicU64::new(0),
        is_elsewhere: is_elsewhere(&coverage.root.to_path()),
        shows_holes: root.file_system().is_ok_and(|facts| facts.shows_holes),
    };
    let parts = parallel::explore((RelPath::root(), top), |job, below, found: &mut Foreign| {
        count.directory(job, below, found)
    });
    Ok(parts.into_iter().fold(Foreign::default(), Foreign::plus))
}

/// Request to this program on another machine: the coverage of a root there, and the limit.
#[derive(Serialize, Deserialize)]
struct Question {
    coverage: Coverage,
    limit: u64,
}

/// Returns the count that this program makes on the root's own machine, so that no entries are sent; `None` if it cannot.
fn counted_there(transports: &Transports, coverage: &Coverage, limit: u64) -> Option<Foreign> {
    let root = coverage.root.to_path();
    let place = place_there(&root)?;
    let coverage = Coverage {
        root: ByteString::from(place.as_path()),
        ..coverage.clone()
    };
    let question = serde_json::to_vec(&Question { coverage, limit }).ok()?;
    serde_json::from_slice(&transports.ask(&root, [&[COUNT], question.as_slice()].concat())?).ok()
}

/// First byte of a request for a count.
pub const COUNT: u8 = b'f';

/// Answers such a request, without its first byte, as the current user; `None` if it is invalid or the count fails.
#[must_use]
pub fn answer(question: &[u8]) -> Option<Vec<u8>> {
    let Question { coverage, limit } = serde_json::from_slice(question).ok()?;
    let found = count_foreign(
        &Transports::default(),
        &coverage,
        &Identity::current(),
        limit.min(MAX_VISITED),
    )
    .ok()?;
    serde_json::to_vec(&found).ok()
}

impl Foreign {
    fn plus(self, other: Self) -> Self {
        Self {
            unreadable: self.unreadable + other.unreadable,
            irreplaceable: self.irreplaceable + other.irreplaceable,
            other_owner: self.other_owner + other.other_owner,
            sparse: self.sparse + other.sparse,
            mount_points: self.mount_points + other.mount_points,
            visited: self.visited + other.visited,
            stopped: self.stopped || other.stopped,
        }
    }
}

/// One count.
struct Count<'a> {
    root: &'a Root,
    matcher: &'a Matcher,
    identity: &'a Identity,
    limit: u64,
    visited: AtomicU64,
    /// The root lies on another machine.
    is_elsewhere: bool,
    /// Its file system reports holes rightly.
    shows_holes: bool,
}

/// Names, and the facts of what they name.
type Children = Vec<(Vec<u8>, io::Result<Stat>)>;

/// A directory to look into: where, and what it is.
type Job = (RelPath, Stat);

impl Count<'_> {
    fn directory(&self, (path, stat): Job, below: &mut Vec<Job>, found: &mut Foreign) -> ControlFlow<()> {
        let listed = if self.identity.may(&stat, 5) {
            self.children(&path)
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        };
        let Ok((children, stopped)) = listed else {
            found.unreadable += 1;
            return ControlFlow::Continue(());
        };
        for (name, child) in children {
            found.visited += 1;
            // An entry that cannot be read counts only as visited.
            if let (Ok(name), Ok(child)) = (Name::new(&name), child) {
                self.entry(&stat, path.join(&name), child, below, found);
            }
        }
        if stopped {
            found.stopped = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Returns the children of a directory, as far as the limit allows, and true if there are more.
    fn children(&self, path: &RelPath) -> io::Result<(Children, bool)> {
        let dir = self.root.dir(path)?;
        let room = |all: usize| {
            let before = self.visited.fetch_add(all as u64, Ordering::Relaxed);
            usize::try_from(self.limit.saturating_sub(before)).unwrap_or(usize::MAX)
        };
        if self.is_elsewhere {
            // One question, whatever is in it.
            let mut children = dir.look_into()?.children;
            let (all, room) = (children.len(), room(children.len()));
            children.truncate(room);
            return Ok((children, all > room));
        }
        let names = dir.names()?;
        let room = room(names.len());
        let asked = || names.iter().take(room);
        let facts = dir.look_at(asked().map(Name::as_os_str))?;
        let children = asked().map(|name| name.as_bytes().to_vec()).zip(facts);
        Ok((children.collect(), names.len() > room))
    }

    fn entry(&self, above: &Stat, at: RelPath, child: Stat, below: &mut Vec<Job>, found: &mut Foreign) {
        let is_dir = child.kind == NodeKind::Directory;
        let covered = match self.matcher.verdict(&at, is_dir) {
            Verdict::Covered => true,
            Verdict::OutsideTracked if is_dir && self.matcher.is_on_the_way(&at) => false,
            _ => return,
        };
        if is_dir && !child.is_on(self.root.place()) {
            found.mount_points += 1;
            return;
        }
        let identity = self.identity;
        if covered {
            let is_file = child.kind == NodeKind::File;
            found.irreplaceable += u64::from(!identity.may_replace(above, &child));
            found.other_owner += u64::from(identity.uid != 0 && child.uid != identity.uid);
            found.unreadable += u64::from(is_file && !identity.may(&child, 4));
            let takes_less = is_file && child.allocated < child.size;
            found.sparse += u64::from(takes_less && !self.shows_holes);
        }
        if is_dir {
            below.push((at, child));
        }
    }
}
