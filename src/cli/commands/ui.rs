//! `ui`: sessions, what changed in them, and going back, by keys.

#[cfg(feature = "tui")]
mod start;

use clap::Args;

use crate::cli::args::{Example, Group};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::Status;
use crate::cli::session_arg::SessionArg;
#[cfg(not(feature = "tui"))]
use crate::features::{Feature, NotBuilt};

/// Browse sessions and restore files interactively
#[derive(Clone, Debug, Args)]
pub struct UiArgs {
    /// Session.
    #[command(flatten)]
    pub session: SessionArg,
}

impl Command for UiArgs {
    const NAME: &'static str = "ui";
    const GROUP: Option<Group> = Some(Group::Daily);
    const BEFORE: Option<&'static str> = Some("list");
    const LONG: &'static str = "\
        Opens the latest session that covers the current directory; elsewhere and with --any, the list of all sessions. Shows \
        the sessions, their history and their changes line by line, and restores files. Use the keys at the \
        bottom (`?` explains them) or the mouse. A restore works like `restore`: it prints a plan, asks, takes an \
        emergency snapshot, and refuses for the same reasons; `u` undoes the last one. An active session is never \
        restored.";
    const EXAMPLES: &'static [Example] = &[
        ("The latest session of this directory:", "jackin recovery ui"),
        ("All sessions:", "jackin recovery ui --any"),
    ];

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        run(&context, self)
    }
}

#[cfg(feature = "tui")]
pub(super) fn run(context: &Context<'_>, args: &UiArgs) -> Result<Status, CliError> {
    start::run(context, args)
}

#[cfg(not(feature = "tui"))]
pub(super) fn run(_: &Context<'_>, _: &UiArgs) -> Result<Status, CliError> {
    Err(NotBuilt(Feature::Tui).into())
}
