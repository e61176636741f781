//! Requests of the screen and their answers. All text in an answer is formatted and safe to draw.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;

use crate::cli::highlight::Tokens;
use crate::cli::line_choice::MarkedFile;
use crate::model::{Digest, Time};
use crate::report::Line;
use crate::terminal::Role;

/// Request to the worker thread, which handles one at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// All sessions.
    Sessions,
    /// One session.
    Timeline(String),
    /// Differences between a snapshot and a later one, or the current files.
    Changes(Sides),
    /// Lines of one of the changes in the last answer, with so many unchanged lines around.
    Patch(usize, usize),
    /// Paths of a comparison that a restore keeps because of later edits.
    Later(Sides),
    /// Plan of a restore.
    Plan(Request),
    /// Execution of a plan, if it still matches the text that was shown.
    Act(Request, String),
    /// Run of a job.
    Do(Job),
    /// The plan of forgetting a session.
    PlanForget(String),
    /// Disk use in the store.
    Store,
    /// The receipts, of one session or all, in so many columns.
    Log(Option<String>, usize),
    /// Changes of the file at this host path, in so many columns.
    History(PathBuf, usize),
    /// Author of each line of the file at this host path, in so many columns.
    Blame(PathBuf, usize),
}

/// Job beside a restore, on a session or a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Pin {
        session: String,
        /// Id of the snapshot; `None` for the whole session.
        snapshot: Option<String>,
        /// False to unpin.
        pins: bool,
    },
    Rename {
        session: String,
        /// Empty to remove the name.
        name: String,
    },
    Checkpoint {
        session: String,
        /// Empty for none.
        name: String,
    },
    Fork {
        session: String,
        /// Id of the snapshot; `None` for the baseline.
        snapshot: Option<String>,
        /// Empty for a new one in jackin's home.
        directory: String,
    },
    Export {
        session: String,
        snapshot: Option<String>,
        file: String,
    },
    Forget {
        session: String,
        /// Plan that the operator agreed to.
        agreed: ForgetText,
    },
}

/// The plan of forgetting a session, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ForgetText {
    pub(super) text: String,
    /// Time with which it compares the end of the session. A later time makes another text of the same plan.
    pub(super) at: Time,
}

/// Two sides to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) instance: String,
    /// Id of the earlier snapshot.
    pub(super) from: String,
    /// Id of the later one; `None` for the current files.
    pub(super) to: Option<String>,
    /// True if the later one is the next after the earlier one, so that the changes are one step.
    pub(super) is_step: bool,
}

/// A restore or an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) instance: String,
    pub(super) goal: Goal,
    /// Only these and what lies below them, as host paths; all when there is none.
    pub(super) paths: Vec<OsString>,
    /// Files among them of which only the marked lines are restored.
    pub(super) lines: Vec<MarkedFile>,
    pub(super) overwrite_later: bool,
    pub(super) delete_later: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// Back to this snapshot.
    Snapshot(String),
    /// Revert of the step that led to this snapshot; later changes stay.
    Step(String),
    /// Undo of the restore with this receipt; of the last one if `None`.
    Undo(Option<u64>),
}

/// Answer to an [`Ask`].
#[derive(Debug)]
pub(super) enum Answer {
    Sessions(Vec<Session>),
    Timeline(Timeline),
    Changes(Changes),
    Patch(usize, PatchText),
    /// Host paths that a restore keeps, with the reason in two words.
    Later(Sides, BTreeMap<PathBuf, &'static str>),
    /// The plan in words, and whether there is anything to do.
    Plan(Request, String, Option<u64>),
    /// Outcome of a restore.
    Done(String),
    /// Outcome of a job.
    JobDone(String),
    /// The plan of forgetting this session.
    Forget(String, ForgetText),
    Store(Vec<Holding>),
    /// A text to read, and its title.
    Log(&'static str, String),
    /// Reason for the failure.
    Failed(String),
}

/// A session in the list.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) workspace: Option<String>,
    /// Name that the operator gave it.
    pub(super) name: Option<String>,
    /// True if the whole session is pinned.
    pub(super) is_pinned: bool,
    pub(super) status: String,
    pub(super) role: Role,
    pub(super) began: Time,
    pub(super) snapshots: u64,
    pub(super) bytes: u64,
    /// Its mounts, as text.
    pub(super) place: String,
    /// Its mounts.
    pub(super) roots: Vec<PathBuf>,
}

/// A session, and all that happened in it, newest first.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    pub(super) id: String,
    /// Reason why nothing can be restored now; `None` if a restore is possible.
    pub(super) active: Option<String>,
    /// Facts about the session, with colors.
    pub(super) facts: String,
    pub(super) moments: Vec<Moment>,
    /// Prompts of its agent, newest first, each with its calls below it.
    pub(super) points: Vec<Point>,
}

/// A prompt or tool call, which a restore can go back to before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) at: Time,
    /// True if it is a prompt.
    pub(super) is_prompt: bool,
    /// First line of the prompt with the number of calls, or the call.
    pub(super) text: String,
    /// Number of changed paths; empty if that is unknown.
    pub(super) changed: String,
    /// Id of the snapshot right before it; `None` if there is none.
    pub(super) snapshot: Option<String>,
}

/// A snapshot, a restore or an undo.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) at: Time,
    pub(super) what: What,
    /// Name of the snapshot or operation, in a word or two.
    pub(super) name: String,
    pub(super) role: Role,
    /// Changes, purpose and related receipts.
    pub(super) note: String,
    /// Receipt that it is folded below: of its restore for an emergency snapshot, of its undo for a restore.
    pub(super) under: Option<u64>,
    /// True if retention never deletes it.
    pub(super) is_pinned: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Its id, and the one that its step began from.
    Snapshot { id: String, before: Option<String> },
    /// Its receipt, and the snapshot of what was there before.
    Restore { number: u64, emergency: String },
}

/// Differences between two sides.
#[derive(Debug)]
pub(super) struct Changes {
    pub(super) sides: Sides,
    /// The sides in words.
    pub(super) from: String,
    pub(super) to: String,
    /// Changes other than paths: settings of agents, repositories, credentials, and parts not covered.
    pub(super) beside: String,
    pub(super) all: Vec<PathChange>,
    /// Several mounts: each has its own root in the tree.
    pub(super) roots: Vec<String>,
}

/// A path that differs.
#[derive(Clone, Debug)]
pub(super) struct PathChange {
    /// Index of the root that holds the path.
    pub(super) root: usize,
    /// Its names from the root on, safe to be shown; none of them: the root itself.
    pub(super) names: Vec<String>,
    pub(super) is_directory: bool,
    pub(super) kind: Kind,
    pub(super) is_renamed: bool,
    pub(super) letter: &'static str,
    pub(super) role: Role,
    /// Details that the letter does not show.
    pub(super) detail: String,
    /// True if the path can be executed: a program or a git hook.
    pub(super) runs: bool,
    /// Host path, and the former one of a renamed file.
    pub(super) hosts: Vec<PathBuf>,
}

/// Filter for a list of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    All,
    Added,
    Modified,
    Deleted,
    /// Moved, or with another mode, owner or type.
    Other,
    /// Paths that can be executed.
    Runs,
}

impl Kind {
    pub(super) fn next(self) -> Self {
        match self {
            Self::All => Self::Added,
            Self::Added => Self::Modified,
            Self::Modified => Self::Deleted,
            Self::Deleted => Self::Other,
            Self::Other => Self::Runs,
            Self::Runs => Self::All,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Other => "moved, or mode changed",
            Self::Runs => "can run",
        }
    }

    pub(super) fn holds(self, change: &PathChange) -> bool {
        match self {
            Self::All => true,
            Self::Runs => change.runs,
            other => change.kind == other,
        }
    }
}

/// Lines of a change.
#[derive(Clone, Debug, Default)]
pub(super) struct PatchText {
    pub(super) lines: Vec<PatchLine>,
    /// Digests of both texts; `None` if the path is restored as a whole or not at all.
    pub(super) sides: Option<[Digest; 2]>,
}

/// Line of a patch, or a remark in its place.
#[derive(Clone, Debug)]
pub(super) enum PatchLine {
    /// Remark about the content.
    Said(String),
    /// Change of mode, owner or attributes of a file whose lines can be marked.
    Metadata(String),
    Line(TextLine),
}

/// Line of a text.
#[derive(Clone, Debug)]
pub(super) struct TextLine {
    pub(super) line: Line,
    pub(super) text: String,
    /// Ranges that differ from the counterpart.
    pub(super) words: Vec<Range<usize>>,
    /// Parts of the code that have colors.
    pub(super) tokens: Tokens,
    /// Number in the earlier text, from 1; `None` if it is not there.
    pub(super) then: Option<usize>,
    /// Number in the later text.
    pub(super) now: Option<usize>,
}

/// Disk use of a workspace, or of a directory without one, in the store.
#[derive(Clone, Debug)]
pub(super) struct Holding {
    pub(super) name: String,
    pub(super) sessions: u64,
    /// Bytes of its files by the age of the snapshots that brought them: the last day, week, month, and before.
    pub(super) by_age: [u64; 4],
}

impl Holding {
    pub(super) fn bytes(&self) -> u64 {
        self.by_age.iter().sum()
    }
}
