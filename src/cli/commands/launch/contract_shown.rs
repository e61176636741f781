//! How much of the contract a launch shows: all of it the first time and after a change, three lines otherwise.

use crate::cli::context::Context;
use crate::cli::contract_args;
use crate::cli::error::CliError;
use crate::cli::view;
use crate::recovery::{Begun, Contract, Store};
use crate::terminal::Verbosity;

/// Form in which the contract is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// All of it, before the baseline.
    Whole,
    /// Three lines, when the baseline is stored and its size is known.
    Brief,
    /// Nothing.
    Hidden,
}

/// Prints the whole contract.
pub(super) fn whole(context: &Context<'_>, contract: &Contract) {
    let width = context.terminal.width_err();
    context.terminal.note(&view::contract::contract(contract, width));
}

impl Shown {
    /// Decides how much is shown, and prints the whole contract if it is to be shown. The changes come last, where the
    /// screen shows them when the command starts.
    pub(super) fn before(
        context: &Context<'_>,
        store: Option<&Store>,
        contract: &Contract,
    ) -> Result<Self, CliError> {
        if !context.terminal.takes_notes() {
            return Ok(Self::Hidden);
        }
        let changes = match store {
            Some(store) => context.engine().changed_terms(store, contract)?,
            None => None,
        };
        let changes = changes.as_deref();
        if changes == Some(&[]) && context.terminal.verbosity() != Verbosity::Verbose {
            return Ok(Self::Brief);
        }
        whole(context, contract);
        if let Some(changes) = changes.filter(|changes| !changes.is_empty()) {
            let home = context.environment.home.as_deref();
            let width = context.terminal.width_err();
            context
                .terminal
                .note(&view::contract::changes(changes, home, width));
        }
        Ok(Self::Whole)
    }

    /// Stores the contract with its session, and prints the three lines if they are to be shown.
    pub(super) fn begun(self, context: &Context<'_>, store: &Store, contract: &Contract, begun: &Begun) {
        contract_args::save(context, store, &begun.instance, (contract, self != Self::Hidden));
        if self != Self::Brief {
            return;
        }
        let captured = begun.baseline.as_ref().map(|captured| {
            let record = &captured.record;
            (record.entries(), record.bytes())
        });
        let width = context.terminal.width_err();
        let undo = context.command("restore");
        let home = context.environment.home.as_deref();
        context
            .terminal
            .note(&view::contract::brief(contract, captured, home, (&undo, width)));
    }
}
