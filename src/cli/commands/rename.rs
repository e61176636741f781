//! `rename`: another name or message for a session.

use clap::Args;

use crate::cli::args::{Example, Group, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::view;
use crate::recovery::Text;
use crate::report::{InstanceDocument, RenameDocument};

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
            return Err(error.hint("give a NAME, --message TEXT or --no-name"));
        }
        let row = context.engine().rename(&args.instance, name, message)?;
        if args.json {
            context.terminal.json(&RenameDocument::new(&row));
            return Ok(ExitCode::Done.into());
        }
        let home = context.environment.home.as_deref();
        let shown = view::instances::chosen(&InstanceDocument::brief(&row), context.now(), home);
        context.terminal.out(&shown);
        Ok(ExitCode::Done.into())
    }
}
