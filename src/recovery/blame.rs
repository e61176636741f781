//! Origin of each line of a file: the session, turn and tool call that last changed it, from every snapshot that covers the path.
//!
//! The snapshots are read in the order of their receipts. Of each manifest only the path's own entry is read, and a content only where it
//! differs from the one before. Only where the file appears are two whole manifests compared, to find a rename. What changed between two neighbors belongs to the session that was at work between them, as a restore sees it.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::live_file::{Live, read_live};
use super::path_history::{
    BlamedLine, Body, Loaded, Origin, PathHistory, PathRestore, PathStep, PathStepKind, Traced, Version,
    WholeReason, text,
};
use super::paths::{host_path, in_session, left_out, place};
use super::{Recovery, RecoveryError};
use crate::capture::{CaptureError, check_mount, is_gone};
use crate::config::settle_path;
use crate::contract::{Matcher, Verdict};
use crate::diff::{KeyLines, MAX_TEXT, SecretGroups, Side, compare, is_secret_path, mask_settings, renames};
use crate::model::{
    ByteString, Coverage, Entry, MountRecord, PathChange, RelPath, SnapshotId, SnapshotRecord,
};
use crate::restore::{PathMoment, WorkLog};
use crate::session::sessions_covering;
use crate::store::{InstanceRow, PartsRead, PathLookup, PathState, RestoreRow, Store, StoreError};
use handle_fs::remote::Transports;

/// Maximum number of renames that are followed.
const MOST_RENAMES: usize = 20;

/// Request for the origin of a file's lines.
#[derive(Clone, Copy, Debug)]
pub struct BlameRequest<'a> {
    /// Only this session; `None` for all that cover the path.
    pub session: Option<&'a str>,
    /// The file, as the operator names it.
    pub path: &'a OsStr,
}

/// Rename of a file between two moments, given by their positions.
struct Rename {
    from: PathBuf,
    before: usize,
    at: usize,
}

/// Presence of a path in a row of moments.
#[derive(Default)]
struct Presence {
    /// True if the last moment that shows the path has it.
    is_there: bool,
    /// Positions of each moment that has the path again or for the first time, and of the one before that shows its absence.
    appeared: Vec<(usize, usize, Version)>,
}

struct Tracer<'s> {
    store: &'s Store,
    log: &'s WorkLog,
    lookup: PathLookup<'s>,
    records: HashMap<SnapshotId, Option<Rc<SnapshotRecord>>>,
    matchers: Vec<(Coverage, Option<Matcher>)>,
    restores: Vec<(InstanceRow, RestoreRow)>,
    unreadable: HashSet<SnapshotId>,
}

impl Recovery<'_> {
    /// Returns the changes of a file, and the origin of each of its lines.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{BlameRequest, ContractRequest, Origin, Recovery};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let project = scratch.path().canonicalize()?.join("project");
    /// # let environment = Environment {
    /// #     home: Some(scratch.path().join("home")),
    /// #     current: project.clone(),
    /// #     ..Environment::default()
    /// # };
    /// # std::fs::create_dir(&project)?;
    /// # let recovery = Recovery::open(&environment);
    /// std::fs::write(project.join("notes"), "old\n")?;
    /// let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// let session = recovery.begin(&(&contract).into())?.into_id();
    /// std::fs::write(project.join("notes"), "old\nnew\n")?;
    /// recovery.end(session.as_str())?;
    /// let found = recovery.blame(&BlameRequest { session: None, path: "notes".as_ref() })?;
    /// let origin = |line: usize| &found.steps[found.lines[line].step].origin;
    /// assert_eq!(*origin(0), Origin::Before);
    /// assert!(matches!(origin(1), Origin::Work(by) if by.sessions[0].session == session));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Uncovered`] if no session covers the path; [`RecoveryError::Session`]; [`RecoveryError::Nowhere`] or
    /// [`RecoveryError::Excluded`] if no snapshot has it; [`RecoveryError::Directory`]; [`RecoveryError::Store`];
    /// [`RecoveryError::Capture`] if its mount is not mounted.
    pub fn blame(&self, request: &BlameRequest<'_>) -> Result<PathHistory, RecoveryError> {
        let path = Path::new(request.path);
        let (store, mut rows, host) = match request.session {
            Some(session) => {
                let (store, row) = self.session(session)?;
                let recorded = in_session(&store, &row)?;
                let (at, below) = place(self.environment, &row.mounts, path, &recorded)?;
                drop(recorded);
                let root = row.mounts.get(at).map(|coverage| coverage.root.to_path());
                let host = below.on_host(&root.unwrap_or_default());
                (store, vec![row], host)
            }
            None => {
                let resolved = settle_path(self.environment, path);
                let uncovered = || RecoveryError::Uncovered(resolved.clone());
                let store = self.store_for_reading()?.ok_or_else(uncovered)?;
                let host = host_path(self.environment, &store, &store.catalog().instances()?, path)?;
                let unsettled = sessions_covering(&store, &host)?;
                let store = self.settle_each(store, unsettled)?;
                let rows = sessions_covering(&store, &host)?;
                (store, rows, host)
            }
        };
        let Some(newest) = rows.first().cloned() else {
            return Err(RecoveryError::Uncovered(host));
        };
        let _needed = store.share()?;
        rows.reverse();
        let log = WorkLog::read(&store, &rows)?;
        let mut restores = Vec::new();
        for row in &rows {
            let own = store.catalog().restores(&row.id)?;
            restores.extend(own.into_iter().map(|restore| (row.clone(), restore)));
        }
        let mut tracer = Tracer {
            store: &store,
            log: &log,
            lookup: PathLookup::new(&store),
            records: HashMap::new(),
            matchers: Vec::new(),
            restores,
            unreadable: HashSet::new(),
        };
        // A session that was named and has ended shows its own end.
        let is_over = request.session.is_some() && newest.ended_at.is_some();
        let is_live = !newest.is_imported() && !is_over;
        let own = log.moments().iter().rposition(|moment| !moment.is_emergency);
        let until = match is_over {
            true => own.map_or(0, |last| last + 1),
            false => log.moments().len(),
        };
        let traced = tracer.trace(&host, until, 0)?;
        let Some(traced) = traced else {
            return Err(unknown(&newest, host));
        };
        let mut history = tracer.finish(traced, &host, is_live, store.transports())?;
        if history.steps.is_empty() {
            return Err(unknown(&newest, host));
        }
        history.read = tracer.lookup.read();
        history.unreadable = tracer.unreadable.len() as u64;
        Ok(history)
    }
}

/// Returns the error for a path that no snapshot shows.
fn unknown(row: &InstanceRow, host: PathBuf) -> RecoveryError {
    let mut mounts = row.mounts.iter();
    if let Some(error) = mounts.find_map(|coverage| left_out(coverage, &below(coverage, &host)?)) {
        return error;
    }
    let described = match host.symlink_metadata() {
        Ok(_) => format!("is in no snapshot of {}", row.id),
        Err(_) => "is in no snapshot, nor there now".to_owned(),
    };
    RecoveryError::Nowhere {
        path: host,
        described,
        is_dashed: false,
        instance: row.id.clone(),
    }
}

/// Returns the path below a mount; `None` if it lies elsewhere.
fn below(coverage: &Coverage, host: &Path) -> Option<RelPath> {
    let below = host.strip_prefix(coverage.root.to_path()).ok()?;
    RelPath::new(&ByteString::from(below).0).ok()
}

impl Tracer<'_> {
    /// Follows the path through the first `until` moments; `None` if none of them shows it.
    ///
    /// A rename replaces all that is known of the path by then, so only the last one is followed. Each name is read a fixed number of times
    /// however often the file was renamed.
    fn trace(&mut self, host: &Path, until: usize, renames: usize) -> Result<Option<Traced>, RecoveryError> {
        let log = self.log;
        let mut traced: Option<Traced> = None;
        let mut shown: Option<&SnapshotId> = None;
        let mut renamed = None;
        if renames < MOST_RENAMES
            && let Some(rename) = self.last_rename(host, until)?
            && let Some(earlier) = self.trace(&rename.from, rename.at, renames + 1)?
        {
            traced = Some(Traced {
                last: rename.before,
                there: None,
                targets: self.absences(host, rename.at)?,
                ..earlier
            });
            renamed = Some(rename);
        }
        let start = renamed.as_ref().map_or(0, |rename| rename.at);
        for (at, moment) in log.moments().iter().enumerate().take(until).skip(start) {
            // Several moments may show one snapshot; the first bounds what came before it, the last what comes after.
            let version = match (&traced, shown == Some(&moment.snapshot)) {
                (Some(traced), true) => Some(traced.version.clone()),
                _ => self.version(&moment.snapshot, host)?,
            };
            shown = None;
            let Some(version) = version else { continue };
            let is_same = |traced: &Traced| traced.version.same_content(&version);
            let loaded = match traced.as_ref().is_some_and(is_same) || version.is_absent() {
                true => None,
                false => Some(self.load(&moment.snapshot, &version)),
            };
            if let Some(Err(WholeReason::Unreadable(_))) = loaded {
                // The next one that can be read is compared with the one before.
                self.unreadable.insert(moment.snapshot.clone());
                continue;
            }
            shown = Some(&moment.snapshot);
            match &mut traced {
                None => traced = Some(self.first(at, moment, version, loaded)),
                Some(traced) => {
                    let renamed = renamed.take();
                    if renamed.is_some() || !traced.version.same(&version) {
                        self.change(traced, at, (version, loaded), host, renamed);
                    }
                    traced.last = at;
                    if !traced.version.is_absent() {
                        traced.there = Some(at);
                    }
                }
            }
            if let Some(traced) = &mut traced {
                let mut targets = self.restores.iter();
                if targets.any(|(_, restore)| restore.target == moment.snapshot) {
                    let state = (traced.version.clone(), traced.body.clone());
                    traced.targets.insert(moment.snapshot.clone(), state);
                }
            }
        }
        Ok(traced)
    }

    /// Returns the snapshots among the first `until` moments that files were restored to, and in which the path is absent.
    fn absences(
        &mut self,
        host: &Path,
        until: usize,
    ) -> Result<HashMap<SnapshotId, (Version, Body)>, RecoveryError> {
        let log = self.log;
        let mut found = HashMap::new();
        for moment in log.moments().iter().take(until) {
            let mut targets = self.restores.iter();
            if targets.any(|(_, restore)| restore.target == moment.snapshot)
                && let Some(version @ Version::Absent) = self.version(&moment.snapshot, host)?
            {
                let empty = Body::all_of(Ok(Vec::new()), 0);
                found.insert(moment.snapshot.clone(), (version, empty));
            }
        }
        Ok(found)
    }

    /// Returns the last rename to the path in the first `until` moments from a path that was there.
    fn last_rename(&mut self, host: &Path, until: usize) -> Result<Option<Rename>, RecoveryError> {
        let log = self.log;
        for (before, at, version) in self.presence(host, until)?.appeared.into_iter().rev() {
            if let (Some(earlier), Some(later)) = (log.moments().get(before), log.moments().get(at))
                && let Some(from) = self.renamed_from(earlier, later, &version, host)
                && self.presence(&from, at)?.is_there
            {
                return Ok(Some(Rename { from, before, at }));
            }
        }
        Ok(None)
    }

    /// Looks through the first `until` moments for the path. A content is read only where the path appears.
    fn presence(&mut self, host: &Path, until: usize) -> Result<Presence, RecoveryError> {
        let log = self.log;
        let mut found = Presence::default();
        let mut absent_at = None;
        for (at, moment) in log.moments().iter().enumerate().take(until) {
            match self.version(&moment.snapshot, host)? {
                None => {}
                Some(Version::Absent) => (found.is_there, absent_at) = (false, Some(at)),
                Some(_) if found.is_there => {}
                Some(version) => {
                    if let Err(WholeReason::Unreadable(_)) = self.load(&moment.snapshot, &version) {
                        self.unreadable.insert(moment.snapshot.clone());
                        continue;
                    }
                    found.is_there = true;
                    if let Some(before) = absent_at {
                        found.appeared.push((before, at, version));
                    }
                }
            }
        }
        Ok(found)
    }

    fn first(&mut self, at: usize, moment: &PathMoment, version: Version, loaded: Option<Loaded>) -> Traced {
        let mut steps = Vec::new();
        let body = match &version {
            Version::Absent => Body::all_of(Ok(Vec::new()), 0),
            _ => {
                let body = Body::all_of(loaded.unwrap_or(Ok(Vec::new())), 0);
                let record = self.record(&moment.snapshot);
                steps.push(PathStep {
                    kind: PathStepKind::Found,
                    origin: Origin::Before,
                    before: None,
                    snapshot: Some(moment.snapshot.clone()),
                    name: record.as_ref().and_then(|record| record.name.clone()),
                    at: record.map(|record| record.taken_at),
                    added: 0,
                    removed: 0,
                });
                body
            }
        };
        Traced {
            steps,
            there: (!version.is_absent()).then_some(at),
            version,
            body,
            last: at,
            targets: HashMap::new(),
        }
    }

    /// Adds the change from the last version to `version`, which the moment at position `at` shows first.
    fn change(
        &mut self,
        traced: &mut Traced,
        at: usize,
        (version, loaded): (Version, Option<Loaded>),
        host: &Path,
        renamed: Option<Rename>,
    ) {
        let log = self.log;
        let (Some(before), Some(after)) = (log.moments().get(traced.last), log.moments().get(at)) else {
            return;
        };
        // A rename keeps the content.
        let loaded = loaded.filter(|_| renamed.is_none());
        let restored = self.restore_between(before, Some(after), host);
        let kind = match (&traced.version, &version, renamed) {
            (_, Version::Absent, _) => PathStepKind::Deleted,
            (_, _, Some(rename)) => PathStepKind::Renamed(rename.from),
            (Version::Absent, ..) => PathStepKind::Added,
            _ if loaded.is_none() => PathStepKind::Metadata,
            _ => PathStepKind::Modified,
        };
        let nlink = [traced.version.entry(), version.entry()];
        let any_call = nlink
            .into_iter()
            .flatten()
            .any(|entry| !entry.is_dir() && entry.nlink > 1);
        let record = self.record(&after.snapshot);
        let step = PathStep {
            kind,
            origin: Origin::Work(
                self.log
                    .workers(before, Some(after), &ground(self, after, host), any_call),
            ),
            before: Some(before.snapshot.clone()),
            snapshot: Some(after.snapshot.clone()),
            name: record.as_ref().and_then(|record| record.name.clone()),
            at: record.map(|record| record.taken_at),
            added: 0,
            removed: 0,
        };
        traced.advance(step, restored, version, loaded);
    }

    /// Compares with the file as it is now, and returns the whole history.
    fn finish(
        &mut self,
        mut traced: Traced,
        host: &Path,
        is_live: bool,
        transports: &Transports,
    ) -> Result<PathHistory, RecoveryError> {
        let log = self.log;
        let mut is_secret = traced.there.is_some_and(|at| {
            let shown = log.moments().get(at).map(|moment| moment.snapshot.clone());
            shown.is_some_and(|shown| self.is_secret(&shown, host))
        });
        let (mut is_now, mut is_there) = (false, false);
        if let Some(last) = log.moments().get(traced.last).filter(|_| is_live) {
            let live = self.live(&traced.version, &last.snapshot, host, transports)?;
            let restored = self.restore_between(last, None, host);
            let links = traced.version.entry().is_some_and(|entry| entry.nlink > 1);
            let workers = || Origin::Work(log.workers(last, None, &ground(self, last, host), links));
            let step = |kind| PathStep {
                kind,
                origin: workers(),
                before: Some(last.snapshot.clone()),
                snapshot: None,
                name: None,
                at: None,
                added: 0,
                removed: 0,
            };
            is_now = !matches!(live, Live::Unknown | Live::Absent);
            let private = traced.restored_private(restored.as_ref());
            match (live, private) {
                (Live::Directory, _) => return Err(RecoveryError::Directory(host.to_path_buf())),
                // The content of a private file is not compared, but a receipt says what a restore made of it.
                (Live::Unknown | Live::Other { .. }, Some((kind, version))) => {
                    is_there = matches!(transports.stat_path(host), Ok(Some(_)));
                    let loaded = match version.is_absent() {
                        true => Ok(Vec::new()),
                        false => Err(WholeReason::Private),
                    };
                    traced.advance(step(kind), restored, version, Some(loaded));
                }
                (Live::Unknown, _) => {}
                (Live::Same { is_secret: secret }, _) => is_secret |= secret,
                (Live::Absent, _) if traced.version.is_absent() => {}
                (Live::Absent, _) => {
                    let step = step(PathStepKind::Deleted);
                    traced.advance(step, restored, Version::Absent, None);
                }
                (
                    Live::Other {
                        loaded,
                        is_secret: secret,
                    },
                    None,
                ) => {
                    is_secret |= secret;
                    let kind = match traced.version.is_absent() {
                        true => PathStepKind::Added,
                        false => PathStepKind::Modified,
                    };
                    let step = step(kind);
                    traced.advance_to_now(step, restored, loaded);
                }
            }
        }
        let is_gone = traced.version.is_absent() && !is_now && !is_there;
        // A file may have taken the place of a directory since the last snapshot.
        if !is_now && traced.version.entry().is_some_and(Entry::is_dir) {
            return Err(RecoveryError::Directory(host.to_path_buf()));
        }
        let shown = match is_now {
            true => None,
            false => traced
                .there
                .and_then(|at| log.moments().get(at))
                .map(|moment| moment.snapshot.clone()),
        };
        let (lines, whole) = match traced.body {
            Body::Whole(why) => (Vec::new(), Some(why)),
            Body::Lines { bytes, steps } => {
                let split = |text: &[u8]| -> Vec<Vec<u8>> {
                    let lines = text.split_inclusive(|byte| *byte == b'\n');
                    lines.map(<[u8]>::to_vec).collect()
                };
                let masked = mask_settings(host, &bytes);
                let mut masked = masked.map(|text| split(&text)).unwrap_or_default().into_iter();
                let mut keys = KeyLines::default();
                let lines = split(&bytes).into_iter().zip(steps);
                let line = |(text, step): (Vec<u8>, usize)| BlamedLine {
                    masked: keys
                        .masked(&text)
                        .or(masked.next())
                        .filter(|masked| *masked != text),
                    text,
                    step,
                };
                (lines.map(line).collect(), None)
            }
        };
        Ok(PathHistory {
            path: host.to_path_buf(),
            steps: traced.steps,
            lines,
            whole,
            shown,
            is_gone,
            is_secret,
            read: PartsRead::default(),
            unreadable: 0,
        })
    }

    fn record(&mut self, snapshot: &SnapshotId) -> Option<Rc<SnapshotRecord>> {
        if let Some(known) = self.records.get(snapshot) {
            return known.clone();
        }
        // Other snapshots bound the change then.
        let record = match self.store.record(snapshot) {
            Ok(record) => Some(Rc::new(record)),
            Err(StoreError::NoSnapshot { .. }) => None,
            Err(_) => {
                self.unreadable.insert(snapshot.clone());
                None
            }
        };
        self.records.insert(snapshot.clone(), record.clone());
        record
    }

    /// Returns the mount of a snapshot that the path lies in, and the path below it.
    fn mount<'r>(record: &'r SnapshotRecord, host: &Path) -> Option<(&'r MountRecord, RelPath)> {
        let mut lying = record
            .mounts
            .iter()
            .filter_map(|mount| Some((mount, below(&mount.coverage, host)?)));
        lying.find(|(mount, _)| {
            let mut places = mount.coverage.places().into_iter();
            !mount.coverage.state || places.any(|place| host.starts_with(place))
        })
    }

    /// Returns the state of the path in a snapshot; `None` if that does not show it.
    fn version(&mut self, snapshot: &SnapshotId, host: &Path) -> Result<Option<Version>, RecoveryError> {
        let Some(record) = self.record(snapshot) else {
            return Ok(None);
        };
        let Some((mount, path)) = Self::mount(&record, host) else {
            return Ok(None);
        };
        let verdict = self
            .matcher(&mount.coverage)
            .map(|matcher| matcher.verdict_with_parents(&path, false));
        let is_covered = match verdict {
            None => return Ok(None),
            Some(Verdict::Withheld(reason)) if reason.is_private() => {
                let fact = mount.withheld.iter().find(|fact| fact.path == path);
                return Ok(Some(match fact {
                    Some(fact) => Version::Private(Box::new(fact.clone())),
                    None => Version::Absent,
                }));
            }
            Some(verdict) => matches!(verdict, Verdict::Covered),
        };
        let Some(manifest) = &mount.manifest else {
            return Ok(Some(Version::Absent));
        };
        Ok(match self.lookup.state(&record, manifest, &path) {
            Ok(PathState::Present(entry)) => Some(Version::Entry(entry)),
            Ok(PathState::Absent) if is_covered => Some(Version::Absent),
            Ok(PathState::Absent | PathState::Unknown) => None,
            Err(_) => {
                self.unreadable.insert(snapshot.clone());
                None
            }
        })
    }

    fn matcher(&mut self, coverage: &Coverage) -> Option<&Matcher> {
        let known = self.matchers.iter().position(|(known, _)| known == coverage);
        let at = known.unwrap_or_else(|| {
            let matcher = Matcher::new(coverage).ok();
            self.matchers.push((coverage.clone(), matcher));
            self.matchers.len() - 1
        });
        self.matchers.get(at)?.1.as_ref()
    }

    /// Reads the content of a version.
    fn load(&mut self, snapshot: &SnapshotId, version: &Version) -> Loaded {
        let entry = match version {
            Version::Absent => return Ok(Vec::new()),
            Version::Private(_) => return Err(WholeReason::Private),
            Version::Entry(entry) => entry,
        };
        let content = entry.content().ok_or(WholeReason::Special)?;
        let unreadable = |why: String| WholeReason::Unreadable(why);
        let record = self.record(snapshot);
        let record = record.ok_or_else(|| unreadable("its snapshot is gone".to_owned()))?;
        match self.lookup.bytes(&record, content, MAX_TEXT) {
            Ok(Some(bytes)) => text(bytes),
            Ok(None) => Err(WholeReason::Large),
            Err(error) => Err(unreadable(error.to_string())),
        }
    }

    /// Returns true if the content of the path is not shown unless the operator asks for it.
    fn is_secret(&mut self, snapshot: &SnapshotId, host: &Path) -> bool {
        let version = self.version(snapshot, host);
        let Some(record) = self.record(snapshot) else {
            return true;
        };
        let (Ok(Some(version)), Some((mount, path))) = (version, Self::mount(&record, host)) else {
            return true;
        };
        let root = mount.coverage.root.to_path();
        match version.entry() {
            // Only the whole manifest has the other names.
            Some(entry) if entry.has_several_names() => match self.store.manifest(&record, mount) {
                Ok(Some(manifest)) => SecretGroups::default().hold(&root, &manifest, &path, entry),
                _ => true,
            },
            entry => is_secret_path(&root, &path, entry),
        }
    }

    /// Returns the path that a new file had before it was renamed between two moments.
    fn renamed_from(
        &mut self,
        before: &PathMoment,
        after: &PathMoment,
        version: &Version,
        host: &Path,
    ) -> Option<PathBuf> {
        version.entry()?.content().filter(|content| content.size > 0)?;
        let (earlier, later) = (self.record(&before.snapshot)?, self.record(&after.snapshot)?);
        let (there, path) = Self::mount(&later, host)?;
        let mut mounts = earlier.mounts.iter();
        let same = mounts.find(|mount| mount.coverage.root == there.coverage.root)?;
        let from = self.store.manifest(&earlier, same).ok()??;
        let to = self.store.manifest(&later, there).ok()??;
        let side = |manifest| Side {
            manifest: Some(manifest),
            skipped: &[],
        };
        let changes = compare(&side(&from), &side(&to)).changes;
        let all: Vec<_> = changes.iter().collect();
        let at = changes.iter().position(|change| change.path == path)?;
        let old = changes.get(*renames(&all).get(&at)?)?;
        Some(old.path.on_host(&there.coverage.root.to_path()))
    }

    /// Returns the last restore between two moments that changed the path.
    fn restore_between(
        &self,
        before: &PathMoment,
        after: Option<&PathMoment>,
        host: &Path,
    ) -> Option<PathRestore> {
        let high = after.map_or(u64::MAX, |after| after.number);
        let is_of_path = |row: &InstanceRow, change: &&PathChange| {
            let mut mounts = row.mounts.iter();
            let mount = mounts.find(|mount| mount.label == change.mount);
            mount.is_some_and(|mount| change.path.on_host(&mount.root.to_path()) == host)
        };
        let between = self.restores.iter().filter_map(|(row, restore)| {
            let is_between = before.number < restore.number && restore.number < high;
            let mut changed = restore.changed.iter().filter(|_| is_between);
            Some((row, restore, changed.find(|change| is_of_path(row, change))?))
        });
        let (row, restore, change) = between.max_by_key(|(_, restore, _)| restore.number)?;
        let origin = Origin::Restore {
            number: restore.number,
            kind: restore.kind,
            session: row.id.clone(),
        };
        Some(PathRestore {
            origin,
            target: restore.target.clone(),
            composed: change
                .composed
                .as_ref()
                .and_then(|entry| entry.0.content().copied()),
        })
    }

    /// Reads the file as it is now, in the mount of the snapshot that shows it last.
    fn live(
        &mut self,
        last: &Version,
        snapshot: &SnapshotId,
        host: &Path,
        transports: &Transports,
    ) -> Result<Live, RecoveryError> {
        let Some(record) = self.record(snapshot) else {
            return Ok(Live::Unknown);
        };
        let Some((mount, path)) = Self::mount(&record, host) else {
            return Ok(Live::Unknown);
        };
        check_mount(transports, mount).map_err(CaptureError::from)?;
        if matches!(last, Version::Private(_)) {
            return Ok(Live::Unknown);
        }
        let found = read_live(transports, &mount.coverage, &path, last.entry());
        found.or_else(|error| match is_gone(&error) {
            true => Ok(Live::Absent),
            false => Ok(Live::Other {
                loaded: Err(WholeReason::Unreadable(error.to_string())),
                is_secret: false,
            }),
        })
    }
}

/// Returns the path in the form in which tool calls name it: on the mount's own machine.
fn ground(tracer: &Tracer<'_>, moment: &PathMoment, host: &Path) -> PathBuf {
    let record = tracer.records.get(&moment.snapshot).cloned().flatten();
    let placed = record.and_then(|record| {
        let (mount, path) = Tracer::mount(&record, host)?;
        Some(path.on_host(&mount.coverage.ground()))
    });
    placed.unwrap_or_else(|| host.to_path_buf())
}
