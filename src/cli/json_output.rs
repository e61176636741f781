//! `--json` and `--json-lines`: a result as one document, or as one object a line.

use clap::Args;
use serde::Serialize;

use super::context::Context;
use super::error::{CliError, ErrorKind};
use crate::report::{json_line, json_lines};

/// The forms of JSON.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct JsonForm {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print one JSON object per line: each item of the lists, then a summary
    #[arg(long, conflicts_with = "json")]
    pub json_lines: bool,
}

impl JsonForm {
    /// Returns true if the result is JSON.
    pub(super) fn is_json(self) -> bool {
        self.json || self.json_lines
    }

    /// Prints a result.
    pub(super) fn print(self, context: &Context<'_>, document: &impl Serialize) -> Result<(), CliError> {
        if !self.json_lines {
            context.terminal.json(document);
            return Ok(());
        }
        for line in json_lines(document).map_err(unprintable)? {
            if context.terminal.out_is_closed() {
                break;
            }
            context.terminal.json(&line);
        }
        Ok(())
    }

    /// Prints an item of a list before the others are known.
    pub(super) fn print_item(
        self,
        context: &Context<'_>,
        kind: &str,
        item: &impl Serialize,
    ) -> Result<(), CliError> {
        context
            .terminal
            .json(&json_line(kind, item).map_err(unprintable)?);
        context.terminal.flush_out();
        Ok(())
    }
}

fn unprintable(error: serde_json::Error) -> CliError {
    CliError::new(ErrorKind::Failed, "the result cannot be printed as JSON").because(error)
}
