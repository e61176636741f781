//! The plan of a restore: every host path with what will be done, then what stays.

use std::borrow::Cow;

use super::{aside, changes};
use crate::diff::{Change, ChangeKind, NotCovered, WithheldKind};
use crate::model::RelPath;
use crate::report::{presented, why_words};
use crate::restore::{Action, Location, Proposal, ProposedMount, Step};
use crate::terminal::{Role, sanitize, size, style, width};

/// The plan in words. Every path that will be touched stands in it with its full host path.
pub(in crate::cli) fn plan(proposal: &Proposal, columns: usize) -> String {
    let mut lines = Vec::new();
    for mount in &proposal.mounts {
        lines.push(style::paint(
            Role::Heading,
            &changes::host(&mount.request.coverage),
        ));
        mount_lines(mount, columns, &mut lines);
    }
    lines.extend(width::wrap(&counts(proposal), columns));
    if !proposal.is_empty() {
        lines.extend(staging(proposal));
        lines.push("An emergency snapshot is taken first; `undo` goes back to it.".to_owned());
    }
    lines.join("\n")
}

/// Only what is done, for a restore that is under way already.
pub(in crate::cli) fn steps(proposal: &Proposal, columns: usize) -> String {
    let mut lines = width::wrap(
        "What the interrupted restore does; some of it may be done already:",
        columns,
    );
    for mount in proposal.mounts.iter().filter(|mount| mount.is_busy()) {
        lines.push(style::paint(
            Role::Heading,
            &changes::host(&mount.request.coverage),
        ));
        mount_lines(mount, columns, &mut lines);
    }
    lines.extend(width::wrap(&counts(proposal), columns));
    lines.join("\n")
}

/// The directories that will come and go while content is written; each once, on a line that may be long.
fn staging(proposal: &Proposal) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for mount in proposal.mounts.iter().filter(|mount| mount.is_busy()) {
        let place = match mount.location {
            Location::Beside(_) => "",
            Location::Inside(_) => "  (inside the mount)",
        };
        let passing = mount.location.directory().join(".jackin-recovery-…");
        let line = format!("  {}{place}", sanitize::path(&passing));
        if !places.contains(&line) {
            places.push(line);
        }
    }
    places.insert(
        0,
        "New content is staged here, and this is removed afterwards:".to_owned(),
    );
    places
}

fn mount_lines(mount: &ProposedMount, columns: usize, lines: &mut Vec<String>) {
    let root = mount.request.coverage.root.to_path();
    for (change, step) in presented(&mount.plan.steps) {
        let host = sanitize::path(&change.path.on_host(&root));
        let (word, role) = match (change.kind, step.action) {
            (ChangeKind::Renamed, _) => ("move back", Role::Changed),
            (_, Action::Create) => ("create", Role::Added),
            (_, Action::Replace) => ("replace", Role::Changed),
            (_, Action::Delete) => ("delete", Role::Removed),
            (_, Action::Metadata) => ("set mode", Role::Changed),
        };
        let mut line = format!("  {:9} {host}", style::paint(role, &format!("{word:9}")));
        if let Some(from) = &change.from_path {
            line.push_str(&format!(" -> {}", sanitize::path(&from.on_host(&root))));
        }
        let mut detail = reversed_detail(&change);
        if let Some(others) = other_names(step) {
            let comma = if detail.is_empty() { "" } else { "; " };
            detail.push_str(&format!("{comma}{others}"));
        }
        if !detail.is_empty() {
            line.push_str(&style::paint(Role::Dim, &format!("  ({detail})")));
        }
        lines.push(line);
    }
    lines.extend(aside::lines(&root, &mount.aside));
    let conflicts = &mount.plan.conflicts;
    if !conflicts.is_empty() {
        lines.push(style::paint(Role::Warning, "  Conflicts, left as they are:"));
        for kept in conflicts {
            let host = sanitize::path(&kept.change.path.on_host(&root));
            let why = sanitize::text(&why_words(&kept.why));
            let line = format!("    {host}: {why}");
            if width::of(&line) <= columns {
                lines.push(line);
            } else {
                lines.extend([format!("    {host}:"), format!("      {why}")]);
            }
        }
    }
    for kept in &mount.plan.kept {
        let host = sanitize::path(&kept.change.path.on_host(&root));
        lines.push(format!(
            "  kept      {host}: {}",
            sanitize::text(&why_words(&kept.why))
        ));
    }
    for (own, paths) in &mount.plan.left_out {
        let host = sanitize::path(&own.on_host(&root));
        let paths = size::counted(*paths, "path that differs", "paths that differ");
        lines.push(format!("  excluded  {host} (--files-only): {paths}"));
    }
    let is_told = |gap: &NotCovered| mount.withheld.iter().any(|change| change.path == gap.path);
    let has_note = |path: &RelPath| mount.notes.iter().any(|note| note.path == *path);
    let is_stuck = |path: &RelPath| mount.left_alone().any(|change| change.path == *path);
    for change in &mount.withheld {
        let host = sanitize::path(&change.path.on_host(&root));
        let words = change.kind.words();
        lines.push(match mount.is_sealed {
            _ if change.kind == WithheldKind::Secret && has_note(&change.path) => continue,
            _ if change.kind == WithheldKind::Secret => {
                format!("  secret    {host}: {words}; what is there now stays")
            }
            _ if is_stuck(&change.path) => {
                format!("  withheld  {host}: {words}; it cannot be put together key by key, so it stays")
            }
            false => format!("  withheld  {host}: {words}; no snapshot holds it, so it stays"),
            true => format!("  encrypted {host}: {words}; it stays unless --identity gives your key"),
        });
    }
    for note in &mount.notes {
        let host = sanitize::path(&note.path.on_host(&root));
        let (key, what) = (sanitize::text(&note.key.join(".")), note.words());
        lines.extend(width::wrap(
            &format!("  secret    {host}: {key}: {what}"),
            columns,
        ));
    }
    let not_covered: Vec<_> = mount
        .plan
        .not_covered
        .iter()
        .filter(|gap| !is_told(gap))
        .collect();
    list(
        lines,
        "Also included, as the other side of a rename:",
        mount.also.iter().map(|path| sanitize::path(&path.on_host(&root))),
    );
    list(
        lines,
        "Not covered, so not touched:",
        not_covered.into_iter().map(|gap| {
            let host = sanitize::path(&gap.path.on_host(&root));
            format!("{host}: {}", sanitize::text(&gap.reason))
        }),
    );
    list(
        lines,
        "Not checked (excluded, changed since the snapshot):",
        mount
            .not_checked
            .iter()
            .map(|skipped| sanitize::path(&skipped.path.on_host(&root))),
    );
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
fn other_names(step: &Step) -> Option<String> {
    const SHOWN: usize = 5;
    let others = &step.others;
    let named = others.parted_from.iter().take(SHOWN);
    let mut parts: Vec<String> = named.map(|path| sanitize::name(path.as_bytes())).collect();
    let more = others.parted_from.len().saturating_sub(SHOWN);
    if more > 0 {
        parts.push(size::counted(more as u64, "more name", "more names"));
    }
    let mut list = parts.join(", ");
    let outside = u64::from(others.outside);
    if step.action == Action::Metadata {
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

fn counts(proposal: &Proposal) -> String {
    // The same lines as above are counted, so that a file that moves is one, though two paths change.
    let shown: Vec<(Cow<'_, Change>, &Step)> = proposal
        .mounts
        .iter()
        .flat_map(|mount| presented(&mount.plan.steps))
        .collect();
    let paths = shown.len();
    let moves = |change: &Change| change.kind == ChangeKind::Renamed;
    let count = |action| {
        let alike = shown
            .iter()
            .filter(|(change, step)| step.action == action && !moves(change));
        alike.count() as u64
    };
    let conflicts: usize = proposal
        .mounts
        .iter()
        .map(|mount| mount.plan.conflicts.len())
        .sum();
    let mut parts = Vec::new();
    let moved = shown.iter().filter(|(change, _)| moves(change)).count() as u64;
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
    let aside = proposal.mounts.iter().flat_map(|mount| &mount.aside);
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
