//! `checkpoint`, `restore`, `undo`: marking a moment, and going back to one.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::values::{Mtimes, Unlock, some_path, some_text};

/// Arguments of `checkpoint`.
#[derive(Clone, Debug, Args)]
pub struct CheckpointArgs {
    /// The session; inside one it may be left out
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// A name to find it by: letters, digits, `_`, `.` and `-`
    #[arg(long, value_name = "NAME", value_parser = some_text())]
    pub name: Option<String>,
    /// What this moment is
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `restore`.
#[derive(Clone, Debug, Args)]
pub struct RestoreArgs {
    /// The session: an id or its prefix, a workspace, a container, or @latest
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// Only these paths and what lies below them
    #[arg(value_name = "PATH", value_parser = some_path(), value_hint = ValueHint::AnyPath)]
    pub paths: Vec<OsString>,
    /// Print the plan and stop
    #[arg(long)]
    pub dry_run: bool,
    /// With --dry-run: show the lines that would be taken back
    #[arg(long, requires = "dry_run", conflicts_with_all = ["json", "to"])]
    pub patch: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// The snapshot to go back to: a kind, a checkpoint's name, or an id or its prefix; without it the baseline
    #[arg(long, value_name = "SNAP", value_parser = some_text())]
    pub from: Option<String>,
    /// Take back one step alone: what changed from the snapshot before this one to it; later steps stay
    #[arg(long, value_name = "SNAP", value_parser = some_text(), conflicts_with_all = ["from", "to"])]
    pub only_changes_of: Option<String>,
    /// Write into this directory instead, absent or empty; or into a new claim or volume (k8s-pvc://…, which is
    /// made when it is not there; docker-volume://…)
    #[arg(long, value_name = "DIR", value_parser = some_path(), value_hint = ValueHint::DirPath,
          conflicts_with_all = ["overwrite_later_edits", "delete_later_files", "set_aside_excluded"])]
    pub to: Option<OsString>,
    /// Replace also what was edited after the session
    #[arg(long)]
    pub overwrite_later_edits: bool,
    /// Delete also what was created after the session
    #[arg(long)]
    pub delete_later_files: bool,
    /// Move this excluded directory away, undoably; it is in no snapshot (repeatable)
    #[arg(long, value_name = "DIR", value_parser = some_path(), value_hint = ValueHint::DirPath)]
    pub set_aside_excluded: Vec<OsString>,
    /// Leave out what is git's own: HEAD, branches, index, hooks, configuration, objects
    #[arg(long)]
    pub files_only: bool,
    /// Times of files whose content is put back: `now`, so that build tools notice, or `exact`, as recorded
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        hide_possible_values = true,
        default_value_t
    )]
    pub mtimes: Mtimes,
    /// What opens what is encrypted.
    #[command(flatten)]
    pub unlock: Unlock,
    /// Refuse a snapshot that lacks anything
    #[arg(long)]
    pub require_complete: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Which interrupted restore, and how.
#[derive(Clone, Debug, Args)]
pub struct WaitingArgs {
    /// The session; without it the one whose restore was interrupted
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// Print what the restore does and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `resume`.
#[derive(Clone, Debug, Args)]
pub struct ResumeArgs {
    /// Which restore, and how.
    #[command(flatten)]
    pub restore: WaitingArgs,
    /// What opens what is encrypted.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// Arguments of `abort`: those of `resume`, and another way out.
#[derive(Clone, Debug, Args)]
pub struct AbortArgs {
    /// Which restore, and how.
    #[command(flatten)]
    pub restore: WaitingArgs,
    /// Take nothing back: leave every path as it is now, and forget the restore
    #[arg(long)]
    pub as_is: bool,
}

/// Arguments of `undo`.
#[derive(Clone, Debug, Args)]
pub struct UndoArgs {
    /// The session; without it the one that was restored last
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// Take back the restore with this number in `log`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub receipt: Option<u64>,
    /// Print the plan and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Replace also what was edited after the restore
    #[arg(long)]
    pub overwrite_later_edits: bool,
    /// Delete also what was created after the restore
    #[arg(long)]
    pub delete_later_files: bool,
    /// What opens what is encrypted.
    #[command(flatten)]
    pub unlock: Unlock,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
