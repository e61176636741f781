//! `rebuild`: the catalog anew from records and receipts.

use clap::Args;

use crate::cli::args::{Example, Group};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::view;
use crate::report::RebuildDocument;

/// Rebuild the catalog from snapshots and receipts
#[derive(Clone, Debug, Args)]
pub struct RebuildArgs {
    /// Continue although receipts or records are damaged or missing and no copy exists: keep the valid ones, discard the rest
    #[arg(long)]
    pub accept_loss: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for RebuildArgs {
    const NAME: &'static str = "rebuild";
    const GROUP: Option<Group> = Some(Group::Store);
    const LONG: &'static str =
        "The catalog is only an index of the snapshots and receipts, which are not changed.";
    const EXAMPLES: &'static [Example] = &[("", "jackin recovery rebuild")];
    const DOCUMENTS: &'static [Document] = &[Document::of::<RebuildDocument>("rebuild")];

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let found = RebuildDocument::of(context.engine().rebuild(args.accept_loss)?);
        let code = match found.is_whole() {
            true => ExitCode::Done,
            false => ExitCode::Integrity,
        };
        if args.json {
            context.terminal.json(&found);
            return Ok(code.into());
        }
        view::rebuild::warnings(&found)
            .iter()
            .for_each(|text| context.terminal.warn(text));
        view::rebuild::notes(&found)
            .iter()
            .for_each(|text| context.terminal.note(text));
        context.terminal.out(&view::rebuild::result(&found));
        Ok(code.into())
    }
}
