//! `begin`: the first moment of a session, for a launcher that starts the agent itself.

use crate::cli::args::BeginArgs;
use crate::cli::context::Context;
use crate::cli::document::{BeginDocument, Head};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::session_begin::warn_about;
use crate::cli::{checkpoint_timer, contract_args, replication};
use crate::config::Mode;
use crate::process;
use crate::recovery::{NewSession, StartedSession};

pub(super) fn run(context: &Context<'_>, args: &BeginArgs) -> Result<Status, CliError> {
    let asking = contract_args::Asking {
        verb: "begin",
        command: &[],
        is_shown: context.terminal.takes_notes(),
    };
    let contract = contract_args::contract(context, &args.scope, &asking)?;
    let keeper = match args.pid {
        Some(pid) if contract.snapshot.mode != Mode::Off => Some(
            process::reference(pid)
                .ok_or_else(|| CliError::new(ErrorKind::Usage, format!("there is no process {pid}")))?,
        ),
        _ => None,
    };
    let session = NewSession {
        keeper,
        ..NewSession::from(&contract)
    };
    let StartedSession { store, begun } = context.engine().begin(&session)?;
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
