//! Asking the operator yes or no.

use dialoguer::Confirm;

use super::{Terminal, sanitize};
use crate::process::Interrupts;

/// Makes the cursor visible (DECTCEM) and ends the line; the prompt hides it and does not show it again when it fails.
const CURSOR_BACK: &[u8] = b"\x1b[?25h\n";

impl Terminal {
    /// Whether somebody is there to answer: both stdin and stderr are a terminal.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        self.facts.tty_in && self.facts.err.tty
    }

    /// Asks on stderr. Only `y` and Enter mean yes; Enter alone, a signal, Ctrl-C, a terminal that goes
    /// away, and a stdout that did not take what was to be confirmed, mean no.
    ///
    /// The signals must be caught already (`_caught` proves it): the prompt turns Ctrl-C into SIGINT, which would end
    /// the process with the cursor hidden.
    #[must_use]
    pub fn ask(&self, question: &str, _caught: &Interrupts) -> bool {
        if !self.can_ask() {
            return false;
        }
        if !self.everything_was_shown() {
            return false;
        }
        let prompt = Confirm::new()
            .with_prompt(sanitize::text(question))
            .default(false)
            .wait_for_newline(true);
        prompt.interact().unwrap_or_else(|_| {
            self.err_raw(CURSOR_BACK);
            false
        })
    }
}
