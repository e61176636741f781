//! `export`: a snapshot as a file that can be carried elsewhere.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::values::{some_path, some_text};

/// Arguments of `export`.
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// The session: an id or its prefix, a workspace, a container, or @latest
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// The file to write; it must not exist
    #[arg(value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath)]
    pub file: OsString,
    /// The snapshot: a kind, a checkpoint's name, or an id or its prefix; without it the baseline
    #[arg(long, value_name = "SNAP", value_parser = some_text())]
    pub from: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
