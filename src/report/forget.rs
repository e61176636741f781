//! `forget`: what is deleted, and what stays elsewhere.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Head, Held, HostPathDocument};
use crate::model::{ForgottenContent, PrunedSnapshot, SnapshotKind, Time};
use crate::recovery::{EarlierCopy, OutsideCopy, PlannedForget};
use crate::retention::{ForgetSubject, HeldPath, KeptCopy};

/// Result of `forget`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ForgetOutcome {
    /// `--dry-run`: this would be done.
    Planned,
    /// There was nothing to do.
    Nothing,
    /// It was done.
    Forgotten,
}

/// `forget --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ForgetDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    pub(crate) outcome: ForgetOutcome,
    /// Directory that the sessions cover; none if other sessions were asked for, or those of all directories.
    pub(crate) covering: Option<HostPathDocument>,
    /// Number of sessions that are old enough, too, but do not cover that directory.
    pub(crate) elsewhere: u64,
    /// Sessions of which everything is deleted, oldest first.
    pub(crate) sessions: Vec<ForgottenSessionDocument>,
    /// Their snapshots.
    pub(crate) snapshots: Vec<PrunedSnapshot>,
    /// Number of sessions that are old enough and stay, by reason.
    pub(crate) kept_sessions: BTreeMap<Held, u64>,
    /// Forgotten paths with the snapshots that have them, oldest first.
    pub(crate) paths: Vec<ForgottenPathDocument>,
    /// Contents of these paths that no other path has.
    pub(crate) contents: Vec<ForgottenContent>,
    /// Other paths that keep the same content.
    pub(crate) copies: Vec<KeptCopyDocument>,
    /// Git directories that keep the same content, as an object.
    pub(crate) in_git: Vec<KeptCopyDocument>,
    /// Number of contents that were not looked for in git's objects, as they are too large or cannot be read.
    pub(crate) in_git_unknown: u64,
    /// Number of archives that are rewritten or deleted.
    pub(crate) archives: u64,
    /// Bytes that become free; of a plan about as many.
    pub(crate) freed: u64,
    /// Forgotten paths that still exist in the directory.
    pub(crate) on_disk: Vec<HostPathDocument>,
    /// Copies of these snapshots outside of the store that still exist.
    pub(crate) outside: Vec<OutsideDocument>,
    /// Address of the copy in an object store, if one is configured.
    pub(crate) replica: Option<String>,
    /// Number of objects that were deleted there; none without `--replica`.
    pub(crate) replica_removed: Option<u64>,
    /// Number of objects there that hold what was deleted and stay, because what takes their place is not copied, or a record here cannot
    /// be read; none without `--replica`.
    pub(crate) replica_withheld: Option<u64>,
    /// Copies of the store under an earlier name or at an earlier place. If something was deleted here, only those that have it.
    pub(crate) earlier_replicas: Vec<EarlierReplicaDocument>,
    /// The number in `log`.
    pub(crate) receipt: Option<u64>,
    /// Sessions whose last restore cannot be undone any more.
    pub(crate) ends_undo: Vec<String>,
}

/// A session of which everything is deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ForgottenSessionDocument {
    pub(crate) instance: String,
    /// RFC 3339, UTC; none if no end was recorded.
    pub(crate) ended_at: Option<Time>,
    /// Number of its snapshots.
    pub(crate) snapshots: u64,
    /// The host path of every mount that it covers.
    mounts: Vec<String>,
    /// Exact paths of `mounts`.
    #[serde(skip)]
    pub(crate) roots: Vec<PathBuf>,
}

/// A path that one snapshot has.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ForgottenPathDocument {
    #[serde(flatten)]
    pub(crate) at: HostPathDocument,
    pub(crate) instance: String,
    pub(crate) snapshot: String,
    pub(crate) kind: SnapshotKind,
    /// Name of a checkpoint.
    pub(crate) name: Option<String>,
    /// RFC 3339, UTC.
    pub(crate) taken_at: Time,
    /// Number of files at and below the path.
    pub(crate) files: u64,
    /// Their size in bytes.
    pub(crate) bytes: u64,
    /// Equal numbers of one path are the same content. Counted from 1.
    pub(crate) version: u64,
}

/// A path that keeps the same content.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeptCopyDocument {
    #[serde(flatten)]
    pub(crate) at: HostPathDocument,
    pub(crate) instance: String,
    /// Number of snapshots of the session that have it.
    pub(crate) snapshots: u64,
}

/// Kind of a copy outside of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OutsideKind {
    /// A directory that `fork` wrote.
    Fork,
    /// A file that `export` wrote.
    Export,
    /// A store in an object store that `import --from` read.
    Replica,
}

/// A copy of the store that nothing is uploaded to any more.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EarlierReplicaDocument {
    /// Address and name of the store there.
    pub(crate) place: String,
    /// Number of objects there that hold what was deleted here.
    pub(crate) left: u64,
    /// Number of objects that were deleted there; none without `--replica`.
    pub(crate) removed: Option<u64>,
    /// Reason why some could not be deleted.
    pub(crate) failed: Option<String>,
}

impl EarlierReplicaDocument {
    /// Makes the report of copies; `is_asked`: they were to lose it.
    pub(crate) fn all(copies: Vec<EarlierCopy>, is_asked: bool) -> Vec<Self> {
        let document = |copy: EarlierCopy| Self {
            place: copy.place,
            left: copy.left,
            removed: is_asked.then_some(copy.removed),
            failed: copy.failed,
        };
        copies.into_iter().map(document).collect()
    }
}

/// A copy outside of the store.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OutsideDocument {
    pub(crate) kind: OutsideKind,
    #[serde(flatten)]
    pub(crate) at: HostPathDocument,
}

impl ForgetDocument {
    /// Makes the report of an answer without anything to delete.
    pub(crate) fn nothing() -> Self {
        Self {
            head: Head::default(),
            outcome: ForgetOutcome::Nothing,
            covering: None,
            elsewhere: 0,
            sessions: Vec::new(),
            snapshots: Vec::new(),
            kept_sessions: BTreeMap::new(),
            paths: Vec::new(),
            contents: Vec::new(),
            copies: Vec::new(),
            in_git: Vec::new(),
            in_git_unknown: 0,
            archives: 0,
            freed: 0,
            on_disk: Vec::new(),
            outside: Vec::new(),
            replica: None,
            replica_removed: None,
            replica_withheld: None,
            earlier_replicas: Vec::new(),
            receipt: None,
            ends_undo: Vec::new(),
        }
    }

    /// Makes the report of a plan.
    pub(crate) fn of(planned: &PlannedForget) -> Self {
        let proposal = &planned.proposal;
        let covering = match &proposal.subject {
            ForgetSubject::EndedBefore { covering, .. } => covering.as_deref(),
            ForgetSubject::Session(_) | ForgetSubject::Paths { .. } => None,
        };
        let empty = Self {
            covering: covering.map(HostPathDocument::new),
            elsewhere: proposal.elsewhere,
            kept_sessions: proposal.kept_sessions.clone(),
            ..Self::nothing()
        };
        if proposal.is_empty() {
            return empty;
        }
        let sessions = proposal.sessions.iter().map(|session| ForgottenSessionDocument {
            instance: session.instance.to_string(),
            ended_at: session.ended_at,
            snapshots: session.snapshots,
            mounts: session
                .roots
                .iter()
                .map(|root| root.to_string_lossy().into_owned())
                .collect(),
            roots: session.roots.clone(),
        });
        Self {
            outcome: ForgetOutcome::Planned,
            sessions: sessions.collect(),
            snapshots: proposal.plan.snapshots().to_vec(),
            paths: paths(&proposal.held),
            contents: proposal.plan.contents().to_vec(),
            copies: proposal.copies.iter().map(KeptCopyDocument::from).collect(),
            in_git: proposal.in_git.iter().map(KeptCopyDocument::from).collect(),
            in_git_unknown: proposal.in_git_unknown,
            archives: proposal.plan.archives(),
            freed: proposal.plan.freed,
            on_disk: planned
                .on_disk
                .iter()
                .map(|path| HostPathDocument::new(path))
                .collect(),
            outside: planned.outside.iter().map(OutsideDocument::from).collect(),
            ends_undo: proposal.ends_undo.iter().map(ToString::to_string).collect(),
            ..empty
        }
    }
}

/// Numbers the versions of each path in the order in which they appear.
fn paths(held: &[HeldPath]) -> Vec<ForgottenPathDocument> {
    let mut versions: HashMap<_, Vec<_>> = HashMap::new();
    let mut all = Vec::new();
    for held in held {
        let known = versions.entry(&held.path).or_default();
        let at = known.iter().position(|version| *version == held.version);
        let at = at.unwrap_or_else(|| {
            known.push(held.version);
            known.len() - 1
        });
        all.push(ForgottenPathDocument {
            at: HostPathDocument::new(&held.path),
            instance: held.instance.to_string(),
            snapshot: held.snapshot.to_string(),
            kind: held.kind,
            name: held.name.clone(),
            taken_at: held.taken_at,
            files: held.files,
            bytes: held.bytes,
            version: at as u64 + 1,
        });
    }
    all
}

impl From<&KeptCopy> for KeptCopyDocument {
    fn from(copy: &KeptCopy) -> Self {
        Self {
            at: HostPathDocument::new(&copy.path),
            instance: copy.instance.to_string(),
            snapshots: copy.snapshots,
        }
    }
}

impl From<&OutsideCopy> for OutsideDocument {
    fn from(copy: &OutsideCopy) -> Self {
        let (kind, path) = match copy {
            OutsideCopy::Fork(path) => (OutsideKind::Fork, path.as_path()),
            OutsideCopy::Export(path) => (OutsideKind::Export, path.as_path()),
            OutsideCopy::Replica(address) => (OutsideKind::Replica, Path::new(address)),
        };
        Self {
            kind,
            at: HostPathDocument::new(path),
        }
    }
}
