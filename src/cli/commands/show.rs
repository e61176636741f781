//! `show`: one instance in full.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, some_path};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::named_file::{Kind, Output};
use crate::cli::named_session::no_store;
use crate::cli::schema::Document;
use crate::cli::session_arg::{Asking, SessionArg};
use crate::cli::suggested_command::Words;
use crate::cli::{html, view};
use crate::model::SnapshotKind;
use crate::recovery::{InstanceRow, Store, Wanted};
use crate::report::{LogDocument, SessionContractDocument, SessionReport};
use crate::terminal::sanitize;

/// Show the details of a session
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// Session.
    #[command(flatten)]
    pub session: SessionArg,
    /// Print the contract as it was when the session began
    #[arg(long, conflicts_with = "html")]
    pub contract: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Write a self-contained HTML page to FILE (- for stdout); replaces only an earlier page
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath, conflicts_with = "json")]
    pub html: Option<OsString>,
}

impl Command for ShowArgs {
    const NAME: &'static str = "show";
    const GROUP: Option<Group> = Some(Group::Daily);
    const LONG: &'static str = "Shows the settings, the excluded and skipped paths, snapshots (and what they are missing), and \
        restores of a session. The id or branch of a fork shows the session of its snapshot.";
    const EXAMPLES: &'static [Example] = &[
        ("The latest session of this directory:", "jackin recovery show"),
        (
            "The contract of the one before:",
            "jackin recovery show @2 --contract",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[
        Document::of::<SessionReport>("show"),
        Document::of::<SessionContractDocument>("show-contract"),
    ];
    const IS_READ: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let page = args.html.as_ref();
        let page = page
            .map(|file| Output::settle(context, file, Kind::Page))
            .transpose()?;
        let wanted = args.session.settle_or_fork(context, Asking::any(args.json))?;
        let reading = context.store_for_reading()?.ok_or_else(|| no_store(&wanted))?;
        let engine = context.engine();
        let (row, fork) = engine.session_or_fork(&reading, &wanted)?;
        let (store, row) = engine.settled(reading, row)?;
        if args.contract {
            return show_contract(context, &store, &row, args.json);
        }
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
        let instance = &known.instance;
        let mut snapshots = instance.snapshots.iter();
        if instance.is_interrupted_import() {
            context
                .terminal
                .warn("the import was interrupted: import its file again");
            if snapshots.next().is_some() {
                context.propose("to delete this session", &format!("forget {}", row.id));
            }
        } else if instance.is_imported()
            && !instance.snapshots.is_empty()
            && !snapshots.any(|one| one.kind == SnapshotKind::Closing)
        {
            context.propose("to write its files", &format!("fork {}", row.id));
        } else if known.has_baseline {
            let diff = Words::new("diff").session(context, &row.id, Wanted::Any);
            context.propose("see also", &diff.text());
        }
        Ok(ExitCode::Done.into())
    }
}

/// Prints the contract of a session as it was when the session began.
fn show_contract(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
    as_json: bool,
) -> Result<Status, CliError> {
    let Some(stored) = store.contract(&row.id) else {
        let message = format!("the contract of {} is not stored", row.id);
        return Err(CliError::new(ErrorKind::UnknownSnapshot, message)
            .hint("older versions stored none, and an imported session has none")
            .command("its settings", format!("show {}", row.id)));
    };
    match as_json {
        true => context.terminal.json(&SessionContractDocument::new(row, stored)),
        false => context.terminal.out(&stored.text),
    }
    Ok(ExitCode::Done.into())
}
