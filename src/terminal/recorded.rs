//! A terminal that writes into memory: for output without a terminal, and for tests.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use super::terminal_info::Stream;
use super::{Facts, Terminal, Verbosity};

/// Bytes that one stream received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording(Arc<Mutex<Vec<u8>>>);

impl Recording {
    /// All of it, as text.
    pub(crate) fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Recording {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Facts of streams that are no terminals.
pub(crate) fn facts(width: usize) -> Facts {
    let stream = Stream {
        tty: false,
        color: false,
        width,
    };
    Facts {
        out: stream,
        err: stream,
        is_out_hidden: false,
        tty_in: false,
        dumb: true,
        lines: 24,
    }
}

/// A terminal whose two streams are one recording, with color codes, in the order of the output.
pub(crate) fn recorded(width: usize, verbosity: Verbosity) -> (Terminal, Recording) {
    let mut facts = facts(width);
    (facts.out.color, facts.err.color) = (true, true);
    let said = Recording::default();
    let terminal = Terminal::over(Box::new(said.clone()), Box::new(said.clone()), facts, verbosity);
    (terminal, said)
}

/// A terminal without colors, and its stdout and stderr.
pub(crate) fn terminal(facts: Facts, verbosity: Verbosity) -> (Terminal, Recording, Recording) {
    let (out, err) = (Recording::default(), Recording::default());
    let terminal = Terminal::over(Box::new(out.clone()), Box::new(err.clone()), facts, verbosity);
    (terminal, out, err)
}
