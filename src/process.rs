//! Processes: starting the operator's command, and telling which processes live and where they come from. The only
//! place that does either. It prints nothing and decides nothing: what an answer means for a session is decided above.
//!
//! What cannot be told is never taken for "dead": a caller treats unknown as active. These checks guard against
//! accidents; a process of the same user that means harm can get round them.

mod caller;
mod child_registry;
mod command_output;
mod daemon;
mod docker;
mod fatal;
mod foreground;
mod forward;
mod freeze;
mod identity;
mod launch;
mod lock_holder;
mod manual;
mod orphans;
mod pager;
mod probe;
mod process_table;
mod search;
mod signals;
mod transport;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod other;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

pub use caller::{Caller, caller, is_shell};
pub use daemon::{leave_behind, leave_terminal};
pub use docker::containers;
pub use fatal::die;
pub use foreground::{in_front, is_child_of, parent, suspend};
pub use freeze::{Dataset, Freezer, RecordedMounts, freeze_with};
pub use identity::{Life, current_boot, is_alive, life, reference};
pub use launch::{Ended, Exit, Invocation, LaunchError, Running, check, start};
pub use lock_holder::holder;
pub use manual::set_manual;
pub use pager::{Pager, pager_line};
pub use probe::{INSTANCE_VARIABLE, Member, Probe, Why, carried, members};
pub use process_table::ProbeError;
pub use signals::{HeldBack, Interrupts, Patience, outlive_file_limit};
pub use transport::{
    AGENT_VARIABLE, AgentSource, Cut, HELPER_VARIABLE, LeftBehind, NewClaim, Permission, VolumePlan, carry,
    give_up_waiting, hold, left_behind, permissions, remove_copy, settle_cluster,
};

#[cfg(test)]
mod tests;
