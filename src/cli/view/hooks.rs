//! Output of `hook`: the change of a settings file, and the state of each agent.

use crate::report::{
    HookEditDocument, HookProgramDocument, HookStandingDocument, HookState, HookTrust, Line,
};
use crate::terminal::{Role, sanitize, style};

/// Formats the change of a settings file for a terminal.
pub(in crate::cli) fn change(edit: &HookEditDocument) -> String {
    let paint = |(line, text): &(Option<Line>, String)| match line {
        None => style::paint(Role::Heading, text),
        Some(Line::Added) => style::paint(Role::Added, text),
        Some(Line::Removed) => style::paint(Role::Removed, text),
        Some(Line::Hunk) => style::paint(Role::Dim, text),
        Some(Line::Context | Line::NoNewline) => text.clone(),
    };
    edit.lines.iter().map(paint).collect::<Vec<_>>().join("\n")
}

/// Describes the state of one agent, in one line.
pub(in crate::cli) fn standing(one: &HookStandingDocument) -> String {
    let scope = one.scope.word();
    let programs: Vec<String> = one
        .programs
        .iter()
        .map(|one| sanitize::text(&one.program))
        .collect();
    let programs = programs.join(", ");
    let state = match one.state {
        HookState::Installed | HookState::PartlyInstalled if one.disabled_by.is_some() => {
            let agent = one.agent.title();
            format!("disabled: {agent} does not run it: {programs}")
        }
        HookState::Installed if one.trust == Some(HookTrust::Untrusted) => {
            let agent = one.agent.title();
            format!("untrusted: {agent} does not run it: {programs}")
        }
        HookState::Installed => format!("installed: {programs}"),
        HookState::PartlyInstalled => {
            format!("partly installed: {programs}; not for {}", one.missing.join(", "))
        }
        HookState::NotInstalled => "not installed".to_owned(),
        HookState::Unreadable => format!(
            "unknown: {}",
            sanitize::text(one.problem.as_deref().unwrap_or_default())
        ),
    };
    format!("{:<9} {scope:<8} {state}", one.agent.word())
}

/// Describes a problem with a program that hooks call; `None` if there is none.
pub(in crate::cli) fn worry(one: &HookStandingDocument, program: &HookProgramDocument) -> Option<String> {
    let called = sanitize::text(&program.program);
    let agent = one.agent;
    match (program.is_there, program.is_this) {
        (false, _) => Some(format!("the hooks of {agent} call {called}, which is not there")),
        (true, false) => Some(format!(
            "the hooks of {agent} call {called}, which is not this program"
        )),
        (true, true) => None,
    }
}
