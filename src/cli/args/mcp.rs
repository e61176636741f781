//! `mcp`: the tools that an agent calls.

use clap::Args;

use super::values::some_text;

/// Arguments of `mcp`.
#[derive(Clone, Debug, Args)]
pub struct McpArgs {
    /// The session that the tools act on; without it the one that the agent runs in
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// Offer only the tools that read
    #[arg(long)]
    pub read_only: bool,
}
