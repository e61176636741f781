//! `end`: the last moment of a session that `begin` began.

use clap::Args;

use crate::cli::args::{Example, Group, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::context::pending::warn_of_torn;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::replication::at_the_end;
use crate::cli::retain::by_the_rules;
use crate::cli::schema::Document;
use crate::cli::session_begin::{tell_notes, warn_of_unsteady};
use crate::cli::session_changes::{documents, screen};
use crate::cli::session_end::end_held;
use crate::cli::view;
use crate::report::{EndDocument, Head};
use crate::terminal::size;

/// End a session started with `begin`
#[derive(Clone, Debug, Args)]
pub struct EndArgs {
    /// The session: an id or its prefix, a name, a workspace, a container, or @latest or @1, @2 to count back
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for EndArgs {
    const NAME: &'static str = "end";
    const GROUP: Option<Group> = Some(Group::Sessions);
    const LONG: &'static str =
        "Takes the closing snapshot of a session that `begin` started, and prints what changed.";
    const EXAMPLES: &'static [Example] = &[("", "jackin recovery end \"$id\"")];
    const DOCUMENTS: &'static [Document] = &[Document::of::<EndDocument>("end")];

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let engine = context.engine();
        let instance = args.instance.as_ref().ok_or_else(|| unnamed(context))?;
        let mut ended = engine.end_with(instance, |store, request| end_held(context, store, request))?;
        if let Some(error) = ended.closed.error.take() {
            let inner = CliError::from(error);
            let message = format!(
                "{} has ended, but its closing snapshot failed: {}",
                ended.row.id, inner.message
            );
            return Err(CliError { message, ..inner });
        }
        let (store, id) = (&ended.store, &ended.row.id);
        if let Some(closing) = &ended.closed.closing {
            warn_of_unsteady(context, &closing.record);
            tell_notes(context, Some(closing));
        }
        let is_torn = warn_of_torn(context, store, &ended.row);
        let changed = ended.changes()?;
        if args.json {
            let closing = ended.closed.closing.as_ref();
            let record = closing.map(|captured| &captured.record);
            context.terminal.json(&EndDocument {
                head: Head::default(),
                instance: id.to_string(),
                closing: record.map(|record| record.id.to_string()),
                complete: record.map(|record| record.complete),
                changes: documents(&changed),
            });
        } else {
            let width = context.terminal.width_out();
            let (head, more) = screen(&changed, context, id, (width, is_torn));
            context.terminal.out(&head);
            if !more.is_empty() {
                context.terminal.out(&more);
            }
        }
        by_the_rules(context, store, id);
        at_the_end(context, store);
        Ok(ExitCode::Done.into())
    }
}

/// Returns the error for a command without a session: the sessions that it can end.
fn unnamed(context: &Context<'_>) -> CliError {
    let made = CliError::new(ErrorKind::Usage, "the session to end was not named");
    let waiting = context.engine().sessions_to_end().unwrap_or_default();
    if waiting.is_empty() {
        return made.hint("no session that `begin` started is active");
    }
    let home = context.environment.home.as_deref();
    waiting.iter().fold(made, |made, row| {
        let place = row.mounts.first().map(|mount| mount.root.to_path());
        let place = place.map(|root| format!(" in {}", view::host_path::below_home(&root, home)));
        let age = size::age(row.started_at, context.now());
        let purpose = format!("active{}, began {age}", place.unwrap_or_default());
        made.command(purpose, format!("end {}", row.id))
    })
}
