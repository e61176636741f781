//! `import`: a session from a file that `export` wrote.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::values::some_path;

/// Arguments of `import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// The file, as `export` wrote it
    #[arg(value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath)]
    pub file: OsString,
    /// Keep owners, set-user-id and set-group-id bits, capabilities and other attributes, inode flags and devices
    #[arg(long)]
    pub trust: bool,
    /// Print what it is and what would be dropped, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
