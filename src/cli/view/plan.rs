//! The plan of a restore: what stays, what will be done with each path, and how many there are.

use super::{aside, changes, folded, repository};
use crate::model::{EntryKind, MIXED, RelPath};
use crate::report::{
    Action, Change, ChangeDocument, ChangeKind, Extent, Fold, FoldedLine, HeadDocument, LeftOut, MountPlan,
    MovedHead, ReasonDocument, RestoreDocument, is_notable,
};
use crate::terminal::{Role, sanitize, size, style, width};

/// Paths that a plan lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Listed {
    /// Every path.
    All,
    /// Directories that change as a whole, and git's own data, on one line each.
    Folded,
}

/// Title of the paths that were not asked for and belong to what was.
pub(in crate::cli) const ALSO: &str = "Also included, as they belong to what was asked for:";
/// Number of lines above which those that fold nothing stand before the others.
const SCREEN: usize = 20;
/// Most paths that stay for the same reason and are listed one by one.
const UNFOLDED: usize = 3;

/// The plan in words. Paths are relative to the host root that stands above them.
pub(in crate::cli) fn plan(plan: &RestoreDocument<'_>, columns: usize, listed: Listed) -> String {
    let mut parts = paths(plan, columns, listed);
    parts.push(summary(plan, columns));
    parts.join("\n")
}

/// Every mount of a plan with its lines: first what stays, then what changes.
pub(in crate::cli) fn paths(plan: &RestoreDocument<'_>, columns: usize, listed: Listed) -> Vec<String> {
    let mut lines = Vec::new();
    for mount in plan.mounts() {
        lines.push(style::paint(Role::Heading, &changes::host(mount.coverage)));
        what_stays(&mount, columns, listed, &mut lines);
        what_changes(&mount, listed, &mut lines);
    }
    lines
}

/// Text of a plan around its paths, with their number.
pub(in crate::cli) fn summary(plan: &RestoreDocument<'_>, columns: usize) -> String {
    let mut lines = Vec::new();
    if plan.mounts().any(|mount| mount.is_busy()) {
        lines.extend(staging(plan));
        let sentence = "An emergency snapshot is taken first; `undo` restores it.";
        lines.extend(width::wrap(sentence, columns));
    }
    lines.extend(width::wrap(&counts(plan), columns));
    lines.join("\n")
}

/// Paths that stay although they differ, for an operator who wants no plan. `None` if there are none.
pub(in crate::cli) fn stays(plan: &RestoreDocument<'_>, columns: usize) -> Option<String> {
    let mut lines = Vec::new();
    for mount in plan.mounts() {
        let mut own = Vec::new();
        what_stays(&mount, columns, Listed::Folded, &mut own);
        if !own.is_empty() {
            lines.push(style::paint(Role::Heading, &changes::host(mount.coverage)));
            lines.extend(own);
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns the number of paths that change; one that moves counts once.
pub(in crate::cli) fn changed(plan: &RestoreDocument<'_>) -> u64 {
    plan.mounts().map(|mount| mount.applied.len() as u64).sum()
}

/// Returns true if a folded plan has fewer lines than paths.
pub(in crate::cli) fn is_folded(plan: &RestoreDocument<'_>) -> bool {
    plan.mounts().any(|mount| {
        let kept = kept(&mount, Listed::Folded);
        mount.folded().len() < mount.applied.len() || kept.len() < mount.kept.len()
    })
}

/// Only what is done, for a restore that is under way already.
pub(in crate::cli) fn steps(plan: &RestoreDocument<'_>, columns: usize, listed: Listed) -> Vec<String> {
    let mut lines = width::wrap(
        "Plan of the interrupted restore; some of it may be done:",
        columns,
    );
    for mount in plan.mounts().filter(MountPlan::is_busy) {
        lines.push(style::paint(Role::Heading, &changes::host(mount.coverage)));
        what_stays(&mount, columns, listed, &mut lines);
        what_changes(&mount, listed, &mut lines);
    }
    lines
}

/// The number of paths of a plan.
pub(in crate::cli) fn total(plan: &RestoreDocument<'_>, columns: usize) -> String {
    width::wrap(&counts(plan), columns).join("\n")
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

/// The lines of what changes.
fn what_changes(mount: &MountPlan<'_>, listed: Listed, lines: &mut Vec<String>) {
    lines.extend(aside::lines(mount.aside));
    let heads = mount.heads.iter().map(|moved| (moved.own.clone(), head(moved)));
    let mut heads: Vec<(RelPath, String)> = heads.collect();
    if listed == Listed::All {
        lines.extend(heads.into_iter().map(|(_, line)| line));
        lines.extend(mount.applied.iter().map(|(told, change)| step(told, change)));
        return;
    }
    let mut folded = mount.folded();
    if folded.len() > SCREEN {
        // What folds never hide is not lost among what they replace.
        folded.sort_by_key(|line| match line {
            FoldedLine::One(at) => !is_rare(mount, *at),
            FoldedLine::Fold(fold) => !fold.is_marked,
        });
    }
    let mut told = Vec::new();
    for line in &folded {
        told.extend(entries(mount, std::slice::from_ref(line)));
        // What happens to a branch stands beside the number of git's own files.
        if let FoldedLine::Fold(fold) = line {
            told.extend(
                heads
                    .extract_if(.., |(own, _)| *own == fold.path)
                    .map(|(_, line)| line),
            );
        }
    }
    lines.extend(heads.into_iter().map(|(_, line)| line));
    lines.extend(told);
}

/// The line of a repository whose HEAD moves.
fn head(moved: &MovedHead<'_>) -> String {
    let branch = |head: &HeadDocument| {
        let name = head.reference.as_deref()?;
        Some(sanitize::text(name.strip_prefix("refs/heads/").unwrap_or(name)))
    };
    let commit = |head: &HeadDocument| match &head.commit {
        Some(commit) => repository::short(commit),
        None => "no commit".to_owned(),
    };
    let position = |head: &HeadDocument| match branch(head) {
        Some(branch) => format!("{branch} ({})", commit(head)),
        None => format!("{} (detached)", commit(head)),
    };
    let text = match branch(&moved.now) {
        Some(name) if moved.now.reference == moved.then.reference => format!(
            "branch {name} moves from {} to {}",
            commit(&moved.now),
            commit(&moved.then)
        ),
        _ => format!(
            "HEAD moves from {} to {}",
            position(&moved.now),
            position(&moved.then)
        ),
    };
    let place = match moved.own.as_bytes() {
        b".git" => String::new(),
        own => format!("  (in {})", sanitize::name(own)),
    };
    format!("  {} {text}{place}", style::paint(Role::Changed, "git      "))
}

/// Returns true if a step is one that folds never hide.
fn is_rare(mount: &MountPlan<'_>, at: usize) -> bool {
    mount.applied.get(at).is_some_and(|(told, change)| {
        told.discards_later_edit == Some(true) || is_notable(mount.coverage, change)
    })
}

/// The lines of a plan, one for each of these.
pub(in crate::cli) fn entries(mount: &MountPlan<'_>, folded: &[FoldedLine]) -> Vec<String> {
    let line = |line: &FoldedLine| match line {
        FoldedLine::One(at) => mount.applied.get(*at).map(|(told, change)| step(told, change)),
        FoldedLine::Fold(fold) => Some(fold_line(fold, mount)),
    };
    folded.iter().filter_map(line).collect()
}

/// Several steps on one line.
fn fold_line(fold: &Fold, mount: &MountPlan<'_>) -> String {
    let word = |kind| match kind {
        ChangeKind::Renamed => ("move back", Role::Changed),
        ChangeKind::Added => ("delete", Role::Removed),
        ChangeKind::Deleted => ("create", Role::Added),
        ChangeKind::Modified | ChangeKind::Type => ("replace", Role::Changed),
        ChangeKind::Mode | ChangeKind::Metadata => ("set mode", Role::Changed),
    };
    let ((action, role), words) = match fold.extent {
        Extent::Whole(kind) | Extent::Files(kind) | Extent::Git(Some(kind)) => (word(kind), String::new()),
        Extent::Moved => (word(ChangeKind::Renamed), String::new()),
        Extent::Git(None) => {
            let kind_at = |at: usize| mount.applied.get(at).map(|(_, change)| change.kind);
            let parts = folded::tally(fold, kind_at);
            let parts = parts.iter().map(|(kind, number)| match kind {
                ChangeKind::Renamed => ("to move back", *number),
                ChangeKind::Added => ("to delete", *number),
                ChangeKind::Deleted => ("to create", *number),
                ChangeKind::Modified | ChangeKind::Type => ("to replace", *number),
                ChangeKind::Mode | ChangeKind::Metadata => ("to change mode or attributes", *number),
            });
            (("restore", Role::Changed), folded::counts(parts))
        }
    };
    let text = match &fold.from_path {
        // As in the line of one path: from where it is to where it goes.
        Some(from) => folded::text(
            &Fold {
                path: from.clone(),
                from_path: Some(fold.path.clone()),
                ..fold.clone()
            },
            &words,
        ),
        None => folded::text(fold, &words),
    };
    let mut line = format!("  {} {text}", style::paint(role, &format!("{action:9}")));
    if fold.is_marked {
        line.push_str("  ");
        line.push_str(&style::paint(Role::Warning, "discards later deletions"));
    }
    line
}

/// One step: action, path, and details.
fn step(told: &ChangeDocument, change: &Change) -> String {
    let (word, role) = match (change.kind, told.action) {
        (ChangeKind::Renamed, _) => ("move back", Role::Changed),
        _ if told.merged.is_some() => ("merge", Role::Changed),
        (_, Some(Action::Create)) => ("create", Role::Added),
        (_, Some(Action::Replace)) => ("replace", Role::Changed),
        (_, Some(Action::Delete)) => ("delete", Role::Removed),
        (_, Some(Action::Metadata) | None) => ("set mode", Role::Changed),
    };
    let entry = change.from.as_ref().or(change.to.as_ref());
    let path = changes::path(&change.path, entry);
    let mut line = format!("  {} {path}", style::paint(role, &format!("{word:9}")));
    if let Some(from) = &change.from_path {
        line.push_str(&format!(" -> {}", changes::path(from, change.from.as_ref())));
    }
    if let Some(hunks) = told.hunks {
        line.push_str(&format!(
            ": {} of {}",
            hunks.chosen,
            size::counted(hunks.all.into(), "hunk", "hunks")
        ));
        match hunks.partial {
            0 => {}
            all if all == hunks.chosen => line.push_str(", in part"),
            partial => line.push_str(&format!(", {} in part", size::count(partial.into()))),
        }
    }
    let mut detail = reversed_detail(change);
    if let Some(others) = other_names(told) {
        let comma = if detail.is_empty() { "" } else { "; " };
        detail.push_str(&format!("{comma}{others}"));
    }
    if !detail.is_empty() {
        line.push_str(&style::paint(Role::Dim, &format!("  ({detail})")));
    }
    if let Some(merged) = told.merged {
        line.push_str("  later edits stay");
        if merged.conflict_markers > 0 {
            let places = size::counted(merged.conflict_markers.into(), "place", "places");
            line.push_str(&style::paint(
                Role::Warning,
                &format!("; conflict markers in {places}"),
            ));
        }
    }
    if told.discards_later_edit == Some(true) {
        line.push_str("  ");
        line.push_str(&style::paint(Role::Warning, "discards a later edit"));
    }
    line
}

/// The lines of what stays, and why, after notes about a recreated root and about hard links.
fn what_stays(mount: &MountPlan<'_>, columns: usize, listed: Listed, lines: &mut Vec<String>) {
    if mount.is_recreated {
        lines.push("  Note: this directory was deleted and recreated after the snapshot".to_owned());
    }
    // Caches of package managers link thousands of files, so they are counted.
    let unlinked = mount.applied.iter().filter(|(told, _)| told.unlinked.is_some());
    let files = match unlinked.count() as u64 {
        0 => None,
        1 => Some("1 file is not linked again to a name".to_owned()),
        some => Some(format!(
            "{} files are not linked again to names",
            size::count(some)
        )),
    };
    lines.extend(files.map(|files| format!("  Note: {files} outside this directory's snapshot")));
    let is_socket = |change: &Change| {
        let then = change.from.as_ref().map(|entry| &entry.kind);
        let now = change.to.as_ref().map(|entry| &entry.kind);
        now == Some(&EntryKind::Socket) && then != now
    };
    let sockets = mount.applied.iter().filter(|(_, change)| is_socket(change));
    let sockets = match sockets.count() as u64 {
        0 => None,
        1 => Some("1 socket is".to_owned()),
        some => Some(format!("{} sockets are", size::count(some))),
    };
    lines.extend(sockets.map(|sockets| format!("  Note: {sockets} removed; `undo` restores no sockets")));
    if !mount.conflicts.is_empty() {
        lines.push(style::paint(Role::Warning, "  Conflicts, not changed:"));
        for kept in mount.conflicts {
            let (path, why) = reason(kept);
            let line = format!("    {path}: {why}");
            if width::of(&line) <= columns {
                lines.push(line);
            } else {
                lines.extend([format!("    {path}:"), format!("      {why}")]);
            }
            lines.extend(overlaps(kept));
        }
    }
    lines.extend(kept(mount, listed));
    for (told, left_out) in &mount.left_out {
        lines.extend(skipped(told, left_out, columns));
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
        ALSO,
        mount.also.iter().map(|path| changes::path(&path.below, None)),
    );
    if !mount.open_files.is_empty() {
        let title = "  Open for writing; what these processes write after the restore is lost:";
        lines.push(style::paint(Role::Warning, title));
        lines.extend(mount.open_files.iter().map(|open| {
            let path = changes::path(&open.at.below, None);
            format!("    {path}: {}", sanitize::name(open.reason.as_bytes()))
        }));
    }
    if !mount.lost_edits.is_empty() {
        let title = "  Edits between turns that were undone; they are not restored:";
        lines.push(style::paint(Role::Warning, title));
        let shown = match listed {
            Listed::Folded => 10,
            Listed::All => usize::MAX,
        };
        lines.extend(mount.lost_edits.iter().take(shown).map(|edit| {
            let path = changes::path(&edit.at.below, None);
            format!("    {path}: {}", edit.reason)
        }));
        let more = mount.lost_edits.len().saturating_sub(shown) as u64;
        if more > 0 {
            lines.push(format!(
                "    and {}",
                size::counted(more, "more path", "more paths")
            ));
        }
    }
    let (mixed, absent): (Vec<_>, Vec<_>) = not_covered.into_iter().partition(|gap| gap.reason == MIXED);
    list(
        lines,
        "Not captured, not changed:",
        absent.into_iter().map(|gap| {
            let path = changes::path(&gap.at.below, None);
            format!("{path}: {}", sanitize::text(&gap.reason))
        }),
    );
    list(
        lines,
        "Changed while they were captured; their bytes may mix two versions:",
        mixed.into_iter().map(|gap| changes::path(&gap.at.below, None)),
    );
    list(
        lines,
        "Not checked (excluded, changed since the snapshot):",
        mount
            .not_checked
            .iter()
            .map(|skipped| changes::path(&skipped.at.below, None)),
    );
}

/// The lines of the places where a later edit overlaps with the session's change.
fn overlaps(kept: &ChangeDocument) -> Vec<String> {
    const PLACES: usize = 3;
    const LINES: usize = 24;
    let mut lines = Vec::new();
    for place in kept.overlaps.iter().take(PLACES) {
        lines.push(format!("      line {}:", size::count(place.line)));
        let Some(text) = &place.lines else {
            lines.push("        content hidden: it may hold secrets".to_owned());
            continue;
        };
        let shown = text.iter().take(LINES);
        lines.extend(shown.map(|line| style::paint(Role::Dim, &format!("        {}", sanitize::line(line)))));
        if text.len() > LINES {
            let more = size::counted((text.len() - LINES) as u64, "more line", "more lines");
            lines.push(format!("        ({more})"));
        }
    }
    let more = kept.overlaps.len().saturating_sub(PLACES) as u64;
    if more > 0 {
        lines.push(format!(
            "      and {}",
            size::counted(more, "more place", "more places")
        ));
    }
    lines
}

/// The lines of a path that a restore skips.
fn skipped(told: &ReasonDocument, left_out: &LeftOut, columns: usize) -> Vec<String> {
    let path = changes::path(&told.at.below, None);
    let line = match left_out {
        LeftOut::Noted => return Vec::new(),
        LeftOut::Repository(paths) => {
            let paths = size::counted(*paths, "path that differs", "paths that differ");
            format!("  excluded  {path} (--files-only): {paths}")
        }
        LeftOut::Secret(words) => format!("  secret    {path}: {words}; the current one stays"),
        LeftOut::Stuck(words) => {
            format!("  skipped   {path}: {words}; it cannot be merged by key, so it stays")
        }
        LeftOut::Withheld(words) => {
            format!("  skipped   {path}: {words}; no snapshot has it, so it stays")
        }
        LeftOut::Encrypted(words) => {
            format!("  encrypted {path}: {words}; it stays without --identity")
        }
        LeftOut::Parted(other) => {
            let other = sanitize::name(other.as_bytes());
            return vec![format!(
                "  excluded  {path}: --exclude matches {other}, its other name"
            )];
        }
        LeftOut::Note(key, what) => {
            let line = format!("  secret    {path}: {}: {what}", sanitize::text(key));
            return width::wrap(&line, columns);
        }
    };
    vec![line]
}

/// The lines of paths that stay and are no conflicts.
fn kept(mount: &MountPlan<'_>, listed: Listed) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = mount.kept;
    while let Some(first) = rest.first() {
        let alike = rest
            .iter()
            .take_while(|other| other.reason == first.reason)
            .count();
        let (alike, others) = rest.split_at(alike);
        let directory =
            common_directory(alike).filter(|_| listed == Listed::Folded && alike.len() > UNFOLDED);
        rest = others;
        match directory {
            Some(directory) => {
                let (path, (_, why)) = (changes::path(&directory, None), reason(first));
                lines.push(format!("  kept      {path}/ ({} paths): {why}", alike.len()));
            }
            None => lines.extend(alike.iter().map(|kept| {
                let (path, why) = reason(kept);
                format!("  kept      {path}: {why}")
            })),
        }
    }
    lines
}

/// The deepest directory below the mount that holds all of these paths; `None` if only the mount does.
fn common_directory(paths: &[ChangeDocument]) -> Option<RelPath> {
    let (first, rest) = paths.split_first()?;
    let mut directory = first.at.below.split()?.0;
    while !rest.iter().all(|kept| kept.at.below.is_within(&directory)) {
        directory = directory.split()?.0;
    }
    (!directory.is_root()).then_some(directory)
}

/// The path of what stays, and why.
fn reason(kept: &ChangeDocument) -> (String, String) {
    let why = kept.reason.as_deref().unwrap_or_default();
    (changes::path(&kept.at.below, None), sanitize::text(why))
}

/// Adds a title and the first of some items. Adds nothing if there are none.
pub(in crate::cli) fn list(
    lines: &mut Vec<String>,
    title: &str,
    items: impl ExactSizeIterator<Item = String>,
) {
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
    let more = step.parted_from.len().saturating_sub(SHOWN) as u64 + step.parted_from_omitted.unwrap_or(0);
    if more > 0 {
        parts.push(size::counted(more, "more name", "more names"));
    }
    let mut list = parts.join(", ");
    let outside = u64::from(step.names_outside.unwrap_or(0));
    if step.action == Some(Action::Metadata) {
        let names = size::counted(outside, "other name", "other names");
        return (outside > 0).then(|| format!("also of {names} outside this directory's snapshot"));
    }
    if outside > 0 {
        let names = size::counted(outside, "name", "names");
        let and = if list.is_empty() { "" } else { " and " };
        list.push_str(&format!("{and}{names} outside this directory's snapshot"));
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
            .filter(|(told, change)| told.action == Some(action) && told.merged.is_none() && !moves(change));
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
        (Action::Metadata, "to change mode or attributes"),
    ] {
        let number = count(action);
        if number > 0 {
            parts.push(format!("{} {word}", size::count(number)));
        }
    }
    let merged = shown
        .iter()
        .filter(|(told, change)| told.merged.is_some() && !moves(change));
    let merged = merged.count() as u64;
    if merged > 0 {
        parts.push(format!("{} to merge", size::count(merged)));
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
