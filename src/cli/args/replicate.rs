//! `replicate`: the store's copy in an object store.

use clap::Args;

/// Arguments of `replicate`.
#[derive(Clone, Debug, Args)]
pub struct ReplicateArgs {
    /// Print what waits and stop; nothing is asked of the object store
    #[arg(long)]
    pub dry_run: bool,
    /// Give this store another name there first: for a jackin home that was copied from another machine
    #[arg(long, conflicts_with = "dry_run")]
    pub new_store: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of the hidden verb that a snapshot leaves behind.
#[derive(Clone, Debug, Args)]
pub struct ReplicatingArgs {}
