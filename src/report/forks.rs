//! `fork`, and the forks in `list` and `show`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Head, HostPathDocument, ReasonDocument};
use crate::display::sanitize;
use crate::model::{ForkReference, SnapshotKind, Time};
use crate::recovery::{EncryptedFile, Forked, OutsideGit, UnwrittenSocket, WrittenSnapshot};
use crate::store::ForkRow;

/// `fork --json`. Whole or in its own four fields (`provider`, `id`, `snapshot`, `mounts`) it is accepted by `fork` and `show`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ForkDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    #[serde(flatten)]
    pub(crate) reference: ForkReference,
    /// The session's id.
    pub(crate) instance: String,
    /// Name of the fork.
    pub(crate) branch: Option<String>,
    pub(crate) outcome: ForkOutcome,
    /// Directory that it was written to.
    pub(crate) directory: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) directory_bytes: Option<String>,
    /// True if the snapshot is complete, and no file of it stays encrypted.
    pub(crate) complete: bool,
    /// Number of paths written.
    pub(crate) paths: u64,
    /// Number of them that this user may not read; they were compared while being written, not read back.
    pub(crate) unread: u64,
    /// Paths that could not be written, or differ from the snapshot.
    pub(crate) failed: Vec<ReasonDocument>,
    /// Files that are not written: the snapshot has them only encrypted, or they are sockets.
    pub(crate) left_out: Vec<ReasonDocument>,
    /// Places outside of the fork that git in it works on.
    pub(crate) outside_git: Vec<OutsideGitDocument>,
    /// True if the snapshot is complete.
    #[serde(skip)]
    pub(crate) is_whole: bool,
    /// Kind of the snapshot.
    #[serde(skip)]
    pub(crate) kind: SnapshotKind,
    /// Exact path of `directory`.
    #[serde(skip)]
    pub(crate) place: PathBuf,
}

impl ForkDocument {
    /// Makes the report of a fork that was made.
    pub(crate) fn of(forked: Forked, branch: Option<&str>) -> Self {
        let place = HostPathDocument::new(&forked.directory);
        let failed = problems(&forked.written);
        Self {
            head: Head::default(),
            reference: forked.reference,
            instance: forked.target.instance.to_string(),
            branch: branch.map(str::to_owned),
            outcome: match failed.is_empty() {
                true => ForkOutcome::Forked,
                false => ForkOutcome::Partial,
            },
            directory: place.path,
            directory_bytes: place.path_bytes,
            complete: forked.target.complete && forked.encrypted.is_empty(),
            paths: forked.written.paths,
            unread: forked.written.unread,
            failed,
            left_out: [
                not_opened(&forked.encrypted),
                not_sockets(&forked.written.sockets),
            ]
            .concat(),
            outside_git: OutsideGitDocument::all(&forked.written),
            is_whole: forked.target.complete,
            kind: forked.target.kind,
            place: place.exact,
        }
    }
}

/// Returns the paths that differ from the snapshot that was written, with the reasons.
pub(crate) fn problems(written: &WrittenSnapshot) -> Vec<ReasonDocument> {
    let all = written
        .mounts
        .iter()
        .flat_map(|mount| mount.problems.iter().map(move |problem| (mount, problem)));
    all.map(|(mount, (path, problem))| ReasonDocument::new(&mount.coverage, path, problem.words.clone()))
        .collect()
}

/// Returns the files that are not written because their key is missing, with that reason.
pub(crate) fn not_opened(files: &[EncryptedFile]) -> Vec<ReasonDocument> {
    let reason = "encrypted, and --identity is missing";
    let each = files.iter();
    each.map(|file| ReasonDocument::new(&file.coverage, &file.path, reason))
        .collect()
}

/// Returns the sockets that are not written, with that reason.
pub(crate) fn not_sockets(sockets: &[UnwrittenSocket]) -> Vec<ReasonDocument> {
    let reason = "sockets are not restored";
    let each = sockets.iter();
    each.map(|socket| ReasonDocument::new(&socket.coverage, &socket.path, reason))
        .collect()
}

/// A place outside of a copy that git in the copy works on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct OutsideGitDocument {
    /// Directory of the copy in which git runs.
    #[serde(flatten)]
    directory: HostPathDocument,
    /// Absolute path of the repository, the part of one, or the work tree that git reads and writes then; null if it is not known, because a
    /// file of the repository is too large or cannot be read.
    place: Option<String>,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    place_bytes: Option<String>,
    /// Exact path of `place`.
    #[serde(skip)]
    place_exact: Option<PathBuf>,
}

impl OutsideGitDocument {
    /// Makes the report of each of what was written.
    pub(crate) fn all(written: &WrittenSnapshot) -> Vec<Self> {
        written.outside_git.iter().map(Self::new).collect()
    }

    fn new(found: &OutsideGit) -> Self {
        let place = found.place.as_deref().map(HostPathDocument::new);
        let (place, place_bytes, place_exact) = match place {
            Some(place) => (Some(place.path), place.path_bytes, Some(place.exact)),
            None => (None, None, None),
        };
        Self {
            directory: HostPathDocument::new(&found.directory),
            place,
            place_bytes,
            place_exact,
        }
    }

    /// Describes it in one line.
    pub(crate) fn line(&self) -> String {
        let directory = sanitize::path(&self.directory.exact);
        match &self.place_exact {
            Some(place) => format!(
                "git in {directory} uses {}, outside this copy: commits and resets there change the original",
                sanitize::path(place)
            ),
            None => format!(
                "git in {directory} may use a place outside this copy: a file of the repository cannot be read"
            ),
        }
    }
}

/// Result of a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ForkOutcome {
    /// Everything is as the snapshot has it.
    Forked,
    /// Something is not; each path is named.
    Partial,
}

/// A fork that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ForkedDocument {
    /// Its id.
    pub(crate) id: String,
    /// Its name.
    pub(crate) branch: Option<String>,
    /// The session that its snapshot belongs to.
    pub(crate) instance: String,
    /// The snapshot.
    pub(crate) snapshot: String,
    /// When it was made.
    pub(crate) at: Time,
    /// Where.
    directory: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    directory_bytes: Option<String>,
    /// True if the directory exists.
    pub(crate) is_there: bool,
    /// Number of paths written.
    pub(crate) paths: u64,
    /// Number of paths that could not be written exactly.
    failed: u64,
    /// Exact path of `directory`.
    #[serde(skip)]
    pub(crate) place: PathBuf,
}

impl ForkedDocument {
    pub(crate) fn new(row: &ForkRow) -> Self {
        let place = HostPathDocument::new(&row.directory);
        Self {
            id: row.id.to_string(),
            branch: row.branch.clone(),
            instance: row.instance.to_string(),
            snapshot: row.snapshot.to_string(),
            at: row.at,
            directory: place.path,
            directory_bytes: place.path_bytes,
            is_there: is_there(row),
            paths: row.paths,
            failed: row.failed,
            place: row.directory.clone(),
        }
    }
}

/// Returns true if there is a directory where a fork was written.
fn is_there(row: &ForkRow) -> bool {
    std::fs::symlink_metadata(&row.directory).is_ok_and(|found| found.is_dir())
}
