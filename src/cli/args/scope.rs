//! Arguments for the protected directories, which `explain`, `launch` and `begin` share.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::values::{OnFailure, SnapshotMode, duration, some_path, some_text};

/// Directories to protect, and how. `explain`, `launch` and `begin` share them, so that the first shows what the others do.
#[derive(Clone, Debug, Default, Args)]
pub struct Scope {
    /// A directory, a workspace or a jackin container
    ///
    /// A directory must contain `/`, or be `.` or `..`. Anything else names a workspace, or a jackin container
    /// by its name or id [default: the workspace of the current directory, else that directory].
    #[arg(value_name = "TARGET", value_parser = some_path(), value_hint = ValueHint::DirPath)]
    pub target: Option<OsString>,
    /// Set how much to capture
    ///
    /// Without it and without a configured mode, `launch` uses `project`, and no other command records anything.
    #[arg(long, value_enum, value_name = "MODE")]
    pub snapshot: Option<SnapshotMode>,
    /// Exclude matching paths, in gitignore syntax (may be repeated)
    ///
    /// Excluded paths are never captured or restored.
    #[arg(long, value_name = "GLOB", value_parser = some_text())]
    pub exclude: Vec<String>,
    /// Capture only this directory below the mounts (may be repeated)
    ///
    /// It is relative to each mount, not to the current directory.
    #[arg(long, value_name = "DIR", value_parser = some_path(), value_hint = ValueHint::DirPath)]
    pub path: Vec<OsString>,
    /// Allow `/`, the home directory, or a mount that holds the store
    #[arg(long)]
    pub allow_broad: bool,
    /// Set what happens if the baseline fails
    ///
    /// The default is the value in the configuration, else `block`.
    #[arg(long, value_enum, value_name = "ACTION")]
    pub on_failure: Option<OnFailure>,
    /// Take a checkpoint at this interval if something changed: 30s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub checkpoint_every: Option<Duration>,
}
