//! One change, and why a path stays as it is.

use schemars::JsonSchema;
use serde::Serialize;

use super::path::{PathDocument, lossy};
use crate::diff::{Change, ChangeKind};
use crate::model::Coverage;
use crate::recovery::Since;
use crate::restore::{Action, After, AsideWhy, Others, Why};

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
    /// Names inside the snapshot that this path is no longer linked to afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parted_from: Vec<PathDocument>,
    /// Names of the file that are excluded or outside the mount: a replaced path is no longer linked to them, and metadata set in
    /// place change for them too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) names_outside: Option<u32>,
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
            parted_from: Vec::new(),
            names_outside: None,
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

    /// The other names that a step concerns.
    pub(crate) fn others(mut self, coverage: &Coverage, others: &Others) -> Self {
        let parted = others.parted_from.iter();
        self.parted_from = parted.map(|path| PathDocument::new(coverage, path)).collect();
        self.names_outside = (others.outside > 0).then_some(others.outside);
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
        Why::Shared(others) if others.is_empty() => "also changed between turns, not by the agent".to_owned(),
        Why::Others(others) if others.is_empty() => "changed between turns".to_owned(),
        Why::Others(others) => {
            let ids: Vec<String> = others.iter().map(ToString::to_string).collect();
            format!("changed by {}, not by this session", ids.join(", "))
        }
        Why::Shared(others) => {
            let ids: Vec<String> = others.iter().map(ToString::to_string).collect();
            format!("also changed by {} while both were active", ids.join(", "))
        }
        Why::Holds(path) => format!("holds {}, which stays", String::from_utf8_lossy(path.as_bytes())),
        Why::Parent(path) => {
            format!("is in {}, which stays", String::from_utf8_lossy(path.as_bytes()))
        }
        Why::Needed(path) => format!(
            "{} stays and may need it",
            String::from_utf8_lossy(path.as_bytes())
        ),
        Why::Linked(first) => format!(
            "was another name of {}, which stays; its content is right",
            String::from_utf8_lossy(first.as_bytes())
        ),
        Why::Excluded => "may be older: it was in an excluded directory".to_owned(),
        Why::Settled => "restored by another session, not changed by this one".to_owned(),
        Why::Aside(why) => aside_words(why),
        Why::Socket => "sockets are not restored".to_owned(),
    }
}

fn after_words(after: &After) -> String {
    match after {
        After::Session => "after the session".to_owned(),
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
