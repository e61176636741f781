//! `fork`: a snapshot into a directory of its own.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::values::{Unlock, some_path, some_text};

/// Write a snapshot to a new directory to work in
#[derive(Clone, Debug, Args)]
pub struct ForkArgs {
    /// The session: an id or its prefix, a name, a workspace, a container, or @latest or @1, @2 to count back; or a fork: its id or
    /// branch, or the line that `fork` printed [default: the latest that covers the current directory]
    #[arg(value_name = "INSTANCE", value_parser = some_path())]
    pub instance: Option<OsString>,
    /// The directory to write, absent or empty [default: a new one below data/forks in jackin's home]
    #[arg(value_name = "DIR", value_parser = some_path(), value_hint = ValueHint::DirPath)]
    pub directory: Option<OsString>,
    /// Choose among the sessions of all directories
    #[arg(long)]
    pub any: bool,
    /// The snapshot: a kind, `latest`, a checkpoint's name or number, or an id or its prefix [default: the baseline]
    #[arg(long, value_name = "SNAP", value_parser = some_text())]
    pub from: Option<String>,
    /// Name the fork: letters, digits, `_`, `.` and `-`; unique among the forks of the session
    #[arg(long, value_name = "NAME", value_parser = some_text())]
    pub branch: Option<String>,
    /// Keys that open encrypted files.
    #[command(flatten)]
    pub unlock: Unlock,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
