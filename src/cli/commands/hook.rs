//! `hook`: our hooks in the settings of other people's agents.

mod edit;
mod run;
mod status;

use clap::{Args, Subcommand};

use crate::agents::settings::{Program, SettingsError};
use crate::agents::{Agent, Scope};
use crate::cli::args::{Example, Group, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::suggested_command::Words;
use crate::report::{HookEditDocument, HookStatusDocument};
use crate::terminal::shell;

/// Take snapshots inside agents, through their hooks
#[derive(Clone, Debug, Args)]
#[command(subcommand_value_name = "ACTION", subcommand_help_heading = "Actions")]
pub struct HookArgs {
    /// Action.
    #[command(subcommand)]
    pub action: HookAction,
}

impl Command for HookArgs {
    const NAME: &'static str = "hook";
    const GROUP: Option<Group> = Some(Group::Setup);
    const LONG: &'static str = "\
        `install` adds hooks to the settings of an agent (claude, codex, gemini, opencode, cursor, copilot), shows what is \
        added, and asks. Everything else in the file stays, byte for byte, and `uninstall` leaves the file as it was. With \
        --scope project the hooks stand in files of the current directory, which the agent itself can write: they are a \
        convenience then, no protection. `status` says which agents have our hooks, and which program they call. \
        `run` is what they call: in a workspace that is captured it begins a session by itself, and takes a checkpoint before each \
        tool call that may change files, when something changed. It never stops the agent, unless [recovery.agent] on_failure says \
        \"block\".";
    const EXAMPLES: &'static [Example] = &[
        (
            "See what would be written into the settings of Claude Code:",
            "jackin recovery hook install claude --dry-run",
        ),
        (
            "For this project only, where the agent could change it:",
            "jackin recovery hook install codex --scope project",
        ),
        (
            "List the agents that have the hooks:",
            "jackin recovery hook status",
        ),
        ("Take them out again:", "jackin recovery hook uninstall claude"),
    ];
    const DOCUMENTS: &'static [Document] = &[
        Document::of::<HookEditDocument>("hook-install"),
        Document::of::<HookStatusDocument>("hook-status"),
        Document::of::<HookEditDocument>("hook-uninstall"),
    ];

    fn json(&self) -> bool {
        self.action.json()
    }

    fn changes_something(&self) -> bool {
        self.action.changes_something()
    }

    /// Returns false: an agent waits for the answer.
    fn takes_up_frozen(&self) -> bool {
        false
    }

    /// Returns a code that lets the tool call of the agent happen; the usual code of a usage error would forbid it.
    fn exit_code(&self, kind: ErrorKind) -> ExitCode {
        match &self.action {
            HookAction::Run(_) => ExitCode::Failed,
            _ => kind.exit_code(),
        }
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        run(context, self)
    }
}

/// Action of `hook`.
#[derive(Clone, Debug, Subcommand)]
pub enum HookAction {
    /// Add the hooks to an agent's settings
    Install(HookEditArgs),
    /// Remove the hooks from an agent's settings
    Uninstall(HookEditArgs),
    /// Show which agents have the hooks
    Status(HookStatusArgs),
    /// What an agent calls: the event stands on standard input
    Run(HookRunArgs),
}

impl HookAction {
    fn json(&self) -> bool {
        match self {
            Self::Install(args) | Self::Uninstall(args) => args.json,
            Self::Status(args) => args.json,
            Self::Run(_) => false,
        }
    }

    fn changes_something(&self) -> bool {
        match self {
            Self::Install(args) | Self::Uninstall(args) => !args.dry_run,
            Self::Status(_) | Self::Run(_) => false,
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

pub(super) fn run(context: Context<'_>, args: &HookArgs) -> Result<Status, CliError> {
    match &args.action {
        HookAction::Install(args) => edit::install(&context, args),
        HookAction::Uninstall(args) => edit::uninstall(&context, args),
        HookAction::Status(args) => status::run(&context, args),
        HookAction::Run(args) => Ok(run::run(context, args)),
    }
}

/// This program, as a hook calls it.
fn this() -> Result<Program, CliError> {
    let path = std::env::current_exe().map_err(|error| {
        CliError::new(
            ErrorKind::Failed,
            "the path of this program is not known, so no hook can call it",
        )
        .because(error)
    })?;
    let made = Program::new(&path, &shell::word(path.as_os_str()));
    made.map_err(|fault| {
        let problem = fault.problem;
        SettingsError::Program { problem }.into()
    })
}

/// The words of `hook status`.
fn status_words() -> String {
    Words::new("hook").arg("status").text()
}
