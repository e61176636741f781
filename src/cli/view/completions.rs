//! `completions --install`: the files, and what the shell needs besides.

use std::path::Path;

use crate::report::{CompletionFileDocument, CompletionState, CompletionsInstallDocument};
use crate::terminal::{Role, sanitize, style};

/// Returns a line for each file: what becomes of it, and its path. Paths in `home` begin with `~`.
pub(in crate::cli) fn files(plan: &CompletionsInstallDocument, home: Option<&Path>) -> String {
    let line = |file: &CompletionFileDocument| {
        let (word, role) = match file.state {
            CompletionState::New => ("new", Role::Added),
            CompletionState::Replaced => ("update", Role::Changed),
            CompletionState::Unchanged => ("same", Role::Dim),
            CompletionState::Kept => ("keep", Role::Warning),
        };
        let path = &file.path.exact;
        let path = match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => format!("~/{}", sanitize::path(below)),
            None => sanitize::path(path),
        };
        let reason = file
            .reason
            .as_deref()
            .map(|reason| format!(": {}", sanitize::text(reason)));
        format!(
            "{}  {path}{}",
            style::paint(role, &format!("{word:<6}")),
            reason.unwrap_or_default()
        )
    };
    plan.files.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns what is left to do, a line each. `done`: the files were just written.
pub(in crate::cli) fn next(plan: &CompletionsInstallDocument, done: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(line) = &plan.line {
        lines.push(format!(
            "add to ~/.zshrc, unless it reads this directory already:\n  {line}"
        ));
    }
    if done {
        lines.push("open a new shell to use them".to_owned());
    }
    lines
}
