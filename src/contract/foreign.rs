//! Counts what only another user can read or replace, and what lies on other file systems, so that the contract can say
//! how much of a mount it cannot promise. A bounded look by mode bits, not a proof: the capture itself finds the rest.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Matcher, PatternError, Verdict};
use crate::platform;
use crate::snapshot::{Coverage, Name, RelPath};

/// Enough for an honest picture within about a second.
pub const MAX_VISITED: u64 = 200_000;

/// Who asks: ids as the kernel judges files by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Effective user id.
    pub uid: u32,
    /// Effective group id and all supplementary ones.
    pub groups: Vec<u32>,
}

impl Identity {
    /// The identity of this process.
    #[must_use]
    pub fn current() -> Self {
        Self {
            uid: platform::own_ids().0,
            groups: platform::own_groups(),
        }
    }

    /// Whether the mode bits grant `bits` (4 read, 2 write, 1 search). ACLs are not asked.
    fn may(&self, metadata: &Metadata, bits: u32) -> bool {
        let shift = if metadata.uid() == self.uid {
            6
        } else if self.groups.contains(&metadata.gid()) {
            3
        } else {
            0
        };
        self.uid == 0 || (metadata.mode() >> shift) & bits == bits
    }

    /// Whether this user can remove or rename what lies in a directory (unlink(2): the sticky bit keeps it to owners).
    fn may_replace(&self, directory: &Metadata, entry: &Metadata) -> bool {
        const STICKY: u32 = 0o1000;
        let sticky = directory.mode() & STICKY != 0 && directory.uid() != self.uid && entry.uid() != self.uid;
        self.uid == 0 || (self.may(directory, 3) && !sticky)
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Foreign {
    /// Covered files and directories that this user cannot read.
    pub unreadable: u64,
    /// Covered entries that this user cannot replace or remove.
    pub irreplaceable: u64,
    /// Covered entries that belong to another user: their owner cannot be put back without privilege.
    pub other_owner: u64,
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
pub fn count_foreign(coverage: &Coverage, identity: &Identity, limit: u64) -> Result<Foreign, PatternError> {
    let matcher = Matcher::new(coverage)?;
    let root = coverage.root.to_path();
    let mut found = Foreign::default();
    let Ok(top) = fs::symlink_metadata(&root) else {
        return Ok(found);
    };
    let device = top.dev();
    let mut rest = vec![(RelPath::root(), top)];
    while let Some((path, metadata)) = rest.pop() {
        let entries = if identity.may(&metadata, 5) {
            fs::read_dir(path.on_host(&root))
        } else {
            Err(io::Error::from(io::ErrorKind::PermissionDenied))
        };
        let Ok(entries) = entries else {
            found.unreadable += 1;
            continue;
        };
        for entry in entries.flatten() {
            if found.visited == limit {
                found.stopped = true;
                return Ok(found);
            }
            found.visited += 1;
            let Ok(name) = Name::new(entry.file_name().as_bytes()) else {
                continue;
            };
            // What vanished meanwhile needs no counting.
            let Ok(child) = entry.metadata() else { continue };
            let below = path.join(&name);
            let covered = match matcher.verdict(&below, child.is_dir()) {
                Verdict::Covered => true,
                Verdict::OutsideTracked if child.is_dir() && matcher.is_on_the_way(&below) => false,
                _ => continue,
            };
            if child.is_dir() && child.dev() != device {
                found.mount_points += 1;
                continue;
            }
            if covered {
                found.irreplaceable += u64::from(!identity.may_replace(&metadata, &child));
                found.other_owner += u64::from(identity.uid != 0 && child.uid() != identity.uid);
                found.unreadable += u64::from(child.is_file() && !identity.may(&child, 4));
            }
            if child.is_dir() {
                rest.push((below, child));
            }
        }
    }
    Ok(found)
}
