//! Receipts: one link each of the append-only chain in `receipts.log`. Together with the records they are the truth;
//! the catalog is a projection of both.

use processes::ProcessRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AgentEvent, AgentRef, AmendedSnapshot, ArchiveId, ArchiveRef, AsideChange, ByteString, CallRef,
    ChangeCounts, Coverage, Digest, ForgottenContent, ForkId, InstanceId, PrunedSnapshot, Recorded, RelPath,
    RepositoryFacts, SnapshotId, SnapshotKind, StoreId, Time,
};

/// One link: the line in the log is `<BLAKE3 of the JSON, hex> <JSON>\n`, and `previous` is the hash of the line before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Number of this link, from 1.
    pub number: u64,
    /// Hash of the link before; zeros for the first.
    pub previous: Digest,
    /// When.
    pub at: Time,
    /// Numeric user that acted.
    pub uid: u32,
    /// Which instance; none when it concerns the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceId>,
    /// What was done.
    pub act: Operation,
}

/// A container of jackin's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContainerRef {
    /// The name of its directory.
    pub name: String,
    /// jackin's id of it.
    pub id: Option<String>,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The command returned this status.
    Status(i32),
    /// A signal ended the command.
    Signal(i32),
    /// `end` was called, or the process given to `begin` is gone.
    Ended,
    /// Ended unobserved: a later command found it dead.
    Unseen,
    /// It never began: the baseline failed, or the command could not be run.
    Failed(String),
}

/// Which command changed the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RestoreKind {
    /// `restore`.
    Restore,
    /// `undo`.
    Undo,
}

/// What happened to one path in a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PathAct {
    /// It was missing and is there again.
    Created,
    /// Its content or type was restored.
    Replaced,
    /// It was removed.
    Deleted,
    /// Only mode, owner or attributes were restored.
    Metadata,
}

/// One path that a restore changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathChange {
    /// Label of the mount's coverage.
    pub mount: String,
    /// Below the mount root.
    pub path: RelPath,
    /// What was done.
    pub act: PathAct,
    /// A later edit was replaced or removed, because the operator said so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overrode: bool,
    /// It was changed, but is not exactly what the target snapshot shows: an owner that could not be set, for example.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inexact: bool,
    /// The other path of a reverted rename, which has an entry of its own; both count as one path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_with: Option<RelPath>,
    /// The file as the restore left it, when its content was composed from two states: an entry as in a manifest, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub composed: Option<Recorded>,
    /// Owner, mode, attributes and flags that the restore left where it could not set those of the target snapshot: an entry as in a
    /// manifest, in base64, whose content does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub left: Option<Recorded>,
}

/// Counts changed paths; both paths of a rename count once.
#[must_use]
pub fn count_paths(changed: &[PathChange]) -> u64 {
    changed
        .iter()
        .filter(|change| change.counted_with.is_none())
        .count() as u64
}

/// A step of a session, by the snapshot that it led to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepRef {
    /// The snapshot.
    pub snapshot: SnapshotId,
    /// Its kind.
    pub kind: SnapshotKind,
    /// Its name, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl StepRef {
    /// Returns the text by which an operator names the step.
    #[must_use]
    pub fn called(&self) -> &str {
        match (&self.name, self.kind) {
            (Some(name), _) => name,
            (None, SnapshotKind::Closing) => self.kind.word(),
            (None, _) => self.snapshot.as_str(),
        }
    }
}

/// A mount of which no file is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedMount {
    /// Where it lies, and what in it does not count.
    pub coverage: Coverage,
    /// The git repositories in it when the session began, without the paths that differ.
    pub git: Vec<RepositoryFacts>,
    /// How many more there were.
    #[serde(default)]
    pub more: u64,
    /// Why nothing is known of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl WatchedMount {
    /// Its repositories, with where it lies.
    pub fn repositories(&self) -> impl Iterator<Item = (&Coverage, &RepositoryFacts)> {
        self.git.iter().map(|facts| (&self.coverage, facts))
    }
}

/// Words by which the operator knows a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionTitle {
    /// Name that the operator gave it: letters, digits, `_`, `.` and `-`, at most 128 bytes. Several sessions may have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Purpose, in the operator's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Arguments of the command, where `command = "full"` asks for them. What looks like a secret is replaced by `(hidden)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

/// What was done. The variants' fields may grow, never shrink.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "act", rename_all = "kebab-case")]
pub enum Operation {
    /// A session began.
    Begin {
        /// Workspace name, when there is one.
        workspace: Option<String>,
        /// Recovery mode in words (`metadata`, `project`, …).
        mode: String,
        /// What the snapshots of this instance cover.
        mounts: Vec<Coverage>,
        /// The launcher, or the process named with `--pid`; none when the instance lives until `end`.
        keeper: Option<ProcessRef>,
        /// Shells that run a script, between the hook that began it and the keeper: one that goes on reporting events is the agent itself.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scripts: Vec<ProcessRef>,
        /// The boot in which it began.
        boot: String,
        /// Program name and number of arguments. The arguments themselves are kept only where the configuration asks for them.
        command: Option<(String, u32)>,
        /// What jackin does with a dirty work tree when the session ends, in its own word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cleanup_policy: Option<String>,
        /// jackin's container that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        container: Option<ContainerRef>,
        /// Mounts whose files are not kept, with their git repositories: in mode `metadata`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        watched: Vec<WatchedMount>,
        /// The agent whose hook began it, or `mcp` where one of the tools for agents did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentRef>,
        /// Name, message and arguments.
        #[serde(flatten)]
        title: SessionTitle,
    },
    /// The operator gave a session another name or message; both replace those before.
    Rename {
        /// Name and message.
        #[serde(flatten)]
        title: SessionTitle,
    },
    /// A snapshot was taken.
    Capture {
        /// Its id.
        snapshot: SnapshotId,
        /// Its kind.
        kind: SnapshotKind,
        /// BLAKE3 of its record's bytes.
        record: Digest,
        /// A checkpoint's name, when it has one: with it a record that is lost can be named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Number of private files of agents that it skipped.
        #[serde(default, skip_serializing_if = "is_zero")]
        withheld: u64,
        /// The public keys that private files were encrypted to.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sealed_to: Vec<String>,
        /// Number of paths changed since the previous snapshot of the session; none for the first, and if it
        /// was not counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<ChangeCounts>,
        /// The tool call of an agent that it was taken before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRef>,
        /// Number of the newest receipt before jackin looked at the files: what happened after it may be missing in the snapshot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<u64>,
    },
    /// An agent's hook reported a prompt, a tool call or the end of a turn.
    AgentEvent {
        /// The agent.
        agent: AgentRef,
        /// The reported event.
        #[serde(flatten)]
        event: AgentEvent,
        /// Number of the newest receipt before jackin looked at the files.
        since: u64,
        /// The snapshot that shows the files as they were then; none when no snapshot could be taken, or none was due.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot: Option<SnapshotId>,
        /// The agent's process, where the event shows that it is another one than the keeper so far: the session's keeper from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keeper: Option<ProcessRef>,
    },
    /// A snapshot could not be taken.
    CaptureFailed {
        /// The kind it would have had.
        kind: SnapshotKind,
        /// The error.
        error: String,
    },
    /// A session ended.
    End {
        /// How.
        ending: Ending,
        /// Processes of the session that still lived then.
        survivors: Vec<ProcessRef>,
    },
    /// Files were restored.
    Restore {
        /// Which command.
        kind: RestoreKind,
        /// The snapshot they were restored to.
        target: SnapshotId,
        /// The snapshot that shows what was there before.
        emergency: SnapshotId,
        /// For an undo: the number of the receipt that it undid.
        undoes: Option<u64>,
        /// Only this step was reverted: what changed from `target` to its snapshot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only_changes_of: Option<StepRef>,
        /// The session itself asked for it, from within.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        inside: bool,
        /// BLAKE3 of the plan that was shown: what `--dry-run` gives as `plan`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Digest>,
        /// The operator's private key was given for it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unlocked: bool,
        /// Every path that changed.
        changed: Vec<PathChange>,
        /// Paths kept because of later edits.
        conflicts: u64,
        /// Paths that could not be changed.
        failed: u64,
        /// Excluded directories that went aside or came back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        aside: Vec<AsideChange>,
    },
    /// A restore was rolled back before it was done: by `abort`, or because something came in its way.
    Abort {
        /// Which command had begun it.
        kind: RestoreKind,
        /// The snapshot that it was to bring back.
        target: SnapshotId,
        /// The snapshot that shows what was there before, and is there again; none when that could not be read any more.
        emergency: Option<SnapshotId>,
        /// Nothing was rolled back: the operator wanted everything left as it was then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        as_is: bool,
        /// The session itself had asked for it, from within.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        inside: bool,
    },
    /// Snapshots were pruned; their records go, and archives that nothing needs any more.
    Prune {
        /// They were pruned by the retention policy, not on request.
        automatic: bool,
        /// Which, and why.
        snapshots: Vec<PrunedSnapshot>,
        /// About how many bytes became free because of it.
        bytes: u64,
    },
    /// Sessions, or paths of snapshots, were deleted on request, with every archive that held any of it.
    Forget {
        /// Snapshots that were deleted as a whole.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        snapshots: Vec<PrunedSnapshot>,
        /// Snapshots that lost paths, and what their records say since then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        amended: Vec<AmendedSnapshot>,
        /// Contents of the forgotten paths, each once.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        contents: Vec<ForgottenContent>,
        /// Archives that go: those that a new one replaces, and those that nothing needs any more.
        from: Vec<ArchiveId>,
        /// The new archives.
        into: Vec<ArchiveRef>,
        /// About how many bytes became free because of it.
        bytes: u64,
    },
    /// What is needed of archives went into a new one, which takes their place.
    Repack {
        /// Those that it replaces.
        from: Vec<ArchiveId>,
        /// The new one.
        into: ArchiveRef,
        /// How many bytes smaller it is than they were together.
        bytes: u64,
    },
    /// A session, or one snapshot of it, is kept until it is unpinned.
    Pin {
        /// The snapshot; none: all of the session.
        snapshot: Option<SnapshotId>,
    },
    /// The rules apply again.
    Unpin {
        /// The snapshot; none: all of the session.
        snapshot: Option<SnapshotId>,
    },
    /// A snapshot was written into a directory of its own.
    Fork {
        /// The snapshot.
        snapshot: SnapshotId,
        /// The id of the fork.
        fork: ForkId,
        /// Where it was written.
        directory: ByteString,
        /// What the operator calls it.
        branch: Option<String>,
        /// How many paths were written.
        paths: u64,
        /// How many could not be made, or not exactly.
        failed: u64,
    },
    /// A snapshot was written into a file that needs no store.
    Export {
        /// The snapshot.
        snapshot: SnapshotId,
        /// The file.
        file: ByteString,
        /// BLAKE3 of its bytes.
        digest: Digest,
        /// Its length in bytes.
        size: u64,
    },
    /// A session came from such a file.
    Import {
        /// The file.
        file: ByteString,
        /// BLAKE3 of its bytes.
        digest: Digest,
        /// What it was there: snapshot and session.
        origin: (SnapshotId, InstanceId),
        /// Owners, set-user-id bits, devices and the like were taken over.
        trusted: bool,
        /// How many of those were dropped.
        dropped: u64,
    },
    /// A session came from the copy of a store in an object store; its snapshots follow.
    Adopt {
        /// The address: `s3://…`.
        place: String,
        /// The store's name there.
        store: StoreId,
        /// It is this machine's own from now on, and owners, set-user-id bits, devices and the like were taken over.
        trusted: bool,
        /// Workspace name there; none when it is not trusted.
        workspace: Option<String>,
        /// Recovery mode there; `imported` when it is not trusted.
        mode: String,
        /// What its snapshots cover.
        mounts: Vec<Coverage>,
        /// Program name and number of arguments.
        command: Option<(String, u32)>,
        /// Name, message and arguments there.
        #[serde(flatten)]
        title: SessionTitle,
        /// When it began there.
        began: Time,
        /// When it ended there; of one that had not ended when it was copied, its last snapshot.
        ended: Time,
        /// How it ended there.
        ending: Ending,
    },
    /// Receipts before this one, or records, were lost, and the operator went on without them.
    AcceptLoss {
        /// Snapshots that are there and that no receipt told of any more.
        snapshots: Vec<SnapshotId>,
        /// Snapshots that receipts tell of and whose records are gone: they are discarded.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        records: Vec<SnapshotId>,
    },
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
