//! The workspace without which hooks do nothing: offered in the same dialog, or as the command to type.

use super::HookEditArgs;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::view;
use crate::cli::workspace_setup::{Subject, chosen_mode};
use crate::clock::random;
use crate::config::{Config, Flags, ValueSource};
use crate::report::{InitDocument, InitOutcome};
use crate::terminal::sanitize;

/// Warns, where nothing can be asked, if no workspace has recovery, or none of those that have it has the current directory.
pub(super) fn advise(context: &Context<'_>, args: &HookEditArgs) {
    // A configuration that cannot be read is reported by the hooks themselves.
    let Ok(config) = Config::load(context.environment) else {
        return;
    };
    if can_offer(context, args) {
        return;
    }
    if is_anything_captured(&config) {
        if lacking(context, &config).is_some() {
            let current = sanitize::path(&context.environment.current);
            context.terminal.note(&format!(
                "{current} has no recovery yet, so the hooks do nothing there"
            ));
            context.propose("to enable recovery for this directory", "init .");
        }
        return;
    }
    context
        .terminal
        .warn("no workspace has recovery yet; until then the hooks do nothing");
    let (purpose, words) = match Subject::of(context, &config, None) {
        Ok(_) => ("to enable recovery for this directory", "init ."),
        Err(_) => ("to enable recovery for a directory", "init DIR"),
    };
    context.propose(purpose, words);
}

/// Offers to enable recovery for the current directory, if the hooks do nothing there. `No` changes nothing and is no error.
///
/// # Errors
/// If the configuration cannot be written.
pub(super) fn offer(context: &Context<'_>, args: &HookEditArgs) -> Result<(), CliError> {
    let Ok(config) = Config::load(context.environment) else {
        return Ok(());
    };
    if !can_offer(context, args) {
        return Ok(());
    }
    let Some(subject) = lacking(context, &config) else {
        return Ok(());
    };
    let terminal = context.terminal;
    let current = sanitize::path(&context.environment.current);
    terminal.note(&format!(
        "\n{current} has no recovery yet, so the hooks do nothing there. Choose what to capture:"
    ));
    let Some(mode) = chosen_mode(context) else {
        return declined(context);
    };
    let edit = subject.edit(context, &config, mode)?;
    terminal.out(&view::addition::addition(&InitDocument::new(
        &edit,
        InitOutcome::Planned,
    )));
    let question = view::host_path::question("Write", edit.file(), context.environment.home.as_deref());
    match confirm(terminal, &context.interrupts, &question, false) {
        Err(error) if error.kind == ErrorKind::NotConfirmed => return declined(context),
        other => other?,
    }
    edit.apply(&config, random(context.world().entropy))?;
    terminal.out(&format!("Written: {}", sanitize::path(edit.file())));
    Ok(())
}

fn can_offer(context: &Context<'_>, args: &HookEditArgs) -> bool {
    !args.yes && !args.json && !args.dry_run && context.terminal.can_choose()
}

fn declined(context: &Context<'_>) -> Result<(), CliError> {
    context.propose("to enable recovery later", "init .");
    Ok(())
}

/// Returns the current directory or its workspace, if it has no mode; `None` also if it cannot be a workspace.
fn lacking(context: &Context<'_>, config: &Config) -> Option<Subject> {
    let subject = Subject::of(context, config, None).ok()?;
    let Subject::Workspace(name) = &subject else {
        return Some(subject);
    };
    let resolved = config.for_workspace(name, &Flags::default()).ok()?;
    // A mode that is set, also `off`, is the operator's choice.
    (resolved.mode.source == ValueSource::Default).then_some(subject)
}

fn is_anything_captured(config: &Config) -> bool {
    let is_captured = |name: &String| {
        let resolved = config.for_workspace(name, &Flags::default());
        resolved.map_or(true, |resolved| resolved.mode.value.captures())
    };
    config
        .workspace_names()
        .is_ok_and(|names| names.iter().any(is_captured))
}
