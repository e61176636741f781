//! `explain`: prints the contract and changes nothing.

use clap::Args;

use crate::cli::args::{Example, Group, Scope};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::contract_args;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::suggested_command::Words;
use crate::cli::view;
use crate::report::ExplainDocument;

/// Print the recovery contract without changing anything
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// Directories to protect.
    #[command(flatten)]
    pub scope: Scope,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for ExplainArgs {
    const NAME: &'static str = "explain";
    const GROUP: Option<Group> = Some(Group::Sessions);
    const LONG: &'static str = "\
        The contract lists what would be captured, what would not, where it would be stored, and what a restore \
        could overwrite. Nothing is written.";
    const EXAMPLES: &'static [Example] = &[
        (
            "For this directory:",
            "jackin recovery explain --snapshot project .",
        ),
        (
            "For the workspace shop, as configured:",
            "jackin recovery explain shop",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<ExplainDocument<'static>>("explain")];
    const READS_CONFIG: bool = true;
    const IS_READ: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let asking = contract_args::Asking {
            verb: "explain",
            command: &[],
            implied: None,
            is_shown: true,
        };
        let contract = contract_args::contract(context, &args.scope, &asking)?;
        if args.json {
            context.terminal.json(&ExplainDocument::new(&contract));
        } else {
            let text = view::contract::contract(&contract, context.terminal.width_out());
            context.terminal.out(&text);
            let launch = Words::new("launch").scope(&args.scope, None).plain("-- CMD");
            context.propose("to start", &launch.text());
        }
        Ok(ExitCode::Done.into())
    }
}
