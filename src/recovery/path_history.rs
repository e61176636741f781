//! History of a file: its changes, its versions, and the change that wrote each of its lines.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::diff::{is_binary, kept_lines};
use crate::model::{Content, Entry, InstanceId, RestoreKind, SnapshotId, Time, WithheldFact};
use crate::restore::Workers;
use crate::store::PartsRead;

/// Changes of a file in all snapshots that cover it, and the origin of its lines.
pub struct PathHistory {
    /// The file on the host.
    pub path: PathBuf,
    /// Changes, oldest first.
    pub steps: Vec<PathStep>,
    /// Lines; empty if [`Self::whole`] is set, or nothing is in the file.
    pub lines: Vec<BlamedLine>,
    /// Reason that there are no lines.
    pub whole: Option<WholeReason>,
    /// Snapshot whose content the lines are; `None` for the file as it is now.
    pub shown: Option<SnapshotId>,
    /// True if the file is gone.
    pub is_gone: bool,
    /// True if the content is not shown unless the operator asks for it.
    pub is_secret: bool,
    /// Number of snapshots that are damaged or missing, and were passed over.
    pub unreadable: u64,
    /// Parts of manifests that were read.
    pub read: PartsRead,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlamedLine {
    /// Content with its newline.
    pub text: Vec<u8>,
    /// Content with a placeholder for the secret of a git setting, or the part of a private key, in it; `None` if it holds none.
    pub masked: Option<Vec<u8>>,
    /// Position in [`PathHistory::steps`] of the change that wrote it.
    pub step: usize,
}

/// A change of a file between two moments.
#[derive(Clone, Debug)]
pub struct PathStep {
    /// Kind of the change.
    pub kind: PathStepKind,
    /// Origin of the change.
    pub origin: Origin,
    /// The last snapshot before it; `None` for the first state that is known.
    pub before: Option<SnapshotId>,
    /// The first snapshot that shows it; `None` if none does yet.
    pub snapshot: Option<SnapshotId>,
    /// Name of that snapshot, if it is a checkpoint with one.
    pub name: Option<String>,
    /// Time at which it was first seen; `None` if no snapshot shows it yet.
    pub at: Option<Time>,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
}

/// Kind of a change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStepKind {
    /// It was there in the first snapshot that covers it.
    Found,
    /// It was created.
    Added,
    /// Its content or type changed.
    Modified,
    /// Mode, owner or attributes changed, the content did not.
    Metadata,
    /// It was renamed from this path on the host.
    Renamed(PathBuf),
    /// It was deleted.
    Deleted,
}

/// Origin of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is older than the first snapshot that covers the path.
    Before,
    /// Sessions, or the operator.
    Work(Workers),
    /// A restore or an undo.
    Restore {
        /// Number of its receipt.
        number: u64,
        /// Kind of the command.
        kind: RestoreKind,
        /// Session whose files were restored.
        session: InstanceId,
    },
}

/// Reason that a file is attributed as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WholeReason {
    /// It is no text.
    Binary,
    /// It is too large to compare by lines.
    Large,
    /// It is a private file of an agent, whose content no snapshot shows.
    Private,
    /// It is no regular file.
    Special,
    /// Its content cannot be read.
    Unreadable(String),
}

/// State of the path at a moment.
#[derive(Clone)]
pub(super) enum Version {
    Absent,
    Entry(Box<Entry>),
    Private(Box<WithheldFact>),
}

/// Content of the path, with the step that wrote each line.
#[derive(Clone)]
pub(super) enum Body {
    Lines { bytes: Vec<u8>, steps: Vec<usize> },
    Whole(WholeReason),
}

impl Version {
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) => true,
            (Self::Entry(a), Self::Entry(b)) => self.same_content(other) && a.same_metadata(b),
            (Self::Private(a), Self::Private(b)) => {
                self.same_content(other) && (a.mode, a.uid, a.gid) == (b.mode, b.uid, b.gid)
            }
            _ => false,
        }
    }

    pub(super) fn same_content(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Entry(a), Self::Entry(b)) => a.kind == b.kind,
            (Self::Private(a), Self::Private(b)) => {
                (a.size, &a.digest, &a.settings) == (b.size, &b.digest, &b.settings)
            }
            (Self::Absent, Self::Absent) => true,
            _ => false,
        }
    }

    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    pub(super) fn entry(&self) -> Option<&Entry> {
        match self {
            Self::Entry(entry) => Some(entry),
            _ => None,
        }
    }
}

impl Body {
    /// Returns a content all of whose lines one step wrote.
    pub(super) fn all_of(loaded: Loaded, step: usize) -> Self {
        match loaded {
            Ok(bytes) => {
                let count = bytes.split_inclusive(|byte| *byte == b'\n').count();
                Self::Lines {
                    bytes,
                    steps: vec![step; count],
                }
            }
            Err(why) => Self::Whole(why),
        }
    }

    /// Returns the next content: lines that it kept from this one or, after a restore, from the restored one keep their step. Also counts
    /// added and removed lines.
    pub(super) fn next(&self, loaded: Loaded, restored: Option<&Self>, step: usize) -> (Self, u64, u64) {
        let bytes = match loaded {
            Ok(bytes) => bytes,
            Err(why) => return (Self::Whole(why), 0, 0),
        };
        let kept = |body: &Self| match body {
            Self::Lines { bytes: old, steps } => kept_lines(old, &bytes)
                .into_iter()
                .map(|old| steps.get(old?).copied())
                .collect::<Vec<_>>(),
            Self::Whole(_) => Vec::new(),
        };
        let own = kept(self);
        let other = restored.map(kept).unwrap_or_default();
        let count = bytes.split_inclusive(|byte| *byte == b'\n').count();
        let of = |kept: &[Option<usize>], at: usize| kept.get(at).copied().flatten();
        let steps = (0..count).map(|at| of(&own, at).or_else(|| of(&other, at)).unwrap_or(step));
        let steps: Vec<usize> = steps.collect();
        let stayed = own.iter().flatten().count();
        let before = match self {
            Self::Lines { steps, .. } => steps.len(),
            Self::Whole(_) => 0,
        };
        let (added, removed) = (count.saturating_sub(stayed), before.saturating_sub(stayed));
        (Self::Lines { bytes, steps }, added as u64, removed as u64)
    }
}

/// Bytes of a text, or the reason that there are none.
pub(super) type Loaded = Result<Vec<u8>, WholeReason>;

/// History of one path until a moment.
pub(super) struct Traced {
    pub(super) steps: Vec<PathStep>,
    pub(super) version: Version,
    /// Content of the last version that was not absent.
    pub(super) body: Body,
    /// Position of the last moment that shows the path, and of the last one at which it was there.
    pub(super) last: usize,
    pub(super) there: Option<usize>,
    /// Versions at the snapshots that files were restored to.
    pub(super) targets: HashMap<SnapshotId, (Version, Body)>,
}

pub(super) fn text(bytes: Vec<u8>) -> Loaded {
    match is_binary(&bytes) {
        true => Err(WholeReason::Binary),
        false => Ok(bytes),
    }
}

/// Restore that changed a path between two moments.
pub(super) struct PathRestore {
    pub(super) origin: Origin,
    pub(super) target: SnapshotId,
    /// Content that the restore composed, as of chosen hunks; `None` if the file got that of the target.
    pub(super) composed: Option<Content>,
}

impl Traced {
    /// Adds a step that leads to `version`; `loaded` is its content if that changed.
    pub(super) fn advance(
        &mut self,
        mut step: PathStep,
        restored: Option<PathRestore>,
        version: Version,
        loaded: Option<Loaded>,
    ) {
        let composed = |restored: &&PathRestore| {
            let now = version.entry().and_then(Entry::content);
            restored.composed.is_some() && restored.composed.as_ref() == now
        };
        if let Some(restored) = restored.as_ref().filter(composed) {
            step.origin = restored.origin.clone();
        }
        let target = restored
            .and_then(|restored| Some((restored.origin, self.targets.get(&restored.target)?.clone())));
        let number = self.steps.len();
        match (loaded, target) {
            (loaded, Some((origin, (then, body)))) if then.same_content(&version) => {
                step.origin = origin;
                if loaded.is_some() && !version.is_absent() {
                    let bytes = match &body {
                        Body::Lines { bytes, .. } => Ok(bytes.clone()),
                        Body::Whole(why) => Err(why.clone()),
                    };
                    (_, step.added, step.removed) = self.lines_before().next(bytes, None, number);
                    self.body = body;
                }
            }
            (None, _) => {}
            (Some(loaded), target) => {
                let restored = target.as_ref().map(|(_, (_, body))| body);
                let (body, added, removed) = self.lines_before().next(loaded, restored, number);
                (self.body, step.added, step.removed) = (body, added, removed);
            }
        }
        self.steps.push(step);
        self.version = version;
    }

    /// Returns the version of a private file that a restore left, and what the restore did with the file; `None` if it is the last version.
    pub(super) fn restored_private(&self, restored: Option<&PathRestore>) -> Option<(PathStepKind, Version)> {
        let (then, _) = self.targets.get(&restored?.target)?;
        let kind = match (&self.version, then) {
            (now, then) if then.same(now) => return None,
            (Version::Private(_), Version::Absent) => PathStepKind::Deleted,
            (Version::Absent, Version::Private(_)) => PathStepKind::Added,
            (Version::Private(_), Version::Private(_)) if then.same_content(&self.version) => {
                PathStepKind::Metadata
            }
            (Version::Private(_), Version::Private(_)) => PathStepKind::Modified,
            _ => return None,
        };
        Some((kind, then.clone()))
    }

    /// Adds the step that leads to the file as it is now.
    pub(super) fn advance_to_now(
        &mut self,
        mut step: PathStep,
        restored: Option<PathRestore>,
        loaded: Loaded,
    ) {
        let number = self.steps.len();
        let target = restored
            .as_ref()
            .and_then(|restored| self.targets.get(&restored.target));
        let target = target.map(|(_, body)| body.clone());
        let now = loaded.as_ref().ok();
        let is_target = match (&target, now) {
            (Some(Body::Lines { bytes, .. }), Some(now)) => bytes == now,
            _ => false,
        };
        let is_composed = |restored: &PathRestore| restored.composed == now.map(|now| Content::of(now));
        let is_restored = is_target || now.is_some() && restored.as_ref().is_some_and(is_composed);
        let (body, added, removed) = self.lines_before().next(loaded, target.as_ref(), number);
        (step.added, step.removed) = (added, removed);
        self.body = match target {
            Some(target) if is_target => target,
            _ => body,
        };
        if let Some(restored) = restored.filter(|_| is_restored) {
            step.origin = restored.origin;
        }
        self.steps.push(step);
    }

    /// Returns the content before a change: none if the file was absent.
    pub(super) fn lines_before(&self) -> Body {
        match self.version {
            Version::Absent => Body::all_of(Ok(Vec::new()), 0),
            _ => self.body.clone(),
        }
    }
}
