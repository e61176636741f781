//! Request for a capture.

use super::CountChanges;
use crate::capture::Limits;
use crate::clock::Clock;
use crate::model::{CallRef, Coverage, InstanceId, Operation, SnapshotKind, Time};

/// Request for a capture.
pub struct Request<'a> {
    /// Session that is captured.
    pub instance: &'a InstanceId,
    /// Its workspace, if any.
    pub workspace: Option<&'a str>,
    /// Kind of the snapshot.
    pub kind: SnapshotKind,
    /// True for a closing snapshot of a session whose end jackin did not see.
    pub late: bool,
    /// Name of a checkpoint.
    pub name: Option<&'a str>,
    /// Message of a checkpoint.
    pub message: Option<&'a str>,
    /// The mounts.
    pub coverages: &'a [Coverage],
    /// Upper limits for the capture.
    pub limits: Limits,
    /// True to refuse content that may not fit into the free room of the store.
    pub enforce_limits: bool,
    /// True to wait until a cluster has frozen a mount that could also be read as it is.
    pub waits: bool,
    /// True to read every file, whatever its stat data say.
    pub check_content: bool,
    /// Counts the changes since the session's previous snapshot, for the receipt; `None` to skip that.
    pub count: Option<CountChanges>,
    /// Tool call before which the snapshot is taken, if any.
    pub call: Option<&'a CallRef>,
    /// Number of the newest receipt before the mounts are looked at, if it matters.
    pub since: Option<u64>,
    /// Wall-clock time of the capture.
    pub now: Time,
    /// Time of the receipt; `None` for `now`.
    pub told_at: Option<Time>,
    /// ID of the acting user.
    pub uid: u32,
    /// Operation whose receipt is written together with that of the snapshot, and the clock for its time.
    pub then: Option<(&'a dyn Clock, &'a Operation)>,
}

impl<'a> Request<'a> {
    /// Returns a request for the files of `coverages` as they are: without a name, a limit, or a count of changes. `who` is the
    /// time and the acting user.
    #[must_use]
    pub fn of(
        instance: &'a InstanceId,
        kind: SnapshotKind,
        coverages: &'a [Coverage],
        who: (Time, u32),
    ) -> Self {
        let (now, uid) = who;
        Self {
            instance,
            workspace: None,
            kind,
            late: false,
            name: None,
            message: None,
            coverages,
            limits: Limits::NONE,
            enforce_limits: false,
            waits: true,
            check_content: false,
            count: None,
            call: None,
            since: None,
            now,
            told_at: None,
            uid,
            then: None,
        }
    }
}
