//! `rename`: another name or message for a session.

use clap::Args;

use crate::cli::args::{Example, Group, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::suggested_command::Words;
use crate::model::{InstanceId, SessionTitle};
use crate::recovery::{InstanceRow, NamedSession, RenamedSession, Text};
use crate::report::RenameDocument;
use crate::terminal::sanitize;

/// Give a session another name
#[derive(Clone, Debug, Args)]
pub struct RenameArgs {
    /// The session: an id or its prefix, a name, a workspace, a container, or @latest or @1, @2 to count back
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// The new name: letters, digits, `_`, `.` and `-`
    #[arg(value_name = "NAME", value_parser = some_text(), conflicts_with = "no_name")]
    pub name: Option<String>,
    /// Replace the description
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,
    /// Remove the name
    #[arg(long)]
    pub no_name: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for RenameArgs {
    const NAME: &'static str = "rename";
    const GROUP: Option<Group> = Some(Group::Sessions);
    const LONG: &'static str = "\
        Every command takes the name in place of the id; if several sessions have it, the latest of them. The id stays. \
        An empty message removes the description.";
    const EXAMPLES: &'static [Example] = &[
        (
            "Name the latest session of this directory:",
            "jackin recovery rename @1 fix-login",
        ),
        ("Describe it:", "jackin recovery rename fix-login -m tested"),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<RenameDocument>("rename")];

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
        let name = match (&args.name, args.no_name) {
            (Some(name), _) => Text::Set(name),
            (None, true) => Text::Remove,
            (None, false) => Text::Keep,
        };
        let message = match args.message.as_deref() {
            Some("") => Text::Remove,
            Some(message) => Text::Set(message),
            None => Text::Keep,
        };
        if (name, message) == (Text::Keep, Text::Keep) {
            let error = CliError::new(ErrorKind::Usage, "nothing to change");
            let error = error.hint("give a NAME, --message TEXT or --no-name");
            // One word that names no session is meant for the name.
            return Err(match context.engine().named_session(&args.instance)? {
                NamedSession::None => {
                    let words = Words::new("rename").arg("@1").arg(&args.instance);
                    error.command("to name the latest session here", words.text())
                }
                NamedSession::Here | NamedSession::Elsewhere => error,
            });
        }
        let renamed = context.engine().rename(&args.instance, name, message)?;
        let RenamedSession {
            row,
            before,
            namesakes,
        } = &renamed;
        if args.json {
            context.terminal.json(&RenameDocument::new(row));
            return Ok(ExitCode::Done.into());
        }
        for line in changes(&row.id, before, &row.title) {
            context.terminal.out(&line);
        }
        if let Some(other) = namesakes.iter().find(|other| other.id != row.id)
            && let Some(name) = &row.title.name
        {
            print_taken(context, name, namesakes, &row.id, &other.id);
        }
        Ok(ExitCode::Done.into())
    }
}

/// Returns a line for each text of a session that changed.
fn changes(id: &InstanceId, before: &SessionTitle, now: &SessionTitle) -> Vec<String> {
    let shown = |text: &String| sanitize::name(text.as_bytes());
    let mut lines = Vec::new();
    match (&before.name, &now.name) {
        (before, now) if before == now => {}
        (None, Some(now)) => lines.push(format!("session {id} is named {}", shown(now))),
        (Some(before), Some(now)) => {
            lines.push(format!(
                "session {id} is renamed from {} to {}",
                shown(before),
                shown(now)
            ));
        }
        (Some(before), None) => lines.push(format!("session {id} has no name, was {}", shown(before))),
        (None, None) => {}
    }
    match &now.message {
        message if *message == before.message => {}
        Some(message) => lines.push(format!("session {id} is described: {}", shown(message))),
        None => lines.push(format!("session {id} has no description")),
    }
    if lines.is_empty() {
        lines.push(format!(
            "nothing to change: session {id} is named and described so"
        ));
    }
    lines
}

/// Prints which session a name means that several have: the newest.
fn print_taken(context: &Context<'_>, name: &str, all: &[InstanceRow], own: &InstanceId, other: &InstanceId) {
    let name = sanitize::name(name.as_bytes());
    let text = match all.first().is_some_and(|first| first.id == *own) {
        true => format!("{other} has the name {name} too; it is listed by id now, and {name} means {own}"),
        false => format!("the newer session {other} has the name {name} too, so {name} means that one"),
    };
    context.terminal.note(&text);
}
