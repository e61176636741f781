//! `blame` and `log PATH`: the changes of a file, and the change that wrote each line.

use base64::Engine as _;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Head, HostPathDocument};
use crate::diff::masked;
use crate::model::{CallRef, RestoreKind, Time};
use crate::recovery::{Origin, PathHistory, PathStep, PathStepKind, WholeReason, Worker};

/// Kind of a change in `blame --json` and `log PATH --json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StepKind {
    /// The file was there in the first snapshot that covers it.
    Found,
    /// The file was created.
    Added,
    /// Its content or type changed.
    Modified,
    /// Only mode, owner or attributes changed.
    Metadata,
    /// It was renamed; `from` is the earlier path.
    Renamed,
    /// It was deleted.
    Deleted,
}

/// Author of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StepAuthor {
    /// It is older than the first snapshot that covers the file.
    Before,
    /// One session.
    Session,
    /// The operator, or a program outside of all sessions.
    Operator,
    /// One of `sessions`, or the operator if `operator` is true.
    Unknown,
    /// A restore or an undo; `receipt` is its number.
    Restore,
}

/// A tool call that may have made a change.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CallDocument {
    /// The tool, as the agent calls it.
    tool: String,
    /// The agent's own id of the call, when it gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Command of a shell, as far as the configuration wants it.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Tool and command, or tool and file, as a person remembers it.
    #[serde(skip)]
    pub(crate) called: String,
}

/// A session that made a change, or may have.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorkerDocument {
    /// The session.
    pub(crate) instance: String,
    /// Its agent, as far as hooks reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// The program that was launched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<String>,
    /// Number of the first turn in which it made the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first_turn: Option<u32>,
    /// Number of the last such turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_turn: Option<u32>,
    /// Text of the prompt that began the last turn, as far as it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<String>,
    /// Tool calls that may have made it, oldest first.
    pub(crate) calls: Vec<CallDocument>,
}

/// A change of a file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PathStepDocument {
    pub(crate) change: StepKind,
    pub(crate) by: StepAuthor,
    /// The session, or those that may have made the change; of a restore the session that was restored.
    pub(crate) sessions: Vec<WorkerDocument>,
    /// The operator may have made it.
    pub(crate) operator: bool,
    /// Number of the receipt of the restore or undo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) receipt: Option<u64>,
    /// The restore was an undo.
    #[serde(skip)]
    pub(crate) is_undo: bool,
    /// Path on the host before a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<HostPathDocument>,
    /// The last snapshot before the change; none for the first state that is known.
    before: Option<String>,
    /// The first snapshot that shows it; none if no snapshot does yet.
    pub(crate) snapshot: Option<String>,
    /// Its name, if it is a checkpoint with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Time of that snapshot.
    pub(crate) at: Option<Time>,
    /// Number of added lines.
    pub(crate) added: u64,
    /// Number of removed lines.
    pub(crate) removed: u64,
}

/// A line of a file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BlamedLineDocument {
    /// Number of the line, from 1.
    pub(crate) line: u64,
    /// Index in `changes` of the change that wrote it.
    pub(crate) change: usize,
    /// Content without its newline; none if the content is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    text_bytes: Option<String>,
    /// The content, exactly; none if it is hidden.
    #[serde(skip)]
    pub(crate) exact: Option<Vec<u8>>,
}

/// `blame --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BlameDocument {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    pub(crate) file: HostPathDocument,
    /// True if the file was deleted; the lines are then those that it had.
    pub(crate) deleted: bool,
    /// The snapshot that has the lines; none for the file as it is now.
    pub(crate) snapshot: Option<String>,
    /// The content is hidden because it is likely to hold secrets; `--show-secrets` shows it.
    pub(crate) hidden: bool,
    /// Reason that there are no lines; the last change is then that of the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) whole: Option<String>,
    /// Changes of the file, oldest first.
    pub(crate) changes: Vec<PathStepDocument>,
    /// Its lines, as far as they were asked for.
    pub(crate) lines: Vec<BlamedLineDocument>,
    /// Number of all its lines.
    pub(crate) count: u64,
    /// Number of damaged or missing snapshots, which were passed over; authors are then less certain.
    pub(crate) unreadable: u64,
}

/// `log PATH --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PathLogDocument {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    pub(crate) file: HostPathDocument,
    /// True if the file was deleted.
    pub(crate) deleted: bool,
    /// Its changes, newest first.
    pub(crate) changes: Vec<PathStepDocument>,
    /// Number of damaged or missing snapshots, which were passed over.
    pub(crate) unreadable: u64,
}

impl BlameDocument {
    /// Makes the report. `wanted` are the first and the last line.
    pub(crate) fn of(found: &PathHistory, wanted: (u64, u64), show_secrets: bool) -> Self {
        let hidden = found.is_secret && !show_secrets;
        let numbered = (1..).zip(&found.lines);
        let lines = numbered.filter(|(number, _)| (wanted.0..=wanted.1).contains(number));
        let document = |(line, blamed): (u64, &crate::recovery::BlamedLine)| {
            let text = blamed.masked.as_ref().filter(|_| !show_secrets);
            let text = text.unwrap_or(&blamed.text);
            let bytes = text.strip_suffix(b"\n").unwrap_or(text);
            let exact = (!hidden).then(|| match show_secrets {
                true => bytes.to_vec(),
                false => masked(bytes),
            });
            let text = exact.as_deref();
            let is_text = text.is_none_or(|bytes| std::str::from_utf8(bytes).is_ok());
            BlamedLineDocument {
                line,
                change: blamed.step,
                text: text.map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
                text_bytes: text
                    .filter(|_| !is_text)
                    .map(|bytes| base64::engine::general_purpose::STANDARD.encode(bytes)),
                exact,
            }
        };
        Self {
            head: Head::default(),
            file: HostPathDocument::new(&found.path),
            deleted: found.is_gone,
            snapshot: found.shown.as_ref().map(ToString::to_string),
            hidden,
            whole: found.whole.as_ref().map(words),
            changes: found.steps.iter().map(PathStepDocument::of).collect(),
            lines: lines.map(document).collect(),
            count: found.lines.len() as u64,
            unreadable: found.unreadable,
        }
    }
}

impl PathLogDocument {
    /// Makes the report.
    pub(crate) fn of(found: &PathHistory) -> Self {
        Self {
            head: Head::default(),
            file: HostPathDocument::new(&found.path),
            deleted: found.is_gone,
            changes: found.steps.iter().rev().map(PathStepDocument::of).collect(),
            unreadable: found.unreadable,
        }
    }
}

impl PathStepDocument {
    fn of(step: &PathStep) -> Self {
        let mut document = Self {
            change: match step.kind {
                PathStepKind::Found => StepKind::Found,
                PathStepKind::Added => StepKind::Added,
                PathStepKind::Modified => StepKind::Modified,
                PathStepKind::Metadata => StepKind::Metadata,
                PathStepKind::Renamed(_) => StepKind::Renamed,
                PathStepKind::Deleted => StepKind::Deleted,
            },
            by: StepAuthor::Before,
            sessions: Vec::new(),
            operator: false,
            receipt: None,
            is_undo: false,
            from: match &step.kind {
                PathStepKind::Renamed(from) => Some(HostPathDocument::new(from)),
                _ => None,
            },
            before: step.before.as_ref().map(ToString::to_string),
            snapshot: step.snapshot.as_ref().map(ToString::to_string),
            name: step.name.clone(),
            at: step.at,
            added: step.added,
            removed: step.removed,
        };
        match &step.origin {
            Origin::Before => {}
            Origin::Restore {
                number,
                kind,
                session,
            } => {
                document.by = StepAuthor::Restore;
                document.receipt = Some(*number);
                document.is_undo = *kind == RestoreKind::Undo;
                document.sessions = vec![WorkerDocument::restored(session.as_str())];
            }
            Origin::Work(workers) => {
                document.sessions = workers.sessions.iter().map(WorkerDocument::of).collect();
                document.operator = workers.operator;
                document.by = match (workers.sessions.len(), workers.operator) {
                    (0, _) => StepAuthor::Operator,
                    (1, false) => StepAuthor::Session,
                    _ => StepAuthor::Unknown,
                };
            }
        }
        document
    }
}

impl WorkerDocument {
    fn of(worker: &Worker) -> Self {
        Self {
            instance: worker.session.to_string(),
            agent: worker.agent.clone(),
            program: worker.program.clone(),
            first_turn: worker.turns.map(|(first, _)| first),
            last_turn: worker.turns.map(|(_, last)| last),
            prompt: worker.prompt.clone(),
            calls: worker.calls.iter().map(CallDocument::of).collect(),
        }
    }

    fn restored(session: &str) -> Self {
        Self {
            instance: session.to_owned(),
            agent: None,
            program: None,
            first_turn: None,
            last_turn: None,
            prompt: None,
            calls: Vec::new(),
        }
    }
}

impl CallDocument {
    fn of(call: &CallRef) -> Self {
        Self {
            tool: call.tool.clone(),
            id: call.id.clone(),
            command: call.command.clone(),
            called: call.label(),
        }
    }
}

/// Returns the reason that a file is attributed as a whole.
fn words(why: &WholeReason) -> String {
    match why {
        WholeReason::Binary => "a binary file".to_owned(),
        WholeReason::Large => "too large to compare by lines".to_owned(),
        WholeReason::Private => "a private file of an agent".to_owned(),
        WholeReason::Special => "not a regular file".to_owned(),
        WholeReason::Unreadable(error) => format!("its content cannot be read: {error}"),
    }
}
