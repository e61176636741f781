//! What is protected: the arguments that `explain`, `launch` and `begin` share.

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
