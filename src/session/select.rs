//! Lookup of sessions and snapshots by id, prefix, workspace, kind or name.

use super::SessionError;
use super::here::{Covering, count_back, counts_back, those_that_began, without_forgotten};
use crate::config::jackin_instances;
use crate::environment::Environment;
use crate::model::{Ending, InstanceId, Operation, PrunedSnapshot, SnapshotId, SnapshotKind, Time};
use crate::store::{CaptureRow, ForgottenRow, InstanceBrief, InstanceRow, SnapshotRow, Store};

/// Finds a session by what the operator typed, like [`find_instance`].
///
/// `@latest` and `@N` count the sessions that cover the current directory; all sessions, if none covers it. Also accepts a jackin
/// container for which no session began, if it is the only one of its workspace.
///
/// # Errors
/// As [`find_instance`].
pub fn find_called(
    store: &Store,
    environment: &Environment,
    wanted: &str,
) -> Result<InstanceRow, SessionError> {
    if counts_back(wanted) {
        let here = &environment.current;
        // A directory whose sessions were all forgotten is still one that sessions covered: no other directory's is meant.
        return match Covering::with_forgotten(store, here)?.next().transpose()? {
            None => find_instance(store, wanted),
            Some(_) => count_back(store, Covering::new(store, here)?, wanted, Some(here)),
        };
    }
    let unknown = match find_instance(store, wanted) {
        Err(error @ SessionError::Unknown { .. }) => error,
        other => return other,
    };
    let Some(known) = environment.jackin_home().map(|home| jackin_instances(&home)) else {
        return Err(unknown);
    };
    let Some(workspace) = known.called(wanted).and_then(|found| found.workspace.clone()) else {
        return Err(unknown);
    };
    let of_workspace = known
        .all
        .iter()
        .filter(|other| other.workspace.as_ref() == Some(&workspace));
    if of_workspace.count() > 1 {
        return Err(SessionError::OfContainer {
            container: wanted.to_owned(),
            workspace,
        });
    }
    for row in store.catalog().instances_of_workspace(&workspace)? {
        if !began_for_a_container(store, &row)? && !matches!(row.ending, Some(Ending::Failed(_))) {
            return Ok(row);
        }
    }
    Err(unknown)
}

fn began_for_a_container(store: &Store, row: &InstanceRow) -> Result<bool, SessionError> {
    let (first, _) = store.catalog().lifetime(&row.id)?;
    let Some(first) = first else { return Ok(false) };
    let receipt = store.catalog().receipt(first)?;
    Ok(receipt.is_some_and(|receipt| {
        matches!(
            receipt.act,
            Operation::Begin {
                container: Some(_),
                ..
            }
        )
    }))
}

/// Finds an instance by id, name, workspace, jackin's container or label (its latest), unique prefix of an id, or `@latest` and `@N`, which
/// count all sessions.
///
/// A session that was forgotten is found only by what no other one goes by, and never by `@latest` and `@N`.
///
/// # Errors
/// [`SessionError::Unknown`] with what comes close; [`SessionError::TooFarBack`]; [`SessionError::Ambiguous`]; [`SessionError::Store`].
pub fn find_instance(store: &Store, wanted: &str) -> Result<InstanceRow, SessionError> {
    let catalog = store.catalog();
    if counts_back(wanted) {
        let all = without_forgotten(store, catalog.instances()?)?;
        return count_back(store, all.into_iter().map(Ok), wanted, None);
    }
    // A whole id needs no list of all sessions.
    if let Ok(id) = InstanceId::parse(wanted)
        && let Some(row) = catalog.instance(&id)?
    {
        return Ok(row);
    }
    let all = catalog.instances_in_short()?;
    let forgotten = catalog.forgotten()?;
    let (gone, there): (Vec<InstanceBrief>, Vec<InstanceBrief>) = all
        .into_iter()
        .partition(|brief| forgotten.contains_key(&brief.id));
    match find_among(store, &there, wanted) {
        Err(SessionError::Unknown { wanted, nearest, .. }) => match find_among(store, &gone, &wanted) {
            Err(SessionError::Unknown { .. }) => Err(SessionError::Unknown {
                wanted,
                nearest,
                some_recorded: !(there.is_empty() && gone.is_empty()),
            }),
            found => found,
        },
        found => found,
    }
}

/// Finds one of these sessions, as [`find_instance`] does.
fn find_among(store: &Store, all: &[InstanceBrief], wanted: &str) -> Result<InstanceRow, SessionError> {
    let catalog = store.catalog();
    let unknown = || SessionError::Unknown {
        wanted: wanted.to_owned(),
        nearest: nearest(all, wanted),
        some_recorded: !all.is_empty(),
    };
    let whole = |id: &InstanceId| catalog.instance(id)?.ok_or_else(unknown);
    let among = |mut rows: Vec<InstanceRow>| {
        rows.retain(|row| all.iter().any(|brief| brief.id == row.id));
        rows
    };
    if let Some(found) = all.iter().find(|brief| brief.id.as_str() == wanted) {
        return whole(&found.id);
    }
    // Scripts name workspaces and containers: a session of another project that is called alike must not come first.
    if let Some(found) = latest(all, |brief| brief.workspace.as_deref() == Some(wanted)) {
        return whole(found);
    }
    let of_container = among(catalog.instances_of_container(wanted)?);
    let began = |row: &&InstanceRow| !row.is_imported() && !matches!(row.ending, Some(Ending::Failed(_)));
    if let Some(row) = of_container.iter().find(began).or(of_container.first()) {
        return Ok(row.clone());
    }
    if let Some(named) = those_that_began(store, among(catalog.instances_named(wanted)?))
        .into_iter()
        .next()
    {
        return Ok(named);
    }
    if let Some(found) = latest(all, |brief| brief.id.label() == wanted) {
        return whole(found);
    }
    let found: Vec<&InstanceId> = all
        .iter()
        .map(|brief| &brief.id)
        .filter(|id| begins_id(id.as_str(), "rc-", wanted))
        .collect();
    match found.as_slice() {
        [] => Err(unknown()),
        [one] => whole(one),
        several => Err(SessionError::Ambiguous {
            wanted: wanted.to_owned(),
            candidates: several.iter().map(ToString::to_string).collect(),
        }),
    }
}

/// The latest that fits; one whose baseline failed, or that was imported, hides none before it that began here.
fn latest(all: &[InstanceBrief], fits: impl Fn(&InstanceBrief) -> bool) -> Option<&InstanceId> {
    let mut fitting = all.iter().filter(|brief| fits(brief));
    let first = fitting.clone().next()?;
    Some(&fitting.find(|brief| brief.began).unwrap_or(first).id)
}

/// Up to five that come close, by edit distance to id, label or workspace; the closest first.
fn nearest(all: &[InstanceBrief], wanted: &str) -> Vec<String> {
    const LIKE: f64 = 0.5;
    let wanted: String = wanted.chars().take(80).collect();
    let likeness = |row: &InstanceBrief| {
        let names = [
            Some(row.id.as_str()),
            Some(row.id.label()),
            row.workspace.as_deref(),
        ];
        let each = names
            .into_iter()
            .flatten()
            .map(|name| strsim::normalized_damerau_levenshtein(name, &wanted));
        each.fold(0.0, f64::max)
    };
    let mut ranked: Vec<(f64, String)> = all
        .iter()
        .map(|row| (likeness(row), row.id.to_string()))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.into_iter().take(5).map(|(_, id)| id).collect()
}

/// Finds a snapshot of an instance: a kind (the latest of it), `latest` (of any kind but emergency), else a checkpoint's name, an id or its
/// prefix, or a checkpoint's number, counted from 1.
///
/// # Errors
/// [`SessionError::Forgotten`]; [`SessionError::Pruned`]; [`SessionError::Damaged`]; [`SessionError::NoSnapshot`] with what there is;
/// [`SessionError::Store`].
pub fn find_snapshot(store: &Store, row: &InstanceRow, wanted: &str) -> Result<SnapshotRow, SessionError> {
    let all = store.catalog().snapshots(&row.id)?;
    if all.is_empty() {
        refuse_forgotten(store, &row.id)?;
    }
    if wanted == LATEST {
        return latest_snapshot(store, row, &all);
    }
    let kind = [
        SnapshotKind::Baseline,
        SnapshotKind::Checkpoint,
        SnapshotKind::Closing,
        SnapshotKind::Emergency,
    ]
    .into_iter()
    .find(|kind| kind.word() == wanted);
    let named = match kind {
        Some(kind) => {
            let mut of_kind = all.iter().filter(|row| row.kind == kind);
            let first = of_kind.clone().next();
            of_kind.find(|row| !row.late).or(first)
        }
        None => all.iter().find(|row| row.name.as_deref() == Some(wanted)),
    };
    refuse_damaged(store, row, wanted, kind, named)?;
    if let Some(named) = named {
        return Ok(named.clone());
    }
    // Before any prefix: the name of one that was given up must not turn into the id of another.
    if let Some((snapshot, receipt)) = pruned(store, row, wanted)? {
        return Err(SessionError::Pruned {
            instance: row.id.clone(),
            snapshot: Box::new(snapshot),
            receipt,
        });
    }
    if let Some(found) = by_id(&all, wanted) {
        return Ok(found.clone());
    }
    if let Some(id) = checkpoint_numbered(store, row, wanted)? {
        refuse_damaged(store, row, id.as_str(), None, None)?;
        if let Some(found) = all.iter().find(|row| row.id == id) {
            return Ok(found.clone());
        }
        if let Some((snapshot, receipt)) = pruned(store, row, id.as_str())? {
            return Err(SessionError::Pruned {
                instance: row.id.clone(),
                snapshot: Box::new(snapshot),
                receipt,
            });
        }
    }
    // The name of one whose receipt does not tell it may be what is asked for.
    let unnamed = damaged_snapshots(store, row, |captured| {
        captured.kind == SnapshotKind::Checkpoint && captured.name.is_none()
    })?;
    hurt_error(store, row, wanted, unnamed)?;
    Err(SessionError::NoSnapshot {
        instance: row.id.clone(),
        wanted: wanted.to_owned(),
        known: (0..all.len().min(10)).map(|at| shortest(&all, at)).collect(),
    })
}

/// Word for the newest snapshot of a session.
const LATEST: &str = "latest";

/// Returns the newest snapshot that is no emergency snapshot.
fn latest_snapshot(
    store: &Store,
    row: &InstanceRow,
    all: &[SnapshotRow],
) -> Result<SnapshotRow, SessionError> {
    let found = all.iter().find(|row| row.kind != SnapshotKind::Emergency);
    let after = found.map_or(0, |found| found.receipt.unwrap_or(u64::MAX));
    let later = damaged_snapshots(store, row, |captured| {
        captured.kind != SnapshotKind::Emergency && captured.number > after
    })?;
    hurt_error(store, row, LATEST, later)?;
    found.cloned().ok_or_else(|| SessionError::NoSnapshot {
        instance: row.id.clone(),
        wanted: LATEST.to_owned(),
        known: Vec::new(),
    })
}

/// Returns the checkpoint with a number, which counts those of the session from 1, deleted ones too.
fn checkpoint_numbered(
    store: &Store,
    row: &InstanceRow,
    wanted: &str,
) -> Result<Option<SnapshotId>, SessionError> {
    let is_number = !wanted.is_empty() && wanted.bytes().all(|byte| byte.is_ascii_digit());
    let Some(number) = wanted.parse::<usize>().ok().filter(|_| is_number) else {
        return Ok(None);
    };
    let mut taken = store.catalog().captures(&row.id)?;
    taken.retain(|captured| captured.kind == SnapshotKind::Checkpoint);
    taken.sort_by_key(|captured| captured.number);
    let found = number.checked_sub(1).and_then(|at| taken.get(at));
    Ok(found.map(|captured| captured.snapshot.clone()))
}

/// Refuses a session that was forgotten.
///
/// # Errors
/// [`SessionError::Forgotten`]; [`SessionError::Store`].
pub fn refuse_forgotten(store: &Store, session: &InstanceId) -> Result<(), SessionError> {
    match store.catalog().forgotten()?.remove(session) {
        Some(ForgottenRow { receipt, at }) => Err(SessionError::Forgotten {
            instance: session.clone(),
            receipt,
            at,
        }),
        None => Ok(()),
    }
}

/// Refuses when what is meant is a snapshot whose record is lost or cannot be read: by its id, by its name, or because it would be
/// the latest of its `kind`, before `found`.
fn refuse_damaged(
    store: &Store,
    row: &InstanceRow,
    wanted: &str,
    kind: Option<SnapshotKind>,
    found: Option<&SnapshotRow>,
) -> Result<(), SessionError> {
    if found.is_some() && kind.is_none() {
        return Ok(());
    }
    // One without a receipt is the last: whoever took it was killed before that was written.
    let is_later = |captured: &CaptureRow| {
        found.is_none_or(|found| found.receipt.is_some_and(|receipt| captured.number > receipt))
    };
    let meant = damaged_snapshots(store, row, |captured| match kind {
        Some(kind) => captured.kind == kind && is_later(captured),
        None => {
            captured.name.as_deref() == Some(wanted) || begins_id(captured.snapshot.as_str(), "sn-", wanted)
        }
    })?;
    hurt_error(store, row, wanted, meant)
}

fn hurt_error(
    store: &Store,
    row: &InstanceRow,
    wanted: &str,
    damaged: Vec<SnapshotId>,
) -> Result<(), SessionError> {
    match damaged.first().map(|first| store.record(first)) {
        // None, or it was put back a moment ago.
        None | Some(Ok(_)) => Ok(()),
        Some(Err(source)) => Err(SessionError::Damaged {
            instance: row.id.clone(),
            wanted: wanted.to_owned(),
            damaged,
            source: Box::new(source),
        }),
    }
}

/// The snapshots of an instance that receipts tell of, that were not pruned, and that are still not listed; newest first.
fn damaged_snapshots(
    store: &Store,
    row: &InstanceRow,
    is_meant: impl Fn(&CaptureRow) -> bool,
) -> Result<Vec<SnapshotId>, SessionError> {
    let unlisted = store.catalog().unlisted()?;
    if unlisted.is_empty() {
        return Ok(Vec::new());
    }
    let mut captured = store.catalog().captures(&row.id)?;
    captured.retain(|captured| unlisted.contains(&captured.snapshot) && is_meant(captured));
    Ok(captured.into_iter().map(|captured| captured.snapshot).collect())
}

/// The snapshot that a step of the session began from: the one before `snapshot` in the chain, emergency snapshots skipped.
///
/// # Errors
/// [`SessionError::StepPruned`], [`SessionError::NoStep`], [`SessionError::Store`].
pub fn find_before(
    store: &Store,
    row: &InstanceRow,
    snapshot: &SnapshotRow,
) -> Result<SnapshotRow, SessionError> {
    let none = || SessionError::NoStep {
        instance: row.id.clone(),
        snapshot: snapshot.id.clone(),
    };
    let number = snapshot.receipt.ok_or_else(none)?;
    if [SnapshotKind::Emergency, SnapshotKind::Baseline].contains(&snapshot.kind) {
        return Err(none());
    }
    let id = store
        .catalog()
        .captured_before(&row.id, number)?
        .ok_or_else(none)?;
    if let Some(before) = store.catalog().snapshot(&id)? {
        return Ok(before);
    }
    refuse_damaged(store, row, id.as_str(), None, None)?;
    Err(SessionError::StepPruned {
        instance: row.id.clone(),
        snapshot: snapshot.id.clone(),
    })
}

/// The snapshot of this kind, name or id that was pruned last, and the receipt that tells of it.
fn pruned(
    store: &Store,
    row: &InstanceRow,
    wanted: &str,
) -> Result<Option<(PrunedSnapshot, u64)>, SessionError> {
    let is_meant = |snapshot: &PrunedSnapshot| {
        snapshot.kind.word() == wanted
            || snapshot.name.as_deref() == Some(wanted)
            || snapshot.id.as_str() == wanted
    };
    let found = last_pruned(store, row, is_meant)?;
    Ok(found.map(|(snapshot, receipt, _)| (snapshot, receipt)))
}

/// The snapshot of a session that was pruned last among those that are meant, with the number and the time of the receipt.
pub(super) fn last_pruned(
    store: &Store,
    row: &InstanceRow,
    is_meant: impl Fn(&PrunedSnapshot) -> bool,
) -> Result<Option<(PrunedSnapshot, u64, Time)>, SessionError> {
    let mut numbers: Vec<u64> = store
        .catalog()
        .pruned_of(&row.id)?
        .into_iter()
        .map(|(_, number)| number)
        .collect();
    numbers.dedup();
    for number in numbers {
        let Some(receipt) = store.catalog().receipt(number)? else {
            continue;
        };
        if let Operation::Prune { snapshots, .. } | Operation::Forget { snapshots, .. } = receipt.act {
            let mut own = snapshots
                .into_iter()
                .filter(|snapshot| snapshot.instance == row.id);
            if let Some(found) = own.find(|snapshot| is_meant(snapshot)) {
                return Ok(Some((found, number, receipt.at)));
            }
        }
    }
    Ok(None)
}

/// Returns the shortest argument for a snapshot: its name, its kind if it is the latest of that kind, or its id.
fn shortest(all: &[SnapshotRow], at: usize) -> String {
    let (before, rest) = all.split_at(at);
    let Some(row) = rest.first() else {
        return String::new();
    };
    match &row.name {
        Some(name) => name.clone(),
        None if before.iter().all(|newer| newer.kind != row.kind) => row.kind.word().to_owned(),
        None => row.id.to_string(),
    }
}

fn by_id<'a>(all: &'a [SnapshotRow], wanted: &str) -> Option<&'a SnapshotRow> {
    let mut found = all.iter().filter(|row| begins_id(row.id.as_str(), "sn-", wanted));
    match (found.next(), found.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    }
}

/// Returns true if `wanted` is a prefix of this id, or at least four letters that begin the part after `kind`.
///
/// Fewer letters are more likely a name that was mistyped or never given than an id.
fn begins_id(id: &str, kind: &str, wanted: &str) -> bool {
    const LEAST: usize = 4;
    let (enough, rest) = match wanted.strip_prefix(kind) {
        Some(rest) => (true, rest),
        None => (wanted.len() >= LEAST, wanted),
    };
    enough && id.strip_prefix(kind).is_some_and(|id| id.starts_with(rest))
}

/// Checks the name of a session by the rules for names of checkpoints, which keep it apart from ids.
///
/// # Errors
/// [`SessionError::SessionName`] with the problem.
pub fn check_session_name(name: &str) -> Result<(), SessionError> {
    // `mount` shows the latest session of the current directory under it.
    let is_taken = (name == "here").then_some("this word has another meaning");
    match is_taken.or_else(|| name_fault(name)) {
        None => Ok(()),
        Some(why) => Err(SessionError::SessionName {
            name: name.to_owned(),
            why,
        }),
    }
}

/// Checks a checkpoint's name: `[A-Za-z0-9_][A-Za-z0-9_.-]*`, at most 128 bytes, no word that stands for something else.
///
/// # Errors
/// [`SessionError::CheckpointName`] with what is wrong.
pub fn check_name(name: &str) -> Result<(), SessionError> {
    match name_fault(name) {
        None => Ok(()),
        Some(why) => Err(SessionError::CheckpointName {
            name: name.to_owned(),
            why,
        }),
    }
}

/// Returns the problem with `name` as the name of a checkpoint or branch; `None` if it is valid.
pub(super) fn name_fault(name: &str) -> Option<&'static str> {
    const TAKEN: [&str; 6] = ["baseline", "checkpoint", "closing", "emergency", "now", "latest"];
    const IDS: [&str; 5] = ["sn-", "rc-", "ar-", "jk-", "fk-"];
    let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    match name.bytes().next() {
        None => return Some("it is empty"),
        Some(first) if !letter(first) => return Some("it must begin with a letter, a digit or `_`"),
        Some(_) => {}
    }
    if name.len() > 128 {
        return Some("it is longer than 128 bytes");
    }
    if !name.bytes().all(|b| letter(b) || b == b'.' || b == b'-') {
        return Some("it has a character other than letters, digits, `_`, `.` and `-`");
    }
    if TAKEN.contains(&name) {
        return Some("this word has another meaning");
    }
    if name.contains("..") {
        return Some("`..` stands between two snapshots");
    }
    if name.bytes().all(|b| b.is_ascii_digit()) {
        return Some("a number stands for the checkpoint with this number");
    }
    // Also without what stands before its letters: so ids are written, too.
    let is_bare = SnapshotId::parse(&format!("sn-{name}")).is_ok();
    (is_bare || IDS.iter().any(|prefix| name.starts_with(prefix))).then_some("it looks like an id")
}
