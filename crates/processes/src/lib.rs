//! Starts programs, and finds which processes live and where they come from. The crate prints nothing.
//!
//! A process whose state is unknown never counts as dead. These checks guard against accidents, not against a malicious process of
//! the same user.

mod caller;
mod child_registry;
mod command_output;
mod conversation;
mod cpu_time;
mod daemon;
mod fatal;
mod foreground;
mod forward;
#[cfg(target_os = "linux")]
mod fusermount;
mod git_at_work;
mod git_directory;
mod identity;
#[cfg(any(test, feature = "portable", not(target_os = "linux")))]
mod ignored_signals;
mod launch;
mod lock_holder;
mod manual;
mod named;
mod orphans;
mod pager;
mod probe;
mod process_ref;
mod process_table;
mod search;
mod shared_table;
mod shell;
mod signals;
mod starter;
#[cfg(any(test, feature = "portable", not(target_os = "linux")))]
mod system_program;
mod writers;

#[cfg(target_os = "linux")]
#[cfg_attr(
    feature = "portable",
    expect(dead_code, reason = "a portable build reads the table as on macOS")
)]
mod linux;
#[cfg(any(feature = "portable", not(target_os = "linux")))]
mod portable;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
use linux as system;
#[cfg(any(feature = "portable", not(target_os = "linux")))]
use portable as system;

pub use caller::{Caller, caller};
pub use child_registry::{forget, is_registered, start_child};
pub use command_output::{CommandOutput, CommandRequest};
pub use conversation::Conversation;
pub use cpu_time::cpu_time;
pub use daemon::{leave_behind, leave_terminal, yield_to_all};
pub use fatal::die;
pub use foreground::{in_front, is_child_of, parent, suspend};
#[cfg(target_os = "linux")]
pub use fusermount::Fusermount;
pub use git_at_work::{GitAtWork, git_at_work};
pub use identity::{Life, current_boot, is_alive, life, may_be_same_boot, reference};
pub use launch::{Ended, Exit, Invocation, LaunchError, Running, check, start};
pub use lock_holder::holder;
pub use manual::set_manual;
pub use named::{NamedProcess, named};
pub use pager::{Pager, pager_line};
pub use probe::{Member, Probe, Why, carried, members};
pub use process_ref::ProcessRef;
pub use process_table::ProbeError;
pub use search::{find, is_outside, path_outside};
pub use shared_table::ProcessTable;
pub use shell::scripts;
pub use signals::{HeldBack, INTERRUPT, Interrupts, Patience, outlive_file_limit};
pub use starter::{Starter, starter};
pub use writers::{Search, Writer, WriterSearch, writers_of};

#[cfg(test)]
mod tests;
