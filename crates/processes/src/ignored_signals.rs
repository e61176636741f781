//! Signals that were ignored when a process started, found by the behavior of a shell: macOS has no program and no safe call that
//! tells them.

use std::fmt::Write as _;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};

use super::system_program::ask;

/// Signals that this program handles. Of no other one does it matter.
pub(crate) const HANDLED: [i32; 5] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ];

/// Last line of the answer: without it the shell did not run to its end.
const END: &str = "end";

/// Asks the system's shell which of the [`HANDLED`] signals it was started with ignored, as a bit mask (bit 0 is signal 1). `None` when it is unknown.
///
/// The shell starts with those that this process ignores. Those that this process handles have their default effect there (execve(2)).
pub(crate) fn ignored() -> Option<u64> {
    mask(&ask("/bin/sh", &["-c", &script()])?)
}

/// A shell cannot trap a signal that it was started with ignored (POSIX, `trap`). So it sends each to itself and prints those that
/// come. None has its default effect, which would end a shell, for some signals with a core file.
fn script() -> String {
    let mut script = String::from("for signal in");
    for signal in HANDLED {
        // Writing to a string cannot fail.
        let _ = write!(script, " {signal}");
    }
    script + "; do trap \"echo $signal\" $signal; kill -$signal $$; done; echo " + END
}

/// Returns the signals that did not come.
pub(crate) fn mask(answer: &str) -> Option<u64> {
    let came = answer.strip_suffix(END)?;
    let came: Vec<i32> = came
        .lines()
        .map(|line| line.parse().ok())
        .collect::<Option<_>>()?;
    let ignored = HANDLED.into_iter().filter(|signal| !came.contains(signal));
    Some(ignored.fold(0, |mask, signal| mask | 1 << (signal - 1)))
}
