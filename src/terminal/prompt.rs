//! Asking the operator yes or no.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};

use super::{Terminal, sanitize};
use crate::process::Interrupts;

/// Interval at which jackin checks whether a signal asked to stop.
const NAP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// Longest line that is an answer (bytes).
const LONGEST: usize = 4096;

impl Terminal {
    /// Returns true if the operator is there to answer: both stdin and stderr are a terminal.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        self.facts.tty_in && self.facts.err.tty
    }

    /// Asks on stderr. Only a line that says `y` or `yes` means yes; any other, a signal, Ctrl-C, a terminal that goes away,
    /// and a stdout that did not take what was to be confirmed, mean no. What was typed or pasted before the question stood
    /// there is thrown away: it was meant for something else.
    ///
    /// The signals must be caught already (`caught` proves it, and tells of them).
    #[must_use]
    pub fn ask(&self, question: &str, caught: &Interrupts) -> bool {
        if !self.can_ask() || !self.everything_was_shown() {
            return false;
        }
        // Where it cannot be thrown away it is no terminal, and `can_ask` has said so.
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        self.err_raw(format!("{} [y/N] ", sanitize::text(question)).as_bytes());
        let answer = answer(caught);
        if answer.is_none() {
            // The line of the question is not ended by an Enter.
            self.err_raw(b"\n");
        }
        answer.is_some_and(|answer| is_yes(&answer))
    }

    /// Asks on stderr for a line that does not show while it is typed; none without a terminal, or when it does not come to that.
    #[must_use]
    pub fn ask_secret(&self, question: &str, caught: &Interrupts) -> Option<String> {
        if !self.can_ask() {
            return None;
        }
        let input = io::stdin();
        let shown = tcgetattr(&input).ok()?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Flush, &hidden).ok()?;
        self.err_raw(format!("{}: ", sanitize::text(question)).as_bytes());
        let answer = answer(caught);
        // A signal is only a flag here, so that this is always reached.
        let _ = tcsetattr(&input, OptionalActions::Flush, &shown);
        self.err_raw(b"\n");
        let line = String::from_utf8(answer?).ok()?;
        Some(line.trim_end_matches(['\n', '\r']).to_owned())
    }
}

/// Returns true if a line means yes.
pub(super) fn is_yes(line: &[u8]) -> bool {
    let word = line.trim_ascii().to_ascii_lowercase();
    word == b"y" || word == b"yes"
}

/// One line; none when it does not come to that.
fn answer(caught: &Interrupts) -> Option<Vec<u8>> {
    let input = io::stdin();
    let mut line = Vec::new();
    loop {
        if caught.requested() || line.len() > LONGEST {
            return None;
        }
        let mut watched = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut watched, Some(&NAP)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return None,
        }
        let mut buffer = [0; 256];
        // Not through the library's own buffer: what it held would be lost to whoever reads next.
        let count = match rustix::io::read(&input, &mut buffer) {
            Ok(0) => return None,
            Ok(count) => count,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
            Err(_) => return None,
        };
        line.extend(buffer.iter().take(count));
        if line.contains(&b'\n') {
            return Some(line);
        }
    }
}
