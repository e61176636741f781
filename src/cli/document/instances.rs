//! `list` and `show`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::RepositoryStateDocument;
use super::{ForkedDocument, Head, HostPathDocument, PathDocument, ReasonDocument};
use crate::cli::report::Imported;
use crate::config::Unread;
use crate::model::{
    AgentRef, AsideChange, CallRef, ContainerRef, Coverage, PathCounts, RestoreKind, SnapshotKind,
    SnapshotRecord, StepRef, Time, WatchedMount,
};
use crate::session::State;
use crate::store::{ForkRow, InstanceRow, RestoreRow, SnapshotRow};
use crate::terminal::size;

/// `list --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct ListDocument {
    #[serde(flatten)]
    head: Head,
    /// Newest first.
    instances: Vec<InstanceDocument>,
    /// Snapshots that were written into directories of their own, newest first.
    forks: Vec<ForkedDocument>,
    /// jackin's own instances, by container.
    jackin: Vec<JackinDocument>,
    /// Files of jackin's that may tell of another, and could not be read.
    jackin_unread: Vec<Unread>,
}

/// An instance of jackin's, in its own words.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct JackinDocument {
    /// Its container.
    pub(in crate::cli) container: String,
    /// jackin's id of it.
    pub(in crate::cli) instance_id: Option<String>,
    /// Its workspace.
    pub(in crate::cli) workspace: Option<String>,
    /// Its role.
    pub(in crate::cli) role: Option<String>,
    /// Its agent.
    pub(in crate::cli) agent: Option<String>,
    /// Its status.
    pub(in crate::cli) status: Option<String>,
    /// When that was written.
    pub(in crate::cli) updated_at: Option<String>,
    /// Whether an agent may be at work in it: its status does not say that it is over, and docker does not say that it is gone.
    pub(in crate::cli) active: bool,
    /// Its files have this newer form, of which the rest is what was understood.
    pub(in crate::cli) newer: Option<u64>,
    /// The last session that began for it.
    pub(in crate::cli) session: Option<String>,
}

impl ListDocument {
    pub(in crate::cli) fn new(
        instances: Vec<InstanceDocument>,
        forks: Vec<ForkedDocument>,
        jackin: Vec<JackinDocument>,
        jackin_unread: Vec<Unread>,
    ) -> Self {
        Self {
            head: Head::default(),
            instances,
            forks,
            jackin,
            jackin_unread,
        }
    }
}

/// `show --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct ShowDocument<'a> {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// As in `list`.
    pub(in crate::cli) instance: InstanceDocument,
    /// What the newest steps changed: by the id of the snapshot that a step led to.
    pub(in crate::cli) steps: BTreeMap<String, PathCounts>,
    /// The tool calls that snapshots were taken before, by the snapshot's id.
    pub(in crate::cli) calls: BTreeMap<String, &'a CallRef>,
    /// The agent whose hook began it.
    pub(in crate::cli) agent: Option<&'a AgentRef>,
    /// The ids of its snapshots that are pinned; `null` among them: all of the session is.
    pub(in crate::cli) pinned: Vec<Option<String>>,
    /// How many of its snapshots were given up.
    pub(in crate::cli) pruned: u64,
    /// The program that was launched and the number of its arguments; the arguments are not kept.
    pub(in crate::cli) command: Option<&'a (String, u32)>,
    /// What the snapshots cover, mount by mount.
    pub(in crate::cli) coverage: &'a [Coverage],
    /// What the baseline lacks.
    pub(in crate::cli) lacks: Vec<ReasonDocument>,
    /// Of the newest twenty snapshots and the baseline: those during which files changed after they were read.
    pub(in crate::cli) changed_meanwhile: &'a [ChangedMeanwhileDocument],
    /// What jackin does with a dirty work tree when the session ends, in its own word; none when nobody says.
    pub(in crate::cli) cleanup_policy: Option<&'a str>,
    /// jackin's container that it began for.
    pub(in crate::cli) container: Option<&'a ContainerRef>,
    /// Mounts of which no file is kept, in mode `metadata`.
    pub(in crate::cli) watched: Vec<WatchedDocument<'a>>,
    /// The git repositories in the mounts, as they were found at the beginning.
    pub(in crate::cli) git: Vec<RepositoryStateDocument<'a>>,
    /// What was put back since, newest first.
    pub(in crate::cli) restores: Vec<RestoredDocument>,
    /// What of it was forked, newest first.
    pub(in crate::cli) forks: Vec<ForkedDocument>,
    /// The fork whose reference was given instead of a session.
    pub(in crate::cli) fork: Option<String>,
    /// The file that it came from.
    pub(in crate::cli) imported: Option<ImportedDocument>,
}

/// Files that changed after they were read, while the rest of the snapshot was taken. Each is one version, but those of several files
/// may not fit together.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct ChangedMeanwhileDocument {
    /// The snapshot's id.
    pub(in crate::cli) snapshot: String,
    /// Number of files.
    pub(in crate::cli) count: u64,
    /// The first hundred of each mount.
    pub(in crate::cli) files: Vec<PathDocument>,
}

impl ChangedMeanwhileDocument {
    /// Lists the files of a snapshot; `None` when none changed.
    pub(in crate::cli) fn of(record: &SnapshotRecord) -> Option<Self> {
        let mounts = record.mounts.iter();
        let files = mounts.clone().flat_map(|mount| {
            let paths = mount.changed_meanwhile.iter();
            paths.map(|path| PathDocument::new(&mount.coverage, path))
        });
        let count: u64 = mounts.map(|mount| mount.changed_meanwhile_count).sum();
        (count > 0).then(|| Self {
            snapshot: record.id.to_string(),
            count,
            files: files.collect(),
        })
    }

    /// Returns a line for people: how many files, and the first of them.
    pub(in crate::cli) fn line(&self) -> String {
        const SHOWN: usize = 5;
        let count = size::counted(self.count, "file", "files");
        let named: Vec<String> = self.files.iter().take(SHOWN).map(PathDocument::host).collect();
        let more = if self.count > named.len() as u64 {
            ", …"
        } else {
            ""
        };
        format!(
            "{count} changed while {} was taken and may not fit together: {}{more}",
            self.snapshot,
            named.join(", ")
        )
    }
}

/// The file that a session came from.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct ImportedDocument {
    #[serde(flatten)]
    file: HostPathDocument,
    /// BLAKE3 of its bytes.
    digest: String,
    /// The id of its snapshot where it came from.
    snapshot: String,
    /// The id of the session there.
    instance: String,
}

impl From<&Imported> for ImportedDocument {
    fn from(imported: &Imported) -> Self {
        Self {
            file: HostPathDocument::new(&imported.file),
            digest: imported.digest.hex(),
            snapshot: imported.origin.0.to_string(),
            instance: imported.origin.1.to_string(),
        }
    }
}

/// A mount of which no file is kept.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct WatchedDocument<'a> {
    /// Where it lies, and what in it does not count.
    coverage: &'a Coverage,
    /// How many more git repositories there were than are told of.
    more: u64,
    /// Why nothing is known of its git repositories.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl<'a> From<&'a WatchedMount> for WatchedDocument<'a> {
    fn from(mount: &'a WatchedMount) -> Self {
        Self {
            coverage: &mount.coverage,
            more: mount.more,
            error: mount.error.as_deref(),
        }
    }
}

/// Whether an instance lives.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    /// One of its processes lives.
    Active,
    /// Its end was seen.
    Ended,
    /// It is dead, and nobody saw its end.
    Lost,
    /// It never began.
    Failed,
}

impl From<&State> for Status {
    fn from(state: &State) -> Self {
        match state {
            State::Active(_) => Self::Active,
            State::Ended => Self::Ended,
            State::Lost => Self::Lost,
            State::Failed => Self::Failed,
        }
    }
}

/// One instance.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct InstanceDocument {
    /// e.g. `rc-dpqx7gcr-shop`.
    id: String,
    /// The configured workspace; none for a bare directory.
    workspace: Option<String>,
    status: Status,
    /// The recovery mode: `metadata` or `project`.
    mode: String,
    started_at: Time,
    ended_at: Option<Time>,
    /// The host path of every mount that is covered.
    mounts: Vec<String>,
    /// The fork in whose directory it began.
    forked_from: Option<String>,
    /// A restore was interrupted and waits for `resume` or `abort`.
    restore_waits: bool,
    /// Newest first.
    snapshots: Vec<SnapshotDocument>,
    /// Snapshots of file systems that are there for it.
    native: Vec<NativeDocument>,
    /// Why it ended without a closing snapshot; none when there is one, or when none is due.
    closing_error: Option<String>,
}

/// A snapshot of a file system.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct NativeDocument {
    /// The snapshot that reads it, or is to become of it.
    pub(in crate::cli) snapshot: String,
    /// Where it lies.
    pub(in crate::cli) place: String,
    /// The snapshot keeps its contents in it; else it goes when that is stored.
    pub(in crate::cli) kept: bool,
}

impl InstanceDocument {
    /// The same with what the file systems keep for it.
    pub(in crate::cli) fn keeping(self, native: Vec<NativeDocument>) -> Self {
        Self { native, ..self }
    }

    /// The same with the reason why there is no closing snapshot.
    pub(in crate::cli) fn lacking(self, closing_error: Option<String>) -> Self {
        Self {
            closing_error,
            ..self
        }
    }

    pub(in crate::cli) fn new(
        row: &InstanceRow,
        state: &State,
        snapshots: &[SnapshotRow],
        forked_from: Option<&ForkRow>,
        restore_waits: bool,
    ) -> Self {
        let roots = row
            .mounts
            .iter()
            .map(|mount| String::from_utf8_lossy(&mount.root.0).into_owned());
        Self {
            id: row.id.to_string(),
            workspace: row.workspace.clone(),
            status: state.into(),
            mode: row.mode.clone(),
            started_at: row.started_at,
            ended_at: row.ended_at,
            mounts: roots.collect(),
            forked_from: forked_from.map(|fork| fork.id.to_string()),
            restore_waits,
            snapshots: snapshots.iter().map(SnapshotDocument::from).collect(),
            native: Vec::new(),
            closing_error: None,
        }
    }
}

/// One snapshot.
#[derive(Debug, Serialize, JsonSchema)]
struct SnapshotDocument {
    id: String,
    kind: SnapshotKind,
    /// The checkpoint's name.
    name: Option<String>,
    /// What the checkpoint was taken for.
    message: Option<String>,
    /// A closing snapshot that was taken after nobody had seen the end.
    late: bool,
    taken_at: Time,
    /// It lacks nothing of what it covers.
    complete: bool,
    /// Files, directories and everything else below the mounts.
    entries: u64,
    /// Sum of the files' sizes.
    bytes: u64,
}

impl From<&SnapshotRow> for SnapshotDocument {
    fn from(row: &SnapshotRow) -> Self {
        Self {
            id: row.id.to_string(),
            kind: row.kind,
            name: row.name.clone(),
            message: row.message.clone(),
            late: row.late,
            taken_at: row.taken_at,
            complete: row.complete,
            entries: row.entries,
            bytes: row.bytes,
        }
    }
}

/// One restore or undo that was carried out.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct RestoredDocument {
    /// Its number in `log`.
    receipt: u64,
    act: RestoreKind,
    at: Time,
    /// The snapshot that files were put back from.
    target: String,
    /// The snapshot of what was there before.
    emergency: String,
    /// For an undo: the receipt that it took back.
    undoes: Option<u64>,
    /// The receipt that took it back.
    taken_back_by: Option<u64>,
    /// The step of the session that alone was taken back.
    only_changes_of: Option<StepRef>,
    /// The session itself asked for it, from within.
    inside: bool,
    /// Numeric user that asked for it.
    uid: u32,
    /// How many paths were changed.
    changed: u64,
    /// How many were kept because of later edits.
    conflicts: u64,
    /// How many could not be changed.
    failed: u64,
    /// Excluded directories that went aside or came back; `place` is a host path.
    aside: Vec<AsideChange>,
}

impl RestoredDocument {
    /// All restores of a session.
    pub(in crate::cli) fn all(rows: &[RestoreRow]) -> Vec<Self> {
        rows.iter()
            .map(|row| Self::new(row, row.taken_back_by(rows)))
            .collect()
    }

    fn new(row: &RestoreRow, taken_back_by: Option<u64>) -> Self {
        Self {
            receipt: row.number,
            act: row.kind,
            at: row.at,
            target: row.target.to_string(),
            emergency: row.emergency.to_string(),
            undoes: row.undoes,
            taken_back_by,
            only_changes_of: row.only_changes_of.clone(),
            inside: row.inside,
            uid: row.uid,
            changed: row.paths(),
            conflicts: row.conflicts,
            failed: row.failed,
            aside: row.aside.clone(),
        }
    }
}
