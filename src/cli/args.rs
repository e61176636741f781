//! The command line as types: every verb, every flag, and the help that is made of them.

mod care;
mod export;
mod fork;
mod help;
mod hook;
mod import;
mod inspect;
mod lack;
mod mcp;
mod meta;
mod parse;
mod replicate;
mod restore;
mod session;
mod store;
mod texts;
mod ui;
mod values;

use std::ffi::OsString;

use clap::{
    ArgMatches, Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueHint,
};

pub use super::called_as::CalledAs;
pub use care::{DoctorArgs, InitArgs};
pub use export::ExportArgs;
pub use fork::ForkArgs;
pub(super) use help::VERBS;
pub use help::command_for;
pub use hook::{HookAction, HookArgs, HookEditArgs, HookRunArgs, HookStatusArgs};
pub use import::ImportArgs;
pub use inspect::{DiffArgs, DiffForm, ListArgs, ShowArgs};
pub use lack::{Lack, with_chosen};
pub use mcp::McpArgs;
pub use meta::{CheckpointsArgs, CompleteArgs, CompletionsArgs, ManArgs};
pub use parse::{Invocation, ParseOutcome, is_called_by_agent, parse, wanted_color, wants_json};
pub use replicate::{ReplicateArgs, ReplicatingArgs};
pub use restore::{AbortArgs, CheckpointArgs, RestoreArgs, ResumeArgs, UndoArgs, WaitingArgs};
pub use session::{BeginArgs, EndArgs, ExecArgs, ExplainArgs, LaunchArgs, Scope};
pub use store::{LogArgs, PinArgs, PruneArgs, RebuildArgs, VerifyArgs};
pub(super) use texts::examples;
pub use ui::UiArgs;
pub use values::{AgentThere, Check, Color, Mtimes, OnFailure, Shell, SnapshotMode, Unlock};

use crate::terminal::Verbosity;
use values::some_path;

/// Undo what an AI coding agent did to your files
///
/// `jackin recovery` takes a snapshot before an agent starts, shows what the agent did, and puts the files back exactly. It undoes
/// files, never side effects: a dropped table stays dropped, a sent mail stays sent.
#[derive(Clone, Debug, Parser)]
#[command(name = "jackin-recovery", version)]
pub struct RecoveryArgs {
    /// What holds for every verb.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Flags that every verb takes.
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

/// The verbs, in the order in which a user meets them.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// Print the recovery contract without changing anything
    Explain(ExplainArgs),
    /// Run a command in a session that you can undo
    Launch(LaunchArgs),
    /// Start a session for a command you run yourself
    Begin(BeginArgs),
    /// End a session started with `begin`
    End(EndArgs),
    /// Take a named snapshot in a running session
    Checkpoint(CheckpointArgs),
    /// Take a checkpoint, then run a command
    Exec(ExecArgs),
    /// List sessions and their snapshots
    List(ListArgs),
    /// Show the details of a session
    Show(ShowArgs),
    /// Show what changed since a snapshot
    Diff(DiffArgs),
    /// Restore files from a snapshot
    Restore(RestoreArgs),
    /// Undo the last restore
    Undo(UndoArgs),
    /// Finish an interrupted restore
    Resume(ResumeArgs),
    /// Roll back an interrupted restore
    Abort(AbortArgs),
    /// Write a snapshot to a new directory to work in
    Fork(ForkArgs),
    /// Write a snapshot to a self-contained file
    Export(ExportArgs),
    /// Import a snapshot from a file or a replica
    Import(ImportArgs),
    /// Check the store for damaged or missing data
    Verify(VerifyArgs),
    /// Show the log of all operations
    Log(LogArgs),
    /// Delete snapshots that exceed the retention policy
    Prune(PruneArgs),
    /// Copy the store to the configured object store
    Replicate(ReplicateArgs),
    /// Exempt a session or snapshot from retention
    Pin(PinArgs),
    /// Let retention delete a session or snapshot again
    Unpin(PinArgs),
    /// Rebuild the catalog from snapshots and receipts
    Rebuild(RebuildArgs),
    /// Check the installation and suggest fixes
    Doctor(DoctorArgs),
    /// Enable recovery for a workspace
    Init(InitArgs),
    /// Take snapshots inside agents, through their hooks
    Hook(HookArgs),
    /// Serve checkpoints to an agent as MCP tools
    Mcp(McpArgs),
    /// Browse sessions and restore files interactively
    Ui(UiArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Print a manual page
    Man(ManArgs),
    /// What could stand at the cursor: for the completions
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArgs),
    /// Take checkpoints of a session until it ends: what `begin --checkpoint-every` leaves behind
    #[command(name = "__checkpoints", hide = true)]
    Checkpoints(CheckpointsArgs),
    /// Copy the store: what a snapshot leaves behind
    #[command(name = "__replicate", hide = true)]
    Replicating(ReplicatingArgs),
    /// The screen itself: what `ui` starts
    #[command(name = "__screen", hide = true)]
    Screen(UiArgs),
    /// Answer on standard output what another machine asks on standard input
    #[command(name = "__agent", hide = true)]
    AgentThere(AgentThereArgs),
    /// End and remove what was started elsewhere once standard input ends
    #[command(name = "__lifeline", hide = true)]
    Lifeline(LifelineArgs),
}

/// Arguments of `__lifeline`.
#[derive(Clone, Debug, Args)]
pub struct LifelineArgs {
    /// The program that removes it, and its words
    #[arg(last = true, value_name = "CMD")]
    pub then: Vec<OsString>,
}

/// Arguments of `__agent`.
#[derive(Clone, Debug, Args)]
pub struct AgentThereArgs {
    /// Remove this copy of the program, and the directory that it lies in alone
    #[arg(long, value_name = "DIR")]
    pub remove: Option<std::path::PathBuf>,
    /// Print this line before anything else
    #[arg(long, value_name = "LINE")]
    pub listening: Option<String>,
}

impl Verb {
    /// Whether its result is something to read, which a pager may show.
    #[must_use]
    pub fn is_read(&self) -> bool {
        let reads = matches!(
            self,
            Self::Explain(_) | Self::List(_) | Self::Show(_) | Self::Diff(_) | Self::Log(_) | Self::Doctor(_)
        );
        reads && !self.json()
    }

    /// Returns true if the command changes files, the store or settings; its output then only reports the result.
    #[must_use]
    pub fn changes_something(&self) -> bool {
        match self {
            Self::Begin(_)
            | Self::End(_)
            | Self::Checkpoint(_)
            | Self::Fork(_)
            | Self::Export(_)
            | Self::Pin(_)
            | Self::Unpin(_)
            | Self::Rebuild(_) => true,
            Self::Restore(args) => !args.dry_run,
            Self::Undo(args) => !args.dry_run,
            Self::Resume(args) => !args.restore.dry_run,
            Self::Abort(args) => !args.restore.dry_run,
            Self::Import(args) => !args.dry_run,
            Self::Prune(args) => !args.dry_run,
            Self::Replicate(args) => !args.dry_run,
            Self::Init(args) => !args.dry_run,
            Self::Hook(args) => match &args.action {
                HookAction::Install(args) | HookAction::Uninstall(args) => !args.dry_run,
                HookAction::Status(_) | HookAction::Run(_) => false,
            },
            _ => false,
        }
    }

    /// Whether `--json` was given.
    #[must_use]
    pub fn json(&self) -> bool {
        match self {
            Self::Explain(args) => args.json,
            Self::Begin(args) => args.json,
            Self::End(args) => args.json,
            Self::Checkpoint(args) => args.json,
            Self::List(args) => args.json,
            Self::Show(args) => args.json,
            Self::Diff(args) => args.json,
            Self::Restore(args) => args.json,
            Self::Undo(args) => args.json,
            Self::Resume(args) => args.restore.json,
            Self::Abort(args) => args.restore.json,
            Self::Fork(args) => args.json,
            Self::Export(args) => args.json,
            Self::Import(args) => args.json,
            Self::Verify(args) => args.json,
            Self::Log(args) => args.json,
            Self::Prune(args) => args.json,
            Self::Replicate(args) => args.json,
            Self::Pin(args) | Self::Unpin(args) => args.json,
            Self::Rebuild(args) => args.json,
            Self::Doctor(args) => args.json,
            Self::Init(args) => args.json,
            Self::Hook(args) => args.action.json(),
            Self::Completions(args) => args.json,
            Self::Man(args) => args.json,
            Self::Launch(_)
            | Self::Exec(_)
            | Self::Mcp(_)
            | Self::Ui(_)
            | Self::Screen(_)
            | Self::AgentThere(_)
            | Self::Lifeline(_)
            | Self::Complete(_)
            | Self::Checkpoints(_)
            | Self::Replicating(_) => false,
        }
    }
}

/// The bare definition under its own name, without the layout that [`command_for`] adds.
fn bare() -> Command {
    RecoveryArgs::command()
}

/// What clap found, as types.
///
/// # Errors
/// When the matches were made by another command.
fn typed(matches: &ArgMatches) -> Result<RecoveryArgs, clap::Error> {
    RecoveryArgs::from_arg_matches(matches)
}
