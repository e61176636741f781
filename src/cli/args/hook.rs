//! `hook`: checkpoints inside the agents that people run already.

use clap::{Args, Subcommand};

use super::values::some_text;
use crate::agents::{Agent, Scope};

/// Arguments of `hook`.
#[derive(Clone, Debug, Args)]
#[command(subcommand_value_name = "ACTION", subcommand_help_heading = "Actions")]
pub struct HookArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: HookAction,
}

/// What `hook` does.
#[derive(Clone, Debug, Subcommand)]
pub enum HookAction {
    /// Add our hooks to an agent's settings
    Install(HookEditArgs),
    /// Take our hooks out of an agent's settings again
    Uninstall(HookEditArgs),
    /// Say which agents have our hooks
    Status(HookStatusArgs),
    /// What an agent calls: the event stands on standard input
    Run(HookRunArgs),
}

impl HookAction {
    /// Whether `--json` was given.
    pub(super) fn json(&self) -> bool {
        match self {
            Self::Install(args) | Self::Uninstall(args) => args.json,
            Self::Status(args) => args.json,
            Self::Run(_) => false,
        }
    }
}

/// Arguments of `hook install` and `hook uninstall`.
#[derive(Clone, Copy, Debug, Args)]
pub struct HookEditArgs {
    /// claude, codex, gemini, opencode, cursor or copilot
    #[arg(value_enum, value_name = "AGENT", hide_possible_values = true)]
    pub agent: Agent,
    /// Whose hooks: `user`, yours for every project, or `project`, those in the current directory, which the agent can write
    #[arg(
        long,
        value_enum,
        value_name = "SCOPE",
        hide_possible_values = true,
        default_value_t
    )]
    pub scope: Scope,
    /// Show what would be written and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `hook status`.
#[derive(Clone, Copy, Debug, Args)]
pub struct HookStatusArgs {
    /// Only this agent: claude, codex, gemini, opencode, cursor or copilot
    #[arg(value_enum, value_name = "AGENT", hide_possible_values = true)]
    pub agent: Option<Agent>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `hook run`.
#[derive(Clone, Debug, Args)]
pub struct HookRunArgs {
    /// The agent that calls
    #[arg(value_enum, value_name = "AGENT", hide_possible_values = true)]
    pub agent: Agent,
    /// What happened, as the agent calls it
    #[arg(value_name = "EVENT", value_parser = some_text())]
    pub event: String,
}
