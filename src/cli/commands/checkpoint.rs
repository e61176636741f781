//! `checkpoint`: a named snapshot inside a running session.

use clap::Args;

use crate::cli::args::{Example, Group, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::named_session::if_not_active;
use crate::cli::replication::behind;
use crate::cli::retain::by_the_rules;
use crate::cli::schema::Document;
use crate::cli::session_arg::{Asking, SessionArg};
use crate::cli::session_begin::{tell_notes, warn_of_unsteady};
use crate::diagnostic::ErrorKind;
use crate::recovery::{CheckpointRequest, TakenCheckpoint, Wanted};
use crate::report::CheckpointDocument;

/// Take a named snapshot in a running session
#[derive(Clone, Debug, Args)]
pub struct CheckpointArgs {
    /// Session.
    #[command(flatten)]
    pub session: SessionArg,
    /// Name the checkpoint: letters, digits, `_`, `.` and `-`
    #[arg(long, value_name = "NAME", value_parser = some_text())]
    pub name: Option<String>,
    /// Describe the checkpoint
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Returns true for a word that can be the name of a checkpoint and needs no quotes.
fn is_name(word: &str) -> bool {
    let of_names = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    !word.starts_with(['.', '-']) && word.bytes().all(of_names)
}

impl CheckpointArgs {
    /// Returns the session, or an error that proposes `--name` for a word that may be meant as one.
    fn session(&self, context: &Context<'_>) -> Result<String, CliError> {
        let asking = Asking {
            wanted: Wanted::Active,
            ..Asking::any(self.json)
        };
        self.session
            .settle(context, asking)
            .map_err(|made| match (&self.session.instance, &self.name) {
                (Some(word), None) if made.kind == ErrorKind::UnknownInstance && is_name(word) => {
                    made.command("to name a checkpoint", format!("checkpoint --name {word}"))
                }
                _ => made,
            })
    }
}

impl Command for CheckpointArgs {
    const NAME: &'static str = "checkpoint";
    const GROUP: Option<Group> = Some(Group::Sessions);
    const LONG: &'static str = "You can compare with a checkpoint and restore it later. Only changes since the \
        last snapshot are stored.";
    const EXAMPLES: &'static [Example] = &[
        (
            "Inside a session:",
            "jackin recovery checkpoint --name before-upgrade",
        ),
        (
            "From outside:",
            "jackin recovery checkpoint @latest --message \"tests pass\"",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<CheckpointDocument>("checkpoint")];

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        true
    }

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let engine = context.engine();
        let wanted = self.session(context)?;
        let mark = CheckpointRequest {
            name: args.name.as_deref(),
            message: args.message.as_deref(),
            ..CheckpointRequest::default()
        };
        let taken = engine.checkpoint(&wanted, mark).map_err(|error| {
            let what = "its closing snapshot has its final files";
            if_not_active(error, what, |id| format!("show {id}"))
        })?;
        let TakenCheckpoint { store, row, captured } = taken;
        warn_of_unsteady(context, &captured.record);
        tell_notes(context, Some(&captured));
        let record = captured.record;
        // The process ends now; to give a million names back one by one would take longer than what is left to do.
        std::mem::forget(captured.manifests);
        if args.json {
            context.terminal.json(&CheckpointDocument::of(&record));
        } else {
            context
                .terminal
                .out(record.name.as_deref().unwrap_or(record.id.as_str()));
        }
        by_the_rules(context, &store, &row.id);
        behind(context, &store);
        Ok(ExitCode::Done.into())
    }
}
