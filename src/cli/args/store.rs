//! `verify`, `log`, `rebuild`: the store itself.

use clap::Args;

use super::values::Unlock;

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
    /// Check that no receipt was changed or removed
    #[arg(long)]
    pub verify: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `rebuild`.
#[derive(Clone, Debug, Args)]
pub struct RebuildArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
