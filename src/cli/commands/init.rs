//! `init`: adds a `[recovery]` table to the file of a workspace, or writes that file. It writes no other file.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, SnapshotMode, some_path};
use crate::cli::command::Command;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::suggested_command::Words;
use crate::cli::view;
use crate::cli::workspace_setup::{Subject, chosen_mode};
use crate::clock::random;
use crate::config::Config;
use crate::report::{InitDocument, InitOutcome};
use crate::terminal::sanitize;

/// Enable recovery for a workspace or a directory
#[derive(Clone, Debug, Args)]
pub struct InitArgs {
    /// A workspace, or a directory (with a `/`, `.` or `..`) [default: the current directory]
    #[arg(value_name = "TARGET", value_parser = some_path(), value_hint = ValueHint::AnyPath)]
    pub target: Option<OsString>,
    /// Set what to capture: project, project-and-state, metadata or off [default: project]
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true)]
    pub snapshot: Option<SnapshotMode>,
    /// Print what would be written and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for InitArgs {
    const NAME: &'static str = "init";
    const GROUP: Option<Group> = Some(Group::Setup);
    const LONG: &'static str = "\
        For a directory that belongs to no workspace, writes a new workspace file with this directory as its only mount. \
        For a workspace, adds a [recovery] table to the file that defines it; all other bytes of the file stay the \
        same. Prints the change and asks, on a terminal also for the mode. A comment names the directories that are \
        excluded automatically. An existing table or file is never changed.";
    const EXAMPLES: &'static [Example] = &[
        (
            "For the current directory, without a question:",
            "jackin recovery init . --yes",
        ),
        (
            "Preview the addition for the workspace shop:",
            "jackin recovery init shop --dry-run",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<InitDocument>("init")];
    const READS_CONFIG: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        !self.dry_run
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let terminal = context.terminal;
        // An agent must not decide what its next session may be undone to.
        context.engine().ensure_outside()?;
        let config = Config::load(context.environment)?;
        let subject = Subject::of(context, &config, args.target.as_deref())?;
        let mode = match args.snapshot {
            Some(mode) => mode,
            None if args.yes || args.dry_run || args.json => SnapshotMode::Project,
            None => {
                // What cannot be added is refused before the operator chooses.
                subject.edit(context, &config, SnapshotMode::Project)?;
                chosen_mode(context).ok_or_else(not_confirmed)?
            }
        };
        let edit = subject.edit(context, &config, mode)?;
        let document = |outcome| InitDocument::new(&edit, outcome);
        let shown = view::addition::addition(&document(InitOutcome::Planned));
        if !args.json {
            terminal.out(&shown);
        } else if !args.yes && !args.dry_run && terminal.can_ask() {
            terminal.err(&shown);
        }
        if args.dry_run {
            if args.json {
                terminal.json(&document(InitOutcome::Planned));
            }
            return Ok(ExitCode::Done.into());
        }
        let question = view::host_path::question("Write", edit.file(), context.environment.home.as_deref());
        confirm(terminal, &context.interrupts, &question, args.yes)?;
        edit.apply(&config, random(context.world().entropy))?;
        if args.json {
            terminal.json(&document(InitOutcome::Written));
        } else {
            terminal.out(&format!("Written: {}", sanitize::path(edit.file())));
            let explain = Words::new("explain").arg(edit.name());
            context.propose("to see the result", &explain.text());
            if mode == SnapshotMode::ProjectAndState {
                context.terminal.note(
                    "agents' settings in your home directory are not part of it; with `home = true` under \
                    [recovery.state] in that file, they are",
                );
            }
            context.propose("all settings", "man config");
            if mode.captures() {
                let launch = Words::new("launch").arg(edit.name());
                context.propose("to start an agent", &format!("{} -- COMMAND", launch.text()));
            }
        }
        Ok(ExitCode::Done.into())
    }
}

fn not_confirmed() -> CliError {
    CliError::new(ErrorKind::NotConfirmed, "not confirmed; nothing was changed")
}
