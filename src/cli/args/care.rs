//! `doctor`, `init`: looking after the whole, and turning it on.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::values::{SnapshotMode, some_path};

/// Arguments of `doctor`.
#[derive(Clone, Copy, Debug, Args)]
pub struct DoctorArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `init`.
#[derive(Clone, Debug, Args)]
pub struct InitArgs {
    /// A workspace, or a directory in its mount (with a `/`, `.` or `..`); without it the current directory
    #[arg(value_name = "TARGET", value_parser = some_path(), value_hint = ValueHint::AnyPath)]
    pub target: Option<OsString>,
    /// What is captured: off, metadata or project [default: project]
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true)]
    pub snapshot: Option<SnapshotMode>,
    /// Show what would be added and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
