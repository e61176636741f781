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
    /// The session that the tools act on; without it the one that the agent runs in
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// Offer only the tools that read
    #[arg(long)]
    pub read_only: bool,
}

impl Command for McpArgs {
    const NAME: &'static str = "mcp";
    const GROUP: Option<Group> = Some(Group::Setup);
    const LONG: &'static str = "\
        Speaks the Model Context Protocol on standard input and output, for an agent that starts it. The tools (snapshot_create, \
        snapshot_list, snapshot_diff, snapshot_restore, snapshot_fork, session_checkpoint, session_checkpoints, session_restore) \
        act on the session that the agent runs in, and on no other; where none was begun and the workspace is captured, the first \
        snapshot begins one. A session that is named and that the agent does not run in can only be read. Restoring and forking are \
        offered only where [recovery.agent] restore says \"checkpoints\". What is restored are checkpoints of that session, never its \
        baseline, which can be forked and compared with; each restore has its emergency snapshot, so that `undo` takes it back when \
        the session is over. Let the agent start it directly, for by its process the session is found: \
        `claude mcp add --scope user jackin-recovery -- jackin recovery mcp` tells Claude Code of it.";
    const EXAMPLES: &'static [Example] = &[
        ("What the settings of an agent start:", "jackin recovery mcp"),
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
