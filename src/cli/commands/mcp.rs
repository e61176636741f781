//! `mcp`: a server for the agent that started it, until its standard input ends.

#[cfg(feature = "mcp")]
mod server;

use clap::Args;

use crate::cli::args::{Example, Group, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::Status;
#[cfg(not(feature = "mcp"))]
use crate::features::{Feature, NotBuilt};

/// Serve checkpoints to an agent as MCP tools
#[derive(Clone, Debug, Args)]
pub struct McpArgs {
    /// The session that the tools act on [default: the one that the agent runs in]
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// Offer only tools that read
    #[arg(long)]
    pub read_only: bool,
}

impl Command for McpArgs {
    const NAME: &'static str = "mcp";
    const GROUP: Option<Group> = Some(Group::Setup);
    const LONG: &'static str = "\
        Speaks the Model Context Protocol on standard input and output. The tools (snapshot_create, snapshot_list, \
        snapshot_diff, snapshot_restore, snapshot_fork, session_checkpoint, session_checkpoints, session_restore) \
        act only on the session that the agent runs in. If there is none and the workspace has recovery, the first \
        snapshot starts one. If you name another session, the agent can only read it. Restoring and forking need \
        restore = \"checkpoints\" in [recovery.agent]. An agent can restore checkpoints of its own session. It can \
        compare with the baseline and fork it, but not restore it. Each restore takes an emergency snapshot, so \
        `undo` can undo it after the session. The agent must start the server directly, because its process \
        identifies the session. For Claude Code: `claude mcp add --scope user jackin-recovery -- jackin recovery \
        mcp`";
    const EXAMPLES: &'static [Example] = &[
        ("The command for the settings of an agent:", "jackin recovery mcp"),
        (
            "For an agent that should only read:",
            "jackin recovery mcp --read-only",
        ),
    ];

    /// Returns false: an agent waits for the answer.
    fn takes_up_frozen(&self) -> bool {
        false
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        run(&context, self)
    }
}

#[cfg(feature = "mcp")]
pub(super) fn run(context: &Context<'_>, args: &McpArgs) -> Result<Status, CliError> {
    server::run(context, args)
}

#[cfg(not(feature = "mcp"))]
pub(super) fn run(_: &Context<'_>, _: &McpArgs) -> Result<Status, CliError> {
    Err(NotBuilt(Feature::Mcp).into())
}
