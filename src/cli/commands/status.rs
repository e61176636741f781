//! `status`: one line for prompts, within milliseconds.

use clap::Args;

use crate::cli::args::{Example, Group};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::view;
use crate::report::StatusDocument;

/// Print one line about the current directory, for prompts
#[derive(Clone, Copy, Debug, Args)]
pub struct StatusArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for StatusArgs {
    const NAME: &'static str = "status";
    const GROUP: Option<Group> = Some(Group::Sessions);
    const LONG: &'static str = "\
        Describes the latest session that covers the current directory: `recording 3m · 4 changed` while it runs, \
        `undo: 5 changed 2m ago` after its end, `restored 1m ago` after a restore. Reads only the catalog, so a count is \
        that of the last snapshot. Prints nothing and exits with 1 if there is no such session, or if the store is \
        missing, locked or damaged.";
    const EXAMPLES: &'static [Example] = &[
        ("", "jackin recovery status"),
        ("For a script:", "jackin recovery status --json"),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<StatusDocument>("status")];

    fn json(&self) -> bool {
        self.json
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let found = context.engine().status();
        let document = StatusDocument::of(found.as_ref());
        if self.json {
            context.terminal.json(&document);
        } else if let Some(line) = view::status::line(&document, context.now()) {
            context.terminal.out(&line);
        }
        let is_any = found.is_some();
        Ok(if is_any { ExitCode::Done } else { ExitCode::Failed }.into())
    }
}
