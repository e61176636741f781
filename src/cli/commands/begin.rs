//! `begin`: the first moment of a session, for a launcher that starts the agent itself.

use clap::Args;

use crate::cli::args::{Example, Group, Scope, positive};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::session_begin::{say_who_else, warn_about};
use crate::cli::{checkpoint_timer, contract_args, replication};
use crate::config::Mode;
use crate::process;
use crate::recovery::{NewSession, StartedSession};
use crate::report::{BeginDocument, Head};

/// Start a session for a command you run yourself
#[derive(Clone, Debug, Args)]
pub struct BeginArgs {
    /// Directories to protect.
    #[command(flatten)]
    pub scope: Scope,
    /// End the session when this process exits
    ///
    /// Without it the session is active until `end` or a reboot.
    #[arg(long, value_name = "PID", value_parser = positive::<u32>)]
    pub pid: Option<u32>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for BeginArgs {
    const NAME: &'static str = "begin";
    const GROUP: Option<Group> = Some(Group::Sessions);
    const LONG: &'static str = "\
        Prints the contract, takes the baseline, and prints the id of the session. Start the agent yourself and pass \
        it the id in JACKIN_RECOVERY_INSTANCE.";
    const EXAMPLES: &'static [Example] = &[
        (
            "Until process 4711 exits:",
            "jackin recovery begin --snapshot project --pid 4711 .",
        ),
        ("Until `end`:", "id=$(jackin recovery begin shop)"),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<BeginDocument>("begin")];
    const READS_CONFIG: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let asking = contract_args::Asking {
            verb: "begin",
            command: &[],
            implied: None,
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
        contract_args::save(context, &store, &begun.instance, (&contract, asking.is_shown));
        if let Err(error) = say_who_else(context, &store, &contract, Some(&begun.instance)) {
            // The session has begun, and its id is yet to be printed.
            context.terminal.warn(&error.message);
        }
        warn_about(context, &begun, true);
        replication::behind(context, &store);
        if let Some(interval) = args.scope.checkpoint_every.filter(|_| begun.baseline.is_some())
            && let Err(error) = checkpoint_timer::leave(context, &begun.instance, interval)
        {
            context
                .terminal
                .warn(&format!("no automatic checkpoints: {error}"));
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
}
