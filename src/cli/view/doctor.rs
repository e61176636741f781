//! `doctor`: findings in groups. What is well takes one line; everything else says what to type.

use crate::report::{DoctorDocument, FindingDocument, Group, Severity};
use crate::terminal::{Role, Verbosity, sanitize, size, style, width};

/// Blanks before what follows the severity.
const INDENT: usize = 10;

/// Everything that was found. Quiet: only warnings and errors.
pub(in crate::cli) fn doctor(checkup: &DoctorDocument, verbosity: Verbosity, columns: usize) -> String {
    let mut lines = Vec::new();
    let mut group = None;
    let least = if verbosity == Verbosity::Quiet {
        Severity::Warning
    } else {
        Severity::Ok
    };
    for finding in checkup
        .findings
        .iter()
        .filter(|finding| finding.severity >= least)
    {
        if group != Some(finding.group) {
            lines.push(style::paint(Role::Heading, heading(finding.group)));
            group = Some(finding.group);
        }
        lines.extend(told(finding, columns));
    }
    lines.push(summary(checkup));
    lines.join("\n")
}

fn heading(group: Group) -> &'static str {
    match group {
        Group::Configuration => "Configuration",
        Group::Store => "Store",
        Group::Snapshots => "Snapshots",
        Group::Receipts => "Receipts",
        Group::Catalog => "Catalog",
        Group::Work => "At work",
        Group::Copy => "Object store",
        Group::Sessions => "Sessions",
        Group::Mounts => "Mounts",
        Group::Agents => "Agents",
        Group::Program => "Program",
    }
}

fn told(finding: &FindingDocument, columns: usize) -> Vec<String> {
    let role = match finding.severity {
        Severity::Ok => Role::Added,
        Severity::Note => Role::Heading,
        Severity::Warning => Role::Warning,
        Severity::Error => Role::Error,
    };
    let room = columns.saturating_sub(INDENT);
    let mut lines = Vec::new();
    for (at, line) in width::wrap(&sanitize::text(&finding.what), room)
        .iter()
        .enumerate()
    {
        lines.push(if at == 0 {
            let blanks = INDENT.saturating_sub(2 + finding.severity.word().len());
            format!(
                "  {}{:blanks$}{line}",
                style::paint(role, finding.severity.word()),
                ""
            )
        } else {
            format!("{:INDENT$}{line}", "")
        });
    }
    if let Some(next) = &finding.next {
        let text = sanitize::text(next);
        if finding.is_advice {
            let wrapped = width::wrap(&text, room);
            lines.extend(wrapped.iter().map(|line| format!("{:INDENT$}{line}", "")));
        } else {
            lines.push(format!("{:INDENT$}{}", "", style::paint(Role::Path, &text)));
        }
    }
    lines
}

fn summary(checkup: &DoctorDocument) -> String {
    let number = |severity| {
        let of = |finding: &&FindingDocument| finding.severity == severity;
        checkup.findings.iter().filter(of).count() as u64
    };
    let parts: Vec<String> = [
        (number(Severity::Error), "error", "errors"),
        (number(Severity::Warning), "warning", "warnings"),
        (number(Severity::Note), "note", "notes"),
    ]
    .into_iter()
    .filter(|(number, _, _)| *number > 0)
    .map(|(number, one, many)| size::counted(number, one, many))
    .collect();
    let text = if parts.is_empty() {
        "All is well.".to_owned()
    } else {
        parts.join(", ")
    };
    let role = match checkup.outcome {
        Severity::Ok | Severity::Note => Role::Added,
        Severity::Warning => Role::Warning,
        Severity::Error => Role::Error,
    };
    style::paint(role, &text)
}
