//! Sessions: an instance from its beginning to its end, whether it lives, and who may do what while it does.

mod begin;
mod checkpoints;
mod containers;
mod deferred_baseline;
mod end;
mod error;
mod forks;
mod guard;
mod here;
mod import;
mod import_replica;
mod kept_copies;
mod liveness;
mod mounts;
mod recovery;
mod select;
mod sought_event;
mod watcher;

pub use begin::{BeginRequest, Begun, begin};
pub use checkpoints::{CheckpointRequest, baseline_again, checkpoint, checkpoint_if_changed};
pub use containers::Docker;
pub use deferred_baseline::{
    DeferredBaseline, LimitsOf, ThawedEnd, awaited, forget_frozen, forgettable, give_up_stuck, is_awaited,
    store_baseline, store_deferred_baselines, stuck,
};
pub use end::{Closed, EndRequest, close_orphaned_sessions, close_orphaned_sessions_on, end};
pub use error::SessionError;
pub use forks::{check_branch, forked_from};
pub use guard::{
    Allowed, ensure_idle, ensure_no_overlap, ensure_outside_session, is_inside, overlap, refuse_living,
    sessions_of_caller,
};
pub use here::{
    Covering, counts_back, is_covering, lacks_baseline, latest_active, sessions_covering, those_that_began,
    without_forgotten,
};
pub use import::{ImportRequest, import, is_imported_again, is_interrupted_import, lacks_end};
pub use import_replica::{AdoptError, AdoptRequest, Adopted, adopt};
pub use kept_copies::settle_copies;
pub(crate) use liveness::may_have_launcher;
pub use liveness::{LivenessProbe, Reason, State, distinct, is_active, state, state_by};
pub use mounts::recorded_mounts;
pub use recovery::{is_torn, recover_interrupted_restores, roots};
pub use select::{
    check_name, check_session_name, find_before, find_called, find_instance, find_snapshot, refuse_forgotten,
};
pub use sought_event::find_before_event;
pub use watcher::watch_changes;

use std::path::Path;

use crate::clock::{Clock, Entropy, SystemClock, SystemEntropy};
use crate::observer::Observer;
use handle_fs::own_ids;

/// Clock, randomness, observer and user of a session operation.
#[derive(Clone, Copy)]
pub struct Services<'a> {
    /// Told and asked.
    pub observer: &'a dyn Observer,
    /// Wall clock.
    pub clock: &'a dyn Clock,
    /// Randomness.
    pub entropy: &'a dyn Entropy,
    /// Numeric user.
    pub uid: u32,
}

impl<'a> Services<'a> {
    /// Returns the system's clock and randomness, and the user of this process.
    #[must_use]
    pub fn system(observer: &'a dyn Observer) -> Self {
        Self {
            observer,
            clock: &SystemClock,
            entropy: &SystemEntropy,
            uid: own_ids().0,
        }
    }
}

/// Returns true if one path is the other or lies below it, so that a process at one may write at the other.
fn touch(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

#[cfg(test)]
mod tests;
