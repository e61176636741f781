//! One change, and why a path stays as it is.

use schemars::JsonSchema;
use serde::Serialize;

use super::path::{PathDocument, lossy};
use crate::diff::{Change, ChangeKind, Overlap, masked};
use crate::display::size;
use crate::model::{Composition, Coverage};
use crate::recovery::Since;
use crate::restore::{Action, After, AsideWhy, LABELS, MAX_COMPOSED, Others, Unmerged, Why};

/// One change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ChangeDocument {
    #[serde(flatten)]
    pub(crate) at: PathDocument,
    pub(crate) change: ChangeKind,
    /// Earlier path of a renamed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_path: Option<String>,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_path_bytes: Option<String>,
    /// Action of a restore on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) action: Option<Action>,
    /// Only `true`: the step discards a later edit, because the operator allowed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) discards_later_edit: Option<bool>,
    /// A merge: the session's change is taken out of the file, and later edits stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) merged: Option<MergedDocument>,
    /// Only some hunks of the file are restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hunks: Option<HunksDocument>,
    /// Places where a later edit overlaps with the session's change, so that both cannot be merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) overlaps: Vec<OverlapDocument>,
    /// Names inside the snapshot that this path is no longer linked to afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parted_from: Vec<PathDocument>,
    /// Number of further such names: a file with thousands of them has as many steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parted_from_omitted: Option<u64>,
    /// Names of the file that are excluded or outside the mount: a replaced path is no longer linked to them, and metadata set in
    /// place change for them too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) names_outside: Option<u32>,
    /// Number of names outside the snapshot that the file had, and is not linked to again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unlinked: Option<u32>,
    /// Reason that it stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Only `true`: after the closing snapshot it was edited, and is now as neither snapshot has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) edited_since: Option<bool>,
    /// Only `true`: after the closing snapshot it became again what the earlier snapshot has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reverted_since: Option<bool>,
}

/// Maximum number of other names that a step lists.
const NAMES: usize = 20;

/// A merge of the session's change with later edits.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct MergedDocument {
    /// Number of places that get conflict markers, because both overlap there.
    pub(crate) conflict_markers: u32,
}

/// Number of hunks of a file that the operator chose.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct HunksDocument {
    /// Chosen hunks.
    pub(crate) chosen: u32,
    /// All hunks of the file.
    pub(crate) all: u32,
    /// Chosen hunks that come back in part, or as the operator edited them.
    pub(crate) partial: u32,
}

/// A place where a later edit overlaps with the session's change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct OverlapDocument {
    /// Number of its first line in the current file, from 1.
    pub(crate) line: u64,
    /// Number of lines in the current file.
    pub(crate) yours: u64,
    /// Number of lines that the session left there.
    pub(crate) left: u64,
    /// Number of lines that were there before the session.
    pub(crate) before: u64,
    /// The lines between conflict markers; `None` if they may hold secrets.
    #[serde(skip)]
    pub(crate) lines: Option<Vec<Vec<u8>>>,
}

impl OverlapDocument {
    fn new(overlap: &Overlap, is_hidden: bool) -> Self {
        let count = |lines: &[Vec<u8>]| lines.len() as u64;
        let marker = |sign: &str, label: &str| vec![format!("{sign} {label}").into_bytes()];
        let bare = |lines: &[Vec<u8>]| -> Vec<Vec<u8>> {
            let bare = lines.iter().map(|line| line.strip_suffix(b"\n").unwrap_or(line));
            bare.map(masked).collect()
        };
        let lines = [
            marker("<<<<<<<", LABELS.ours),
            bare(&overlap.ours),
            marker("|||||||", LABELS.base),
            bare(&overlap.base),
            vec![b"=======".to_vec()],
            bare(&overlap.theirs),
            marker(">>>>>>>", LABELS.theirs),
        ];
        Self {
            line: overlap.line,
            yours: count(&overlap.ours),
            left: count(&overlap.base),
            before: count(&overlap.theirs),
            lines: (!is_hidden).then(|| lines.concat()),
        }
    }
}

impl ChangeDocument {
    pub(crate) fn new(coverage: &Coverage, change: &Change) -> Self {
        let (from_path, from_path_bytes) = match &change.from_path {
            Some(path) => {
                let (text, bytes) = lossy(path);
                (Some(text), bytes)
            }
            None => (None, None),
        };
        Self {
            at: PathDocument::new(coverage, &change.path),
            change: change.kind,
            from_path,
            from_path_bytes,
            action: None,
            discards_later_edit: None,
            merged: None,
            hunks: None,
            overlaps: Vec::new(),
            parted_from: Vec::new(),
            parted_from_omitted: None,
            names_outside: None,
            unlinked: None,
            reason: None,
            edited_since: None,
            reverted_since: None,
        }
    }

    /// State of the path after the later snapshot.
    pub(crate) fn since(mut self, since: Option<Since>) -> Self {
        self.edited_since = (since == Some(Since::Edited)).then_some(true);
        self.reverted_since = (since == Some(Since::Reverted)).then_some(true);
        self
    }

    /// Action of a restore on it.
    pub(crate) fn action(mut self, action: Action) -> Self {
        self.action = Some(action);
        self
    }

    /// Marks a step that discards a later edit.
    pub(crate) fn overrode(mut self, overrode: bool) -> Self {
        self.discards_later_edit = overrode.then_some(true);
        self
    }

    /// Origin of a composed content.
    pub(crate) fn composed(mut self, by: Option<Composition>) -> Self {
        match by {
            Some(Composition::Merge { marked }) => {
                self.merged = Some(MergedDocument {
                    conflict_markers: marked,
                });
            }
            Some(Composition::Hunks { chosen, all, partial }) => {
                self.hunks = Some(HunksDocument { chosen, all, partial });
            }
            None => {}
        }
        self
    }

    /// Reason that a conflict was not merged.
    pub(crate) fn unmerged(mut self, why: Option<&Unmerged>) -> Self {
        let Some(why) = why else { return self };
        if let Unmerged::Overlaps { overlaps, is_secret } = why {
            let documents = overlaps
                .iter()
                .map(|overlap| OverlapDocument::new(overlap, *is_secret));
            self.overlaps = documents.collect();
        }
        let reason = self.reason.take().unwrap_or_default();
        self.reason(format!("{reason}; not merged: {}", unmerged_words(why)))
    }

    /// The other names that a step concerns.
    pub(crate) fn others(mut self, coverage: &Coverage, others: &Others) -> Self {
        let parted = others.parted_from.iter().take(NAMES);
        self.parted_from = parted.map(|path| PathDocument::new(coverage, path)).collect();
        let omitted = others.parted_from.len().saturating_sub(NAMES) as u64;
        self.parted_from_omitted = (omitted > 0).then_some(omitted);
        self.names_outside = (others.outside > 0).then_some(others.outside);
        self.unlinked = (others.unlinked > 0).then_some(others.unlinked);
        self
    }

    /// The host path, with the reason when there is one.
    pub(crate) fn line(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{}: {reason}", self.at.host()),
            None => self.at.host(),
        }
    }

    /// Reason that it stays.
    pub(crate) fn reason(mut self, reason: String) -> Self {
        self.reason = Some(reason);
        self
    }
}

/// Returns the reason that something stays, in words; paths in it are not sanitized.
pub(crate) fn why_words(why: &Why) -> String {
    match why {
        Why::LaterEdit(after) => format!("changed {}", after_words(after)),
        Why::LaterFile(after) => format!("created {}", after_words(after)),
        Why::LaterDeletion(after) => format!("deleted {}", after_words(after)),
        Why::Unvouched(None) => "no closing snapshot; this may be a later edit".to_owned(),
        Why::Unvouched(Some(reason)) => {
            format!("no closing snapshot ({reason}); this may be a later edit")
        }
        Why::Unseen => "not in the closing snapshot; this may be a later edit".to_owned(),
        Why::Shared(others) if others.is_empty() => {
            "may also have been changed between turns, not by the agent".to_owned()
        }
        Why::Others(others) if others.is_empty() => "changed between turns".to_owned(),
        Why::Others(others) => {
            let ids: Vec<String> = others.iter().map(ToString::to_string).collect();
            format!("changed by {}, not by this session", ids.join(", "))
        }
        Why::Shared(others) => {
            let ids: Vec<String> = others.iter().map(ToString::to_string).collect();
            format!(
                "may also have been changed by {}, active at the same time",
                ids.join(", ")
            )
        }
        Why::Closed => "its list is not complete, so what it holds is unknown".to_owned(),
        Why::Holds(path) => format!("holds {}, which stays", String::from_utf8_lossy(path.as_bytes())),
        Why::Parent(path) if path.is_root() => "the protected directory itself was deleted later".to_owned(),
        Why::Parent(path) => {
            format!("is in {}, which stays", String::from_utf8_lossy(path.as_bytes()))
        }
        Why::Needed(path) => format!(
            "{} stays and may need it",
            String::from_utf8_lossy(path.as_bytes())
        ),
        Why::Database(path) => format!(
            "belongs to the same database as {}, which stays",
            String::from_utf8_lossy(path.as_bytes())
        ),
        Why::Moved(path) => format!(
            "has what was at {}, which is not restored",
            String::from_utf8_lossy(path.as_bytes())
        ),
        Why::Format(path) => format!(
            "the repository has another format now, and {} stays",
            String::from_utf8_lossy(path.as_bytes())
        ),
        Why::Repository(path) => format!(
            "belongs to the same repository as {}, which stays",
            String::from_utf8_lossy(path.as_bytes())
        ),
        Why::Names(path) => format!("names {}, which stays", String::from_utf8_lossy(path.as_bytes())),
        Why::OneName(other) => format!(
            "the directory takes its name and {} for one",
            String::from_utf8_lossy(other.as_bytes())
        ),
        Why::Encoding => {
            "the file system takes no such name (it wants UTF-8, and letters that it knows)".to_owned()
        }
        Why::Linked(first) => format!(
            "was another name of {}, which stays; its content is right",
            String::from_utf8_lossy(first.as_bytes())
        ),
        Why::Older => {
            "older than the snapshot, which lacks it: it was moved here and may be the only copy".to_owned()
        }
        Why::Excluded => "may be older: it was in an excluded directory".to_owned(),
        Why::Stored => "stored by git since; no object or ref of the snapshot is missing".to_owned(),
        Why::Settled => "restored by another session, not changed by this one".to_owned(),
        Why::NothingToMerge(after) => format!("changed {}; nothing to merge", after_words(after)),
        Why::Aside(why) => aside_words(why),
        Why::Socket => "sockets are not restored".to_owned(),
        Why::Root => "the protected directory itself is not removed".to_owned(),
    }
}

fn unmerged_words(why: &Unmerged) -> String {
    match why {
        Unmerged::Overlaps { overlaps, .. } => {
            let places = size::counted(overlaps.len() as u64, "place", "places");
            format!("overlaps with the session's change in {places}")
        }
        Unmerged::NoFile => "not a regular file on all sides".to_owned(),
        Unmerged::Linked => "it has several names".to_owned(),
        Unmerged::Marked => "it has conflict markers".to_owned(),
        Unmerged::Binary => "binary".to_owned(),
        Unmerged::Large => format!("larger than {}", size::bytes(MAX_COMPOSED)),
        Unmerged::Git => "git's own file".to_owned(),
        Unmerged::Store => "file of a Mercurial or Jujutsu repository".to_owned(),
        Unmerged::Others => "not only the session changed it before".to_owned(),
        Unmerged::Private => "it may hold secrets".to_owned(),
        Unmerged::Metadata => "mode, owner or attributes changed on both sides".to_owned(),
        Unmerged::Exposed => "others could read what is private".to_owned(),
        Unmerged::Unread(why) => format!("cannot be read: {why}"),
    }
}

fn after_words(after: &After) -> String {
    match after {
        After::Session => "after the session".to_owned(),
        After::Restore => "after that restore".to_owned(),
        After::Step => "after that step".to_owned(),
        After::LaterStep(step) => format!("by a later step ({})", step.called()),
    }
}

fn aside_words(why: &AsideWhy) -> String {
    match why {
        AsideWhy::Taken(lies) => {
            format!("the path exists again; the old one is in {}", lies.display())
        }
        AsideWhy::Gone(lies) => format!("the old one is no longer in {}", lies.display()),
        AsideWhy::NoParent(lies) => {
            format!("its directory is missing; it is in {}", lies.display())
        }
        AsideWhy::Missing => "the restored one is missing".to_owned(),
        AsideWhy::Other => "the restored one was replaced".to_owned(),
        AsideWhy::Holds(mount) => format!("another mount begins at {}", mount.display()),
        AsideWhy::Unseen(lies, why) => format!("{} cannot be read: {why}", lies.display()),
    }
}
