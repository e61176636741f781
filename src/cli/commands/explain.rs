//! `explain`: prints the contract and changes nothing.

use crate::cli::args::ExplainArgs;
use crate::cli::context::Context;
use crate::cli::contract_args;
use crate::cli::document::ExplainDocument;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::suggested_command::Words;
use crate::cli::view;

pub(super) fn run(context: &Context<'_>, args: &ExplainArgs) -> Result<Status, CliError> {
    let asking = contract_args::Asking {
        verb: "explain",
        command: &[],
        is_shown: true,
    };
    let contract = contract_args::contract(context, &args.scope, &asking)?;
    if args.json {
        context.terminal.json(&ExplainDocument::new(&contract));
    } else {
        let text = view::contract::contract(&contract, context.terminal.width_out());
        context.terminal.out(&text);
        let launch = Words::new("launch").scope(&args.scope, None).plain("-- CMD");
        context.propose("agreed", &launch.text());
    }
    Ok(ExitCode::Done.into())
}
