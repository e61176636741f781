//! `find`: paths in the snapshots, and lines in their contents.

use std::path::Path;

use crate::model::{SnapshotKind, Time};
use crate::report::{FindSummary, FoundDocument, MomentDocument, PresenceWord};
use crate::terminal::table::{Cell, Column, Fit, Table};
use crate::terminal::{Role, sanitize, size, width};

/// Columns of the beginning of a session's id, which names it.
const SHORT_ID: usize = 11;
/// Number of lines that are printed of a file.
const SHOWN_LINES: usize = 3;
/// Fewest columns of a line's text.
const NARROWEST: usize = 20;

/// Returns the paths in a table, each with the snapshot that has its newest version.
pub(in crate::cli) fn table(found: &[FoundDocument], now: Time, columns: usize, current: &Path) -> String {
    let mut table = Table::new([
        Column::new("PATH").fit(Fit::Keep),
        Column::new("CHANGED").fit(Fit::Wrap),
        Column::new("SNAPSHOT").fit(Fit::Keep),
        Column::new("VERSIONS").right(),
        Column::new("NOW").fit(Fit::Wrap),
    ]);
    for one in found {
        let presence = match one.now {
            PresenceWord::There => Cell::from("there"),
            PresenceWord::Unknown => Cell::from("unknown"),
            PresenceWord::Deleted => Cell::new(Role::Warning, deleted(one, now)),
        };
        let slash = if one.is_directory() { "/" } else { "" };
        table.row([
            format!("{}{slash}", sanitize::path(&one.below(current))).into(),
            size::age(one.changed.at, now).into(),
            source(one.source()).into(),
            size::count(one.versions).into(),
            presence,
        ]);
    }
    table.render(columns)
}

/// Returns the lines that were found in one file.
pub(in crate::cli) fn matches(found: &FoundDocument, columns: usize, current: &Path) -> Vec<String> {
    let Some(matches) = &found.matches else {
        return Vec::new();
    };
    let head = format!(
        "{} {}",
        source(&matches.snapshot),
        sanitize::path(&found.below(current))
    );
    let lines = matches.lines.iter().take(SHOWN_LINES).map(|line| {
        let start = format!("{head}:{}: ", line.line);
        let room = columns.saturating_sub(width::of(&start)).max(NARROWEST);
        let text = sanitize::line(&line.exact);
        let text = match columns {
            usize::MAX => text,
            _ => width::cut(text.trim_start(), room),
        };
        format!("{start}{text}")
    });
    let more = matches.count.saturating_sub(SHOWN_LINES as u64);
    let more = (more > 0).then(|| format!("{head}: {} more", size::counted(more, "line", "lines")));
    lines.chain(more).collect()
}

/// Returns the sentence about files and snapshots that were passed over; `None` if there are none.
pub(in crate::cli) fn passed_over(summary: &FindSummary) -> Option<String> {
    let mut parts = Vec::new();
    if summary.secret > 0 {
        let one = "file that is likely to hold secrets was";
        let many = "files that are likely to hold secrets were";
        let files = size::counted(summary.secret, one, many);
        parts.push(format!("{files} not searched (--show-secrets)"));
    }
    if summary.binary > 0 {
        let files = size::counted(summary.binary, "binary file was", "binary files were");
        parts.push(format!("{files} not searched"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Returns the warning about damage; `None` if there is none.
pub(in crate::cli) fn damage(summary: &FindSummary) -> Option<String> {
    let snapshots = summary.unreadable;
    let files = summary.unreadable_files;
    let parts: Vec<String> = [(snapshots, "snapshot", "snapshots"), (files, "file", "files")]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| size::counted(count, one, many))
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "{} cannot be read; `verify` names the damage",
            parts.join(" and ")
        )
    })
}

fn source(moment: &MomentDocument) -> String {
    format!(
        "{}:{}",
        short(&moment.instance),
        sanitize::name(moment.word.as_bytes())
    )
}

fn short(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

fn deleted(found: &FoundDocument, now: Time) -> String {
    match &found.deleted {
        None => "deleted after the last snapshot".to_owned(),
        Some(seen) => match seen.exact {
            SnapshotKind::Baseline => format!("deleted before {}", short(&seen.instance)),
            // It was taken by a restore.
            SnapshotKind::Emergency => format!("deleted after {}", short(&seen.instance)),
            SnapshotKind::Checkpoint | SnapshotKind::Closing => {
                format!("deleted {} by {}", size::age(seen.at, now), short(&seen.instance))
            }
        },
    }
}
