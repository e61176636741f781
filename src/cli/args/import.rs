//! `import`: a session from a file that `export` wrote, or all of them from the copy of a store.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::values::{some_path, some_text};

/// Arguments of `import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// The file, as `export` wrote it
    #[arg(
        value_name = "FILE",
        value_parser = some_path(),
        value_hint = ValueHint::FilePath,
        required_unless_present = "from",
        conflicts_with = "from"
    )]
    pub file: Option<OsString>,
    /// Bring back all sessions from the copy of a store: s3://bucket/prefix, as `replicate` names it
    #[arg(long, value_name = "PLACE", value_parser = some_text(), requires = "identity")]
    pub from: Option<String>,
    /// The private key, of age or ssh, that belongs to one of the recipients of the copy
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath, requires = "from")]
    pub identity: Option<OsString>,
    /// Which store, where several were copied to one place
    #[arg(long, value_name = "STORE", value_parser = some_text(), requires = "from")]
    pub store: Option<String>,
    /// Refuse a copy whose receipts do not continue HEAD, which `log --anchor` printed on the other machine
    #[arg(long, value_name = "HEAD", value_parser = some_text(), requires = "from")]
    pub anchor: Option<String>,
    /// Keep owners, set-user-id and set-group-id bits, capabilities and other attributes, inode flags and devices; with --from the sessions
    /// are this machine's own
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
