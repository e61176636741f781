//! Plan of a prune, as text.

use super::receipt::reason_words;
use crate::model::Time;
use crate::report::{Held, PruneDocument, PruneOutcome, ShortageDocument};
use crate::terminal::table::{Column, Fit, Table};
use crate::terminal::{Role, sanitize, size, style, width};

/// So many snapshots are named one by one; the rest is counted.
const NAMED: usize = 20;

/// The plan, and the baselines that are not stored: what was frozen for those that do not fit goes.
pub(in crate::cli) fn plan(plan: &PruneDocument, now: Time, columns: usize) -> String {
    let mut lines = width::wrap(&taken(plan), columns);
    if !plan.snapshots.is_empty() {
        lines.push(String::new());
        lines.push(snapshots(plan, now, columns));
        let more = plan.snapshots.len().saturating_sub(NAMED);
        if more > 0 {
            lines.push(format!("and {} more (--json has them)", size::count(more as u64)));
        }
        lines.push(String::new());
    }
    for share in &plan.reasons {
        let words = reason_words(share.reason);
        lines.push(amount(share.snapshots, words, share.bytes));
    }
    if plan.idle > 0 {
        lines.push(format!(
            "  archives that a killed command left: {}",
            size::bytes(plan.idle)
        ));
    }
    if plan.half_replaced > 0 {
        lines.push(format!(
            "  a killed command was replacing {}: they stay",
            size::counted(plan.half_replaced, "archive", "archives")
        ));
    }
    lines.extend(repack(plan));
    for (held, count) in &plan.held {
        let count = size::counted(*count, "snapshot", "snapshots");
        lines.push(format!("  {count}: {}", held_words(*held)));
    }
    if !plan.unreadable.is_empty() {
        let records = size::counted(plan.unreadable.len() as u64, "snapshot", "snapshots");
        let text = format!(
            "The record of {records} is missing or cannot be read, so no archive is deleted: any may be needed."
        );
        lines.extend(warning(&text, columns));
    }
    if plan.lacking > 0 {
        let text = format!(
            "{} more would have to be deleted, but all other snapshots are kept:",
            size::bytes(plan.lacking)
        );
        lines.extend(warning(&text, columns));
        for (held, count) in &plan.left {
            let count = size::counted(*count, "snapshot", "snapshots");
            lines.push(format!("  {count}: {}", held_words(*held)));
        }
        let lasting = size::bytes(plan.lasting_bytes);
        lines.push(format!("  receipts and catalog, {lasting}: never deleted"));
    }
    if let Some(shortage) = plan.shortage {
        let text = shortage_words(shortage, plan.size);
        lines.extend(warning(&text, columns));
    }
    for id in &plan.frozen {
        lines.push(format!(
            "  the file-system snapshot of the baseline {id}, unless it can be stored now"
        ));
    }
    let is_missed = plan.shortage.is_some() || plan.lacking > 0;
    lines.push(match plan.outcome == PruneOutcome::Nothing {
        true if is_missed => "No snapshot to delete.".to_owned(),
        true => "Nothing exceeds the retention policy.".to_owned(),
        false => {
            let count = match plan.snapshots.len() as u64 {
                0 => "No snapshot".to_owned(),
                count => size::counted(count, "snapshot", "snapshots"),
            };
            let free = plan.freed.saturating_add(plan.repacked_bytes);
            format!("{count} to delete; about {} will be freed.", size::bytes(free))
        }
    });
    lines.join("\n")
}

/// Returns a warning in lines that fit.
fn warning(text: &str, columns: usize) -> impl Iterator<Item = String> {
    let lines = width::wrap(text, columns).into_iter();
    lines.map(|line| style::paint(Role::Warning, &line))
}

/// Describes the repack, if any: it frees bytes, or merges many small archives.
fn repack(plan: &PruneDocument) -> Option<String> {
    let counted = size::counted(plan.repacked, "archive", "archives");
    match plan.repacked_bytes {
        _ if plan.repacked == 0 => None,
        0 => Some(format!("  {counted}: small ones to merge into one")),
        gain => Some(format!("  {counted} to repack: about {}", size::bytes(gain))),
    }
}

/// Describes the disk use of the store, all of which counts against its limit.
fn taken(plan: &PruneDocument) -> String {
    format!(
        "The store takes {}: archives {}, records {}, receipts and catalog {}.",
        size::bytes(plan.size),
        size::bytes(plan.archive_bytes),
        size::bytes(plan.record_bytes),
        size::bytes(plan.lasting_bytes)
    )
}

fn amount(count: u64, words: &str, bytes: u64) -> String {
    let count = size::counted(count, "snapshot", "snapshots");
    format!("  {words}: {count}, {}", size::bytes(bytes))
}

fn snapshots(plan: &PruneDocument, now: Time, columns: usize) -> String {
    let mut table = Table::new([
        Column::new("SNAPSHOT").fit(Fit::Keep),
        Column::new("KIND AND NAME").fit(Fit::Cut),
        Column::new("TAKEN"),
        Column::new("SESSION").fit(Fit::Cut),
    ]);
    for chosen in plan.snapshots.iter().take(NAMED) {
        let snapshot = &chosen.snapshot;
        let mut called = snapshot.kind.word().to_owned();
        if let Some(name) = &snapshot.name {
            called.push_str(&format!(" {}", sanitize::name(name.as_bytes())));
        }
        table.row([
            snapshot.id.to_string().into(),
            called.into(),
            size::age(chosen.taken_at, now).into(),
            snapshot.instance.to_string().into(),
        ]);
    }
    table.render(columns)
}

/// Returns the reason why snapshots are kept, in words.
pub(super) fn held_words(held: Held) -> &'static str {
    match held {
        Held::Pinned => "kept, pinned",
        Held::Active => "kept, the session is active",
        Held::Newest => "kept, the session is the newest of its workspace",
        Held::Interrupted => "kept, needed by an interrupted restore",
        Held::LastRestore => "kept, the last restore is undone with it",
    }
}

/// Describes a lack of free disk space, and what deleting snapshots could free. `store` is the size of the store in bytes.
pub(in crate::cli) fn shortage_words(shortage: ShortageDocument, store: u64) -> String {
    let (free, floor) = (size::bytes(shortage.free), size::bytes(shortage.floor));
    let short = format!("{free} are free on the disk of the store, and min_free keeps {floor} free");
    let missing = size::bytes(shortage.missing);
    let taken = size::bytes(store);
    if store <= shortage.missing {
        format!("{short}: the store takes {taken}, so pruning cannot free the missing {missing}")
    } else if shortage.within_reach < shortage.missing {
        let reach = size::bytes(shortage.within_reach);
        format!(
            "{short}: no snapshot was deleted, because only {reach} of the missing {missing} may be deleted here"
        )
    } else {
        format!("{short}: no snapshot was deleted, because the store is not what filled the disk")
    }
}
