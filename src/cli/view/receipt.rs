//! `log`: the chain of receipts, one line each.

use std::collections::HashMap;

use super::aside;
use super::instances::step_words;
use crate::snapshot::{Act, Ending, PruneReason, PrunedSnapshot, Receipt, RestoreKind, SnapshotId, Time};
use crate::terminal::table::{Column, Fit, Table};
use crate::terminal::{sanitize, size};

/// The receipts, in the order in which they come. `all` is the whole chain: what took a restore back stands further on in it.
pub(in crate::cli) fn table<'a>(
    shown: impl Iterator<Item = &'a Receipt>,
    all: &[Receipt],
    now: Time,
    columns: usize,
) -> String {
    let undone: HashMap<u64, u64> = all.iter().filter_map(undoes).collect();
    let mut table = Table::new([
        Column::new("N").right(),
        Column::new("WHEN"),
        Column::new("INSTANCE").fit(Fit::Keep),
        Column::new("ACT").fit(Fit::Wrap),
    ]);
    for receipt in shown {
        let mut act = words(&receipt.act);
        if let Some(by) = undone.get(&receipt.number) {
            act.push_str(&format!(" (taken back by {by})"));
        }
        table.row([
            receipt.number.to_string().into(),
            size::age(receipt.at, now).into(),
            receipt
                .instance
                .as_ref()
                .map_or_else(|| "-".to_owned(), ToString::to_string)
                .into(),
            act.into(),
        ]);
    }
    table.render(columns)
}

/// The receipt that an undo took back, and its own.
fn undoes(receipt: &Receipt) -> Option<(u64, u64)> {
    match &receipt.act {
        Act::Restore { undoes, .. } => undoes.map(|undone| (undone, receipt.number)),
        _ => None,
    }
}

/// What was done.
pub(in crate::cli) fn words(act: &Act) -> String {
    match act {
        Act::Begin { mode, command, .. } => match command {
            Some((program, _)) => format!("began, mode {mode}: {}", sanitize::name(program.as_bytes())),
            None => format!("began, mode {mode}"),
        },
        Act::Capture {
            snapshot,
            kind,
            withheld,
            sealed_to,
            step,
            call,
            ..
        } => {
            let changed = step
                .as_ref()
                .map(|step| format!(" ({})", step_words(step.counts)));
            let changed = changed.unwrap_or_default();
            let before = call.as_ref().map(|call| sanitize::name(call.tool.as_bytes()));
            let before = before.map_or_else(String::new, |tool| format!(" before {tool}"));
            let taken = format!("{} snapshot {snapshot}{before}{changed}", kind.word());
            let private = size::counted(*withheld, "private file", "private files");
            match (*withheld, sealed_to.is_empty()) {
                (0, _) => taken,
                (_, true) => format!("{taken}, {private} withheld"),
                (_, false) => {
                    let keys = size::counted(sealed_to.len() as u64, "key", "keys");
                    format!("{taken}, {private} encrypted to {keys}")
                }
            }
        }
        Act::CaptureFailed { kind, error } => {
            format!("{} snapshot failed: {}", kind.word(), sanitize::text(error))
        }
        Act::End { ending, .. } => match ending {
            Ending::Status(status) => format!("ended with status {status}"),
            Ending::Signal(signal) => format!("ended by signal {signal}"),
            Ending::Ended => "ended".to_owned(),
            Ending::Unseen => "was found dead; nobody saw its end".to_owned(),
            Ending::Failed(why) => format!("never began: {}", sanitize::text(why)),
        },
        Act::Restore {
            kind,
            changed,
            target,
            undoes,
            unlocked,
            aside,
            ..
        } => {
            let word = match (kind, undoes) {
                (RestoreKind::Restore, _) => "restored to".to_owned(),
                (RestoreKind::Undo, Some(number)) => format!("undid {number}, back to"),
                (RestoreKind::Undo, None) => "undone, back to".to_owned(),
            };
            let changed = size::counted(changed.len() as u64, "path", "paths");
            let places = aside.iter().map(aside::receipt);
            let key = unlocked.then(|| "with the private key".to_owned());
            let told: Vec<String> = std::iter::once(changed).chain(key).chain(places).collect();
            format!("{word} {target}: {}", told.join("; "))
        }
        Act::Abort { target, as_is, .. } => match as_is {
            false => format!("taken back before it was done: the restore to {target}"),
            true => format!("left as it was in the middle: the restore to {target}"),
        },
        Act::Prune {
            automatic,
            snapshots,
            bytes,
        } => {
            let who = if *automatic {
                "pruned by the rules"
            } else {
                "pruned"
            };
            let count = size::counted(snapshots.len() as u64, "snapshot", "snapshots");
            format!("{who}: {count}, {} ({})", size::bytes(*bytes), reasons(snapshots))
        }
        Act::Repack { from, into, bytes } => format!(
            "packed {} anew into {}: {} less",
            size::counted(from.len() as u64, "archive", "archives"),
            into.id,
            size::bytes(*bytes)
        ),
        Act::Pin { snapshot } => format!("pinned{}", which(snapshot.as_ref())),
        Act::Unpin { snapshot } => format!("unpinned{}", which(snapshot.as_ref())),
        Act::Fork {
            snapshot,
            fork,
            directory,
            paths,
            ..
        } => format!(
            "forked {snapshot} as {fork}: {} into {}",
            size::counted(*paths, "path", "paths"),
            sanitize::path(&directory.to_path())
        ),
        Act::Export {
            snapshot, file, size, ..
        } => format!(
            "exported {snapshot} into {}, {}",
            sanitize::path(&file.to_path()),
            size::bytes(*size)
        ),
        Act::Import { file, origin, .. } => format!(
            "imported {} of {} from {}",
            origin.0,
            origin.1,
            sanitize::path(&file.to_path())
        ),
    }
}

fn which(snapshot: Option<&SnapshotId>) -> String {
    snapshot.map(|id| format!(" {id}")).unwrap_or_default()
}

/// How many for which reason.
fn reasons(snapshots: &[PrunedSnapshot]) -> String {
    let mut counts: Vec<(PruneReason, u64)> = Vec::new();
    for pruned in snapshots {
        match counts.iter_mut().find(|(reason, _)| *reason == pruned.reason) {
            Some((_, count)) => *count += 1,
            None => counts.push((pruned.reason, 1)),
        }
    }
    counts.sort();
    let told: Vec<String> = counts
        .iter()
        .map(|(reason, count)| format!("{}: {}", reason_words(*reason), size::count(*count)))
        .collect();
    told.join(", ")
}

/// Why snapshots are given up.
pub(in crate::cli) fn reason_words(reason: PruneReason) -> &'static str {
    match reason {
        PruneReason::Instances => "sessions beyond their number",
        PruneReason::Days => "sessions that are too old",
        PruneReason::Checkpoints => "checkpoints beyond their number",
        PruneReason::CheckpointDays => "checkpoints that are too old",
        PruneReason::MaxBytes => "the store is too large",
        PruneReason::MinFree => "too little room is free",
    }
}
