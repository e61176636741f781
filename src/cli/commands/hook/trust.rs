//! The trust without which Codex runs no hook: shown, asked, and recorded by Codex's own program.

use super::HookEditArgs;
use crate::agents::settings::{Standing, standing};
use crate::agents::trust::codex::trust_file;
use crate::agents::trust::{switched_off, untrusted};
use crate::agents::{Agent, Scope};
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::report::{HookSwitchDocument, HookTrust};
use crate::terminal::sanitize;

/// Warns of a setting of the agent that turns off the installed hooks, and returns it.
///
/// # Errors
/// If the settings cannot be read.
pub(super) fn switch(
    context: &Context<'_>,
    args: &HookEditArgs,
) -> Result<Option<HookSwitchDocument>, CliError> {
    let standing = standing(args.agent, args.scope, context.environment)?;
    let Some(switch) = switched_off(args.agent, context.environment, &standing) else {
        return Ok(None);
    };
    let (agent, key, file) = (args.agent.title(), switch.key, sanitize::path(&switch.file));
    context
        .terminal
        .warn(&format!("{agent} runs no hooks while {file} has `{key}`"));
    context
        .terminal
        .note(&format!("to enable them: remove `{key}` from {file}"));
    Ok(Some(HookSwitchDocument::of(&switch)))
}

/// Asks for the trust that the installed hooks lack, and records it. `No` changes nothing and is no error.
///
/// # Errors
/// If the settings cannot be read.
pub(super) fn ask(context: &Context<'_>, args: &HookEditArgs) -> Result<Option<HookTrust>, CliError> {
    let (agent, scope, environment) = (args.agent, args.scope, context.environment);
    let standing = standing(agent, scope, environment)?;
    let Some(lacking) = untrusted(agent, scope, environment, &standing) else {
        return Ok(None);
    };
    if lacking.is_empty() {
        return Ok(Some(HookTrust::Trusted));
    }
    // What else Copilot may do in a directory that it trusts is for the operator to decide, there.
    if agent == Agent::Copilot {
        let directory = sanitize::path(&environment.current);
        context.terminal.warn(&format!(
            "Copilot runs these hooks only if you trust this directory: start copilot in {directory}, and answer its question"
        ));
        return Ok(Some(HookTrust::Untrusted));
    }
    let Some(program) = context.engine().codex_program() else {
        let why = "Codex does not run the hooks yet: its program `codex` is not in PATH, so the trust is not recorded";
        by_hand(context, args, why);
        return Ok(Some(HookTrust::Untrusted));
    };
    if !args.json {
        show(context, &standing, &lacking);
    }
    match confirm(
        context.terminal,
        &context.interrupts,
        "Trust these hooks in Codex?",
        args.yes,
    ) {
        Err(error) if error.kind == ErrorKind::NotConfirmed => {
            by_hand(context, args, "Codex does not run the hooks yet");
            return Ok(Some(HookTrust::Untrusted));
        }
        other => other?,
    }
    match program.trust(environment, &standing) {
        Ok(()) => {
            if !args.json {
                context.terminal.out("Trusted: Codex runs these hooks");
            }
            Ok(Some(HookTrust::Trusted))
        }
        Err(why) => {
            let why = format!("Codex does not run the hooks yet: {}", sanitize::text(&why));
            by_hand(context, args, &why);
            Ok(Some(HookTrust::Untrusted))
        }
    }
}

fn show(context: &Context<'_>, standing: &Standing, lacking: &[String]) {
    let file = trust_file(context.environment);
    let file = file.map_or_else(String::new, |file| format!(", in {}", sanitize::path(&file)));
    let mut lines = vec![format!(
        "Codex runs hooks only if you trust them. Codex records your trust{file}:"
    )];
    let hooks = standing.found.hooks.iter();
    for hook in hooks.filter(|hook| lacking.contains(&hook.event)) {
        lines.push(format!("  {}", sanitize::text(&hook.command)));
    }
    context.terminal.note(&lines.join("\n"));
}

/// Names the one thing that the operator can do.
fn by_hand(context: &Context<'_>, args: &HookEditArgs, why: &str) {
    let place = match args.scope {
        Scope::User => "",
        Scope::Project | Scope::Local => " in this directory",
    };
    context.terminal.warn(why);
    context.terminal.note(&format!(
        "to trust them: start codex{place}, and trust the hooks when it asks"
    ));
}
