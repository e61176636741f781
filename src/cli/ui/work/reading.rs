//! Facts from the store, as text.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use super::super::data::{Changes, Holding, Kind, Moment, PathChange, Point, Session, Sides, Timeline, What};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::named_session::no_store;
use crate::cli::view::instances::{kind_words, notes, role, status};
use crate::cli::view::steps::step_words;
use crate::cli::view::{self, Reader};
use crate::model::{self, ArchiveId, Coverage, RestoreKind, SnapshotKind};
use crate::recovery::{BlameRequest, PathHistory};
use crate::report::{
    self, BlameDocument, Change, ChangeKind, DiffDocument, InstanceDocument, LogDocument, MountDiff,
    PathLogDocument, RestorePoint, RestoredDocument, SessionReport, SnapshotDocument, Status,
};
use crate::session::find_called;
use crate::terminal::{Role, sanitize, size, width};

/// The sessions that there is anything of, newest first.
pub(super) fn sessions(context: &Context<'_>) -> Result<Vec<Session>, CliError> {
    let Some(store) = context.store_for_reading()? else {
        return Ok(Vec::new());
    };
    let all = report::sessions(&store, &[], true)?;
    let pinned = store.catalog().pins()?;
    let pinned = pinned.into_iter().filter(|(_, snapshot)| snapshot.is_none());
    let pinned: HashSet<String> = pinned.map(|(session, _)| session.to_string()).collect();
    let all = all.into_iter().filter(|session| !session.is_gone);
    let shown = all.map(|session| Session {
        workspace: session
            .workspace
            .as_ref()
            .map(|name| sanitize::name(name.as_bytes())),
        name: session.name.as_ref().map(|name| sanitize::name(name.as_bytes())),
        is_pinned: pinned.contains(&session.id),
        status: match session.restore_waits {
            true => "restore waits".to_owned(),
            false => session.status.word().to_owned(),
        },
        role: match session.restore_waits {
            true => Role::Warning,
            false => role(session.status),
        },
        began: session.started_at,
        snapshots: session.snapshots.len() as u64,
        bytes: session.tally.bytes,
        place: session
            .roots
            .iter()
            .map(|root| sanitize::path(root))
            .collect::<Vec<_>>()
            .join(", "),
        roots: session.roots,
        id: session.id,
    });
    Ok(shown.collect())
}

/// Everything that happened in a session, newest first.
pub(super) fn timeline(context: &Context<'_>, instance: &str) -> Result<Timeline, CliError> {
    let store = context.store_for_reading()?.ok_or_else(|| no_store(instance))?;
    let row = find_called(&store, context.environment, instance)?;
    let known = SessionReport::of(&store, &row, None)?;
    let session = &known.instance;
    let mut moments: Vec<Moment> = session
        .snapshots
        .iter()
        .map(|row| of_snapshot(&known, row))
        .collect();
    moments.extend(known.restores.iter().map(|restore| of_restore(session, restore)));
    moments.sort_by_key(|moment| std::cmp::Reverse(moment.at));
    let facts = view::instances::facts(&known, context.now(), super::WIDEST).join("\n");
    let active = if session.status == Status::Active {
        Some(format!("{}: read-only until it ends", status(session)))
    } else {
        session.restore_waits.then(|| {
            format!(
                "a restore was interrupted: {} or {}",
                context.command(&format!("resume {}", session.id)),
                context.command(&format!("abort {}", session.id))
            )
        })
    };
    Ok(Timeline {
        id: session.id.clone(),
        active,
        facts,
        moments,
        points: known.restore_points().iter().map(point).collect(),
    })
}

fn point(point: &RestorePoint) -> Point {
    Point {
        at: point.at,
        is_prompt: point.turn.is_some(),
        text: view::restore_points::words(point),
        changed: point.changed.map(step_words).unwrap_or_default(),
        snapshot: point.snapshot.clone(),
    }
}

fn of_snapshot(known: &SessionReport, row: &SnapshotDocument) -> Moment {
    let mut note = Vec::new();
    if let Some(step) = known.steps.get(&row.id) {
        note.push(format!("changed {}", step_words(*step)));
    }
    if let Some(call) = known.calls.get(&row.id) {
        note.push(format!("before {}", sanitize::name(call.tool.as_bytes())));
    }
    note.extend(taken_for(known, row).map(|restore| format!("before restore {}", restore.receipt)));
    note.extend(
        notes(known, row)
            .into_iter()
            .filter(|text| Some(text) != row.name.as_ref()),
    );
    Moment {
        at: row.taken_at,
        what: What::Snapshot {
            id: row.id.clone(),
            before: known.before.get(&row.id).cloned(),
        },
        name: match &row.name {
            Some(name) => sanitize::name(name.as_bytes()),
            None => kind_words(row),
        },
        is_pinned: known.is_pinned(row),
        under: taken_for(known, row).map(|restore| restore.receipt),
        role: match row.kind {
            SnapshotKind::Baseline => Role::Heading,
            SnapshotKind::Emergency => Role::Dim,
            _ if !row.complete => Role::Warning,
            _ => Role::Added,
        },
        note: note.join(", "),
    }
}

/// Returns the restore that an emergency snapshot was taken for.
fn taken_for<'k>(known: &'k SessionReport, row: &SnapshotDocument) -> Option<&'k RestoredDocument> {
    let mut restores = known.restores.iter();
    restores.find(|restore| row.kind == SnapshotKind::Emergency && restore.emergency == row.id)
}

fn of_restore(session: &InstanceDocument, restore: &RestoredDocument) -> Moment {
    let target = session.snapshots.iter().find(|row| row.id == restore.target);
    let target = target.map_or_else(
        || restore.target.clone(),
        |row| {
            row.name
                .as_ref()
                .map_or_else(|| kind_words(row), |name| sanitize::name(name.as_bytes()))
        },
    );
    let mut note = vec![match (restore.act, restore.undoes, &restore.only_changes_of) {
        (RestoreKind::Undo, Some(undone), _) => format!("undid receipt {undone}"),
        (RestoreKind::Restore, _, Some(step)) => format!("only the step {}", view::steps::step(step)),
        _ => format!("to {target}"),
    }];
    note.push(size::counted(restore.changed, "path", "paths"));
    if restore.conflicts > 0 {
        note.push(size::counted(restore.conflicts, "conflict", "conflicts"));
    }
    if restore.failed > 0 {
        note.push(format!("{} could not be changed", size::count(restore.failed)));
    }
    if restore.inside {
        note.push("by the session itself".to_owned());
    }
    note.extend(restore.taken_back_by.map(|by| format!("undone by receipt {by}")));
    Moment {
        at: restore.at,
        what: What::Restore {
            number: restore.receipt,
            emergency: restore.emergency.clone(),
        },
        name: match restore.act {
            RestoreKind::Restore => format!("restore {}", restore.receipt),
            RestoreKind::Undo => format!("undo {}", restore.receipt),
        },
        role: Role::Changed,
        under: restore.taken_back_by,
        is_pinned: false,
        note: note.join(", "),
    }
}

/// Returns the differences by path, a directory before its contents, with the mount and change of each.
pub(super) fn changes(sides: Sides, found: &DiffDocument<'_>) -> (Changes, Vec<(usize, usize)>) {
    let mut all: Vec<(PathChange, Vec<u8>, (usize, usize))> = Vec::new();
    for (root, mount) in found.mounts().enumerate() {
        for (at, change) in mount.exact.iter().enumerate() {
            // Names are compared one by one: `a-b` does not come between `a` and `a/b`.
            let key = change
                .path
                .as_bytes()
                .iter()
                .map(|byte| if *byte == b'/' { 0 } else { *byte });
            all.push((path(mount.coverage, root, change), key.collect(), (root, at)));
        }
    }
    all.sort_by(|(a, a_key, _), (b, b_key, _)| (a.root, a_key).cmp(&(b.root, b_key)));
    let roots = found.mounts().map(|mount| view::changes::host(mount.coverage));
    let name = |row: &model::SnapshotRecord| match &row.name {
        Some(name) => sanitize::name(name.as_bytes()),
        None => row.kind.word().to_owned(),
    };
    let (order, all) = all.into_iter().map(|(change, _, place)| (place, change)).unzip();
    let changes = Changes {
        from: name(found.earlier),
        to: found.later.map_or_else(|| "now".to_owned(), name),
        sides,
        beside: found
            .mounts()
            .flat_map(|mount| beside(&mount))
            .collect::<Vec<_>>()
            .join("\n"),
        all,
        roots: roots.collect(),
    };
    (changes, order)
}

fn path(coverage: &Coverage, root: usize, change: &Change) -> PathChange {
    let (letter, role) = view::changes::letter(change.kind);
    let entry = change.to.as_ref().or(change.from.as_ref());
    let names = change.path.as_bytes().split(|byte| *byte == b'/');
    let mut detail = vec![view::changes::detail(change)];
    if let Some(from) = &change.from_path {
        detail.push(format!("was {}", view::changes::path(from, change.from.as_ref())));
    }
    detail.retain(|part| !part.is_empty());
    let place = coverage.root.to_path();
    let hosts = [Some(&change.path), change.from_path.as_ref()]
        .into_iter()
        .flatten();
    let is_program =
        |entry: &model::Entry| entry.mode & 0o111 != 0 && matches!(entry.kind, model::EntryKind::File(_));
    let is_hook = || {
        let path = String::from_utf8_lossy(change.path.as_bytes()).into_owned();
        path.starts_with(".git/hooks/") || path.contains("/.git/hooks/")
    };
    PathChange {
        root,
        names: names
            .filter(|name| !name.is_empty())
            .map(sanitize::name)
            .collect(),
        is_directory: entry.is_some_and(model::Entry::is_dir),
        kind: match change.kind {
            ChangeKind::Added => Kind::Added,
            ChangeKind::Modified => Kind::Modified,
            ChangeKind::Deleted => Kind::Deleted,
            ChangeKind::Type | ChangeKind::Mode | ChangeKind::Metadata | ChangeKind::Renamed => Kind::Other,
        },
        is_renamed: change.kind == ChangeKind::Renamed,
        letter,
        role,
        detail: detail.join(", "),
        runs: change
            .to
            .as_ref()
            .is_some_and(|entry| is_program(entry) || is_hook() && !entry.is_dir()),
        hosts: hosts.map(|path| path.on_host(&place)).collect(),
    }
}

/// Describes changes other than paths, and parts that are not compared.
fn beside(mount: &MountDiff<'_>) -> Vec<String> {
    let mut texts = Vec::new();
    if !mount.settings.is_empty() {
        texts.push(view::settings::settings(
            mount.settings,
            super::WIDEST,
            Reader::Operator,
        ));
    }
    let repositories = mount.repositories.iter();
    let change = |change| view::repository::change(change, super::WIDEST, Reader::Operator);
    texts.extend(repositories.map(change));
    texts.extend(mount.withheld.iter().map(view::changes::withheld));
    if !mount.not_covered.is_empty() {
        texts.push(view::patch::not_covered(mount.not_covered));
    }
    texts
}

/// Returns the disk use in the store, largest first. An archive counts for the first snapshot that needs it.
pub(super) fn store(context: &Context<'_>) -> Result<Vec<Holding>, CliError> {
    const DAY: i128 = 24 * 3600 * 1_000_000_000;
    let Some(store) = context.store_for_reading()? else {
        return Ok(Vec::new());
    };
    let mut sizes: HashMap<ArchiveId, u64> = store.archive_sizes()?.into_iter().collect();
    let rows = store.catalog().instances()?;
    let mut names = HashMap::new();
    let mut all: BTreeMap<String, Holding> = BTreeMap::new();
    for row in &rows {
        let name = match (&row.workspace, row.mounts.first()) {
            (Some(workspace), _) => sanitize::name(workspace.as_bytes()),
            (None, Some(mount)) => {
                let home = context.environment.home.as_deref();
                view::host_path::below_home(&mount.root.to_path(), home)
            }
            (None, None) => "no files".to_owned(),
        };
        let holding = all.entry(name.clone()).or_insert_with(|| Holding {
            name: name.clone(),
            sessions: 0,
            by_age: [0; 4],
        });
        holding.sessions += 1;
        names.insert(row.id.clone(), name);
    }
    let mut snapshots = store.catalog().all_snapshots()?;
    snapshots.sort_by_key(|row| row.taken_at);
    for row in snapshots {
        let Ok(record) = store.record(&row.id) else {
            continue;
        };
        let own: u64 = record
            .archives
            .iter()
            .filter_map(|archive| sizes.remove(&archive.id))
            .sum();
        let age = (context.now().nanos() - row.taken_at.nanos()) / DAY;
        let at = [1, 7, 31].iter().filter(|days| age >= **days).count();
        let holding = names.get(&row.instance).and_then(|name| all.get_mut(name));
        if let Some(bytes) = holding.and_then(|holding| holding.by_age.get_mut(at)) {
            *bytes += own;
        }
    }
    let mut all: Vec<Holding> = all.into_values().collect();
    all.sort_by_key(|holding| std::cmp::Reverse(holding.bytes()));
    Ok(all)
}

/// The receipts, newest first.
pub(super) fn log(context: &Context<'_>, instance: Option<&str>, columns: usize) -> Result<String, CliError> {
    let Some(store) = context.store_for_reading()? else {
        return Ok("no receipts yet".to_owned());
    };
    let only = match instance {
        Some(wanted) => Some(find_called(&store, context.environment, wanted)?.id),
        None => None,
    };
    let log = LogDocument::until_break(&store, only.as_ref())?;
    let mut text = view::receipt::table(&log, context.now(), columns);
    if let Some(broken) = &log.broken {
        let broken = format!("Only those before the damage: {broken}");
        let lines = width::wrap(&sanitize::text(&broken), columns);
        text = format!("{}\n\n{text}", lines.join("\n"));
    }
    Ok(text)
}

/// Returns the changes of a file, newest first, as `log PATH` prints them.
pub(super) fn history(context: &Context<'_>, path: &Path, columns: usize) -> Result<String, CliError> {
    let found = PathLogDocument::of(&path_history(context, path)?);
    let home = context.environment.home.as_deref();
    let table = view::blame::history(&found, context.now(), columns, home);
    let warning = view::blame::passed_over(found.unreadable);
    Ok([Some(table), warning]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n"))
}

/// Returns the author of each line of a file, as `blame` prints them.
pub(super) fn blame(context: &Context<'_>, path: &Path, columns: usize) -> Result<String, CliError> {
    let found = BlameDocument::of(&path_history(context, path)?, (1, u64::MAX), false);
    let warning = view::blame::passed_over(found.unreadable);
    let mut lines: Vec<String> = warning.into_iter().collect();
    lines.extend(view::blame::heading(&found, context.now()));
    lines.extend(view::blame::lines(&found, context.now(), columns));
    Ok(lines.join("\n"))
}

fn path_history(context: &Context<'_>, path: &Path) -> Result<PathHistory, CliError> {
    let request = BlameRequest {
        session: None,
        path: path.as_os_str(),
    };
    Ok(context.engine().blame(&request)?)
}
