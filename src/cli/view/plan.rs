//! The plan of a restore: every host path with what will be done, then what stays.

use super::{aside, changes};
use crate::report::{
    Action, Change, ChangeDocument, ChangeKind, LeftOut, MountPlan, ReasonDocument, RestoreDocument,
};
use crate::terminal::{Role, sanitize, size, style, width};

/// The plan in words. Every path that will be touched stands in it with its full host path.
pub(in crate::cli) fn plan(plan: &RestoreDocument<'_>, columns: usize) -> String {
    let mut lines = Vec::new();
    for mount in plan.mounts() {
        lines.push(style::paint(Role::Heading, &changes::host(mount.coverage)));
        mount_lines(&mount, columns, &mut lines);
    }
    lines.extend(width::wrap(&counts(plan), columns));
    if plan.mounts().any(|mount| mount.is_busy()) {
        lines.extend(staging(plan));
        lines.push("An emergency snapshot is taken first; `undo` restores it.".to_owned());
    }
    lines.join("\n")
}

/// Only what is done, for a restore that is under way already.
pub(in crate::cli) fn steps(plan: &RestoreDocument<'_>, columns: usize) -> String {
    let mut lines = width::wrap(
        "Plan of the interrupted restore; some of it may be done:",
        columns,
    );
    for mount in plan.mounts().filter(MountPlan::is_busy) {
        lines.push(style::paint(Role::Heading, &changes::host(mount.coverage)));
        mount_lines(&mount, columns, &mut lines);
    }
    lines.extend(width::wrap(&counts(plan), columns));
    lines.join("\n")
}

/// The directories that will come and go while content is written; each once, on a line that may be long.
fn staging(plan: &RestoreDocument<'_>) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for mount in plan.mounts().filter(MountPlan::is_busy) {
        let place = match mount.is_staged_inside {
            false => "",
            true => "  (inside the mount)",
        };
        let passing = mount.staging.join(".jackin-recovery-…");
        let line = format!("  {}{place}", sanitize::path(&passing));
        if !places.contains(&line) {
            places.push(line);
        }
    }
    places.insert(0, "Temporary directory (removed afterwards):".to_owned());
    places
}

fn mount_lines(mount: &MountPlan<'_>, columns: usize, lines: &mut Vec<String>) {
    let root = mount.coverage.root.to_path();
    for (told, change) in &mount.applied {
        let host = sanitize::path(&told.at.on_host);
        let (word, role) = match (change.kind, told.action) {
            (ChangeKind::Renamed, _) => ("move back", Role::Changed),
            (_, Some(Action::Create)) => ("create", Role::Added),
            (_, Some(Action::Replace)) => ("replace", Role::Changed),
            (_, Some(Action::Delete)) => ("delete", Role::Removed),
            (_, Some(Action::Metadata) | None) => ("set mode", Role::Changed),
        };
        let mut line = format!("  {:9} {host}", style::paint(role, &format!("{word:9}")));
        if let Some(from) = &change.from_path {
            line.push_str(&format!(" -> {}", sanitize::path(&from.on_host(&root))));
        }
        let mut detail = reversed_detail(change);
        if let Some(others) = other_names(told) {
            let comma = if detail.is_empty() { "" } else { "; " };
            detail.push_str(&format!("{comma}{others}"));
        }
        if !detail.is_empty() {
            line.push_str(&style::paint(Role::Dim, &format!("  ({detail})")));
        }
        if told.discards_later_edit == Some(true) {
            line.push_str("  ");
            line.push_str(&style::paint(Role::Warning, "discards a later edit"));
        }
        lines.push(line);
    }
    lines.extend(aside::lines(&root, mount.aside));
    if !mount.conflicts.is_empty() {
        lines.push(style::paint(Role::Warning, "  Conflicts, not changed:"));
        for kept in mount.conflicts {
            let (host, why) = stays(kept);
            let line = format!("    {host}: {why}");
            if width::of(&line) <= columns {
                lines.push(line);
            } else {
                lines.extend([format!("    {host}:"), format!("      {why}")]);
            }
        }
    }
    for kept in mount.kept {
        let (host, why) = stays(kept);
        lines.push(format!("  kept      {host}: {why}"));
    }
    for (told, left_out) in &mount.left_out {
        let host = sanitize::path(&told.at.on_host);
        lines.push(match left_out {
            LeftOut::Noted => continue,
            LeftOut::Repository(paths) => {
                let paths = size::counted(*paths, "path that differs", "paths that differ");
                format!("  excluded  {host} (--files-only): {paths}")
            }
            LeftOut::Secret(words) => format!("  secret    {host}: {words}; the current one stays"),
            LeftOut::Stuck(words) => {
                format!("  skipped   {host}: {words}; it cannot be merged by key, so it stays")
            }
            LeftOut::Withheld(words) => {
                format!("  skipped   {host}: {words}; no snapshot has it, so it stays")
            }
            LeftOut::Encrypted(words) => {
                format!("  encrypted {host}: {words}; it stays without --identity")
            }
            LeftOut::Note(key, what) => {
                let line = format!("  secret    {host}: {}: {what}", sanitize::text(key));
                lines.extend(width::wrap(&line, columns));
                continue;
            }
        });
    }
    let mut private = mount
        .left_out
        .iter()
        .filter(|(_, left_out)| left_out.is_private());
    let private: Vec<&ReasonDocument> = private.by_ref().map(|(told, _)| *told).collect();
    let is_told = |gap: &&ReasonDocument| private.iter().any(|told| told.at.below == gap.at.below);
    let not_covered: Vec<_> = mount.not_covered.iter().filter(|gap| !is_told(gap)).collect();
    list(
        lines,
        "Also included, as the other side of a rename:",
        mount.also.iter().map(|path| sanitize::path(&path.on_host)),
    );
    list(
        lines,
        "Not captured, not changed:",
        not_covered.into_iter().map(|gap| {
            let host = sanitize::path(&gap.at.on_host);
            format!("{host}: {}", sanitize::text(&gap.reason))
        }),
    );
    list(
        lines,
        "Not checked (excluded, changed since the snapshot):",
        mount
            .not_checked
            .iter()
            .map(|skipped| sanitize::path(&skipped.at.on_host)),
    );
}

/// The host path of what stays, and why.
fn stays(kept: &ChangeDocument) -> (String, String) {
    let why = kept.reason.as_deref().unwrap_or_default();
    (sanitize::path(&kept.at.on_host), sanitize::text(why))
}

fn list(lines: &mut Vec<String>, title: &str, items: impl ExactSizeIterator<Item = String>) {
    const SHOWN: usize = 20;
    let total = items.len();
    if total == 0 {
        return;
    }
    lines.push(format!("  {title}"));
    lines.extend(items.take(SHOWN).map(|item| format!("    {item}")));
    if total > SHOWN {
        lines.push(format!(
            "    and {} more (--json has them all)",
            size::count((total - SHOWN) as u64)
        ));
    }
}

/// Describes the changes of mode and owner that a restore makes, from the current to the earlier state.
fn reversed_detail(change: &Change) -> String {
    let back = Change {
        from: change.to.clone(),
        to: change.from.clone(),
        ..change.clone()
    };
    if change.kind == ChangeKind::Renamed {
        String::new()
    } else {
        changes::detail(&back)
    }
}

/// Describes the effect on the existing file's other names.
fn other_names(step: &ChangeDocument) -> Option<String> {
    const SHOWN: usize = 5;
    let named = step.parted_from.iter().take(SHOWN);
    let mut parts: Vec<String> = named.map(|path| sanitize::name(path.below.as_bytes())).collect();
    let more = step.parted_from.len().saturating_sub(SHOWN);
    if more > 0 {
        parts.push(size::counted(more as u64, "more name", "more names"));
    }
    let mut list = parts.join(", ");
    let outside = u64::from(step.names_outside.unwrap_or(0));
    if step.action == Some(Action::Metadata) {
        let names = size::counted(outside, "other name", "other names");
        return (outside > 0).then(|| format!("also of {names} outside the snapshot"));
    }
    if outside > 0 {
        let names = size::counted(outside, "name", "names");
        let and = if list.is_empty() { "" } else { " and " };
        list.push_str(&format!("{and}{names} outside the snapshot"));
    }
    (!list.is_empty()).then(|| format!("no longer linked to {list}"))
}

fn counts(plan: &RestoreDocument<'_>) -> String {
    // The same lines as above are counted, so that a file that moves is one, though two paths change.
    let mounts: Vec<MountPlan<'_>> = plan.mounts().collect();
    let shown: Vec<_> = mounts.iter().flat_map(|mount| &mount.applied).collect();
    let paths = shown.len();
    let moves = |change: &Change| change.kind == ChangeKind::Renamed;
    let count = |action| {
        let alike = shown
            .iter()
            .filter(|(told, change)| told.action == Some(action) && !moves(change));
        alike.count() as u64
    };
    let conflicts = plan.conflicts.len();
    let mut parts = Vec::new();
    let moved = shown.iter().filter(|(_, change)| moves(change)).count() as u64;
    if moved > 0 {
        parts.push(format!("{} to move back", size::count(moved)));
    }
    for (action, word) in [
        (Action::Create, "to create"),
        (Action::Replace, "to replace"),
        (Action::Delete, "to delete"),
        (Action::Metadata, "to set modes or attributes on"),
    ] {
        let number = count(action);
        if number > 0 {
            parts.push(format!("{} {word}", size::count(number)));
        }
    }
    let aside = mounts.iter().flat_map(|mount| mount.aside);
    let paths = paths + aside.clone().count();
    parts.extend(aside::counts(aside));
    if parts.is_empty() {
        parts.push("Nothing to do".to_owned());
    }
    if conflicts > 0 {
        parts.push(size::counted(conflicts as u64, "conflict left", "conflicts left"));
    }
    let text = parts.join(", ");
    if paths == 0 {
        return format!("{text}.");
    }
    format!("{}: {text}.", size::counted(paths as u64, "path", "paths"))
}
