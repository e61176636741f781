//! Output of `hook`: the change of a settings file, and the state of each agent.

use std::collections::BTreeSet;

use crate::agents::settings::{After, Edit};
use crate::diff::{Body, Line, texts};
use crate::report::{HookProgramDocument, HookStandingDocument, HookState};
use crate::terminal::{Role, sanitize, style};

/// Returns the change as lines of a diff with their roles. Neither the lines around it nor other values in the same lines are
/// shown: they may be secrets.
pub(in crate::cli) fn change(edit: &Edit) -> Vec<(Option<Role>, String)> {
    let path = sanitize::path(edit.file());
    let old = edit.before().unwrap_or_default();
    let new = match edit.after() {
        After::Text(text) => text.as_str(),
        After::Gone => "",
        After::Same => old,
    };
    // The shorter one is what there is without ours.
    let kept = strings(if old.len() < new.len() { old } else { new });
    let named = |sign: &str, is_there| {
        let file = if is_there { path.as_str() } else { "/dev/null" };
        (Some(Role::Heading), format!("{sign} {file}"))
    };
    let mut lines = vec![
        named("---", edit.before().is_some()),
        named("+++", !matches!(edit.after(), After::Gone)),
    ];
    let Body::Lines(changed) = texts(old.as_bytes(), new.as_bytes(), 0).body else {
        return lines;
    };
    for (line, text) in changed {
        let text = String::from_utf8_lossy(&text);
        let shown = |sign| format!("{sign}{}", sanitize::line(hidden(&text, &kept).as_bytes()));
        lines.push(match line {
            Line::Context => (None, shown(' ')),
            Line::Added => (Some(Role::Added), shown('+')),
            Line::Removed => (Some(Role::Removed), shown('-')),
            Line::Hunk => (Some(Role::Dim), text.trim_end().to_owned()),
            Line::NoNewline => (None, "\\ No newline at end of file".to_owned()),
        });
    }
    lines
}

/// Formats the lines for a terminal.
pub(in crate::cli) fn painted(lines: &[(Option<Role>, String)]) -> String {
    let paint = |(role, text): &(Option<Role>, String)| match role {
        Some(role) => style::paint(*role, text),
        None => text.clone(),
    };
    lines.iter().map(paint).collect::<Vec<_>>().join("\n")
}

/// Formats the lines for a program.
pub(in crate::cli) fn plain(lines: &[(Option<Role>, String)]) -> String {
    lines.iter().map(|(_, text)| format!("{text}\n")).collect()
}

/// A piece of a line: a string with its quotes, or what stands between two.
enum Piece<'a> {
    Plain(&'a str),
    Text(&'a str),
}

fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(begin) = rest.find('"') {
        let (before, from) = rest.split_at(begin);
        let mut is_escaped = false;
        let end = from.bytes().enumerate().skip(1).find_map(|(at, byte)| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends.then_some(at + 1)
        });
        let (text, behind) = from.split_at(end.unwrap_or(from.len()));
        found.extend([Piece::Plain(before), Piece::Text(text)]);
        rest = behind;
    }
    found.push(Piece::Plain(rest));
    found
}

/// Every string of a text.
fn strings(text: &str) -> BTreeSet<&str> {
    let pieces = text.lines().flat_map(pieces);
    let text = |piece| match piece {
        Piece::Text(text) => Some(text),
        Piece::Plain(_) => None,
    };
    pieces.filter_map(text).collect()
}

/// The line without the values that stay in the file: those that are not jackin's.
fn hidden(line: &str, kept: &BTreeSet<&str>) -> String {
    let pieces = pieces(line);
    let is_key = |at: usize| matches!(pieces.get(at + 1), Some(Piece::Plain(behind)) if behind.trim_start().starts_with(':'));
    let shown = pieces.iter().enumerate().map(|(at, piece)| match piece {
        Piece::Text(text)
            if kept.contains(text)
                && !is_key(at)
                && *text != "\"command\""
                && !text.contains(" hook run ") =>
        {
            "\"…\""
        }
        Piece::Plain(text) | Piece::Text(text) => text,
    });
    shown.collect()
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
