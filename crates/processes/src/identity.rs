//! Identity of a process: number, start time and boot, so that a later process with the same number is not taken for the recorded
//! one.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::process_ref::ProcessRef;
use super::system;

/// State of a recorded process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The process runs, or is stopped.
    Alive,
    /// The process is gone, is a zombie, lived in another boot, or its number belongs to another process.
    Dead,
    /// The system does not tell.
    Unknown,
}

/// The id of the running boot (Linux: `/proc/sys/kernel/random/boot_id`; macOS: `kern.bootsessionuuid`); empty when the system tells none.
#[must_use]
pub fn current_boot() -> String {
    system::boot()
}

/// The process that has this number now, zombies included. `None` when there is none, or when it is unknown.
#[must_use]
pub fn reference(pid: u32) -> Option<ProcessRef> {
    system::look(pid)
        .ok()
        .flatten()
        .map(|seen| seen.reference(&current_boot()))
}

/// Returns the state of a recorded process.
#[must_use]
pub fn life(process: &ProcessRef) -> Life {
    if !may_be_same_boot(&process.boot, &current_boot()) {
        return Life::Dead;
    }
    // Two looks: the first can miss a process that takes the number just then.
    for _ in 0..2 {
        match system::look(process.pid) {
            Ok(Some(seen)) if seen.is(process) && !seen.dead => return Life::Alive,
            Ok(Some(_)) => return Life::Dead,
            Ok(None) if !exists(process.pid) => return Life::Dead,
            // It exists and is hidden from us (proc(5), `hidepid`).
            Ok(None) => {}
            Err(_) => return Life::Unknown,
        }
    }
    Life::Unknown
}

/// Returns true if a recorded process runs or may run: false only if it is certainly dead.
#[must_use]
pub fn is_alive(process: &ProcessRef) -> bool {
    life(process) != Life::Dead
}

/// Returns true unless two boots are certainly different. An unknown boot (empty) proves nothing.
#[must_use]
pub fn may_be_same_boot(recorded: &str, current: &str) -> bool {
    recorded == current || recorded.is_empty() || current.is_empty()
}

/// Returns true if the number is taken, even by a process that is hidden from this one.
pub(crate) fn exists(pid: u32) -> bool {
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH)))
}
