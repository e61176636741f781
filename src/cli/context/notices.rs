//! Messages about the engine's events, printed as they happen.

use std::path::Path;
use std::sync::atomic::Ordering;

use super::Context;
use super::frozen::{tell, warn_of_frozen};
use super::pending::{tell_left, warn_of_pending, what_was_cleared};
use crate::cli::error::CliError;
use crate::cli::session_begin::warn_of_absent;
use crate::cli::view;
use crate::recovery::{Event, Listener};
use crate::store::Store;
use crate::terminal::sanitize;

impl Listener for Context<'_> {
    fn on(&self, event: Event<'_>) {
        let terminal = self.terminal;
        match event {
            Event::ForeignHome { home, owner } => terminal.warn(&format!(
                "{} is created in a directory of user {owner}, who will not be able to use it; set JACKIN_HOME_DIR \
                to a directory of yours",
                sanitize::path(home)
            )),
            Event::OpenedForWriting(store, directory) => {
                self.print_store(directory, "opened for writing");
                self.warn_about(store);
                self.tell_pending(store);
            }
            Event::OpenedForReading(None, directory) => self.print_store(directory, "not there"),
            Event::OpenedForReading(Some(store), directory) => {
                self.print_store(directory, "opened for reading");
                self.warn_about(store);
                if self.tell_pending(store) {
                    warn_of_frozen(self, store);
                }
            }
            Event::Deferred(done) => tell(self, done),
            Event::DeferredFailed(error) => terminal.warn(&sanitize::text(&error.to_string())),
            Event::Begins(contract) => {
                terminal.note(&view::contract::contract(contract, terminal.width_err()));
                warn_of_absent(self, contract);
            }
            Event::Cleared(done) => {
                tell_left(self, &done.left);
                terminal.note(&what_was_cleared(done));
            }
            Event::StagingStays(left) => tell_left(self, left),
            Event::ClosedLate(id, closed) => {
                terminal.warn(&format!(
                    "{id} ended without a closing snapshot; a late one was taken now, and changes before and after \
                    the end cannot be distinguished"
                ));
                if let Some(error) = &closed.error {
                    terminal.warn(&format!("the late closing snapshot failed: {error}"));
                }
            }
            Event::NotClosed(id, error) => terminal.warn(&format!(
                "{id} ended without a closing snapshot, and none can be taken now: {}",
                CliError::from(error).message
            )),
            Event::NeverEnded(id) => terminal.note(&format!(
                "{id} can be restored without `end`: its launcher and all its processes exited"
            )),
            Event::WouldBeRefused(refused) => {
                let why = CliError::from(refused).message;
                terminal.note(&format!(
                    "{why}, so a restore is refused; this is the plan if it ended now"
                ));
            }
            Event::UnreadableHistory(id, why) => terminal.warn(&format!(
                "snapshot {id} cannot be read; changes that only it shows are conflicts: {why}"
            )),
            Event::ForkStays(left) => terminal.warn(&format!("a fork that was interrupted: {left}")),
            Event::EditsUnknown(error) => terminal.warn(&format!(
                "cannot find later edits: {}",
                CliError::from(error).message
            )),
        }
    }
}

impl Context<'_> {
    fn print_store(&self, directory: &Path, how: &str) {
        let shown = sanitize::path(directory);
        let whose = self.environment.operator.map_or_else(String::new, |operator| {
            format!("; root acts as user {} in it (sudo)", operator.uid)
        });
        self.terminal.detail(&format!("store {shown}: {how}{whose}"));
    }

    /// Tells of interrupted restores, if the command does and has not done so. Returns true if it was done now.
    fn tell_pending(&self, store: &Store) -> bool {
        let tells = self.tells_pending && !self.has_told_pending.swap(true, Ordering::Relaxed);
        if tells {
            warn_of_pending(self, store);
        }
        tells
    }

    fn warn_about(&self, store: &Store) {
        for warning in store.warnings() {
            self.terminal.warn(&warning.to_string());
        }
    }
}
