//! The terminal as it was before a screen was drawn on it.

use std::io::{self, Write as _};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// Reset of modes that a killed program may have left on: no mouse, no bracketed paste, the first screen, a cursor, no colors.
const PLAIN: &[u8] =
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?2004l\x1b[?1049l\x1b[?25h\x1b[0m";

/// Settings of the terminal, to be restored.
#[derive(Debug)]
pub struct Screen(Option<Termios>);

impl Screen {
    /// Remembers it.
    #[must_use]
    pub fn remember() -> Self {
        Self(tcgetattr(io::stdin()).ok())
    }

    /// Makes it so again, whatever a program did that could not clear up behind itself.
    pub fn put_back(&self) {
        if let Some(termios) = &self.0 {
            // A terminal that is gone needs nothing.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, termios);
        }
        let mut out = io::stdout();
        let _ = out.write_all(PLAIN).and_then(|()| out.flush());
    }
}
