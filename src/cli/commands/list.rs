//! `list`: instances and their snapshots, newest first, and beside them jackin's own.

use clap::Args;

use crate::cli::args::{Example, Group};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::view;
use crate::report::ListDocument;
use crate::terminal::{self, Role, sanitize, size, style};

/// List sessions and their snapshots
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for ListArgs {
    const NAME: &'static str = "list";
    const GROUP: Option<Group> = Some(Group::Inspect);
    const LONG: &'static str = "The newest comes first. A session is active while any of its processes runs.";
    const EXAMPLES: &'static [Example] = &[("", "jackin recovery list")];
    const DOCUMENTS: &'static [Document] = &[Document::of::<ListDocument>("list")];
    const IS_READ: bool = true;
    const TELLS_PENDING: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let store = context.store_for_reading()?;
        let found = ListDocument::of(store.as_ref(), context.environment, args.json)?;
        if args.json {
            context.terminal.json(&found);
            return Ok(ExitCode::Done.into());
        }
        let width = context.terminal.width_out();
        let all = found.instances.len();
        // What nothing is left of is told by `log`; here it would bury what there is.
        let shown: Vec<_> = found
            .instances
            .iter()
            .filter(|session| !session.is_gone)
            .collect();
        if all == 0 {
            context.terminal.note("no sessions yet");
        } else {
            let home = context
                .environment
                .home
                .as_deref()
                .filter(|_| context.terminal.is_tty_out());
            let table = view::instances::list(&shown, context.now(), width, home);
            context.terminal.out(&table);
            for session in &shown {
                if let Some(reason) = &session.closing_error {
                    let told = view::instances::no_closing(reason);
                    let told = terminal::width::wrap(&format!("{}: {told}", session.id), width).join("\n");
                    context.terminal.out(&style::paint(Role::Warning, &told));
                }
                if let Some(fork) = &session.origin {
                    let origin = view::forks::origin(fork);
                    let told = format!("{} began in the fork {origin}", session.id);
                    context
                        .terminal
                        .out(&terminal::width::wrap(&told, width).join("\n"));
                }
            }
        }
        let gone = (all - shown.len()) as u64;
        if gone > 0 {
            let sessions = size::counted(gone, "session", "sessions");
            context.terminal.note(&format!(
                "{sessions} more, whose snapshots were all pruned (see `log`)"
            ));
        }
        if !found.forks.is_empty() {
            let table = view::forks::list(&found.forks, context.now(), width);
            context.terminal.out(&format!("\nforks:\n{table}"));
        }
        if !found.jackin.is_empty() {
            let table = view::instances::jackin(&found.jackin, width);
            context.terminal.out(&format!("\njackin's own:\n{table}"));
        }
        for unread in &found.jackin_unread {
            let path = sanitize::path(&unread.path.to_path());
            context.terminal.warn(&format!(
                "{path} cannot be read: {}",
                sanitize::text(&unread.reason)
            ));
        }
        match shown.first() {
            Some(latest) => context.propose("details", &format!("show {}", latest.id)),
            None => context.propose("to start", "launch --snapshot project DIR -- COMMAND"),
        }
        Ok(ExitCode::Done.into())
    }
}
