//! The signal that stops a program, and whether it listens to it.

use rustix::process::Signal;

use super::process::{Signals, signals};

/// What stops a process: SIGINT, unless whoever started these tests ignores it (a shell does so in the background), for then
/// the program does too.
pub(crate) fn interrupt() -> Signal {
    if signals(std::process::id(), Signals::Ignored) & 2 == 0 {
        Signal::INT
    } else {
        Signal::TERM
    }
}

/// Whether a process has a handler for a signal by now.
pub(crate) fn catches(pid: u32, signal: Signal) -> bool {
    signals(pid, Signals::Caught) & (1 << (signal.as_raw() - 1)) != 0
}
