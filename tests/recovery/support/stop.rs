//! The signal that stops a program, and whether it listens to it.

use std::fs;

use rustix::process::Signal;

/// One of the sets of signals of a process, as proc(5) names them.
fn signals(process: &str, set: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix(set)?.strip_prefix(':'));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// What stops a process: SIGINT, unless whoever started these tests ignores it (a shell does so in the background), for then
/// the program does too.
pub(crate) fn interrupt() -> Signal {
    if signals("self", "SigIgn") & 2 == 0 {
        Signal::INT
    } else {
        Signal::TERM
    }
}

/// Whether a process has a handler for a signal by now.
pub(crate) fn catches(pid: u32, signal: Signal) -> bool {
    signals(&pid.to_string(), "SigCgt") & (1 << (signal.as_raw() - 1)) != 0
}
