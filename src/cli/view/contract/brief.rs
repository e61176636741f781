//! The contract in three lines, for a launch whose terms are those of the last one, and the differences from it.

use std::path::Path;

use super::gaps::{found, gap_lines};
use crate::cli::view::host_path::below_home;
use crate::config::OnFailure;
use crate::contract::{Contract, TermChange};
use crate::model::ExcludeSource;
use crate::terminal::{Role, sanitize, size, style, width};

/// Number of excludes that the first line names.
const NAMED: usize = 4;

/// Returns the protected directories with their size (entries and bytes, once they are known), and the command to undo.
pub(in crate::cli) fn brief(
    contract: &Contract,
    captured: Option<(u64, u64)>,
    home: Option<&Path>,
    (undo, columns): (&str, usize),
) -> String {
    let mut lines = Vec::new();
    let roots: Vec<String> = contract
        .coverages()
        .filter(|coverage| !coverage.state)
        .map(|coverage| below_home(&coverage.root.to_path(), home))
        .collect();
    let head = match (contract.snapshot.created, roots.as_slice()) {
        (false, _) => format!(
            "mode {}: the session is recorded, but no files, so nothing can be restored",
            contract.snapshot.mode.word()
        ),
        (true, roots) => {
            let size = captured.map(|(entries, bytes)| {
                let entries = size::counted(entries, "entry", "entries");
                format!(", {entries} ({})", size::bytes(bytes))
            });
            let state = if contract
                .state
                .as_ref()
                .is_some_and(|state| state.coverage.is_some())
            {
                " and the agents' state"
            } else {
                ""
            };
            format!(
                "protected: {}{state}{}{}",
                roots.join(", "),
                size.unwrap_or_default(),
                without(contract)
            )
        }
    };
    lines.extend(width::wrap(&head, columns));
    lines.extend(warnings(contract, columns));
    if contract.restore.available {
        lines.push(format!("to undo afterwards: {undo}"));
    }
    lines.join("\n")
}

/// Returns what is not covered although it is inside, one line each; nothing if everything is.
pub(in crate::cli) fn warnings(contract: &Contract, columns: usize) -> Vec<String> {
    let mut told = gap_lines(&found(contract).0);
    if contract.on_failure.value == OnFailure::Run && contract.snapshot.created {
        told.push("if the baseline fails, the command runs without protection".to_owned());
    }
    let mark = style::paint(Role::Warning, "!");
    told.iter()
        .flat_map(|line| width::wrap(&format!("{mark} {line}"), columns))
        .collect()
}

/// Returns the excludes of the first line, the operator's own and the automatic ones alike.
fn without(contract: &Contract) -> String {
    let rules = contract
        .coverages()
        .filter(|coverage| !coverage.state)
        .flat_map(|coverage| &coverage.excludes)
        .filter(|rule| rule.leaves_out() && !matches!(rule.source, ExcludeSource::State(_)));
    let mut names: Vec<String> = rules
        .map(|rule| sanitize::name(rule.pattern.as_bytes()))
        .collect();
    names.dedup();
    if names.is_empty() {
        return String::new();
    }
    let more = names.len().saturating_sub(NAMED);
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(" ");
    match more {
        0 => format!(", without {shown}"),
        more => format!(", without {shown} and {} more", size::count(more as u64)),
    }
}

/// Returns the differences from the contract that was shown last, one line each.
pub(in crate::cli) fn changes(changes: &[TermChange], home: Option<&Path>, columns: usize) -> String {
    let shown = |text: &str| words_below_home(&sanitize::text(text), home);
    let mut lines = vec![style::paint(
        Role::Warning,
        "The contract has changed since the last launch:",
    )];
    for change in changes {
        let heading = sanitize::text(&change.heading);
        if let ([before], [now]) = (change.before.as_slice(), change.now.as_slice()) {
            let (before, now) = (shown(before), shown(now));
            lines.extend(hanging(
                "  ",
                &format!("{heading}: {now} (before: {before})"),
                columns,
            ));
            continue;
        }
        for (sign, values) in [("  - ", &change.before), ("  + ", &change.now)] {
            for value in values {
                let line = format!("{heading}: {}", shown(value));
                lines.extend(hanging(sign, &line, columns));
            }
        }
    }
    lines.join("\n")
}

/// Returns lines of at most `columns`, unless a word is longer. The first begins with `lead`, the others with as many spaces and two more.
fn hanging(lead: &str, text: &str, columns: usize) -> Vec<String> {
    let indent = " ".repeat(width::of(lead) + 2);
    let room = columns.saturating_sub(indent.len());
    let lines = width::fill(text.split(' '), room).into_iter();
    let begin = |(at, line): (usize, String)| {
        if at == 0 {
            format!("{lead}{line}")
        } else {
            format!("{indent}{line}")
        }
    };
    lines.enumerate().map(begin).collect()
}

/// Returns a sentence with `~` for the home in each path that begins with it.
fn words_below_home(text: &str, home: Option<&Path>) -> String {
    let home = home.filter(|home| home.parent().is_some());
    let Some(home) = home.map(sanitize::path) else {
        return text.to_owned();
    };
    let word = |word: &str| match word.strip_prefix(&home) {
        Some(rest) if rest.is_empty() || rest.starts_with(['/', ':', ',']) => format!("~{rest}"),
        _ => word.to_owned(),
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}
