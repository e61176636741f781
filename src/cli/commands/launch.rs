//! `launch`: contract, baseline, the command as an instance, closing snapshot, and what changed.

mod contract_shown;
mod deferred_baseline;
mod workplace;

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, Scope, some_path, some_text};
use crate::cli::checkpoint_timer::{self, Taken};
use crate::cli::child::{checked, start, status};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::context::pending::warn_of_torn;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::named_file::{Kind, Output};
use crate::cli::retain::by_the_rules;
use crate::cli::schema::Document;
use crate::cli::session_begin::{say_who_else, tell_notes, warn_about, warn_of_absent, warn_of_unsteady};
use crate::cli::session_changes;
use crate::cli::steadfast::Steadfast;
use crate::cli::view;
use crate::cli::watcher;
use crate::cli::{contract_args, replication};
use crate::config::{CommandDetail, Mode, OnFailure};
use crate::model::{Ending, ProcessRef, SessionTitle};
use crate::process::{Ended, Exit, INSTANCE_VARIABLE};
use crate::recovery::{
    Begun, Closed, Contract, NewSession, RecoveryError, Services, Store, check_session_name,
};
use crate::report::{Head, ReportDocument};
use crate::terminal::{HIDDEN, Verbosity, sanitize, size};
use settings_redaction::redact_arguments;

use contract_shown::{self as shown, Shown};
use workplace::Workplace;

/// Run a command in a session that you can undo
#[derive(Clone, Debug, Args)]
pub struct LaunchArgs {
    /// Directories to protect.
    #[command(flatten)]
    pub scope: Scope,
    /// Run the command in DIR, or `keep` for the current directory [default: the current directory if it is protected,
    /// else the first protected one]
    #[arg(long, value_name = "DIR", value_parser = some_path(), value_hint = ValueHint::DirPath)]
    pub cwd: Option<OsString>,
    /// Name the session: letters, digits, `_`, `.` and `-`
    #[arg(long, value_name = "NAME", value_parser = some_text())]
    pub name: Option<String>,
    /// Describe the session
    #[arg(short, long, value_name = "TEXT", value_parser = some_text())]
    pub message: Option<String>,
    /// Write a JSON report of the session to FILE (- for stdout); replaces only an earlier report
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath)]
    pub report: Option<OsString>,
    /// The command and its arguments
    #[arg(last = true, required = true, num_args = 1.., value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

impl Command for LaunchArgs {
    const NAME: &'static str = "launch";
    const GROUP: Option<Group> = Some(Group::Daily);
    const LONG: &'static str = "\
        Protects the current directory, or the workspace that it belongs to: prints the contract, takes the baseline, \
        runs CMD there, takes the closing snapshot, and prints what changed and how to undo it. The contract is short \
        when nothing in it changed since the last launch; -v prints all of it. Without a configured mode the mode is \
        `project`. Exits with the status of CMD, or with 128+N if signal N ended it. \
        Before CMD runs: 2 if the command line or the configuration is wrong, 126 if CMD cannot be executed, 127 if \
        it is not found, 125 if anything else fails.";
    const EXAMPLES: &'static [Example] = &[
        (
            "Protect the current directory:",
            "jackin recovery launch -- claude",
        ),
        (
            "Give the session a name:",
            "jackin recovery launch --name fix-login -m again -- claude",
        ),
        (
            "For the configured workspace shop:",
            "jackin recovery launch shop -- codex --full-auto",
        ),
        (
            "Exclude build output:",
            "jackin recovery launch --exclude target/ -- make",
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
        implied: Some(Mode::Project),
        is_shown: context.terminal.takes_notes(),
    };
    let contract = contract_args::contract(context, &args.scope, &asking)?;
    if let Some(name) = &args.name {
        check_session_name(name)?;
    }
    let workplace = Workplace::choose(context, &contract, args.cwd.as_ref())?;
    // A mistyped command is no session: nothing is captured for it.
    let (program, arguments) = checked(context, &args.command, &workplace.path)
        .map_err(|error| of_the_caller(context, &workplace, &args.command, error))?;
    let command = (program, arguments);
    let moved: Vec<_> = workplace.variable().into_iter().collect();
    // What refuses comes before the contract: nobody looks for a reason above a screen of text.
    let report = args.report.as_ref();
    let report = report
        .map(|file| Output::settle(context, file, Kind::Report))
        .transpose()?;
    if contract.snapshot.mode == Mode::Off {
        shown::whole(context, &contract);
        if args.name.is_some() || args.message.is_some() {
            context
                .terminal
                .note("--name and --message have no effect: no session is recorded");
        }
        workplace.report(context, &contract);
        let running = start(context, command, &moved, &workplace.path)?;
        return Ok(unrecorded(context, report.as_ref(), &running.wait()?));
    }
    let store = context.store_for_writing();
    if let Ok(store) = &store {
        context.engine().ensure_outside_in(store)?;
    }
    let shown = Shown::before(context, store.as_ref().ok(), &contract)?;
    let store = match store {
        Ok(store) => store,
        Err(error) if contract.on_failure.value == OnFailure::Run => {
            let what = "the command runs without protection and cannot be undone";
            context.terminal.warn(&format!("{what}: {}", error.message));
            workplace.report(context, &contract);
            let running = start(context, command, &moved, &workplace.path)?;
            return Ok(unrecorded(context, report.as_ref(), &running.wait()?));
        }
        Err(error) => return Err(error),
    };
    warn_of_absent(context, &contract);
    workplace.report(context, &contract);
    say_who_else(context, &store, &contract, None)?;
    let name = Path::new(program).file_name().unwrap_or(program);
    let count = u32::try_from(arguments.len()).unwrap_or(u32::MAX);
    let keeper = context.environment.processes.reference(std::process::id());
    let session = NewSession {
        keeper,
        command: Some((name.to_string_lossy().into_owned(), count)),
        title: title(args, &contract, command),
        ..NewSession::from(&contract)
    };
    let mut begun = context.engine().begin_in(&store, &session)?;
    shown.begun(context, &store, &contract, &begun);
    // A checkpoint of another process finds it there.
    context.engine().settle_copies();
    if begun.baseline.is_some() {
        watcher::leave(context.environment, &contract, &begun.instance);
    }
    if begun.behind.is_none() {
        // Where no files are stored the state of git is all that is recorded.
        let with_git = !contract.snapshot.created || context.terminal.verbosity() == Verbosity::Verbose;
        warn_about(context, &begun, with_git);
        replication::behind(context, &store);
    }
    let variable = (
        OsString::from(INSTANCE_VARIABLE),
        OsString::from(begun.instance.as_str()),
    );
    let variables: Vec<_> = moved.into_iter().chain([variable]).collect();
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
    let started = start(context, command, &variables, &workplace.path).map(|running| {
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
                    (&begun.instance, &begun.lock),
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
    tell_end(
        context,
        report.as_ref(),
        (&store, &contract),
        &begun,
        closed,
        &ended,
    );
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

/// Returns name and message as given, and the arguments where the configuration asks for them.
fn title(
    args: &LaunchArgs,
    contract: &Contract,
    (program, arguments): (&OsString, &[OsString]),
) -> SessionTitle {
    // The program says which of its arguments are passwords.
    let words = [program].into_iter().chain(arguments);
    let arguments = match contract.command.value {
        CommandDetail::Full => {
            let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
            redact_arguments(&words, HIDDEN).split_off(1)
        }
        CommandDetail::Program => Vec::new(),
    };
    SessionTitle {
        name: args.name.clone(),
        message: args.message.clone(),
        arguments,
    }
}

/// Adds to the error of a program that is not in the command's directory, but in the caller's, how to run it there.
fn of_the_caller(
    context: &Context<'_>,
    workplace: &Workplace,
    command: &[OsString],
    error: CliError,
) -> CliError {
    match workplace.is_moved && checked(context, command, &context.environment.current).is_ok() {
        true => error.hint("it is there in the current directory: add --cwd keep to run it there"),
        false => error,
    }
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
    let done = engine.close(store, (&begun.instance, &begun.lock), ending, survivors);
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
    (store, contract): (&Store, &Contract),
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
        Ok(changed) => Some(changed),
        Err(error) => {
            context
                .terminal
                .warn(&format!("cannot compute the changes: {error}"));
            None
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
    if let Some(changed) = changed.as_ref().filter(|_| !begun_without_files(begun)) {
        let width = context.terminal.width_err();
        let row = store.catalog().instance(&begun.instance).ok().flatten();
        let is_torn = row.is_some_and(|row| warn_of_torn(context, store, &row));
        let (head, more) = session_changes::screen(changed, context, &begun.instance, (width, is_torn));
        // A quiet launch tells the result too.
        context.terminal.err(&head);
        if !more.is_empty() {
            context.terminal.note(&more);
        }
        // A command that used the whole screen has wiped what was printed before it.
        for line in view::contract::warnings(contract, width) {
            context.terminal.note(&line);
        }
    }
    let Some(report) = report else { return };
    let baseline = begun.baseline.as_ref().map(|captured| &captured.record);
    let closing = closing.as_ref().map(|captured| &captured.record);
    let has_baseline = baseline.is_some() || begun.waits;
    let document = ReportDocument {
        instance: Some(begun.instance.to_string()),
        baseline: baseline.map(|record| record.id.to_string()),
        closing: closing.map(|record| record.id.to_string()),
        complete: changed.is_some()
            && baseline.is_some_and(|record| record.complete)
            && closing.is_some_and(|record| record.complete),
        changes: changed
            .as_ref()
            .map(session_changes::documents)
            .unwrap_or_default(),
        undo: has_baseline.then(|| context.command(&format!("restore {}", begun.instance))),
        ..report_of(ended)
    };
    write_report(context, report, &document);
}

/// Returns the report of a command without a session.
fn report_of(ended: &Ended) -> ReportDocument {
    let (exit_code, signal) = match ended.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
    };
    ReportDocument {
        head: Head::default(),
        written_by: ReportDocument::AUTHOR,
        instance: None,
        exit_code,
        signal,
        baseline: None,
        closing: None,
        complete: false,
        survivors: ended.survivors.iter().map(|process| process.pid).collect(),
        changes: Vec::new(),
        undo: None,
    }
}

fn write_report(context: &Context<'_>, report: &Output, document: &ReportDocument) {
    if let Err(error) = report.write_document(context, document) {
        let why = error.causes.join(": ");
        context.terminal.warn(&format!("{error}: {why}"));
    }
}

/// Reports on a command that ran without a session: the report of an earlier one must not be taken for its own.
fn unrecorded(context: &Context<'_>, report: Option<&Output>, ended: &Ended) -> Status {
    if let Some(report) = report {
        write_report(context, report, &report_of(ended));
    }
    status(ended.exit)
}

fn begun_without_files(begun: &Begun) -> bool {
    begun.baseline.is_none() && begun.baseline_error.is_none() && !begun.waits
}
