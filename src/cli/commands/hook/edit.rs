//! `hook install` and `hook uninstall`: shown, asked, written.

use std::path::{Path, PathBuf};

use super::{HookEditArgs, status_words, this, trust, workspace};
use crate::agents::Agent;
use crate::agents::settings::{After, Edit};
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::view;
use crate::clock::random;
use crate::report::{HookEditDocument, HookOutcome, HookTrust};
use crate::terminal::sanitize;

pub(super) fn install(context: &Context<'_>, args: &HookEditArgs) -> Result<Status, CliError> {
    // An agent must neither rid itself of its hooks nor choose which program they call.
    context.engine().ensure_outside()?;
    let (agent, scope) = (args.agent, args.scope);
    let edit = Edit::install(agent, scope, context.environment, &this(context)?)?;
    if !matches!(edit.after(), After::Same) {
        advise(context, args, &edit);
    }
    let work = Work {
        edit: &edit,
        nothing: "all hooks are already installed",
        installs: true,
    };
    let status = carry_out(context, args, &work)?;
    workspace::offer(context, args)?;
    Ok(status)
}

pub(super) fn uninstall(context: &Context<'_>, args: &HookEditArgs) -> Result<Status, CliError> {
    // An agent must neither rid itself of its hooks nor choose which program they call.
    context.engine().ensure_outside()?;
    let edit = Edit::uninstall(args.agent, args.scope, context.environment)?;
    let work = Work {
        edit: &edit,
        nothing: "no hooks are installed",
        installs: false,
    };
    carry_out(context, args, &work)
}

/// An edit to be carried out.
struct Work<'a> {
    edit: &'a Edit,
    /// Reason that there may be nothing to do.
    nothing: &'static str,
    installs: bool,
}

/// Prints the warnings and notes that the operator needs before confirming the edit.
fn advise(context: &Context<'_>, args: &HookEditArgs, edit: &Edit) {
    let (terminal, agent, scope) = (context.terminal, args.agent, args.scope);
    if let Some(directory) = own_build_directory() {
        terminal.warn(&format!(
            "the hooks call this program in {}, where a build puts it and `cargo clean` removes it; install it first",
            sanitize::path(&directory)
        ));
    }
    if scope.is_in_project() {
        terminal.warn(
            "the agent can edit this file, so it is no protection against the agent; its hooks call this program by \
            its path on this machine",
        );
    }
    let is_text = |text: &String| !text.contains("\"version\"");
    if agent == Agent::Cursor && matches!(edit.after(), After::Text(text) if is_text(text)) {
        terminal.warn("Cursor wants `\"version\": 1` in this file, and it is not there; add it");
    }
    workspace::advise(context, args);
}

/// Returns the build directory of cargo in which this program lies; `None` for an installed one.
fn own_build_directory() -> Option<PathBuf> {
    let program = std::env::current_exe().and_then(std::fs::canonicalize).ok()?;
    build_directory(&program).map(Path::to_path_buf)
}

fn build_directory(program: &Path) -> Option<&Path> {
    let profile = program.parent()?;
    let mut above = profile.ancestors().skip(1).take(2);
    let is_target = above.any(|target| target.join("CACHEDIR.TAG").is_file() || target.ends_with("target"));
    is_target.then_some(profile)
}

fn carry_out(context: &Context<'_>, args: &HookEditArgs, work: &Work<'_>) -> Result<Status, CliError> {
    let terminal = context.terminal;
    let edit = work.edit;
    let document = |outcome, trust: Option<HookTrust>| HookEditDocument {
        trust,
        ..HookEditDocument::new(args.agent, args.scope, edit, outcome)
    };
    let settled = |outcome| -> Result<HookEditDocument, CliError> {
        let disabled_by = match work.installs {
            true => trust::switch(context, args)?,
            false => None,
        };
        let trust = match work.installs {
            true => trust::ask(context, args)?,
            false => None,
        };
        Ok(HookEditDocument {
            disabled_by,
            ..document(outcome, trust)
        })
    };
    let file = sanitize::path(edit.file());
    if matches!(edit.after(), After::Same) {
        if !args.json {
            terminal.out(&format!("Nothing to do: {}: {file}", work.nothing));
        }
        let settled = settled(HookOutcome::Unchanged)?;
        if args.json {
            terminal.json(&settled);
        }
        return Ok(ExitCode::Done.into());
    }
    if edit.is_linked() {
        let path = sanitize::path(&edit.path());
        terminal.note(&format!(
            "{path} is reached through a link; the file that changes is {file}"
        ));
    }
    let shown = view::hooks::change(&document(HookOutcome::Planned, None));
    if !args.json {
        terminal.out(&shown);
    } else if !args.yes && !args.dry_run && terminal.can_ask() {
        terminal.err(&shown);
    }
    if args.dry_run {
        if args.json {
            terminal.json(&document(HookOutcome::Planned, None));
        }
        return Ok(ExitCode::Done.into());
    }
    if let Some(directory) = own_build_directory().filter(|_| work.installs && !args.yes) {
        let directory = sanitize::path(&directory);
        let why =
            format!("the hooks would call a program in {directory}, a build directory; nothing was changed");
        let refused = CliError::new(ErrorKind::NotConfirmed, why);
        return Err(refused.hint("install the program first, or use --yes"));
    }
    let (verb, outcome, done) = match edit.after() {
        After::Gone => ("Remove", HookOutcome::Removed, "Removed"),
        _ => ("Write", HookOutcome::Written, "Written"),
    };
    let question = view::host_path::question(verb, edit.file(), context.environment.home.as_deref());
    confirm(terminal, &context.interrupts, &question, args.yes)?;
    edit.apply(random(context.world().entropy))?;
    if !args.json {
        terminal.out(&format!("{done}: {file}"));
    }
    let settled = settled(outcome)?;
    if args.json {
        terminal.json(&settled);
    } else {
        terminal.note("restart running agents to load the change");
        context.propose("to list agents with hooks", &status_words());
    }
    Ok(ExitCode::Done.into())
}
