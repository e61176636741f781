//! Work that no signal stops: the closing snapshot of a session whose command has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::observer::{Observer, Phase};
use crate::terminal::Terminal;

/// Passes progress on, and is never cancelled. The first signal is answered with a note, for the operator may be waiting.
pub(super) struct Steadfast<'a> {
    progress: Option<&'a dyn Observer>,
    terminal: &'a Terminal,
    noted: Arc<AtomicBool>,
    is_told: AtomicBool,
}

impl<'a> Steadfast<'a> {
    /// `noted` is set by signals while they are held back.
    pub(super) fn new(
        progress: Option<&'a dyn Observer>,
        terminal: &'a Terminal,
        noted: Arc<AtomicBool>,
    ) -> Self {
        Self {
            progress,
            terminal,
            noted,
            is_told: AtomicBool::new(false),
        }
    }
}

impl Observer for Steadfast<'_> {
    fn begin(&self, phase: Phase) {
        if let Some(progress) = self.progress {
            progress.begin(phase);
        }
    }

    fn expect(&self, entries: u64, bytes: u64) {
        if let Some(progress) = self.progress {
            progress.expect(entries, bytes);
        }
    }

    fn advance(&self, entries: u64, bytes: u64) {
        if let Some(progress) = self.progress {
            progress.advance(entries, bytes);
        }
    }

    fn end(&self) {
        if let Some(progress) = self.progress {
            progress.end();
        }
    }

    fn cancelled(&self) -> bool {
        if self.noted.load(Ordering::SeqCst) && !self.is_told.swap(true, Ordering::SeqCst) {
            self.terminal.note(
                "the closing snapshot is still being stored, and signals do not cancel it; to free the terminal, \
                press Ctrl-Z and type `bg`",
            );
        }
        false
    }

    fn reached(&self, point: &'static str) {
        if let Some(progress) = self.progress {
            progress.reached(point);
        }
    }
}
