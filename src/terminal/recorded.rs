//! For tests: a terminal that writes into memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::facts::Stream;
use super::{Facts, Terminal, Verbosity};

/// What one stream received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording(Arc<Mutex<Vec<u8>>>);

impl Recording {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Recording {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
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
        tty_in: false,
        dumb: true,
        lines: 24,
    }
}

/// A terminal without colours, and its stdout and stderr.
pub(crate) fn terminal(facts: Facts, verbosity: Verbosity) -> (Terminal, Recording, Recording) {
    let (out, err) = (Recording::default(), Recording::default());
    let terminal = Terminal::over(Box::new(out.clone()), Box::new(err.clone()), facts, verbosity);
    (terminal, out, err)
}
