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
        "not confirmed: stdin is not a terminal; nothing was changed",
    )
    .hint("use --yes to skip the question, or --dry-run to print the plan"))
}
