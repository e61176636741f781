//! What a capture is asked for.

use super::CountChanges;
use crate::capture::Limits;
use crate::model::{CallRef, Coverage, InstanceId, SnapshotKind, Time};

/// What to capture.
pub struct Request<'a> {
    /// For which instance.
    pub instance: &'a InstanceId,
    /// Its workspace, when there is one.
    pub workspace: Option<&'a str>,
    /// Which moment.
    pub kind: SnapshotKind,
    /// A closing snapshot whose session's end was not seen.
    pub late: bool,
    /// A checkpoint's name.
    pub name: Option<&'a str>,
    /// A checkpoint's message.
    pub message: Option<&'a str>,
    /// The mounts.
    pub coverages: &'a [Coverage],
    /// How much is too much.
    pub limits: Limits,
    /// Refuse what might not fit into the room that is free where the store lies.
    pub enforce_limits: bool,
    /// Wait until a cluster has frozen what lies in it, where it can be read as it is as well.
    pub waits: bool,
    /// Read every file, whatever its stat data say.
    pub check_content: bool,
    /// Counts what changed since the snapshot of the instance before this one; its receipt tells.
    pub count: Option<CountChanges>,
    /// The tool call that it is taken before.
    pub call: Option<&'a CallRef>,
    /// Wall clock now.
    pub now: Time,
    /// When its receipt is written, when that is another time.
    pub told_at: Option<Time>,
    /// Who acts.
    pub uid: u32,
}

impl<'a> Request<'a> {
    /// The files of `coverages` as they are, for `instance`: without a name, a limit, or a count of what changed. `who` acts, at what time.
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
            now,
            told_at: None,
            uid,
        }
    }
}
