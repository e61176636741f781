//! `begin`: the first moment of a session, for a launcher that starts the agent itself.

use crate::cli::args::BeginArgs;
use crate::cli::context::Context;
use crate::cli::document::{BeginDocument, Head};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::session_begin::{begin_instance, warn_about, warn_of_absent};
use crate::cli::view;
use crate::cli::{checkpoint_timer, contract_args, replication};
use crate::config::Mode;
use crate::process;
use crate::session::{Allowed, ensure_outside_session};

pub(super) fn run(context: &Context<'_>, args: &BeginArgs) -> Result<Status, CliError> {
    let asking = contract_args::Asking {
        verb: "begin",
        command: &[],
        is_shown: context.terminal.takes_notes(),
    };
    let contract = contract_args::contract(context, &args.scope, &asking)?;
    if contract.snapshot.mode == Mode::Off {
        return Err(
            CliError::new(ErrorKind::Config, "the mode is off, so there is nothing to begin")
                .hint("give --snapshot project, or set snapshot in the [recovery] table"),
        );
    }
    let keeper = match args.pid {
        None => None,
        Some(pid) => Some(
            process::reference(pid)
                .ok_or_else(|| CliError::new(ErrorKind::Usage, format!("there is no process {pid}")))?,
        ),
    };
    let store = context.store_for_writing()?;
    ensure_outside_session(&store, context.environment, Allowed::Nothing)?;
    let width = context.terminal.width_err();
    context.terminal.note(&view::contract::contract(&contract, width));
    warn_of_absent(context, &contract);
    let begun = begin_instance(context, &store, &contract, keeper, None, None)?;
    warn_about(context, &begun);
    replication::behind(context, &store);
    if let Some(interval) = args.scope.checkpoint_every.filter(|_| begun.baseline.is_some())
        && let Err(error) = checkpoint_timer::leave(context, &begun.instance, interval)
    {
        context
            .terminal
            .warn(&format!("no checkpoints are taken by themselves: {error}"));
    }
    let id = begun.instance.to_string();
    let record = begun.baseline.as_ref().map(|captured| &captured.record);
    if args.json {
        context.terminal.json(&BeginDocument {
            head: Head::default(),
            instance: id,
            baseline: record.map(|record| record.id.to_string()),
            complete: record.map(|record| record.complete),
        });
    } else {
        context.terminal.out(&id);
        context.propose("when the agent is done", &format!("end {id}"));
    }
    Ok(ExitCode::Done.into())
}
