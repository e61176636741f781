//! What the screen asks for, and what it is told: everything that was read is words already, safe to be drawn.

use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;

use crate::diff::Line;
use crate::model::Time;
use crate::terminal::Role;

/// Something that takes a while: it is done on another thread, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// All sessions.
    Sessions,
    /// One session.
    Timeline(String),
    /// What differs between a snapshot and another one, or now.
    Changes(Sides),
    /// The lines of one of the changes that were told last.
    Patch(usize),
    /// What a restore would do.
    Plan(Request),
    /// To do what was shown, if it is still the same.
    Act(Request, String),
    /// What the store holds.
    Store,
    /// The receipts, of one session or all, in so many columns.
    Log(Option<String>, usize),
}

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) instance: String,
    /// Id of the earlier snapshot.
    pub(super) from: String,
    /// Id of the later one; none: the files as they are.
    pub(super) to: Option<String>,
}

/// A restore or an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) instance: String,
    pub(super) goal: Goal,
    /// Only these and what lies below them, as host paths; all when there is none.
    pub(super) paths: Vec<OsString>,
    pub(super) overwrite_later: bool,
    pub(super) delete_later: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// Back to this snapshot.
    Snapshot(String),
    /// What led to this snapshot is taken back, what came after stays.
    Step(String),
    /// The restore with this receipt is taken back; the last one when none is named.
    Undo(Option<u64>),
}

/// What became of it.
#[derive(Debug)]
pub(super) enum Answer {
    Sessions(Vec<Session>),
    Timeline(Timeline),
    Changes(Changes),
    Patch(usize, Vec<PatchLine>),
    /// The plan in words, and whether there is anything to do.
    Plan(Request, String, bool),
    /// How it ended.
    Done(String),
    Store(Vec<Holding>),
    Log(String),
    /// It cannot be told; why.
    Failed(String),
}

/// A session in the list.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) workspace: Option<String>,
    pub(super) status: String,
    pub(super) role: Role,
    pub(super) began: Time,
    pub(super) snapshots: u64,
    pub(super) bytes: u64,
    pub(super) place: String,
}

/// A session, and all that happened in it, newest first.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    pub(super) id: String,
    /// Why nothing is put back now.
    pub(super) active: Option<String>,
    /// What there is to know of it: colours and all.
    pub(super) facts: String,
    pub(super) moments: Vec<Moment>,
}

/// A snapshot, a restore or an undo.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) at: Time,
    pub(super) what: What,
    /// What it is, in a word or two.
    pub(super) name: String,
    pub(super) role: Role,
    /// What changed, what it is for, what it belongs to.
    pub(super) note: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Its id, and the one that its step began from.
    Snapshot { id: String, before: Option<String> },
    /// Its receipt, and the snapshot of what was there before.
    Restore { number: u64, emergency: String },
}

/// What differs.
#[derive(Debug)]
pub(super) struct Changes {
    pub(super) sides: Sides,
    /// The sides in words.
    pub(super) from: String,
    pub(super) to: String,
    /// What changed that is no path: settings of agents, repositories, credentials, what is not covered.
    pub(super) beside: String,
    pub(super) all: Vec<PathChange>,
    /// Several mounts: each has its own root in the tree.
    pub(super) roots: Vec<String>,
}

/// A path that differs.
#[derive(Clone, Debug)]
pub(super) struct PathChange {
    /// Which of the roots it lies in.
    pub(super) root: usize,
    /// Its names from the root on, safe to be shown; none of them: the root itself.
    pub(super) names: Vec<String>,
    pub(super) is_directory: bool,
    pub(super) kind: Kind,
    pub(super) is_renamed: bool,
    pub(super) letter: &'static str,
    pub(super) role: Role,
    /// What the letter does not tell.
    pub(super) detail: String,
    /// Somebody may run it: a program, or a hook of git's.
    pub(super) runs: bool,
    /// Where it is, and was.
    pub(super) hosts: Vec<PathBuf>,
}

/// What a list of changes is narrowed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    All,
    Added,
    Modified,
    Deleted,
    /// Moved, or with another mode, owner or type.
    Other,
    /// What can run.
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
            Self::Other => "moved or other mode",
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

/// A line of a patch, or of what stands instead of one.
#[derive(Clone, Debug)]
pub(super) enum PatchLine {
    /// Said about the content.
    Said(String),
    /// A line of it, with the ranges that differ from its counterpart.
    Line(Line, String, Vec<Range<usize>>),
}

/// What a workspace, or a directory without one, has in the store.
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
