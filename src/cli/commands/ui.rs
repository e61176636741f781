//! `ui`: sessions, what changed in them, and going back, by keys.

#[cfg(feature = "tui")]
mod start;

use clap::Args;

use crate::cli::args::{Example, Group, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::Status;
#[cfg(not(feature = "tui"))]
use crate::features::{Feature, NotBuilt};

/// Browse sessions and restore files interactively
#[derive(Clone, Debug, Args)]
pub struct UiArgs {
    /// The session to begin with: an id or its prefix, a workspace, a container, or @latest
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
}

impl Command for UiArgs {
    const NAME: &'static str = "ui";
    const GROUP: Option<Group> = Some(Group::Inspect);
    const BEFORE: Option<&'static str> = Some("list");
    const LONG: &'static str = "\
        Sessions, what happened in each, what changed since, line by line, and the way back, on one screen: by keys, which stand at \
        the bottom (`?` explains them), or with the mouse. A restore is the one of `restore`: a plan first, a question, an emergency \
        snapshot, and the same refusals; `u` takes the last one back. Nothing is put back under a session that is active.";
    const EXAMPLES: &'static [Example] = &[
        ("All sessions:", "jackin recovery ui"),
        ("The latest one:", "jackin recovery ui @latest"),
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
