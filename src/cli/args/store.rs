//! `verify`, `log`, `prune`, `pin`, `unpin`, `rebuild`: the store itself.

use clap::Args;

use super::values::{Unlock, some_text};

/// Arguments of `verify`.
#[derive(Clone, Debug, Args)]
pub struct VerifyArgs {
    /// Read and check every stored byte, not only that everything is there
    #[arg(long)]
    pub read_data: bool,
    /// What opens what is encrypted.
    #[command(flatten)]
    pub unlock: Unlock,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `log`.
#[derive(Clone, Debug, Args)]
pub struct LogArgs {
    /// Only of this session: an id or its prefix, a workspace, a container, or @latest
    #[arg(value_name = "INSTANCE", value_parser = some_text(), conflicts_with = "verify")]
    pub instance: Option<String>,
    /// Check that no receipt was changed, removed or moved
    #[arg(long)]
    pub verify: bool,
    /// Print the head of the chain, to keep it elsewhere; with HEAD, check that the chain still continues it
    #[arg(long, value_name = "HEAD", num_args = 0..=1, default_missing_value = "", require_equals = false)]
    pub anchor: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `prune`.
#[derive(Clone, Debug, Args)]
pub struct PruneArgs {
    /// Print what would go and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Only forget, and do not remove, what was frozen for this snapshot outside of the store: its cluster or disk is gone for good.
    /// An id or its prefix
    #[arg(long, value_name = "SNAP", value_parser = some_text())]
    pub forget: Option<String>,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `pin` and `unpin`.
#[derive(Clone, Debug, Args)]
pub struct PinArgs {
    /// The session: an id or its prefix, a workspace, a container, or @latest
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// Only this snapshot: a kind, a checkpoint's name, or an id or its prefix; without it the whole session
    #[arg(value_name = "SNAP", value_parser = some_text())]
    pub snapshot: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `rebuild`.
#[derive(Clone, Debug, Args)]
pub struct RebuildArgs {
    /// When receipts are hurt or lost of which the catalog has no copy, or records are gone: go on with what is whole, and give up
    /// the rest
    #[arg(long)]
    pub accept_loss: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
