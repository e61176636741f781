//! Consent: what changes files or the store goes ahead only when the operator said so.

use super::error::{CliError, ErrorKind};
use crate::process::Interrupts;
use crate::terminal::Terminal;

/// Goes on when `--yes` was given (`yes`) or the operator answers `question` with yes. The plan must be on the terminal
/// already.
///
/// # Errors
/// [`ErrorKind::NotConfirmed`] when the answer is no (also: Enter, Ctrl-C, a terminal that goes away), or when there is
/// no terminal to ask on.
pub fn confirm(terminal: &Terminal, caught: &Interrupts, question: &str, yes: bool) -> Result<(), CliError> {
    if yes || terminal.ask(question, caught) {
        return Ok(());
    }
    if terminal.can_ask() {
        return Err(CliError::new(
            ErrorKind::NotConfirmed,
            "not confirmed; nothing was changed",
        ));
    }
    Err(CliError::new(
        ErrorKind::NotConfirmed,
        "not confirmed: there is no terminal to ask on; nothing was changed",
    )
    .hint("give --yes to go ahead without being asked, or --dry-run to see only what would be done"))
}
