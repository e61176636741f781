//! One long text in the operator's pager, before the command goes on.

use std::fmt;
use std::io::{self, Write};

use super::{Terminal, filter, lock};

/// Starts a pager over the writer that it falls back on.
pub(super) struct Pager(Box<Start>);

type Start = dyn Fn(Box<dyn Write + Send>) -> Box<dyn Write + Send> + Send + Sync;

impl fmt::Debug for Pager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pager")
    }
}

impl Terminal {
    /// Sets the pager for texts that are longer than the screen ([`Self::page`]).
    pub fn use_pager(
        &mut self,
        start: impl Fn(Box<dyn Write + Send>) -> Box<dyn Write + Send> + Send + Sync + 'static,
    ) {
        self.pager = Some(Pager(Box::new(start)));
    }

    /// Begins a text on stdout that goes through the pager if the screen is too small for it. Without a pager it is written as
    /// it is.
    #[must_use]
    pub fn page(&self) -> Page<'_> {
        let pager = self.pager.as_ref().filter(|_| self.can_page());
        lock(&self.out).flush();
        Page {
            terminal: self,
            writer: pager.map(|pager| (pager.0)(Box::new(io::stdout()))),
            is_closed: false,
        }
    }
}

/// A text in the pager. Dropped, it waits until the operator has left the pager.
pub struct Page<'a> {
    terminal: &'a Terminal,
    /// `None` without a pager.
    writer: Option<Box<dyn Write + Send>>,
    is_closed: bool,
}

impl Page<'_> {
    /// Writes `text` and a newline, cleaned as for [`Terminal::out`].
    pub fn line(&mut self, text: &str) {
        let Some(writer) = &mut self.writer else {
            return self.terminal.out(text);
        };
        let text = filter::printable(text, self.terminal.shows_colors());
        let written = writer
            .write_all(text.as_bytes())
            .and_then(|()| writer.write_all(b"\n"));
        self.is_closed |= written.is_err();
    }

    /// Returns true if the operator has left the pager: nothing more needs to be computed for it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed || self.writer.is_none() && self.terminal.out_is_closed()
    }
}
