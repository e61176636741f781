//! `launch`: contract, baseline, the command as an instance, closing snapshot, and what changed.

mod deferred_baseline;

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, Scope, some_path};
use crate::cli::checkpoint_timer::{self, Taken};
use crate::cli::child::{checked, start, status};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::named_file::{Kind, Output};
use crate::cli::retain::by_the_rules;
use crate::cli::schema::Document;
use crate::cli::session_begin::{tell_notes, warn_about, warn_of_absent, warn_of_unsteady};
use crate::cli::session_changes;
use crate::cli::steadfast::Steadfast;
use crate::cli::view;
use crate::cli::{contract_args, replication};
use crate::config::{Mode, OnFailure, settle};
use crate::model::{Ending, ProcessRef};
use crate::process::{self, Ended, Exit, INSTANCE_VARIABLE};
use crate::recovery::{Begun, Closed, Contract, NewSession, RecoveryError, Services, Store};
use crate::report::{Head, ReportDocument};
use crate::terminal::{sanitize, size};

/// Run a command in a session that you can undo
#[derive(Clone, Debug, Args)]
pub struct LaunchArgs {
    /// Directories to protect.
    #[command(flatten)]
    pub scope: Scope,
    /// Write a JSON report of the session to FILE (- for stdout); replaces only an earlier report
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath)]
    pub report: Option<OsString>,
    /// The command and its arguments
    #[arg(last = true, required = true, num_args = 1.., value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

impl Command for LaunchArgs {
    const NAME: &'static str = "launch";
    const GROUP: Option<Group> = Some(Group::Sessions);
    const LONG: &'static str = "\
        Prints the contract, takes the baseline, runs CMD in the current directory, takes the closing snapshot, and \
        prints what changed and how to undo it. Exits with the status of CMD, or with 128+N if signal N ended it. \
        Before CMD runs: 2 if the command line or the configuration is wrong, 126 if CMD cannot be executed, 127 if \
        it is not found, 125 if anything else fails.";
    const EXAMPLES: &'static [Example] = &[
        (
            "Without any configuration:",
            "jackin recovery launch --snapshot project . -- claude",
        ),
        (
            "For the configured workspace shop:",
            "jackin recovery launch shop -- codex --full-auto",
        ),
        (
            "Exclude build output:",
            "jackin recovery launch --snapshot project --exclude target/ . -- make",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<ReportDocument>("report")];
    const READS_CONFIG: bool = true;

    fn exit_code(&self, kind: ErrorKind) -> ExitCode {
        kind.launch_code()
    }

    fn run(&self, mut context: Context<'_>) -> Result<Status, CliError> {
        run(&mut context, self)
    }
}

pub(super) fn run(context: &mut Context<'_>, args: &LaunchArgs) -> Result<Status, CliError> {
    let asking = contract_args::Asking {
        verb: "launch",
        command: &args.command,
        is_shown: context.terminal.takes_notes(),
    };
    let contract = contract_args::contract(context, &args.scope, &asking)?;
    // A mistyped command is no session: nothing is captured for it.
    let (program, arguments) = checked(context, &args.command)?;
    let tell = |context: &Context<'_>| {
        let width = context.terminal.width_err();
        context.terminal.note(&view::contract::contract(&contract, width));
    };
    if contract.snapshot.mode == Mode::Off {
        tell(context);
        let running = start(context, program, arguments, &[])?;
        return Ok(status(running.wait()?.exit));
    }
    // What refuses comes before the contract: nobody looks for a reason above a screen of text.
    let report = args.report.as_ref();
    let report = report
        .map(|file| Output::settle(context, file, Kind::Report))
        .transpose()?;
    let store = context.store_for_writing();
    if let Ok(store) = &store {
        context.engine().ensure_outside_in(store)?;
    }
    tell(context);
    let store = match store {
        Ok(store) => store,
        Err(error) if contract.on_failure.value == OnFailure::Run => {
            let what = "the command runs without protection and cannot be undone";
            context.terminal.warn(&format!("{what}: {}", error.message));
            let running = start(context, program, arguments, &[])?;
            return Ok(status(running.wait()?.exit));
        }
        Err(error) => return Err(error),
    };
    warn_of_absent(context, &contract);
    say_where(context, &contract);
    say_who_else(context, &store, &contract)?;
    let name = Path::new(program).file_name().unwrap_or(program);
    let count = u32::try_from(arguments.len()).unwrap_or(u32::MAX);
    let command = Some((name.to_string_lossy().into_owned(), count));
    let keeper = process::reference(std::process::id());
    let session = NewSession {
        keeper,
        command,
        ..NewSession::from(&contract)
    };
    let mut begun = context.engine().begin_in(&store, &session)?;
    if begun.behind.is_none() {
        warn_about(context, &begun);
        replication::behind(context, &store);
    }
    let variable = (
        OsString::from(INSTANCE_VARIABLE),
        OsString::from(begun.instance.as_str()),
    );
    let environment = context.environment;
    let (terminal, noted) = (context.terminal, context.interrupts.noted());
    let mut held = None;
    let mut taken = Taken::default();
    let mut frozen = begun.behind.take();
    let every = args.scope.checkpoint_every;
    let every = every.filter(|_| frozen.is_some() || begun.baseline.is_some());
    let is_slow = frozen.as_ref().is_some_and(|frozen| frozen.paper().is_slow());
    let now = AtomicBool::new(true);
    let mut closed = None;
    let started = start(context, program, arguments, &[variable]).map(|running| {
        let desk = deferred_baseline::CaptureEnv {
            store: &store,
            environment,
            terminal,
            noted: &noted,
        };
        deferred_baseline::beside((desk, &begun.instance), frozen.take(), |is_ready| {
            // From the command's end on no signal cancels the closing snapshot: a terminal that goes away sends several.
            let wait = || {
                let (ended, holding) = running.wait_and_hold_back();
                held = holding;
                ended
            };
            let ended = match every {
                None => wait(),
                Some(interval) => {
                    // A baseline that is not to be seen for an hour is the first all the same.
                    let begins = if is_slow { &now } else { is_ready };
                    let (ended, beside) = checkpoint_timer::beside(
                        &store,
                        environment,
                        &begun.instance,
                        (interval, begins),
                        wait,
                    );
                    taken = beside;
                    ended
                }
            };
            // A cluster may take much longer than the command: what is changed until then is not the session's.
            if let (true, Ok(ended)) = (is_slow, &ended) {
                closed = Some(deferred_baseline::close_now(
                    desk,
                    &begun.instance,
                    ending(ended),
                    &ended.survivors,
                ));
            }
            ended
        })
    });
    let (ended, stored) = match started {
        Ok(done) => done,
        Err(error) => {
            // The session is recorded with its beginning, as it is when nothing is frozen.
            deferred_baseline::here(context, &store, &mut begun, frozen);
            let failed = Ending::Failed(error.message.clone());
            close(context, &store, &begun, failed, Vec::new());
            return Err(error);
        }
    };
    deferred_baseline::take_over(context, &mut begun, stored);
    // Its end cannot be told, so nobody may record that it was seen.
    let ended = ended?;
    for failure in &taken.failures {
        let failure = sanitize::text(failure);
        context
            .terminal
            .warn(&format!("a checkpoint could not be taken: {failure}"));
    }
    if taken.count > 0 {
        let count = size::counted(taken.count, "checkpoint was", "checkpoints were");
        context
            .terminal
            .detail(&format!("{count} taken while the command ran"));
    }
    let closed = match closed {
        Some(done) => tell_closed(context, &begun, done),
        None => close(context, &store, &begun, ending(&ended), ended.survivors.clone()),
    };
    drop(held);
    tell_end(context, report.as_ref(), &store, &begun, closed, &ended);
    by_the_rules(context, &store, &begun.instance);
    replication::at_the_end(context, &store);
    Ok(status(ended.exit))
}

fn ending(ended: &Ended) -> Ending {
    match ended.exit {
        Exit::Code(code) => Ending::Status(code),
        Exit::Signal(signal) => Ending::Signal(signal),
    }
}

/// The command runs where the operator is, which need not be where files are kept.
fn say_where(context: &Context<'_>, contract: &Contract) {
    let here = settle(&context.environment.current);
    let mut roots = contract
        .coverages()
        .map(|coverage| coverage.root.to_path())
        .peekable();
    if roots.peek().is_some() && !roots.any(|root| here.starts_with(root)) {
        context.terminal.note(&format!(
            "running in {}, which is not protected",
            sanitize::path(&here)
        ));
    }
}

/// Another live session on the same files is no reason to stop, but the operator must know.
fn say_who_else(context: &Context<'_>, store: &Store, contract: &Contract) -> Result<(), CliError> {
    for id in context.engine().active_beside(store, contract)? {
        context.terminal.warn(&format!(
            "{id} is also active here; files that both change are reported as conflicts"
        ));
    }
    Ok(())
}

/// Ends the instance. Nothing that goes wrong here may hide how the command ended.
fn close(
    context: &Context<'_>,
    store: &Store,
    begun: &Begun,
    ending: Ending,
    survivors: Vec<ProcessRef>,
) -> Option<Closed> {
    let world = context.world();
    let steadfast = Steadfast::new(Some(world.observer), context.terminal, context.interrupts.noted());
    let world = Services {
        observer: &steadfast,
        ..world
    };
    let engine = context.engine().with_services(world);
    let done = engine.close(store, &begun.instance, ending, survivors);
    tell_closed(context, begun, done)
}

/// Says how the end went.
fn tell_closed(context: &Context<'_>, begun: &Begun, done: Result<Closed, RecoveryError>) -> Option<Closed> {
    match done {
        Ok(closed) => {
            if let Some(error) = &closed.error {
                let meaning = match (&begun.baseline, begun.waits) {
                    (Some(_), _) => "a restore treats every change as a possible later edit",
                    (None, true) => {
                        "once its baseline is stored a restore treats every change as a possible later edit"
                    }
                    (None, false) => "there is no baseline either, so nothing can be restored",
                };
                context
                    .terminal
                    .warn(&format!("the closing snapshot failed ({error}); {meaning}"));
            }
            if let Some(captured) = &closed.closing {
                let id = &captured.record.id;
                context
                    .terminal
                    .detail(&format!("closing snapshot {id} of {} is stored", begun.instance));
            }
            Some(closed)
        }
        Err(error) => {
            context
                .terminal
                .warn(&format!("the session's end could not be recorded: {error}"));
            None
        }
    }
}

fn tell_end(
    context: &Context<'_>,
    report: Option<&Output>,
    store: &Store,
    begun: &Begun,
    closed: Option<Closed>,
    ended: &Ended,
) {
    let closing = closed.and_then(|closed| closed.closing);
    if let Some(closing) = &closing {
        warn_of_unsteady(context, &closing.record);
        tell_notes(context, Some(closing));
    }
    let changed = context
        .engine()
        .changes(store, &begun.instance, closing.as_ref())
        .map_err(CliError::from);
    let changed = match changed {
        Ok(changed) => changed,
        Err(error) => {
            context
                .terminal
                .warn(&format!("cannot compute the changes: {error}"));
            return;
        }
    };
    if !ended.survivors.is_empty() {
        let pids: Vec<String> = ended
            .survivors
            .iter()
            .map(|process| process.pid.to_string())
            .collect();
        context.terminal.warn(&format!(
            "processes of the session are still running ({}); the closing snapshot does not have their later changes",
            pids.join(", ")
        ));
    }
    if !begun_without_files(begun) {
        let width = context.terminal.width_err();
        let screen = session_changes::screen(&changed, context, &begun.instance, width);
        // The first line is the result, which a quiet launch tells too.
        let (head, more) = screen.split_once('\n').unwrap_or((&screen, ""));
        context.terminal.err(head);
        if !more.is_empty() {
            context.terminal.note(more);
        }
    }
    let Some(report) = report else { return };
    let baseline = begun.baseline.as_ref().map(|captured| &captured.record);
    let closing = closing.as_ref().map(|captured| &captured.record);
    let (exit_code, signal) = match ended.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
    };
    let document = ReportDocument {
        head: Head::default(),
        written_by: ReportDocument::AUTHOR,
        instance: begun.instance.to_string(),
        exit_code,
        signal,
        baseline: baseline.map(|record| record.id.to_string()),
        closing: closing.map(|record| record.id.to_string()),
        complete: baseline.is_some_and(|record| record.complete)
            && closing.is_some_and(|record| record.complete),
        survivors: ended.survivors.iter().map(|process| process.pid).collect(),
        changes: session_changes::documents(&changed),
        undo: context.command(&format!("restore {}", begun.instance)),
    };
    if let Err(error) = report.write_document(context, &document) {
        let why = error.causes.join(": ");
        context.terminal.warn(&format!("{error}: {why}"));
    }
}

fn begun_without_files(begun: &Begun) -> bool {
    begun.baseline.is_none() && begun.baseline_error.is_none() && !begun.waits
}
