//! `hook`: jackin's hooks in the settings of agents.

mod edit;
mod recorded;
mod run;
mod status;
mod trust;
mod workspace;

use std::path::{Path, PathBuf};

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
use crate::environment::Environment;
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
        `install` adds hooks to the settings of an agent (claude, codex, gemini, opencode, cursor, copilot), prints \
        the addition, and asks. All other bytes of the file stay the same, and `uninstall` removes exactly the \
        addition. With --scope project, or local (Claude Code's `.claude/settings.local.json`), the hooks are in the \
        current directory, where the agent can edit them: convenient, but no protection. On a terminal, an agent that is \
        not named is chosen from those on this machine, and recovery is offered for the current \
        directory if it has none. `status` lists the agents that have the hooks, and the program that they call. \
        The hooks call `run`: in a workspace with recovery it starts a session, and takes a checkpoint before \
        each tool call that may change files, if something changed. It never stops the agent, unless \
        [recovery.agent] on_failure is \"block\".";
    const EXAMPLES: &'static [Example] = &[
        (
            "Preview the change to the settings of Claude Code:",
            "jackin recovery hook install claude --dry-run",
        ),
        (
            "For this project only (the agent can edit the file):",
            "jackin recovery hook install codex --scope project",
        ),
        (
            "List the agents that have the hooks:",
            "jackin recovery hook status",
        ),
        ("Remove them:", "jackin recovery hook uninstall claude"),
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
    /// Handle an event of an agent, read from standard input
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
    /// Choose the settings: `user` for all your projects; `project` for the current directory, where the agent can edit
    /// them; or `local` for your own there (only Claude Code has them)
    #[arg(
        long,
        value_enum,
        value_name = "SCOPE",
        hide_possible_values = true,
        default_value_t
    )]
    pub scope: Scope,
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
    /// The event, as the agent names it
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

/// This program, as a hook calls it: by the path under which `PATH` has it, which an update of the program keeps, else by its own.
fn this(context: &Context<'_>) -> Result<Program, CliError> {
    let own = std::env::current_exe().map_err(|error| {
        CliError::new(
            ErrorKind::Failed,
            "the path of this program is not known, so no hook can call it",
        )
        .because(error)
    })?;
    let path = named(context.environment, &own).unwrap_or(own);
    let made = Program::new(&path, &shell::word(path.as_os_str()));
    made.map_err(|fault| {
        let problem = fault.problem;
        SettingsError::Program { problem }.into()
    })
}

/// Returns the first file in `PATH` of this program's name, if it is this program.
fn named(environment: &Environment, own: &Path) -> Option<PathBuf> {
    let name = own.file_name()?;
    let directories = std::env::split_paths(environment.get("PATH")?).filter(|one| one.is_absolute());
    let first = directories
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())?;
    let real = std::fs::canonicalize(&first).ok()?;
    (real == std::fs::canonicalize(own).ok()?).then_some(first)
}

/// The words of `hook status`.
fn status_words() -> String {
    Words::new("hook").arg("status").text()
}
