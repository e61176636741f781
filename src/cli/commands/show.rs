//! `show`: one instance in full.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, some_path, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::named_file::{Kind, Output};
use crate::cli::named_session::no_store;
use crate::cli::schema::Document;
use crate::cli::{html, view};
use crate::report::{LogDocument, SessionReport};
use crate::terminal::sanitize;

/// Show the details of a session
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// The session: an id or its prefix, a workspace, a container, or @latest; or the line that `fork` printed
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Write a self-contained HTML page to FILE (- for stdout); replaces only an earlier page
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath, conflicts_with = "json")]
    pub html: Option<OsString>,
}

impl Command for ShowArgs {
    const NAME: &'static str = "show";
    const GROUP: Option<Group> = Some(Group::Inspect);
    const LONG: &'static str =
        "Shows the settings, snapshots (and what they are missing), and restores of a session.";
    const EXAMPLES: &'static [Example] = &[("", "jackin recovery show @latest")];
    const DOCUMENTS: &'static [Document] = &[Document::of::<SessionReport>("show")];
    const IS_READ: bool = true;
    const TELLS_PENDING: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let page = args.html.as_ref();
        let page = page
            .map(|file| Output::settle(context, file, Kind::Page))
            .transpose()?;
        let reading = context
            .store_for_reading()?
            .ok_or_else(|| no_store(&args.instance))?;
        let engine = context.engine();
        let (row, fork) = engine.session_or_fork(&reading, &args.instance)?;
        let (store, row) = engine.settled(reading, row)?;
        let known = SessionReport::of(&store, &row, fork.as_ref().map(|fork| &fork.id))?;
        if let Some(file) = &page {
            let log = LogDocument::until_break(&store, Some(&row.id))?;
            let page = html::page(&known, &log, None, context.now())?;
            return file.write_page(context, &page);
        }
        if args.json {
            context.terminal.json(&known);
            return Ok(ExitCode::Done.into());
        }
        let width = context.terminal.width_out();
        let text = view::instances::show(&known, context.now(), width);
        context.terminal.out(&text);
        for native in &known.instance.native {
            let place = sanitize::text(&native.place);
            let what = if native.kept {
                "kept by the file system in"
            } else {
                "is frozen until it is stored, in"
            };
            context
                .terminal
                .out(&format!("{}: {what} {place}", native.snapshot));
        }
        if known.has_baseline {
            context.propose("see also", &format!("diff {}", row.id));
        }
        Ok(ExitCode::Done.into())
    }
}
