//! Judges sessions, held locks, mount roots, and what restores left at them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{Finding, Group, Severity, counted, left_mounts};
use crate::config::{self, settle_mount, shown};
use crate::contract::STAGING_PREFIX;
use crate::display::{shell, size};
use crate::environment::Environment;
use crate::model::{AsideChange, InstanceId, StagePlace};
use crate::restore::damaged_journals;
use crate::session::{Reason, State, is_imported_again, is_interrupted_import, lacks_baseline, state};
use crate::store::{
    HeldLock, Holder, InstanceRow, Layout, LockName, RestoreStage, Store, StoreError, Survey,
};
use handle_fs::remote::{above, is_elsewhere, upwards};

pub(super) fn judge(
    environment: &Environment,
    root: Option<&Layout>,
    config: &config::Survey,
    findings: &mut Vec<Finding>,
) {
    let mut roots = Roots::default();
    for mount in config.workspaces.iter().flat_map(|workspace| &workspace.mounts) {
        roots
            .configured
            .insert(settle_mount(&environment.transports, &mount.src));
    }
    if let Some(root) = root {
        match Store::open_read(root) {
            Ok(None) => {}
            Ok(Some(store)) => match store.catalog().instances() {
                Ok(rows) => {
                    for row in &rows {
                        for mount in &row.mounts {
                            // Newest first: that one can be restored from.
                            let known = roots.recorded.entry(mount.root.to_path());
                            known.or_insert_with(|| row.id.clone());
                        }
                    }
                    instances(&store, &rows, findings);
                    imports(&store, findings);
                    roots.set_aside = set_aside(&store, &rows);
                    waiting(&store, &mut roots.staged, findings);
                }
                Err(error) => findings.push(unknown(&error)),
            },
            Err(error) => findings.push(unknown(&error)),
        }
    }
    // What lies there first, then who is at work: what a restore takes away in between is not left over.
    let left = roots.leftovers();
    let known: Vec<PathBuf> = roots.all().into_iter().cloned().collect();
    let (locks, failures) = root.map(|root| Survey::locks(root, &known)).unwrap_or_default();
    if root.is_some() {
        work(&locks, &failures, findings);
    }
    mounts(&roots, &left, &locks, findings);
    left_mounts::judge(&known, findings);
}

/// Returns the finding about unreadable sessions; the cause is reported elsewhere.
fn unknown(error: &StoreError) -> Finding {
    let what = format!("cannot list sessions: {error}");
    Finding::new(Group::Sessions, Severity::Warning, what).words("fix the errors above first")
}

fn instances(store: &Store, rows: &[InstanceRow], findings: &mut Vec<Finding>) {
    let found = |severity, what: String| Finding::new(Group::Sessions, severity, what);
    let mut lost = 0;
    let mut active = 0;
    // A catalog that cannot be read is told of above.
    let missing = store.catalog().missing_closings().unwrap_or_default();
    let forgotten = store.catalog().forgotten().unwrap_or_default();
    for row in rows {
        if let Some(reason) = missing.get(&row.id) {
            let what = format!(
                "{} has no closing snapshot ({reason}): a restore keeps its last changes as possible later edits",
                row.id
            );
            findings.push(found(Severity::Warning, what).verb(format!("diff {}", row.id)));
        }
        match state(store, row) {
            State::Lost if lacks_baseline(store, row).unwrap_or(false) => {
                let what = format!(
                    "{} was interrupted before its baseline was stored: its command did not run",
                    row.id
                );
                findings.push(found(Severity::Note, what));
            }
            // A later command records that the import failed.
            State::Lost | State::Failed if is_interrupted_import(row) => {
                if forgotten.contains_key(&row.id) {
                    continue;
                }
                let what = format!("the import of {} was interrupted: import its file again", row.id);
                // Without a snapshot nothing of it can be deleted.
                let finding = match store.catalog().snapshots(&row.id) {
                    Ok(snapshots) if snapshots.is_empty() && is_imported_again(row, rows) => continue,
                    Ok(snapshots) if snapshots.is_empty() => {
                        found(Severity::Warning, what).verb("import FILE")
                    }
                    _ => found(Severity::Warning, format!("{what}, and delete this one"))
                        .verb(format!("forget {}", row.id)),
                };
                lost += 1;
                findings.push(finding);
            }
            // Those whose end was found unseen before have their closing snapshot.
            State::Lost if row.ended_at.is_none() => {
                lost += 1;
                let what = format!(
                    "{} ended without a closing snapshot: its last changes are in no snapshot yet",
                    row.id
                );
                findings.push(found(Severity::Warning, what).verb(format!("diff {}", row.id)));
            }
            State::Active(reasons) => {
                active += 1;
                let unknown = reasons.iter().find_map(|reason| match reason {
                    Reason::Unknown(why) => Some(why),
                    _ => None,
                });
                if let Some(why) = unknown {
                    let what = format!(
                        "the state of {} is unknown, so it counts as active: {why}",
                        row.id
                    );
                    findings.push(found(Severity::Warning, what).verb(format!("show {}", row.id)));
                } else if reasons.contains(&Reason::UntilEnd) {
                    let what = format!("{} is active until `end`", row.id);
                    findings.push(found(Severity::Note, what).verb(format!("end {}", row.id)));
                }
            }
            State::Lost | State::Ended | State::Failed => {}
        }
    }
    if lost == 0 {
        let sessions = counted(rows.len(), "session", "sessions");
        findings.push(found(
            Severity::Ok,
            format!("{sessions}, {active} active, none lost"),
        ));
    }
}

/// Returns the directories in which restores left what they set aside. Unreadable receipts are reported elsewhere.
fn set_aside(store: &Store, rows: &[InstanceRow]) -> BTreeMap<PathBuf, u64> {
    let mut places: BTreeMap<PathBuf, u64> = BTreeMap::new();
    for row in rows {
        let restores = store.catalog().restores(&row.id).unwrap_or_default();
        for restore in &restores {
            let left = restore.aside.iter().filter(|change| change.leaves());
            for place in left.filter_map(AsideChange::directory) {
                let number = places.entry(place).or_default();
                *number = restore.number.max(*number);
            }
        }
    }
    places
}

/// Reports interrupted restores.
fn waiting(store: &Store, staged: &mut BTreeSet<PathBuf>, findings: &mut Vec<Finding>) {
    let found = |severity, what: String| Finding::new(Group::Sessions, severity, what);
    let damaged = damaged_journals(store).unwrap_or_else(|error| {
        let what = format!("cannot check the journals of interrupted restores: {error}");
        findings.push(found(Severity::Error, what).damage());
        Vec::new()
    });
    let mut past_help = Vec::new();
    for paper in &damaged {
        let StoreError::DamagedJournal { path, instance, .. } = &paper.error else {
            continue;
        };
        let Some(instance) = instance else { continue };
        let (what, step) = if paper.is_spare {
            let what = format!(
                "a restore of {instance} was interrupted, and {}; a copy exists",
                paper.error
            );
            (what, format!("resume {instance}"))
        } else {
            past_help.extend(path.parent());
            let what = format!(
                "a restore of {instance} was interrupted and can be neither finished nor rolled back: {}; some paths \
                may be old and some new",
                paper.error
            );
            (what, format!("abort {instance} --yes --as-is"))
        };
        findings.push(found(Severity::Error, what).at(path).damage().verb(step));
    }
    let pending = match store.pending_restores() {
        Ok(pending) => pending,
        Err(error) => {
            let what = format!("cannot list interrupted restores: {error}");
            return findings.push(found(Severity::Error, what).damage().words(
                "copy the file from a backup, or move its directory away; the staging directories that it names hold \
                what was moved aside",
            ));
        }
    };
    for restore in pending {
        let places = restore
            .intent
            .mounts
            .iter()
            .filter_map(|mount| mount.stage.as_ref());
        let aside = restore.intent.mounts.iter().flat_map(|mount| &mount.aside);
        staged.extend(places.chain(aside.map(|step| &step.place)).map(StagePlace::path));
        if restore.alive || past_help.contains(&store.layout().restore(&restore.intent.id).as_path()) {
            continue;
        }
        let id = &restore.intent.instance;
        let (severity, what) = match restore.stage {
            RestoreStage::Moving => (
                Severity::Error,
                format!(
                    "a restore of {id} was interrupted: some paths may be old and some new until `resume` or `abort`"
                ),
            ),
            RestoreStage::Begun => (
                Severity::Warning,
                format!(
                    "a restore of {id} was interrupted before it changed anything: `abort` removes what it prepared, \
                    `resume` makes it again"
                ),
            ),
            RestoreStage::Decided(_) | RestoreStage::Recorded => (
                Severity::Warning,
                format!(
                    "a restore of {id} was interrupted after it was done or rolled back; only cleanup is left"
                ),
            ),
        };
        let verb = if restore.stage == RestoreStage::Begun {
            "abort"
        } else {
            "resume"
        };
        findings.push(found(severity, what).verb(format!("{verb} {id}")));
    }
}

/// Says what imports left that did not end.
fn imports(store: &Store, findings: &mut Vec<Finding>) {
    let found = |severity, what: String| Finding::new(Group::Work, severity, what);
    match store.unfinished_imports() {
        Ok(0) => {}
        Ok(bytes) => {
            let what = format!(
                "an import that did not end left {}: repeat it to go on, or `prune` deletes them",
                size::bytes(bytes)
            );
            findings.push(found(Severity::Note, what).verb("prune"));
        }
        Err(error) => findings.push(unknown(&error)),
    }
}

fn work(locks: &[HeldLock], failures: &[StoreError], findings: &mut Vec<Finding>) {
    let found = |severity, what: String| Finding::new(Group::Work, severity, what);
    let before = findings.len();
    for lock in locks {
        let what = match &lock.name {
            LockName::Store if lock.shared => "a capture or restore needs the archives".to_owned(),
            LockName::Store => "archives are being removed".to_owned(),
            LockName::Receipts => "a receipt is being written".to_owned(),
            LockName::Drafts => "a draft is being made or swept".to_owned(),
            LockName::Instance(id) => format!("{id} is in use"),
            // Every directory above a root is shared with it.
            LockName::Root(_) | LockName::Other(_) if lock.shared => continue,
            LockName::Root(root) => format!("a restore is at work on {}", shown(root)),
            LockName::Other(name) => format!("the lock {name} is held"),
        };
        let who: Vec<String> = lock.holders.iter().map(Holder::described).collect();
        let who = if who.is_empty() {
            "the holder of its lock is unknown".to_owned()
        } else {
            format!("its lock is held by {}", who.join(", "))
        };
        findings.push(found(Severity::Note, format!("{what}: {who}")));
    }
    findings.extend(failures.iter().map(|error| {
        let what = format!("cannot check whether a lock is held: {error}");
        found(Severity::Warning, what)
            .words("commands that need this lock will refuse; make its file readable")
    }));
    if findings.len() == before && !findings.iter().any(|finding| finding.group == Group::Work) {
        findings.push(found(
            Severity::Ok,
            "no lock is held and no draft is left".to_owned(),
        ));
    }
}

/// Known mount roots.
#[derive(Default)]
struct Roots {
    /// Mount roots of workspaces.
    configured: BTreeSet<PathBuf>,
    /// Mount roots of sessions, each with the newest session.
    recorded: BTreeMap<PathBuf, InstanceId>,
    /// Staging directories of restores that are interrupted or under way; the restore or its recovery removes them.
    staged: BTreeSet<PathBuf>,
    /// Directories with something set aside, each with the last receipt that names it.
    set_aside: BTreeMap<PathBuf, u64>,
}

impl Roots {
    fn all(&self) -> BTreeSet<&PathBuf> {
        self.configured.iter().chain(self.recorded.keys()).collect()
    }

    /// Returns the staging directories beside and inside every root.
    fn leftovers(&self) -> BTreeSet<PathBuf> {
        let beside = self
            .all()
            .into_iter()
            .filter_map(|root| above(root).map(Path::to_path_buf));
        // On another machine nothing is looked for: it may not answer for a while.
        let places = beside.chain(self.all().into_iter().cloned());
        let places: BTreeSet<PathBuf> = places.filter(|place| !is_elsewhere(place)).collect();
        // A kept copy of this program is removed by the command that has no more use for it.
        let is_copy = |rest: &[u8]| rest.starts_with(b"copy-");
        let is_staging = |name: &OsStr| {
            let rest = name.as_bytes().strip_prefix(STAGING_PREFIX.as_bytes());
            rest.is_some_and(|rest| !is_copy(rest))
        };
        let entries = places
            .iter()
            .flat_map(|place| fs::read_dir(place).into_iter().flatten().flatten());
        entries
            .filter(|entry| is_staging(&entry.file_name()))
            .map(|entry| entry.path())
            .collect()
    }
}

/// Returns true for the first name of what a command writes elsewhere. A restore adds its own letters behind those of its root.
fn is_unfinished_output(name: &OsStr) -> bool {
    let letters = name.as_bytes().strip_prefix(STAGING_PREFIX.as_bytes());
    letters.is_some_and(|letters| letters.len() == 16 && letters.iter().all(u8::is_ascii_hexdigit))
}

fn mounts(roots: &Roots, left: &BTreeSet<PathBuf>, locks: &[HeldLock], findings: &mut Vec<Finding>) {
    let found = |severity, what: String| Finding::new(Group::Mounts, severity, what);
    let mut judged = Vec::new();
    // A staging directory may belong to any restore whose root lies there.
    let at_work = |path: &Path| {
        locks
            .iter()
            .filter(|lock| !lock.shared)
            .any(|lock| match &lock.name {
                LockName::Root(root) => above(path) == Some(root) || above(path) == above(root),
                _ => false,
            })
    };
    for path in left
        .iter()
        .filter(|path| !at_work(path) && !roots.staged.contains(*path) && path.symlink_metadata().is_ok())
    {
        if let Some(receipt) = roots.set_aside.get(path) {
            let what = format!(
                "{}: set aside by receipt {receipt}; `undo` restores it; remove it if you do not need it",
                shown(path)
            );
            let step = format!("du -sh {0}  # then: rm -r {0}", shell::word(path));
            judged.push(found(Severity::Note, what).at(path).shell(step));
            continue;
        }
        let what = match path.file_name().is_some_and(is_unfinished_output) {
            true => format!(
                "{}: unfinished output of `export`, `fork` or `restore --to`; nothing else needs it once that command has ended",
                shown(path)
            ),
            false => format!(
                "{}: left by an interrupted restore; it may hold the only copy of some files",
                shown(path)
            ),
        };
        let word = shell::word(path);
        judged.push(
            found(Severity::Warning, what)
                .at(path)
                .shell(format!("ls -lR {word}  # then: rm -r {word}")),
        );
    }
    // Mounts on other machines are not checked: such a machine may not answer for a while.
    let gone = |root: &&PathBuf| match fs::symlink_metadata(root) {
        _ if is_elsewhere(root) => false,
        Ok(meta) => !meta.is_dir(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    let (files, missing): (Vec<&PathBuf>, Vec<&PathBuf>) = roots
        .configured
        .iter()
        .filter(gone)
        .partition(|root| root.is_file());
    // With the directory that another mount is, it is covered.
    let alone = |file: &&PathBuf| !upwards(file).skip(1).any(|dir| roots.configured.contains(dir));
    for root in files.into_iter().filter(alone) {
        let what = format!(
            "{}: a workspace mounts this single file, which no snapshot has",
            shown(root)
        );
        let step = "to capture it, mount its directory";
        judged.push(found(Severity::Note, what).at(root).words(step));
    }
    for root in missing {
        let what = format!("{}: a workspace mounts it, but it does not exist", shown(root));
        let finding = found(Severity::Warning, what).at(root);
        judged.push(match shell::make_directory(root) {
            Some(step) => finding.shell(step),
            None => finding.words("create it in the volume"),
        });
    }
    let old: Vec<(&PathBuf, &InstanceId)> = roots
        .recorded
        .iter()
        .filter(|(root, _)| !roots.configured.contains(*root) && gone(root))
        .collect();
    if let Some((first, instance)) = old.first() {
        let more = match old.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let what = format!(
            "{}{more}: sessions were recorded there, but it is missing",
            shown(first)
        );
        let step = format!("restore {instance} --dry-run");
        judged.push(found(Severity::Note, what).at(first).verb(step));
    }
    if judged.is_empty() {
        let known = counted(roots.all().len(), "known root", "known roots");
        judged.push(found(
            Severity::Ok,
            format!("{known}, nothing is missing or left over"),
        ));
    }
    findings.extend(judged);
}
