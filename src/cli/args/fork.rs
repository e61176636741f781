//! `fork`: a snapshot into a directory of its own.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::values::{Unlock, some_path, some_text};

/// Write a snapshot to a new directory to work in
#[derive(Clone, Debug, Args)]
pub struct ForkArgs {
    /// The session: an id or its prefix, a workspace, a container, or @latest; or what `fork` printed before
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// Where to; it must be absent or empty. Without it a new directory below data/forks in jackin's home
    #[arg(value_name = "DIR", value_parser = some_path(), value_hint = ValueHint::DirPath)]
    pub directory: Option<OsString>,
    /// The snapshot: a kind, a checkpoint's name, or an id or its prefix; without it the baseline
    #[arg(long, value_name = "SNAP", value_parser = some_text())]
    pub from: Option<String>,
    /// What to call this fork: letters, digits, `_`, `.` and `-`; no other fork of the session may be called so
    #[arg(long, value_name = "NAME", value_parser = some_text())]
    pub branch: Option<String>,
    /// What opens what is encrypted.
    #[command(flatten)]
    pub unlock: Unlock,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
