//! `__screen`: the screen itself, in the process that `ui` starts.

use clap::Args;

use crate::cli::args::{Group, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
#[cfg(feature = "tui")]
use crate::cli::error::ErrorKind;
#[cfg(feature = "tui")]
use crate::cli::exit_code::ExitCode;
use crate::cli::exit_code::Status;
#[cfg(feature = "tui")]
use crate::cli::ui;
#[cfg(feature = "tui")]
use crate::config::Config;
#[cfg(not(feature = "tui"))]
use crate::features::{Feature, NotBuilt};

/// The screen itself: what `ui` starts
#[derive(Clone, Debug, Args)]
pub struct ScreenArgs {
    /// The session to open: an id or its prefix, a name, a workspace, a container, or @latest or @1, @2 to count back
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// No session covers the current directory
    #[arg(long)]
    pub elsewhere: bool,
}

impl Command for ScreenArgs {
    const NAME: &'static str = "__screen";
    const GROUP: Option<Group> = None;

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        run(&context, self)
    }
}

#[cfg(feature = "tui")]
pub(super) fn run(context: &Context<'_>, args: &ScreenArgs) -> Result<Status, CliError> {
    let chosen = Config::load(context.environment)?.screen();
    let settings = ui::Settings {
        keys: chosen.keys,
        colors: chosen.colors,
    };
    let (farewell, has_failed) = ui::run(context, (args.instance.clone(), args.elsewhere), settings)
        .map_err(|error| CliError::new(ErrorKind::Io, "the screen failed").because(error))?;
    if let Some(farewell) = farewell {
        context.terminal.err(farewell.trim_end());
    }
    Ok(match has_failed {
        true => ExitCode::Failed.into(),
        false => ExitCode::Done.into(),
    })
}

#[cfg(not(feature = "tui"))]
pub(super) fn run(_: &Context<'_>, _: &ScreenArgs) -> Result<Status, CliError> {
    Err(NotBuilt(Feature::Tui).into())
}
