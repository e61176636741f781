//! Paths by name in all snapshots: first and last seen, changed, deleted.
//!
//! Snapshots are read in the order of their receipts. Of each manifest only the chunks are read that the manifest before it does not have,
//! and no archive is unpacked: a path that leaves a chunk without entering another one was deleted, and the snapshot must prove that.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::paths::{Recorded, as_glob, glob, in_snapshots};
use super::{Recovery, RecoveryError};
use crate::capture::{check_mount, is_gone};
use crate::contract::{Matcher, PathGlob, Verdict};
use crate::diff::{LinkGroup, is_git_configuration, is_secret_path, link_group, secret_groups};
use crate::environment::Environment;
use crate::model::{
    Content, Coverage, Digest, Entry, InstanceId, MountRecord, RelPath, SnapshotId, SnapshotKind,
    SnapshotRecord, Time,
};
use crate::restore::RestoreError;
use crate::session::{Allowed, ensure_outside_session, sessions_covering, without_forgotten};
use crate::store::{InstanceRow, LockGuard, PartsRead, PathLookup, PathState, SnapshotRow, Store};
use handle_fs::Root;
use handle_fs::remote::Transports;

/// Request for paths by name.
#[derive(Clone, Copy, Debug)]
pub struct FindRequest<'a> {
    /// Name or glob of a name; with a slash a path, or a glob of paths, relative to the current directory. `None` for all paths.
    pub pattern: Option<&'a OsStr>,
    /// Only paths that do not exist any more.
    pub deleted: bool,
    /// Look in the sessions of all directories.
    pub any: bool,
}

/// Paths that were found, newest change first.
pub struct FoundPaths {
    /// The paths.
    pub paths: Vec<FoundPath>,
    /// Number of snapshots that were read.
    pub snapshots: u64,
    /// Number of snapshots that are damaged or missing.
    pub unreadable: u64,
    /// Parts of manifests that were read.
    pub read: PartsRead,
    pub(super) store: Option<Store>,
    /// Keeps archives from being deleted while they are read.
    _needed: Option<LockGuard>,
}

/// A path in the snapshots.
#[derive(Clone, Debug)]
pub struct FoundPath {
    /// The path on the host.
    pub path: PathBuf,
    /// The newest version.
    pub entry: Entry,
    /// The first snapshot that shows the path.
    pub first: Moment,
    /// The first snapshot that shows the newest version.
    pub changed: Moment,
    /// The last snapshot that shows the path.
    pub last: Moment,
    /// Number of versions.
    pub versions: u64,
    /// Presence of the path in the live tree.
    pub now: Presence,
    /// True if the content is not shown unless the operator asks for it.
    pub is_secret: bool,
    /// True if git keeps settings there.
    pub(super) is_settings: bool,
    /// Contents that it had, each with the first snapshot that shows it, oldest first.
    pub(super) contents: Vec<(Content, Moment)>,
}

/// Presence of a path in the live tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It exists.
    There,
    /// It was deleted.
    Deleted {
        /// The first snapshot that proves it; `None` if it was deleted after the last one.
        seen: Option<Moment>,
    },
    /// Its directory cannot be looked at, or is on another machine.
    Unknown,
}

/// A snapshot with its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The session.
    pub session: InstanceId,
    /// The snapshot.
    pub snapshot: SnapshotId,
    /// Its kind.
    pub kind: SnapshotKind,
    /// Its name, if it is a checkpoint with one.
    pub name: Option<String>,
    /// Time at which it was taken.
    pub at: Time,
    /// True if it is the newest of its kind in the session, so that the kind names it.
    pub is_newest: bool,
    number: u64,
}

impl Moment {
    /// Returns the shortest word for the snapshot in its session: its name, its kind or its id.
    #[must_use]
    pub fn word(&self) -> &str {
        match &self.name {
            Some(name) => name,
            None if self.is_newest => self.kind.word(),
            None => self.snapshot.as_str(),
        }
    }
}

impl FoundPath {
    /// Time of the newest change, as far as snapshots show it.
    fn newest(&self) -> (u64, Time) {
        match &self.now {
            Presence::Deleted { seen: Some(seen) } => (seen.number, seen.at),
            _ => (self.changed.number, self.changed.at),
        }
    }
}

impl Recovery<'_> {
    /// Finds paths by name in the snapshots of the sessions here, or of all.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, FindRequest, Presence, Recovery};
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
    /// std::fs::write(project.join("notes.txt"), "one\n")?;
    /// let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// let session = recovery.begin(&(&contract).into())?.into_id();
    /// std::fs::remove_file(project.join("notes.txt"))?;
    /// recovery.end(session.as_str())?;
    /// let request = FindRequest { pattern: Some("*.txt".as_ref()), deleted: true, any: false };
    /// let found = recovery.find(&request)?;
    /// assert_eq!(found.paths[0].path, project.join("notes.txt"));
    /// assert!(matches!(&found.paths[0].now, Presence::Deleted { seen: Some(seen) } if seen.session == session));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Uncovered`] if no session covers the current directory; [`RecoveryError::Glob`]; [`RecoveryError::Store`];
    /// [`RecoveryError::Restore`] if the observer stops it.
    pub fn find(&self, request: &FindRequest<'_>) -> Result<FoundPaths, RecoveryError> {
        let here = &self.environment.current;
        let uncovered = || RecoveryError::Uncovered(here.clone());
        let Some(store) = self.store_for_reading()? else {
            return match request.any {
                true => Ok(FoundPaths::none()),
                false => Err(uncovered()),
            };
        };
        ensure_outside_session(&store, self.environment, Allowed::Nothing)?;
        let rows = |store: &Store| match request.any {
            true => without_forgotten(store, store.catalog().instances()?),
            false => sessions_covering(store, here),
        };
        let unsettled = rows(&store)?;
        let store = self.settle_each(store, unsettled)?;
        let rows = rows(&store)?;
        if rows.is_empty() && !request.any {
            return Err(uncovered());
        }
        let needed = store.share()?;
        let mut search = Search {
            environment: self.environment,
            pattern: request.pattern,
            recorded: &|_, _| false,
            lookup: PathLookup::new(&store),
            timelines: Vec::new(),
            unreadable: 0,
        };
        let mut moments: Vec<(Moment, bool)> = Vec::new();
        for row in &rows {
            let snapshots = store.catalog().snapshots(&row.id)?;
            moments.extend(of_session(&snapshots, row));
        }
        let ids = moments
            .iter()
            .map(|(moment, _)| moment.snapshot.clone())
            .collect();
        let recorded = in_snapshots(&store, ids);
        search.recorded = &recorded;
        moments.sort_by_key(|(moment, _)| (moment.number, moment.at));
        for (moment, is_imported) in &moments {
            if self.services.observer.cancelled() {
                return Err(RestoreError::Interrupted.into());
            }
            match store.record(&moment.snapshot) {
                Ok(record) => search.read(&record, moment, *is_imported)?,
                Err(_) => search.unreadable += 1,
            }
        }
        let (unreadable, read) = (search.unreadable, search.lookup.read());
        let mut paths = search.finish(store.transports());
        drop(recorded);
        if request.deleted {
            paths.retain(|found| matches!(found.now, Presence::Deleted { .. }));
        }
        paths.sort_by(|a, b| b.newest().cmp(&a.newest()).then_with(|| a.path.cmp(&b.path)));
        Ok(FoundPaths {
            paths,
            snapshots: moments.len() as u64,
            unreadable,
            read,
            store: Some(store),
            _needed: Some(needed),
        })
    }
}

impl FoundPaths {
    /// Result of a search in a store that does not exist.
    fn none() -> Self {
        Self {
            paths: Vec::new(),
            snapshots: 0,
            unreadable: 0,
            read: PartsRead::default(),
            store: None,
            _needed: None,
        }
    }
}

/// Returns the snapshots of a session, and whether it was imported. They are sorted, newest first.
fn of_session(snapshots: &[SnapshotRow], row: &InstanceRow) -> Vec<(Moment, bool)> {
    let mut seen = HashSet::new();
    let moment = |snapshot: &SnapshotRow| Moment {
        session: snapshot.instance.clone(),
        snapshot: snapshot.id.clone(),
        kind: snapshot.kind,
        name: snapshot.name.clone(),
        at: snapshot.taken_at,
        is_newest: seen.insert(snapshot.kind.word()),
        number: snapshot.receipt.unwrap_or(u64::MAX),
    };
    let moments: Vec<Moment> = snapshots.iter().map(moment).collect();
    let is_imported = row.is_imported();
    moments.into_iter().map(|moment| (moment, is_imported)).collect()
}

struct Search<'a> {
    environment: &'a Environment,
    pattern: Option<&'a OsStr>,
    recorded: &'a Recorded<'a>,
    lookup: PathLookup<'a>,
    timelines: Vec<Timeline>,
    unreadable: u64,
}

/// Matching paths of one directory that was captured, oldest snapshot first.
struct Timeline {
    /// Session, if it was imported: its paths are those of another machine.
    imported: Option<InstanceId>,
    root: PathBuf,
    is_state: bool,
    names: Names,
    /// Last mount that was read, for a look at the live tree.
    mount: MountRecord,
    matcher: Option<Matcher>,
    chunks: HashSet<Digest>,
    /// Matches in each chunk that was read.
    matches: HashMap<Digest, Rc<Vec<(RelPath, Entry)>>>,
    /// Private files of agents that match, and that the last snapshot has stored apart from its manifest.
    private: BTreeSet<RelPath>,
    tracks: BTreeMap<RelPath, Track>,
    /// Hard link groups in all snapshots that have a secret name.
    secret_groups: HashSet<LinkGroup>,
    /// Paths that are not there, and whose absence no snapshot proves.
    unknown: BTreeSet<RelPath>,
    last: Moment,
}

/// States of one path.
struct Track {
    entry: Entry,
    first: Moment,
    changed: Moment,
    /// The last snapshot that shows it; `None` while it is there.
    last: Option<Moment>,
    deleted: Option<Moment>,
    versions: u64,
    /// True if any version was secret by this path or by its mode.
    is_secret: bool,
    /// Hard link groups that the path belonged to.
    groups: Vec<LinkGroup>,
    contents: Vec<(Content, Moment)>,
}

/// Content of a path, as far as it may be searched.
struct Searchable {
    content: Option<Content>,
    is_secret: bool,
}

impl Searchable {
    fn of(root: &Path, path: &RelPath, entry: &Entry) -> Self {
        Self {
            content: entry.content().copied(),
            is_secret: is_secret_path(root, path, Some(entry)),
        }
    }
}

/// Test of names.
enum Names {
    All,
    /// Nothing in this directory can match.
    None,
    Name {
        literal: Vec<u8>,
        glob: Option<PathGlob>,
    },
    Path {
        literal: RelPath,
        glob: Option<PathGlob>,
    },
}

impl Names {
    fn of(
        environment: &Environment,
        coverage: &Coverage,
        pattern: Option<&OsStr>,
        recorded: &Recorded<'_>,
    ) -> Result<Self, RecoveryError> {
        let Some(pattern) = pattern else {
            return Ok(Self::All);
        };
        let bytes = pattern.as_encoded_bytes();
        if !bytes.contains(&b'/') {
            let word = pattern.to_str().filter(|word| PathGlob::is_glob(word));
            let glob = word.map(|word| PathGlob::of_word(RelPath::root(), word, false));
            let wrong = |error: crate::contract::PatternError| RecoveryError::Glob {
                glob: pattern.to_string_lossy().into_owned(),
                why: error.problem,
            };
            return Ok(Self::Name {
                literal: bytes.to_vec(),
                glob: glob.transpose().map_err(wrong)?,
            });
        }
        let coverages = std::slice::from_ref(coverage);
        match as_glob(environment, coverages, pattern) {
            Some(word) => match glob(environment, coverages, word, recorded) {
                Ok((_, asked)) => Ok(Self::Path {
                    literal: asked.literal,
                    glob: Some(asked.glob),
                }),
                Err(RecoveryError::Outside { .. }) => Ok(Self::None),
                Err(error) => Err(error),
            },
            None => match super::paths::place(environment, coverages, Path::new(pattern), recorded) {
                Ok((_, literal)) => Ok(Self::Path { literal, glob: None }),
                Err(RecoveryError::Outside { .. }) => Ok(Self::None),
                Err(error) => Err(error),
            },
        }
    }

    fn match_in(&self, directory: &RelPath, entry: &Entry) -> Option<RelPath> {
        let is_dir = entry.is_dir();
        match self {
            Self::All => Some(directory.join(&entry.name)),
            Self::None => None,
            Self::Name { literal, glob } => {
                let is_match = entry.name.as_bytes() == literal
                    || glob.as_ref().is_some_and(|glob| {
                        RelPath::new(entry.name.as_bytes())
                            .is_ok_and(|name| glob.matches_itself(&name, is_dir))
                    });
                is_match.then(|| directory.join(&entry.name))
            }
            Self::Path { literal, glob } => {
                let path = directory.join(&entry.name);
                let is_match = path == *literal
                    || glob
                        .as_ref()
                        .is_some_and(|glob| glob.matches_itself(&path, is_dir));
                is_match.then_some(path)
            }
        }
    }
}

impl Search<'_> {
    /// Reads a snapshot. One that is damaged is counted, and changes nothing.
    fn read(
        &mut self,
        record: &SnapshotRecord,
        moment: &Moment,
        is_imported: bool,
    ) -> Result<(), RecoveryError> {
        let mut is_damaged = false;
        for mount in &record.mounts {
            let at = self.timeline(mount, moment, is_imported)?;
            is_damaged |= self.advance(at, record, mount, moment).is_err();
        }
        self.unreadable += u64::from(is_damaged);
        Ok(())
    }

    fn timeline(
        &mut self,
        mount: &MountRecord,
        moment: &Moment,
        is_imported: bool,
    ) -> Result<usize, RecoveryError> {
        let coverage = &mount.coverage;
        let root = coverage.root.to_path();
        let imported = is_imported.then(|| moment.session.clone());
        let is_same = |line: &Timeline| {
            (&line.root, line.is_state, &line.imported) == (&root, coverage.state, &imported)
        };
        if let Some(at) = self.timelines.iter().position(is_same) {
            return Ok(at);
        }
        self.timelines.push(Timeline {
            names: Names::of(self.environment, coverage, self.pattern, self.recorded)?,
            imported,
            root,
            is_state: coverage.state,
            matcher: Matcher::new(coverage).ok(),
            mount: mount.clone(),
            chunks: HashSet::new(),
            matches: HashMap::new(),
            private: BTreeSet::new(),
            tracks: BTreeMap::new(),
            secret_groups: HashSet::new(),
            unknown: BTreeSet::new(),
            last: moment.clone(),
        });
        Ok(self.timelines.len() - 1)
    }

    /// Compares the chunks of a mount with those of the snapshot before.
    fn advance(
        &mut self,
        at: usize,
        record: &SnapshotRecord,
        mount: &MountRecord,
        moment: &Moment,
    ) -> Result<(), RecoveryError> {
        let Some(line) = self.timelines.get_mut(at) else {
            return Ok(());
        };
        let chunks = match &mount.manifest {
            Some(manifest) => self.lookup.chunks(record, manifest)?,
            None => Vec::new(),
        };
        // What cannot be read must not look deleted: all chunks first.
        for digest in &chunks {
            if !line.matches.contains_key(digest) {
                let parts = self.lookup.directories(record, digest)?;
                let mut matches = Vec::new();
                for part in &parts {
                    let directory = part.part();
                    line.secret_groups.extend(secret_groups(&line.root, directory));
                    let entries = directory.entries.iter();
                    matches.extend(entries.filter_map(|entry| {
                        let path = line.names.match_in(&directory.path, entry)?;
                        Some((path, entry.clone()))
                    }));
                }
                line.matches.insert(*digest, Rc::new(matches));
            }
        }
        let is_new_coverage = line.mount.coverage != mount.coverage;
        if is_new_coverage {
            line.matcher = Matcher::new(&mount.coverage).ok();
        }
        let now: HashSet<Digest> = chunks.iter().copied().collect();
        let matches =
            |line: &Timeline, digest: &Digest| line.matches.get(digest).cloned().unwrap_or_default();
        let mut entered: BTreeSet<RelPath> = BTreeSet::new();
        let new: Vec<Digest> = now.difference(&line.chunks).copied().collect();
        for digest in &new {
            for (path, entry) in matches(line, digest).iter() {
                let shown = Searchable::of(&line.root, path, entry);
                line.see(path, entry, shown, moment);
                entered.insert(path.clone());
            }
        }
        let mut private = BTreeSet::new();
        for (path, entry, shown) in line.private_in(mount) {
            line.see(&path, &entry, shown, moment);
            entered.insert(path.clone());
            private.insert(path);
        }
        let before = std::mem::replace(&mut line.private, private);
        let gone = line.chunks.difference(&now).flat_map(|digest| {
            let matches = matches(line, digest);
            let paths: Vec<RelPath> = matches.iter().map(|(path, _)| path.clone()).collect();
            paths
        });
        let mut missing: BTreeSet<RelPath> = gone.chain(before).collect();
        missing.retain(|path| !entered.contains(path));
        for path in &missing {
            if let Some(track) = line.tracks.get_mut(path) {
                track.last.get_or_insert_with(|| line.last.clone());
            }
        }
        if is_new_coverage {
            missing.extend(line.unknown.iter().cloned());
        }
        let facts: BTreeSet<&RelPath> = match missing.is_empty() {
            true => BTreeSet::new(),
            false => mount.withheld.iter().map(|fact| &fact.path).collect(),
        };
        for path in missing {
            let verdict = line
                .matcher
                .as_ref()
                .map(|matcher| matcher.verdict_with_parents(&path, false));
            let is_absent = match (verdict, &mount.manifest) {
                (Some(Verdict::Covered), None) => true,
                (Some(Verdict::Covered), Some(manifest)) => {
                    matches!(self.lookup.state(record, manifest, &path), Ok(PathState::Absent))
                }
                // Each private file that is there has a fact, whether it is stored or not.
                (Some(Verdict::Withheld(reason)), _) if reason.is_private() => !facts.contains(&path),
                _ => false,
            };
            match line.tracks.get_mut(&path) {
                Some(track) if is_absent => {
                    track.deleted = Some(moment.clone());
                    line.unknown.remove(&path);
                }
                _ => {
                    line.unknown.insert(path);
                }
            }
        }
        line.chunks = now;
        line.mount = mount.clone();
        line.last = moment.clone();
        Ok(())
    }

    fn finish(self, transports: &Transports) -> Vec<FoundPath> {
        let mut found: BTreeMap<(Option<InstanceId>, PathBuf), FoundPath> = BTreeMap::new();
        for line in self.timelines {
            let imported = line.imported.clone();
            for path in line.finish(transports) {
                let key = (imported.clone(), path.path.clone());
                // Two sessions may have captured one path below different directories.
                let merged = match found.remove(&key) {
                    None => path,
                    Some(other) => merged(other, path),
                };
                found.insert(key, merged);
            }
        }
        found.into_values().collect()
    }
}

/// Joins what two captured directories show of one path.
fn merged(one: FoundPath, other: FoundPath) -> FoundPath {
    let (old, new) = match one.last.number <= other.last.number {
        true => (one, other),
        false => (other, one),
    };
    let mut contents = old.contents;
    contents.extend(new.contents);
    contents.sort_by_key(|(_, moment)| moment.number);
    contents.dedup_by(|(a, _), (b, _)| a == b);
    FoundPath {
        first: match old.first.number <= new.first.number {
            true => old.first,
            false => new.first,
        },
        versions: old.versions.max(new.versions),
        // The contents of both are searched.
        is_secret: old.is_secret || new.is_secret,
        is_settings: new.is_settings || old.is_settings,
        contents,
        ..new
    }
}

impl Timeline {
    /// Returns the private files of agents that match and that a mount has stored: redacted, or encrypted. Their contents are not
    /// searched.
    fn private_in(&self, mount: &MountRecord) -> Vec<(RelPath, Entry, Searchable)> {
        let encrypted: BTreeSet<&RelPath> = mount.encrypted().collect();
        let stored = mount.withheld.iter().filter_map(|fact| {
            let is_encrypted = encrypted.contains(&fact.path);
            let is_stored = is_encrypted || fact.settings.is_some();
            let entry = Entry::clone(&fact.entry.as_ref().filter(|_| is_stored)?.0);
            let (directory, _) = fact.path.split()?;
            let path = self.names.match_in(&directory, &entry)?;
            let holds_secrets = fact
                .settings
                .as_ref()
                .is_none_or(|settings| !settings.secrets.is_empty());
            let shown = Searchable {
                content: None,
                is_secret: holds_secrets || is_secret_path(&self.root, &path, Some(&entry)),
            };
            Some((path, entry, shown))
        });
        stored.collect()
    }

    /// Records that a snapshot shows a path.
    fn see(&mut self, path: &RelPath, entry: &Entry, shown: Searchable, moment: &Moment) {
        self.unknown.remove(path);
        let Searchable { content, is_secret } = shown;
        let group = link_group(path, entry);
        let content = content.map(|content| (content, moment.clone()));
        let Some(track) = self.tracks.get_mut(path) else {
            self.tracks.insert(
                path.clone(),
                Track {
                    entry: entry.clone(),
                    first: moment.clone(),
                    changed: moment.clone(),
                    last: None,
                    deleted: None,
                    versions: 1,
                    is_secret,
                    groups: group.into_iter().collect(),
                    contents: content.into_iter().collect(),
                },
            );
            return;
        };
        track.is_secret |= is_secret;
        if let Some(group) = group.filter(|group| track.groups.last() != Some(group)) {
            track.groups.push(group);
        }
        let is_back = track.last.take().is_some() && track.deleted.take().is_some();
        if is_back || track.entry.kind != entry.kind {
            track.changed = moment.clone();
            track.versions += 1;
            track.contents.extend(content);
        }
        track.entry = entry.clone();
    }

    /// Returns the paths with their presence now.
    fn finish(self, transports: &Transports) -> Vec<FoundPath> {
        let root = match self.imported {
            Some(_) => None,
            None => check_mount(transports, &self.mount)
                .ok()
                .and_then(|()| Root::open(transports, &self.root).ok()),
        };
        // Without the root every path was deleted; an unreadable root proves nothing.
        let root_is_gone = self.imported.is_none()
            && root.is_none()
            && self
                .root
                .symlink_metadata()
                .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
            && !handle_fs::remote::is_elsewhere(&self.root);
        let mut opened: Option<(RelPath, Option<handle_fs::Dir>)> = None;
        let mut look = |path: &RelPath| -> Option<bool> {
            let root = match &root {
                Some(root) => root,
                None => return root_is_gone.then_some(false),
            };
            let Some((parent, name)) = path.split() else {
                return Some(true);
            };
            if opened.as_ref().is_none_or(|(at, _)| *at != parent) {
                let dir = match root.dir(&parent) {
                    Ok(dir) => Some(dir),
                    // A path leads through no link: what lies below one is not what the snapshots show.
                    Err(error) if is_gone(&error) => None,
                    Err(_) => return None,
                };
                opened = Some((parent, dir));
            }
            match &opened {
                Some((_, Some(dir))) => dir.look(name.as_os_str()).ok().map(|found| found.is_some()),
                _ => Some(false),
            }
        };
        let (last, secret) = (&self.last, &self.secret_groups);
        let found = self.tracks.into_iter().map(|(path, track)| FoundPath {
            now: match look(&path) {
                Some(true) => Presence::There,
                Some(false) => Presence::Deleted { seen: track.deleted },
                None => Presence::Unknown,
            },
            is_secret: track.is_secret || track.groups.iter().any(|group| secret.contains(group)),
            is_settings: is_git_configuration(&path.on_host(&self.root)),
            path: path.on_host(&self.root),
            entry: track.entry,
            first: track.first,
            changed: track.changed,
            last: track.last.unwrap_or_else(|| last.clone()),
            versions: track.versions,
            contents: track.contents,
        });
        found.collect()
    }
}
