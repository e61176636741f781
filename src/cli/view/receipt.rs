//! `log`: the chain of receipts, one line each.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::aside;
use super::steps::{self, step_words};
use crate::model::{
    AgentEvent, AmendedSnapshot, CallRef, Ending, InstanceId, Operation, PruneReason, PrunedSnapshot,
    Receipt, RelPath, RestoreKind, SnapshotId, Time, count_paths,
};
use crate::report::{LogDocument, ReceiptDocument};
use crate::terminal::table::{Column, Fit, Table};
use crate::terminal::{sanitize, size};

/// A log, whose receipts are put into words.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Telling<'a>(pub(in crate::cli) &'a LogDocument);

impl Telling<'_> {
    /// Describes a receipt: the operation, the user where users differ, and the receipt that undid it.
    pub(in crate::cli) fn words(self, one: &ReceiptDocument) -> String {
        let mut words = self.act(&one.receipt.act);
        if let Some(by) = self.by(&one.receipt) {
            words.push_str(&format!(", by {by}"));
        }
        if let Some(by) = one.taken_back_by {
            words.push_str(&format!(" (undone by {by})"));
        }
        words
    }

    fn by(self, receipt: &Receipt) -> Option<String> {
        let several_users = self.0.users.len() > 1;
        let is_told = match (&receipt.act, &receipt.instance) {
            (Operation::Restore { inside: true, .. }, Some(session)) => {
                return Some(format!("the session {session} itself"));
            }
            (Operation::Restore { .. }, _) => several_users || self.0.some_inside,
            _ => several_users,
        };
        let name = || self.0.users.get(&receipt.uid).and_then(Option::as_ref);
        is_told.then(|| user(receipt.uid, name()))
    }

    fn which(self, snapshot: Option<&SnapshotId>) -> String {
        let snapshot = snapshot.map(|id| format!(" {}", self.snapshot(id)));
        snapshot.unwrap_or_default()
    }

    /// A snapshot, and what it is called.
    fn snapshot(self, id: &SnapshotId) -> String {
        let own = self.0.names.get(id).into_iter().flatten();
        let own: Vec<String> = own.map(|text| sanitize::name(text.as_bytes())).collect();
        match own.is_empty() {
            true => id.to_string(),
            false => format!("{id} {}", own.join(", ")),
        }
    }
}

/// A user: the name, when this machine knows one, and the number.
fn user(uid: u32, name: Option<&OsString>) -> String {
    match name {
        Some(name) => format!("{} ({uid})", sanitize::os(name)),
        None => format!("user {uid}"),
    }
}

/// The receipts, newest first.
pub(in crate::cli) fn table(log: &LogDocument, now: Time, columns: usize) -> String {
    let mut table = Table::new([
        Column::new("N").right(),
        Column::new("WHEN"),
        Column::new("SESSION").fit(Fit::Keep),
        Column::new("OPERATION").fit(Fit::Wrap),
    ]);
    for one in &log.receipts {
        let receipt = &one.receipt;
        table.row([
            receipt.number.to_string().into(),
            size::age(receipt.at, now).into(),
            receipt
                .instance
                .as_ref()
                .map_or_else(|| "-".to_owned(), ToString::to_string)
                .into(),
            Telling(log).words(one).into(),
        ]);
    }
    table.render(columns)
}

impl Telling<'_> {
    fn act(self, act: &Operation) -> String {
        match act {
            Operation::Begin { mode, command, .. } => match command {
                Some((program, _)) => format!("began, mode {mode}: {}", sanitize::name(program.as_bytes())),
                None => format!("began, mode {mode}"),
            },
            Operation::Rename { title } => {
                let words = [&title.name, &title.message].into_iter().flatten();
                let words: Vec<String> = words.map(|word| sanitize::name(word.as_bytes())).collect();
                match words.is_empty() {
                    true => "name removed".to_owned(),
                    false => format!("renamed: {}", words.join(", ")),
                }
            }
            Operation::Capture {
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
                // Its message says it, while there is one.
                let is_named = self.0.names.get(snapshot).is_some_and(|own| !own.is_empty());
                let before = call.as_ref().filter(|_| !is_named);
                let before = before.map_or_else(String::new, |call| format!(" before {}", call_words(call)));
                let called = self.snapshot(snapshot);
                let taken = format!("{} snapshot {called}{before}{changed}", kind.word());
                let private = size::counted(*withheld, "private file", "private files");
                match (*withheld, sealed_to.is_empty()) {
                    (0, _) => taken,
                    (_, true) => format!("{taken}, {private} skipped"),
                    (_, false) => {
                        let keys = size::counted(sealed_to.len() as u64, "key", "keys");
                        format!("{taken}, {private} encrypted to {keys}")
                    }
                }
            }
            Operation::AgentEvent { event, .. } => event_words(event),
            Operation::CaptureFailed { kind, error } => {
                format!("{} snapshot failed: {}", kind.word(), sanitize::text(error))
            }
            Operation::End { ending, .. } => match ending {
                Ending::Status(status) => format!("ended with status {status}"),
                Ending::Signal(signal) => format!("ended by signal {signal}"),
                Ending::Ended => "ended".to_owned(),
                Ending::Unseen => "ended without a closing snapshot".to_owned(),
                Ending::Failed(why) => format!("failed to start: {}", sanitize::text(why)),
            },
            Operation::Restore {
                kind,
                changed,
                target,
                undoes,
                only_changes_of,
                conflicts,
                failed,
                unlocked,
                aside,
                ..
            } => {
                let to = self.snapshot(target);
                let word = match (kind, undoes, only_changes_of) {
                    (RestoreKind::Restore, _, Some(step)) => {
                        format!("reverted only the step {}", steps::step(step))
                    }
                    (RestoreKind::Restore, ..) => format!("restored to {to}"),
                    (RestoreKind::Undo, Some(number), _) => format!("undid {number}, back to {to}"),
                    (RestoreKind::Undo, None, _) => format!("undone, back to {to}"),
                };
                let mut told = vec![size::counted(count_paths(changed), "path", "paths")];
                if *conflicts > 0 {
                    told.push(size::counted(*conflicts, "conflict kept", "conflicts kept"));
                }
                if *failed > 0 {
                    told.push(format!("{} could not be changed", size::count(*failed)));
                }
                told.extend(unlocked.then(|| "with the private key".to_owned()));
                told.extend(aside.iter().map(aside::receipt));
                format!("{word}: {}", told.join("; "))
            }
            Operation::Abort { target, as_is, .. } => match as_is {
                false => format!("rolled back: the restore to {}", self.snapshot(target)),
                true => format!("discarded: the restore to {}", self.snapshot(target)),
            },
            Operation::Prune {
                automatic,
                snapshots,
                bytes,
            } => {
                let who = if *automatic {
                    "pruned by the retention policy"
                } else {
                    "pruned"
                };
                let count = size::counted(snapshots.len() as u64, "snapshot", "snapshots");
                format!("{who}: {count}, {} ({})", size::bytes(*bytes), reasons(snapshots))
            }
            Operation::Forget {
                snapshots,
                amended,
                bytes,
                ..
            } => forgot(snapshots, amended, *bytes),
            Operation::Repack { from, into, bytes } => format!(
                "repacked {} into {}: {} less",
                size::counted(from.len() as u64, "archive", "archives"),
                into.id,
                size::bytes(*bytes)
            ),
            Operation::Pin { snapshot } => format!("pinned{}", self.which(snapshot.as_ref())),
            Operation::Unpin { snapshot } => format!("unpinned{}", self.which(snapshot.as_ref())),
            Operation::Fork {
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
            Operation::Export {
                snapshot, file, size, ..
            } => format!(
                "exported {snapshot} into {}, {}",
                sanitize::path(&file.to_path()),
                size::bytes(*size)
            ),
            Operation::Import { file, origin, .. } => format!(
                "imported {} of {} from {}",
                origin.0,
                origin.1,
                sanitize::path(&file.to_path())
            ),
            Operation::Adopt {
                place, store, mode, ..
            } => format!(
                "came from {} ({store}), mode {mode}",
                sanitize::name(place.as_bytes())
            ),
            Operation::AcceptLoss { snapshots, records } => accepted(snapshots.len(), records.len()),
        }
    }
}

/// Returns a tool call as a person remembers it, on one line.
pub(in crate::cli) fn call_words(call: &CallRef) -> String {
    first_line(&call.label())
}

/// Returns the first line of a prompt, in quotes.
pub(in crate::cli) fn prompt_words(text: &str) -> String {
    let line = first_line(text);
    match line.starts_with('"') {
        // A line that is not plain has quotes already.
        true => line,
        false => format!("\"{line}\""),
    }
}

/// Returns the first line with anything in it.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    sanitize::name(line.unwrap_or_default().as_bytes())
}

/// Describes an event of an agent.
fn event_words(event: &AgentEvent) -> String {
    match event {
        AgentEvent::Prompt { turn, text: None } => format!("turn {turn} began"),
        AgentEvent::Prompt {
            turn,
            text: Some(text),
        } => {
            format!("turn {turn} began: {}", prompt_words(text))
        }
        AgentEvent::Call { call } => format!("called {}", call_words(call)),
        AgentEvent::Return { tool, background, .. } => {
            let tool = sanitize::name(tool.as_bytes());
            match background {
                true => format!("{tool} returned and goes on in the background"),
                false => format!("{tool} returned"),
            }
        }
        AgentEvent::TurnEnd { turn } => format!("turn {turn} ended"),
    }
}

/// Describes what `forget` deleted: sessions, or paths of snapshots.
fn forgot(snapshots: &[PrunedSnapshot], amended: &[AmendedSnapshot], bytes: u64) -> String {
    let mut told = Vec::new();
    let sessions: BTreeSet<&InstanceId> = snapshots.iter().map(|pruned| &pruned.instance).collect();
    if !sessions.is_empty() {
        let named: Vec<&str> = sessions.into_iter().map(InstanceId::as_str).collect();
        let count = size::counted(snapshots.len() as u64, "snapshot", "snapshots");
        told.push(format!("{} with {count}", named.join(", ")));
    }
    let mounts = amended.iter().flat_map(|amended| &amended.mounts);
    let paths: BTreeSet<&RelPath> = mounts.flat_map(|mount| &mount.paths).collect();
    if !paths.is_empty() {
        let named: Vec<String> = paths.iter().map(|path| sanitize::name(path.as_bytes())).collect();
        let held = amended
            .iter()
            .filter(|amended| amended.mounts.iter().any(|mount| mount.manifest.is_some()));
        let count = size::counted(held.count() as u64, "snapshot", "snapshots");
        told.push(format!("{} of {count}", named.join(", ")));
    }
    format!("forgot {}: {} freed", told.join("; "), size::bytes(bytes))
}

/// Describes an accepted loss: receipts of so many snapshots, and so many records.
fn accepted(snapshots: usize, records: usize) -> String {
    let counted = |count: usize| size::counted(count as u64, "snapshot", "snapshots");
    let given_up = format!("discarded {}, whose records are lost", counted(records));
    let without = format!(
        "continued without lost receipts, including those of {}",
        counted(snapshots)
    );
    match (snapshots, records) {
        (_, 0) => without,
        (0, _) => given_up,
        _ => format!("{without}; {given_up}"),
    }
}

/// Describes the number of snapshots for each reason.
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

/// Returns the reason for a deletion, in words.
pub(in crate::cli) fn reason_words(reason: PruneReason) -> &'static str {
    match reason {
        PruneReason::Instances => "sessions beyond their number",
        PruneReason::Days => "sessions that are too old",
        PruneReason::Checkpoints => "checkpoints beyond their number",
        PruneReason::CheckpointDays => "checkpoints that are too old",
        PruneReason::MaxBytes => "the store is too large",
        PruneReason::MinFree => "too little room is free",
        PruneReason::Forgotten => "on request",
    }
}
