//! The command line as types: flags that every command takes, the table of commands, and the help that is made of them.

mod fork;
mod help;
mod lack;
mod parse;
mod scope;
mod table;
mod values;

use std::ffi::OsString;

use clap::{
    ArgMatches, Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueHint,
};

pub use super::called_as::CalledAs;
pub use fork::ForkArgs;
pub(super) use help::OVERVIEW;
pub use help::command_for;
#[cfg(test)]
pub(super) use help::command_of;
pub use lack::{Lack, with_chosen};
pub use parse::{Invocation, ParseOutcome, is_called_by_agent, parse, wanted_color, wants_json};
pub use scope::Scope;
pub use table::{CommandInfo, CommandSet};
pub(super) use table::{Example, Group};
pub use values::{AgentThere, Check, Color, Mtimes, OnFailure, Shell, SnapshotMode, Unlock};
pub(super) use values::{age, number, positive, some_path, some_text};

use crate::terminal::Verbosity;

/// Undo what an AI coding agent did to your files
///
/// `jackin recovery` takes a snapshot before an agent starts, shows what the agent did, and restores the files exactly. It does not undo side effects such as database writes, network calls or pushed commits.
#[derive(Clone, Debug, Parser)]
#[command(name = "jackin-recovery", version)]
pub struct RecoveryArgs<V: Subcommand> {
    /// Options of every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub verb: V,
}

/// Flags that every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct GlobalArgs {
    /// Print only results, warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 900)]
    pub quiet: bool,
    /// Print more details
    #[arg(short, long, global = true, display_order = 901)]
    pub verbose: bool,
    /// Use colors: auto, always or never
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        hide_possible_values = true,
        default_value_t,
        display_order = 902
    )]
    pub color: Color,
    /// Print results without a pager
    #[arg(long, global = true, display_order = 903)]
    pub no_pager: bool,
    /// Append a detailed log with timestamps to FILE
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        value_parser = some_path(),
        value_hint = ValueHint::FilePath,
        display_order = 904
    )]
    pub log_file: Option<OsString>,
    /// Choose the remote helper: auto, copy or shell [default: auto]
    #[arg(
        long = "agent",
        global = true,
        value_enum,
        value_name = "WHICH",
        hide_possible_values = true,
        help_heading = "Other machines",
        display_order = 890
    )]
    pub agent_there: Option<AgentThere>,
}

impl GlobalArgs {
    /// How much is said on stderr.
    #[must_use]
    pub fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }
}

/// The bare definition under its own name, without the layout that [`command_for`] adds.
fn bare<V: CommandSet>() -> Command {
    RecoveryArgs::<V>::command()
}

/// What clap found, as types.
///
/// # Errors
/// When the matches were made by another command.
fn typed<V: CommandSet>(matches: &ArgMatches) -> Result<RecoveryArgs<V>, clap::Error> {
    RecoveryArgs::from_arg_matches(matches)
}
