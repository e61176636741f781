//! The commands: one file and one line each. A command parses, calls the engine and shows what it gives.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use super::Invocation;
use super::args::{self, CommandInfo, CommandSet};
use super::command::{Command, commands, info};
use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::exit_code::{ExitCode, Status};
use crate::clock::SystemEntropy;
use crate::environment::Environment;
use crate::process::{AGENT_VARIABLE, ClusterContexts, carry, settle_cluster, snapshot_programs};
use crate::session::{recorded_mounts, settle_copies};
use crate::terminal::{Terminal, sanitize};
use handle_fs::remote::{Lost, MISSING, Transports};

// rustfmt does not look into a macro: `cargo fmt -- src/cli/commands/*.rs` formats these modules too.
commands! {
    mod explain: Explain(explain::ExplainArgs);
    mod launch: Launch(launch::LaunchArgs);
    mod begin: Begin(begin::BeginArgs);
    mod end: End(end::EndArgs);
    mod checkpoint: Checkpoint(checkpoint::CheckpointArgs);
    mod exec: Exec(exec::ExecArgs);
    mod rename: Rename(rename::RenameArgs);
    mod list: List(list::ListArgs);
    mod show: Show(show::ShowArgs);
    mod status: Status(status::StatusArgs);
    mod watch: Watch(watch::WatchArgs);
    pub(super) mod diff: Diff(diff::DiffArgs);
    mod cat: Cat(cat::CatArgs);
    mod edit: Edit(edit::EditArgs);
    mod find: Find(find::FindArgs);
    mod blame: Blame(blame::BlameArgs);
    mod mount: Mount(mount::MountArgs);
    mod restore: Restore(restore::RestoreArgs);
    mod undo: Undo(undo::UndoArgs);
    mod resume_abort: Resume(resume_abort::ResumeArgs), Abort(resume_abort::AbortArgs);
    mod fork: Fork(args::ForkArgs);
    mod export: Export(export::ExportArgs);
    mod import: Import(import::ImportArgs);
    mod verify: Verify(verify::VerifyArgs);
    mod log: Log(log::LogArgs);
    mod prune: Prune(prune::PruneArgs);
    mod forget: Forget(forget::ForgetArgs);
    mod replicate: Replicate(replicate::ReplicateArgs);
    mod pin: Pin(pin::PinArgs), Unpin(pin::UnpinArgs);
    mod rebuild: Rebuild(rebuild::RebuildArgs);
    mod doctor: Doctor(doctor::DoctorArgs);
    mod init: Init(init::InitArgs);
    mod hook: Hook(hook::HookArgs);
    mod mcp: Mcp(mcp::McpArgs);
    mod ui: Ui(ui::UiArgs);
    mod generated: Completions(generated::CompletionsArgs), Man(generated::ManArgs);
    mod complete: Complete(complete::CompleteArgs);
    mod checkpoints: Checkpoints(checkpoints::CheckpointsArgs);
    mod ending: Ending(ending::EndingArgs);
    mod watcher: Watcher(watcher::WatcherArgs);
    mod replicating: Replicating(replicating::ReplicatingArgs);
    mod screen: Screen(screen::ScreenArgs);
    mod agent_there: AgentThere(agent_there::AgentThereArgs);
    mod lifeline: Lifeline(lifeline::LifelineArgs);
}

impl Verb {
    /// Returns true if its result is something to read, which a pager may show.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.info().is_read && !self.json()
    }
}

/// Carries a command out.
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
    let interrupts = Context::catch_signals(terminal)?;
    let environment = told.as_ref().unwrap_or(environment);
    let (waiting, waits) = mpsc::channel();
    let waiting: Arc<Waits> = Arc::new(Mutex::new(Some(waiting)));
    let environment = &Environment {
        transports: transports(environment, interrupts.flag(), Arc::clone(&waiting)),
        snapshot_programs: {
            let known = environment.clone();
            snapshot_programs(environment, Box::new(move || recorded_mounts(&known)))
        },
        ..environment.clone()
    };
    let mut context = Context::new(interrupts, environment, terminal, invocation.called_as);
    context.tells_pending = invocation.verb.tells_pending();
    context.takes_up_frozen = invocation.verb.takes_up_frozen();
    let done = thread::scope(|scope| {
        // The command itself waits meanwhile.
        let _ = handle_fs::start(scope, "waits", move || {
            waits.iter().for_each(|text| terminal.note(&text))
        });
        let end = EndOfWaits(&waiting);
        let done = invocation.verb.run(context);
        drop(end);
        done
    });
    settle_copies(environment);
    environment.transports.disconnect_all();
    tell_lost(terminal, environment.transports.lost(), done)
}

/// Channel for what connections wait for; `None` once the command is done.
type Waits = Mutex<Option<mpsc::Sender<String>>>;

/// Closes the channel when it is dropped, also by a panic: the thread that shows waits would stay otherwise.
struct EndOfWaits<'w>(&'w Waits);

impl Drop for EndOfWaits<'_> {
    fn drop(&mut self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Returns the connections of this process: the operator's programs make them, never one that lies in a recorded mount.
fn transports(environment: &Environment, stop: Arc<AtomicBool>, waiting: Arc<Waits>) -> Transports {
    let (connecting, resolving) = (environment.clone(), environment.clone());
    let contexts = ClusterContexts::default();
    Transports::new(
        Box::new(move |address, given_up| {
            let mounts = recorded_mounts(&connecting)?;
            let waiting = |text: &str| {
                let to = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                // After the command nothing is shown any more.
                drop(to.as_ref().map(|to| to.send(sanitize::text(text))));
            };
            carry(
                &connecting,
                &mounts,
                (&stop, given_up),
                &waiting,
                &SystemEntropy,
                address,
            )
        }),
        Box::new(move |address, path| {
            let mounts = || recorded_mounts(&resolving).ok();
            settle_cluster(&contexts, &resolving, mounts, address, path)
        }),
    )
}

/// Says which machines could not be reached, and why: what failed for it says only that something could not be read.
fn tell_lost(
    terminal: &Terminal,
    lost: Vec<Lost>,
    done: Result<Status, CliError>,
) -> Result<Status, CliError> {
    let told = |lost: Lost| {
        let address = lost.address.to_string();
        format!("{}: {}", address.trim_end_matches(':'), sanitize::text(&lost.why))
    };
    let advice = |lost: &Lost| match lost.why.starts_with(MISSING) {
        true => Some(format!(
            "install them or this program there, or use --agent copy (or {AGENT_VARIABLE}=copy) to run a copy of this \
            program there"
        )),
        false => None,
    };
    match done {
        Ok(status) => {
            lost.into_iter().for_each(|lost| terminal.warn(&told(lost)));
            Ok(status)
        }
        Err(error) => {
            // Calls to a machine that cannot be reached fail with this, whatever the reason is.
            let unreachable = handle_fs::remote::unreachable().to_string();
            let is_headline = lost.len() == 1 && error.message.contains(&unreachable);
            Err(lost.into_iter().fold(error, |mut error, lost| {
                let advice = advice(&lost);
                if is_headline {
                    error.message = error.message.replace(&unreachable, &sanitize::text(&lost.why));
                } else {
                    error = error.hint(told(lost));
                }
                advice.into_iter().fold(error, CliError::hint)
            }))
        }
    }
}
