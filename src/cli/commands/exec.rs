//! `exec`: a checkpoint of a session, then a command. What an agent's hooks do, for scripts.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use crate::agents::{Effect, of_arguments};
use crate::cli::args::{Example, Group, some_text};
use crate::cli::child::{checked, start, status};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::Status;
use crate::cli::named_session::if_not_active;
use crate::cli::replication::behind;
use crate::cli::retain::by_the_rules;
use crate::config::OnFailure;
use crate::process::INSTANCE_VARIABLE;
use crate::recovery::settings::terms;
use crate::recovery::{CheckpointRequest, InstanceRow};
use crate::terminal::sanitize;

/// Take a checkpoint, then run a command
#[derive(Clone, Debug, Args)]
pub struct ExecArgs {
    /// The session: an id or its prefix, a name, a workspace, a container, or @latest or @1, @2 to count back
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// The command and its arguments
    #[arg(last = true, required = true, num_args = 1.., value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

impl Command for ExecArgs {
    const NAME: &'static str = "exec";
    const GROUP: Option<Group> = Some(Group::Sessions);
    const LONG: &'static str = "\
        Takes no checkpoint if nothing changed since the last snapshot, or if the command only reads. Exits with the \
        status of CMD. If the checkpoint fails, prints a warning and runs CMD anyway, unless [recovery.agent] \
        on_failure is \"block\".";
    const EXAMPLES: &'static [Example] = &[(
        "In a script, after `begin`:",
        "jackin recovery exec \"$id\" -- make generate",
    )];

    fn run(&self, mut context: Context<'_>) -> Result<Status, CliError> {
        run(&mut context, self)
    }
}

pub(super) fn run(context: &mut Context<'_>, args: &ExecArgs) -> Result<Status, CliError> {
    let (program, arguments) = checked(context, &args.command, &context.environment.current)?;
    let (store, row) = context.engine().active_session(&args.instance).map_err(|error| {
        let what = "begin another one around the command";
        if_not_active(error, what, |_| "launch -- COMMAND".to_owned())
    })?;
    let words: Option<Vec<String>> = args
        .command
        .iter()
        .map(|word| word.to_str().map(str::to_owned))
        .collect();
    let may_change = words.is_none_or(|words| of_arguments(&words) == Effect::Changes);
    if may_change {
        let name = sanitize::os(program);
        let message = format!("before {name}");
        let mark = CheckpointRequest {
            message: Some(&message),
            ..CheckpointRequest::default()
        };
        if let Err(error) = context.engine().baseline_or_checkpoint(&store, &row, mark) {
            let error = CliError::from(error);
            if blocks(context, &row) {
                return Err(error.hint("[recovery.agent] on_failure = \"block\": the command was not run"));
            }
            let what = sanitize::text(&error.message);
            context.terminal.warn(&format!("no checkpoint was taken: {what}"));
        }
        by_the_rules(context, &store, &row.id);
        behind(context, &store);
    }
    let variable = (OsString::from(INSTANCE_VARIABLE), OsString::from(row.id.as_str()));
    drop(store);
    let running = start(
        context,
        (program, arguments),
        &[variable],
        &context.environment.current,
    )?;
    Ok(status(running.wait()?.exit))
}

fn blocks(context: &Context<'_>, row: &InstanceRow) -> bool {
    // What is not known any more wants nothing: the command is not held up by a workspace that is gone.
    let terms = terms(context.environment, row).ok().flatten();
    terms.is_some_and(|terms| terms.agent_on_failure.value == OnFailure::Block)
}
