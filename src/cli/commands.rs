//! The commands: one file a verb. Each calls the stages in order and shows what they give.

mod agent_there;
mod begin;
mod checkpoint;
mod checkpoints;
mod complete;
mod diff;
mod doctor;
mod end;
mod exec;
mod explain;
mod export;
mod fork;
mod generated;
mod hook;
mod import;
mod init;
mod launch;
mod lifeline;
mod list;
mod log;
#[cfg(feature = "mcp")]
mod mcp;
mod pin;
mod prune;
mod rebuild;
mod replicate;
mod restore;
mod resume_abort;
mod show;
#[cfg(feature = "tui")]
mod ui;
mod undo;
mod verify;

use super::args::{Invocation, Verb};
use super::context::Context;
use super::error::CliError;
use super::exit_code::Status;
use crate::clock::SystemEntropy;
use crate::environment::Environment;
#[cfg(not(all(feature = "mcp", feature = "tui")))]
use crate::features::{Feature, NotBuilt};
use crate::process::{AGENT_VARIABLE, carry, freeze_with, settle_cluster};
use crate::session::recorded_mounts;
use crate::terminal::{Terminal, sanitize};
use handle_fs::remote::{Lost, MISSING, hang_up, lost, set_carrier, set_settler};

/// Carries a verb out.
///
/// # Errors
/// What went wrong, for the caller to print.
pub(super) fn perform(
    invocation: &Invocation,
    environment: &Environment,
    terminal: &Terminal,
) -> Result<Status, CliError> {
    let told = invocation.global.agent_there;
    let told = told.map(|agent| environment.with(AGENT_VARIABLE, agent.word()));
    let environment = told.as_ref().unwrap_or(environment);
    let mut context = Context::new(environment, terminal, invocation.called_as)?;
    let (carriers, stop) = (environment.clone(), context.interrupts.flag());
    set_carrier(Box::new(move |address| {
        carry(
            &carriers,
            &recorded_mounts(&carriers)?,
            &stop,
            &SystemEntropy,
            address,
        )
    }));
    let settlers = environment.clone();
    set_settler(Box::new(move |address, path| {
        settle_cluster(&settlers, || recorded_mounts(&settlers).ok(), address, path)
    }));
    // What is read of a tree that is half restored is half true; what changes something refuses.
    context.tells_pending = matches!(
        invocation.verb,
        Verb::List(_) | Verb::Show(_) | Verb::Diff(_) | Verb::Verify(_) | Verb::Log(_)
    );
    // An agent waits for these, or they are beside something else.
    context.takes_up_frozen = !matches!(
        invocation.verb,
        Verb::Hook(_) | Verb::Mcp(_) | Verb::Replicating(_) | Verb::Checkpoints(_)
    );
    // What is to be forgotten is not waited for.
    context.takes_up_frozen &= !matches!(&invocation.verb, Verb::Prune(args) if args.forget.is_some());
    let known = environment.clone();
    freeze_with(environment, Box::new(move || recorded_mounts(&known)));
    let done = carry_out(invocation, context);
    hang_up();
    tell_lost(terminal, done)
}

/// Says which machines could not be reached, and why: what failed for it says only that something could not be read.
fn tell_lost(terminal: &Terminal, done: Result<Status, CliError>) -> Result<Status, CliError> {
    let told = |lost: Lost| {
        let address = lost.address.to_string();
        format!("{}: {}", address.trim_end_matches(':'), sanitize::text(&lost.why))
    };
    let advice = |lost: &Lost| match lost.why.starts_with(MISSING) {
        true => Some(format!(
            "install them there, or this program, or add --agent copy (or set {AGENT_VARIABLE}=copy): then this program is \
             copied there for each command"
        )),
        false => None,
    };
    let lost = lost();
    match done {
        Ok(status) => {
            lost.into_iter().for_each(|lost| terminal.warn(&told(lost)));
            Ok(status)
        }
        Err(error) => Err(lost.into_iter().fold(error, |error, lost| {
            let advice = advice(&lost);
            let error = error.hint(told(lost));
            advice.into_iter().fold(error, CliError::hint)
        })),
    }
}

fn carry_out(invocation: &Invocation, mut context: Context<'_>) -> Result<Status, CliError> {
    match &invocation.verb {
        Verb::Explain(args) => explain::run(&context, args),
        Verb::Launch(args) => launch::run(&mut context, args),
        Verb::Begin(args) => begin::run(&context, args),
        Verb::End(args) => end::run(&context, args),
        Verb::List(args) => list::run(&context, args),
        Verb::Show(args) => show::run(&context, args),
        Verb::Diff(args) => diff::run(&context, args),
        Verb::Restore(args) => restore::run(&context, args),
        Verb::Undo(args) => undo::run(&context, args),
        Verb::Resume(args) => resume_abort::run_resume(&context, args),
        Verb::Abort(args) => resume_abort::run_abort(&context, args),
        Verb::Export(args) => export::run(&context, args),
        Verb::Import(args) => import::run(&context, args),
        Verb::Fork(args) => fork::run(&context, args),
        Verb::Checkpoint(args) => checkpoint::run(&context, args),
        Verb::Exec(args) => exec::run(&mut context, args),
        Verb::Verify(args) => verify::run(&context, args),
        Verb::Log(args) => log::run(&context, args),
        Verb::Prune(args) => prune::run(&context, args),
        Verb::Replicate(args) => replicate::run(&context, args),
        Verb::Replicating(args) => replicate::run_behind(&context, args),
        Verb::Pin(args) => pin::pin(&context, args),
        Verb::Unpin(args) => pin::unpin(&context, args),
        Verb::Rebuild(args) => rebuild::run(&context, args),
        Verb::Doctor(args) => doctor::run(&context, args),
        Verb::Init(args) => init::run(&context, args),
        Verb::Hook(args) => hook::run(context, args),
        #[cfg(feature = "mcp")]
        Verb::Mcp(args) => mcp::run(&context, args),
        #[cfg(not(feature = "mcp"))]
        Verb::Mcp(_) => Err(NotBuilt(Feature::Mcp).into()),
        #[cfg(feature = "tui")]
        Verb::Ui(args) => ui::run(&context, args),
        #[cfg(feature = "tui")]
        Verb::Screen(args) => ui::draw(&context, args),
        #[cfg(not(feature = "tui"))]
        Verb::Ui(_) | Verb::Screen(_) => Err(NotBuilt(Feature::Tui).into()),
        Verb::AgentThere(args) => agent_there::run(&context, args),
        Verb::Lifeline(args) => lifeline::run(&context, args),
        Verb::Completions(args) => generated::completions(&context, args),
        Verb::Man(args) => generated::man(&context, args),
        Verb::Complete(args) => complete::run(&context, args),
        Verb::Checkpoints(args) => checkpoints::run(&context, args),
    }
}
