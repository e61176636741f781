//! `explain`, `launch`, `begin`, `end`: around a session.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::values::{OnFailure, SnapshotMode, duration, some_path, some_text};

/// What is protected, and how: the same for `explain`, `launch` and `begin`, so that the first tells what the others do.
#[derive(Clone, Debug, Default, Args)]
pub struct Scope {
    /// A directory, a workspace, or a container of jackin's
    ///
    /// With a `/`, or `.` or `..`, it is a directory; anything else is the name of a workspace, or of a container of jackin's (or
    /// jackin's id of it), whose workspace is meant. Without it the current directory
    /// must lie in a configured mount.
    #[arg(value_name = "TARGET", value_parser = some_path(), value_hint = ValueHint::DirPath)]
    pub target: Option<OsString>,
    /// How much is captured
    ///
    /// Needed for a directory that has no configuration.
    #[arg(long, value_enum, value_name = "MODE")]
    pub snapshot: Option<SnapshotMode>,
    /// Leave out what matches, in gitignore syntax (may be repeated)
    ///
    /// What is left out is not captured, and no restore touches it.
    #[arg(long, value_name = "GLOB", value_parser = some_text())]
    pub exclude: Vec<String>,
    /// Cover only this directory below the mounts (may be repeated)
    #[arg(long, value_name = "DIR", value_parser = some_path(), value_hint = ValueHint::DirPath)]
    pub path: Vec<OsString>,
    /// Allow `/`, the home directory, or a mount that holds the store
    #[arg(long)]
    pub allow_broad: bool,
    /// What to do when the baseline cannot be taken
    ///
    /// Without it, what the configuration says, else `block`.
    #[arg(long, value_enum, value_name = "ACTION")]
    pub on_failure: Option<OnFailure>,
    /// Take a checkpoint each time this long has passed and something changed: 30s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub checkpoint_every: Option<Duration>,
}

/// Arguments of `explain`.
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// What is protected.
    #[command(flatten)]
    pub scope: Scope,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `launch`.
#[derive(Clone, Debug, Args)]
pub struct LaunchArgs {
    /// What is protected.
    #[command(flatten)]
    pub scope: Scope,
    /// Write a report of the session to FILE, as JSON; it replaces only such a report; - prints it
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath)]
    pub report: Option<OsString>,
    /// The command and its arguments, taken as they are
    #[arg(last = true, required = true, num_args = 1.., value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// Arguments of `exec`.
#[derive(Clone, Debug, Args)]
pub struct ExecArgs {
    /// The session: an id or its prefix, a workspace, a container, or @latest
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// The command and its arguments, taken as they are
    #[arg(last = true, required = true, num_args = 1.., value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// Arguments of `begin`.
#[derive(Clone, Debug, Args)]
pub struct BeginArgs {
    /// What is protected.
    #[command(flatten)]
    pub scope: Scope,
    /// The process whose life is the session's
    ///
    /// Without it the session is active until `end` or until the machine is started anew.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `end`.
#[derive(Clone, Debug, Args)]
pub struct EndArgs {
    /// The session: an id or its prefix, a workspace, a container, or @latest
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
