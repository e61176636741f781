//! Processes of sessions: the variable by which they are known, and the programs that the operator has. The crate `processes` starts
//! and examines them; what an answer means for a session is decided above.

mod copies;
mod freeze;
mod launch_error;
mod transport;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::environment::Environment;
use crate::model::{InstanceId, ProcessRef};

pub use copies::{Copies, CopyQuestion};
pub use freeze::{Dataset, Freezer, snapshot_programs};
#[cfg(all(target_os = "linux", feature = "mount"))]
pub use processes::Fusermount;
pub use processes::{
    Caller, Conversation, Ended, Exit, GitAtWork, HeldBack, INTERRUPT, Interrupts, Invocation, LaunchError,
    Life, Member, NamedProcess, Pager, Patience, Probe, ProbeError, ProcessTable, Running, Search, Starter,
    Why, Writer, WriterSearch, check, cpu_time, current_boot, die, git_at_work, holder, in_front, is_alive,
    is_child_of, leave_terminal, life, may_be_same_boot, named, outlive_file_limit, parent, reference, start,
    suspend, writers_of, yield_to_all,
};
pub use processes::{find, path_outside};
pub use transport::{
    AGENT_VARIABLE, HELPER_VARIABLE, asks_for_shell, carry, containers, kept_copy, left_behind, permissions,
    settle_cluster,
};
pub use transports::{
    AgentSource, ClusterContexts, Cut, LeftBehind, NewClaim, Permission, Purpose, RunningCopy, VolumePlan,
    hold,
};

/// Names the instance in the environment of every process of a session.
pub const INSTANCE_VARIABLE: &str = "JACKIN_RECOVERY_INSTANCE";
/// The variable that selects the pager.
const PAGER_VARIABLE: &str = "JACKIN_RECOVERY_PAGER";

/// Returns the instances named in the environment of any living process but the calling one.
///
/// # Errors
/// When the process table cannot be read; treat that as: any.
pub fn carried(table: &ProcessTable) -> Result<BTreeSet<String>, ProbeError> {
    processes::carried(table, INSTANCE_VARIABLE)
}

/// Returns the living processes that belong to `instance`: those that `known` records, those that carry its id in their
/// environment, and everything that descends from either. A recorded process that cannot be seen but may live counts.
///
/// # Errors
/// When the process table cannot be read; treat that as active.
pub fn members(
    table: &ProcessTable,
    instance: &InstanceId,
    known: &[ProcessRef],
) -> Result<Probe, ProbeError> {
    processes::members(table, INSTANCE_VARIABLE, instance.as_str(), known)
}

/// Looks up where the calling process comes from, with the instances that it and its ancestors name.
#[must_use]
pub fn caller(environment: &Environment) -> Caller {
    let own = environment.get(INSTANCE_VARIABLE);
    processes::caller(&environment.processes, INSTANCE_VARIABLE, own)
}

/// Looks up which program started the calling process; `is_program` recognizes one by its name that is the first process of a container.
#[must_use]
pub fn starter(environment: &Environment, is_program: &dyn Fn(&str) -> bool) -> Starter {
    processes::starter(&environment.processes, &caller(environment), is_program)
}

/// Looks up the shells that run a script between the calling process and the program that started it, nearest first. Returns none if
/// `is_program` recognizes that program by its name.
#[must_use]
pub fn scripts(environment: &Environment, is_program: &dyn Fn(&str) -> bool) -> Vec<ProcessRef> {
    processes::scripts(&environment.processes, &caller(environment), is_program)
}

/// Starts this program anew with these arguments, called `name`, and leaves it behind. It belongs to no session.
///
/// # Errors
/// If the program's own file cannot be found or started.
pub fn leave_behind(environment: &Environment, name: &str, arguments: &[OsString]) -> io::Result<()> {
    // Its current directory is another one.
    let variables = environment.jackin_directories();
    processes::leave_behind(name, arguments, variables, INSTANCE_VARIABLE)
}

/// Returns the command line of the operator's pager; `None` for no pager.
#[must_use]
pub fn pager_line(environment: &Environment) -> Option<OsString> {
    processes::pager_line(PAGER_VARIABLE, &environment.variables)
}

/// Formats roff as text with the operator's `man`. Programs inside `mounts` are never run.
///
/// # Errors
/// Why it cannot be set, in words.
pub fn set_manual(environment: &Environment, mounts: &[PathBuf], page: &str) -> Result<String, String> {
    processes::set_manual(environment.get("PATH"), mounts, page)
}
