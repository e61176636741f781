//! Restore: a plan that is made, shown, and then run: staged, journaled, moved, decided. A command after a
//! crash finishes it or takes it back (`docs/internals/architecture.md` has the steps).

mod activity;
mod apply;
mod apply_many;
mod attribution;
mod authorship;
mod build_moves;
mod commit;
mod composed;
mod databases;
mod denied;
mod encrypted;
mod error;
mod execute;
mod export_tree;
mod file_identity;
mod fingerprint;
mod flags;
mod folded_names;
mod foreign;
mod git_formats;
mod git_index;
mod git_links;
mod git_needs;
mod git_objects;
mod git_parts;
mod git_storage;
mod hard_links;
mod head_move;
mod hidden;
mod history;
mod holding_dir;
mod intent;
mod journal;
mod late_refs;
mod layers;
mod left_states;
mod left_tree;
mod look_state;
mod lost_edits;
mod make_together;
mod merging;
mod metadata;
mod mount_task;
mod move_state;
mod moved_away;
mod moved_work;
mod older;
mod open_files;
mod packed_refs;
mod path_authors;
mod plan;
mod planner;
mod problem;
mod proposal;
mod propose;
mod recovery;
mod reflink;
mod report;
mod repositories;
mod rollback;
mod scope;
mod session_moments;
mod set_aside;
mod slot;
mod spared;
mod stage;
mod states;
mod survey;
mod timeline;
mod tree_writer;
mod unset;
mod vcs_stores;
mod verify;

pub use attribution::{ChangeHistory, Verdict};
pub use composed::{Composed, ComposedFiles, MAX_COMPOSED, MAX_TOGETHER, can_be_composed, composed_again};
pub use denied::{Closed, Denied};
pub use error::{Locked, RestoreError};
pub use execute::execute;
pub use export_tree::{OutputDir, Written, is_empty, mark, take_away, write_to, write_verified};
pub use folded_names::FoldedNames;
pub use git_index::RefreshedIndexes;
pub use git_links::GitLinks;
pub use head_move::HeadMove;
pub use history::{of_instance, of_restore, of_step};
pub use left_states::{LeftState, ShownWork};
pub use lost_edits::{LostEdit, LostKind};
pub use merging::{LABELS, Unmerged};
pub use open_files::find_open_files;
pub use path_authors::{WorkLog, Worker, Workers};
pub use plan::{Action, After, AsideWhy, KeptPath, Others, Plan, Step, Why};
pub use planner::plan;
pub use problem::Problem;
pub use proposal::{MountRequest, OpenFile, Proposal, ProposedMount, Purpose};
pub use propose::propose;
pub use recovery::{
    Cleared, TakenBack, abort, clear_up, damaged_journals, leave, pending, proposal, resume, settle,
};
pub use report::{Failed, MountReport, Outcome, Report};
pub use repositories::refuse_in_use;
pub use scope::{Allow, AskedGlob, AskedPaths, Merging, Scope, SnapshotScope, Tops, UnmatchedGlob};
pub use session_moments::PathMoment;
pub use set_aside::{AsideError, bring_back, set_aside};
pub use stage::Location;

use error::left;

use crate::clock::Entropy;
use crate::model::Time;
use crate::observer::Observer;

/// Observer, user, time and options of a restore.
pub struct RestoreContext<'a> {
    /// Told and asked.
    pub observer: &'a dyn Observer,
    /// For names and ids.
    pub entropy: &'a dyn Entropy,
    /// Wall clock now.
    pub now: Time,
    /// Numeric user.
    pub uid: u32,
    /// The session itself asks, from within.
    pub inside: bool,
    /// Put recorded modification times back instead of new ones.
    pub exact_mtimes: bool,
}

#[cfg(test)]
mod tests;
