//! `diff`, `restore`, `undo`.

use schemars::JsonSchema;
use serde::Serialize;

use std::path::Path;

use super::{ChangeDocument, Head, HostPathDocument, PathDocument, ReasonDocument, RepositoryDocument};
use crate::diff::Setting;
use crate::model::{Coverage, RelPath};

/// `diff --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct DiffDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// The session's id.
    pub(in crate::cli) instance: String,
    /// Id of the earlier snapshot.
    pub(in crate::cli) from: String,
    /// Id of the later snapshot, or `now`.
    pub(in crate::cli) to: String,
    /// By mount, then by path.
    pub(in crate::cli) changes: Vec<ChangeDocument>,
    /// What could not be compared.
    pub(in crate::cli) not_covered: Vec<ReasonDocument>,
    /// Credentials in agents' state that changed, of which no snapshot holds anything.
    pub(in crate::cli) withheld: Vec<ReasonDocument>,
    /// What changed about the settings of agents, which stands in `changes` as files; what grants first.
    pub(in crate::cli) state: Vec<SettingDocument>,
    /// What changed about git repositories, which stands in `changes` as files.
    pub(in crate::cli) git: Vec<RepositoryDocument>,
}

/// One setting of an agent that is not what it was.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct SettingDocument {
    /// The file.
    #[serde(flatten)]
    at: PathDocument,
    /// The key in it, dotted, `[]` for what a list holds; empty for the file itself.
    key: String,
    /// It starts programs, or grants or takes rights.
    grants: bool,
    /// What it was, as JSON where a file has keys; none: it was not there.
    was: Option<String>,
    /// What it is now.
    now: Option<String>,
}

impl SettingDocument {
    pub(in crate::cli) fn new(coverage: &Coverage, setting: &Setting) -> Self {
        Self {
            at: PathDocument::new(coverage, &setting.path),
            key: setting.key.clone(),
            grants: setting.grants,
            was: setting.was.clone(),
            now: setting.now.clone(),
        }
    }
}

/// How a restore ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum RestoreOutcome {
    /// `--dry-run`: this would be done.
    Planned,
    /// There was nothing to do.
    Nothing,
    /// All of it was done.
    Restored,
    /// A conflict was kept, or a path could not be changed; each is named.
    Partial,
    /// `abort`: an interrupted restore was taken back.
    Aborted,
}

/// `restore --json`, `undo --json`, `resume --json`, `abort --json`; with `--dry-run` the plan under the same names.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct RestoreDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// The session's id.
    pub(in crate::cli) instance: String,
    pub(in crate::cli) outcome: RestoreOutcome,
    /// Id of the snapshot that files are put back from.
    pub(in crate::cli) target: String,
    /// BLAKE3 of the plan: the receipt of the restore names the one that was carried out. None for a restore that is taken up.
    pub(in crate::cli) plan: Option<String>,
    /// The number in `log`; none for a plan, or when nothing was to do.
    pub(in crate::cli) receipt: Option<u64>,
    /// Id of the snapshot of what was there before.
    pub(in crate::cli) emergency: Option<String>,
    /// What is done, or was.
    pub(in crate::cli) applied: Vec<ChangeDocument>,
    /// What stays, because it was never this session's.
    pub(in crate::cli) kept: Vec<ChangeDocument>,
    /// What stays, because it was changed after the session or by another one.
    pub(in crate::cli) conflicts: Vec<ChangeDocument>,
    /// What could not be changed.
    pub(in crate::cli) failed: Vec<ReasonDocument>,
    /// What the snapshot does not know, so that it is not touched.
    pub(in crate::cli) not_covered: Vec<ReasonDocument>,
    /// Excluded directories that hold something newer than the snapshot.
    pub(in crate::cli) not_checked: Vec<ReasonDocument>,
    /// Excluded directories that are moved away, or were.
    pub(in crate::cli) set_aside: Vec<AsideDocument>,
    /// Excluded directories that come back, or came: an `undo` of that.
    pub(in crate::cli) brought_back: Vec<AsideDocument>,
    /// Repositories that `--files-only` leaves out, with how many of their paths differ.
    pub(in crate::cli) left_out: Vec<ReasonDocument>,
    /// Paths that were not asked for and are the other side of a rename of which one was.
    pub(in crate::cli) also: Vec<PathDocument>,
    /// What stays beside the mounts because it is nothing that the restore knows, in words.
    pub(in crate::cli) left: Vec<String>,
}

impl RestoreDocument {
    /// One that names no path.
    pub(in crate::cli) fn bare(
        instance: &str,
        outcome: RestoreOutcome,
        target: String,
        left: Vec<String>,
    ) -> Self {
        Self {
            head: Head::default(),
            instance: instance.to_owned(),
            outcome,
            target,
            plan: None,
            receipt: None,
            emergency: None,
            applied: Vec::new(),
            kept: Vec::new(),
            conflicts: Vec::new(),
            failed: Vec::new(),
            not_covered: Vec::new(),
            not_checked: Vec::new(),
            set_aside: Vec::new(),
            brought_back: Vec::new(),
            left_out: Vec::new(),
            also: Vec::new(),
            left,
        }
    }
}

/// An excluded directory, and where it lies aside.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct AsideDocument {
    #[serde(flatten)]
    at: PathDocument,
    /// Host path of the directory while it lies aside.
    place: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    place_bytes: Option<String>,
}

impl AsideDocument {
    pub(in crate::cli) fn new(coverage: &Coverage, path: &RelPath, lies: &Path) -> Self {
        let HostPathDocument {
            path: place,
            path_bytes,
        } = HostPathDocument::new(lies);
        Self {
            at: PathDocument::new(coverage, path),
            place,
            place_bytes: path_bytes,
        }
    }
}

/// `restore --to DIR --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct RestoreToDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// The session's id.
    pub(in crate::cli) instance: String,
    pub(in crate::cli) outcome: RestoreOutcome,
    /// Id of the snapshot that is written.
    pub(in crate::cli) target: String,
    /// Where to.
    pub(in crate::cli) directory: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) directory_bytes: Option<String>,
    /// The claim that is made for it, or was; null when it is there, or is none.
    pub(in crate::cli) new_claim: Option<NewClaimDocument>,
    /// How many paths are written, or were.
    pub(in crate::cli) paths: u64,
    /// What could not be written, or not exactly.
    pub(in crate::cli) failed: Vec<ReasonDocument>,
}

/// A claim that is made for what is written.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct NewClaimDocument {
    /// Its `StorageClass`; null: the default one of the cluster.
    pub(in crate::cli) storage_class: Option<String>,
    /// How large, as Kubernetes writes it (`4Gi`).
    pub(in crate::cli) storage: String,
    /// The claim in the same namespace that it is like.
    pub(in crate::cli) like: Option<String>,
}
