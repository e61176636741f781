//! `pin` and `unpin`: exempt sessions and snapshots from the retention policy.

use clap::Args;

use crate::cli::args::{Example, Group, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::session_arg::{Asking, SessionArg};
use crate::report::PinDocument;

/// Exempt a session or snapshot from retention
#[derive(Clone, Debug, Args)]
pub struct PinArgs {
    /// Session.
    #[command(flatten)]
    pub session: SessionArg,
    /// Only this snapshot: a kind, `latest`, a checkpoint's name or number, or an id or its prefix [default: the whole session]
    #[arg(value_name = "SNAP", value_parser = some_text())]
    pub snapshot: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for PinArgs {
    const NAME: &'static str = "pin";
    const GROUP: Option<Group> = Some(Group::Store);
    const LONG: &'static str = "\
        Pinned snapshots are never deleted. Those of a pinned session do not count toward the retention policy.";
    const EXAMPLES: &'static [Example] = &[
        (
            "The latest session of this directory, with all of its snapshots:",
            "jackin recovery pin",
        ),
        ("One checkpoint:", "jackin recovery pin shop before-upgrade"),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<PinDocument>("pin")];

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
        pin(&context, self)
    }
}

/// Let retention delete a session or snapshot again
#[derive(Clone, Debug, Args)]
pub struct UnpinArgs {
    /// Session or snapshot.
    #[command(flatten)]
    pub pinned: PinArgs,
}

impl Command for UnpinArgs {
    const NAME: &'static str = "unpin";
    const GROUP: Option<Group> = Some(Group::Store);
    const LONG: &'static str = "For a session, also unpins its individually pinned snapshots.";
    const EXAMPLES: &'static [Example] = &[("", "jackin recovery unpin")];
    const DOCUMENTS: &'static [Document] = &[Document::of::<PinDocument>("unpin")];

    fn json(&self) -> bool {
        self.pinned.json
    }

    fn changes_something(&self) -> bool {
        true
    }

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        unpin(&context, &self.pinned)
    }
}

pub(super) fn pin(context: &Context<'_>, args: &PinArgs) -> Result<Status, CliError> {
    set(context, args, true)
}

pub(super) fn unpin(context: &Context<'_>, args: &PinArgs) -> Result<Status, CliError> {
    set(context, args, false)
}

fn set(context: &Context<'_>, args: &PinArgs, pinned: bool) -> Result<Status, CliError> {
    let (engine, wanted) = (context.engine(), args.snapshot.as_deref());
    let session = args.session.settle(context, Asking::any(args.json))?;
    let done = match pinned {
        true => engine.pin(&session, wanted)?,
        false => engine.unpin(&session, wanted)?,
    };
    let found = PinDocument::of(&done, pinned);
    let terminal = context.terminal;
    if args.json {
        terminal.json(&found);
        return Ok(ExitCode::Done.into());
    }
    let session = &found.instance;
    let what = match &found.snapshot {
        Some(id) => format!("snapshot {id} of {session}"),
        None => format!("{session} with all of its snapshots"),
    };
    terminal.out(&match (pinned, found.receipt) {
        (true, Some(_)) => format!("{what} is pinned"),
        (true, None) => format!("{what} is already pinned"),
        (false, Some(_)) => format!("{what} is unpinned"),
        (false, None) => format!("{what} is not pinned"),
    });
    if found.is_kept_by_session {
        terminal.note(&format!("{session} is pinned as a whole, so it is still kept"));
        context.propose("to unpin the whole session", &format!("unpin {session}"));
    }
    Ok(ExitCode::Done.into())
}
