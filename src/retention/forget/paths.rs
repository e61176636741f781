//! Search for paths, and for other paths with the same content, in the manifests of all snapshots.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::ForgetError;
use super::in_git::ForgottenObjects;
use crate::model::{
    Coverage, Digest, ForgottenContent, InstanceId, Manifest, MountRecord, RelPath, SnapshotId, SnapshotKind,
    SnapshotRecord, Time,
};
use crate::store::{Store, StoreError};

/// A path that one snapshot has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldPath {
    /// The path on this machine.
    pub path: PathBuf,
    /// The session.
    pub instance: InstanceId,
    /// The snapshot.
    pub snapshot: SnapshotId,
    /// Its kind.
    pub kind: SnapshotKind,
    /// A checkpoint's name.
    pub name: Option<String>,
    /// Time of its capture.
    pub taken_at: Time,
    /// Number of files at and below the path.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Digest over the contents: equal ones are one version.
    pub version: Digest,
}

/// A path that keeps content that a forgotten path has, too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeptCopy {
    /// The path on this machine.
    pub path: PathBuf,
    /// A session whose snapshots have it.
    pub instance: InstanceId,
    /// Number of its snapshots that have it.
    pub snapshots: u64,
}

/// Forgotten paths of a session, by the label of their mount.
type Wanted = BTreeMap<String, BTreeSet<RelPath>>;

/// Label of a mount, with the paths that it loses.
type MountPaths = (String, Vec<RelPath>);

/// Snapshots with the contents of their manifests, as far as the question goes.
pub(super) struct Search<'s> {
    store: &'s Store,
    /// Only this session loses paths.
    of: Option<&'s InstanceId>,
    records: Vec<SnapshotRecord>,
    wanted: BTreeMap<InstanceId, Wanted>,
    /// Files at and below a path in a manifest; `None` if it is not there.
    found: HashMap<(Digest, RelPath), Option<Vec<ForgottenContent>>>,
    /// Paths with one of the contents, by manifest.
    occurrences: HashMap<Digest, Vec<(RelPath, Digest)>>,
}

impl<'s> Search<'s> {
    pub(super) fn new(store: &'s Store, of: Option<&'s InstanceId>) -> Self {
        Self {
            store,
            of,
            records: Vec::new(),
            wanted: BTreeMap::new(),
            found: HashMap::new(),
            occurrences: HashMap::new(),
        }
    }

    /// Finds the sessions that have the paths, and all other paths with their content.
    pub(super) fn look_for(&mut self, paths: &[PathBuf]) -> Result<(), ForgetError> {
        self.records = records(self.store)?;
        for path in paths {
            let mut is_found = false;
            for at in 0..self.records.len() {
                is_found |= self.look_in(at, path)?;
            }
            if !is_found {
                return Err(ForgetError::Nowhere {
                    path: path.clone(),
                    of: self.of.cloned(),
                    is_forgotten: self.is_forgotten(path),
                });
            }
        }
        self.find_occurrences()
    }

    /// Returns true if a snapshot that is looked at has lost the path.
    fn is_forgotten(&self, path: &Path) -> bool {
        let records = self.records.iter();
        let own = records.filter(|record| self.of.is_none_or(|of| *of == record.instance));
        let mut mounts = own.flat_map(|record| &record.mounts);
        mounts.any(|mount| {
            let below = below(&mount.coverage, path).flatten();
            below.is_some_and(|below| mount.coverage.has_forgotten(&below))
        })
    }

    /// Returns true if the snapshot has the path. Its session loses the path then.
    fn look_in(&mut self, at: usize, path: &Path) -> Result<bool, ForgetError> {
        let Some(record) = self.records.get(at) else {
            return Ok(false);
        };
        if self.of.is_some_and(|of| *of != record.instance) {
            return Ok(false);
        }
        let mut is_found = false;
        for mount in &record.mounts {
            let Some(below) = below(&mount.coverage, path) else {
                continue;
            };
            let Some(below) = below.filter(|below| !below.is_root()) else {
                return Err(ForgetError::Whole {
                    path: path.to_path_buf(),
                    instance: record.instance.clone(),
                });
            };
            let is_held = held(self.store, &mut self.found, record, mount, &below)?.is_some();
            if is_held || is_private(mount, &below) {
                is_found = true;
                let session = self.wanted.entry(record.instance.clone()).or_default();
                session
                    .entry(mount.coverage.label.clone())
                    .or_default()
                    .insert(below);
            }
        }
        Ok(is_found)
    }

    fn find_occurrences(&mut self) -> Result<(), ForgetError> {
        let contents: BTreeSet<Digest> = self.all_contents().map(|content| content.digest).collect();
        if contents.is_empty() {
            return Ok(());
        }
        for record in &self.records {
            for mount in &record.mounts {
                let Some(digest) = mount.manifest else { continue };
                if self.occurrences.contains_key(&digest) {
                    continue;
                }
                let manifest = self.store.contents(record).manifest(&digest)?;
                let entries = manifest.entries();
                let same = entries.filter_map(|(path, entry)| {
                    let content = entry.content()?;
                    contents
                        .contains(&content.digest)
                        .then_some((path, content.digest))
                });
                self.occurrences.insert(digest, same.collect());
            }
        }
        Ok(())
    }

    /// Adds the other paths with the same content to the forgotten ones.
    pub(super) fn add_copies(&mut self) {
        let records = self.records.iter();
        for record in records.filter(|record| self.of.is_none_or(|of| *of == record.instance)) {
            for mount in &record.mounts {
                let same = mount.manifest.and_then(|digest| self.occurrences.get(&digest));
                for (path, _) in same.into_iter().flatten() {
                    let session = self.wanted.entry(record.instance.clone()).or_default();
                    let paths = session.entry(mount.coverage.label.clone()).or_default();
                    if !paths.iter().any(|wanted| path.is_within(wanted)) {
                        paths.insert(path.clone());
                    }
                }
            }
        }
    }

    /// Returns the sessions that lose paths.
    pub(super) fn affected(&self) -> BTreeSet<InstanceId> {
        self.wanted.keys().cloned().collect()
    }

    /// Refuses snapshots out of which a path cannot be deleted.
    pub(super) fn check(&mut self) -> Result<(), ForgetError> {
        for record in &self.records {
            for (mount, path) in wanted_in(&self.wanted, record) {
                let is_held = held(self.store, &mut self.found, record, mount, path)?.is_some();
                if is_held && mount.native.is_some() {
                    return Err(ForgetError::Native {
                        instance: record.instance.clone(),
                        snapshot: record.id.clone(),
                    });
                }
                let in_bundle = mount.sealed.is_some()
                    && mount
                        .withheld
                        .iter()
                        .any(|fact| fact.settings.is_none() && fact.path.is_within(path));
                let wanted = self
                    .wanted
                    .get(&record.instance)
                    .and_then(|session| session.get(&mount.coverage.label));
                let goes = |held: &RelPath| wanted.into_iter().flatten().any(|path| held.is_within(path));
                if in_bundle && !mount.encrypted().all(goes) {
                    return Err(ForgetError::Sealed {
                        instance: record.instance.clone(),
                        path: path.on_host(&mount.coverage.root.to_path()),
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns every snapshot of the affected sessions with its forgotten paths.
    pub(super) fn to_amend(&self) -> Vec<(&SnapshotRecord, Vec<MountPaths>)> {
        let mut all = Vec::new();
        for record in &self.records {
            let Some(session) = self.wanted.get(&record.instance) else {
                continue;
            };
            let of_mount = |mount: &MountRecord| {
                let label = mount.coverage.label.clone();
                let paths = session.get(&label)?.iter().cloned().collect();
                Some((label, paths))
            };
            let paths: Vec<_> = record.mounts.iter().filter_map(of_mount).collect();
            if !paths.is_empty() {
                all.push((record, paths));
            }
        }
        all
    }

    fn all_contents(&self) -> impl Iterator<Item = &ForgottenContent> {
        self.found.values().flatten().flatten()
    }

    /// Returns the contents that go, and the paths that keep the others.
    pub(super) fn contents(&self) -> (Vec<ForgottenContent>, Vec<KeptCopy>) {
        let mut copies: BTreeMap<(PathBuf, InstanceId), u64> = BTreeMap::new();
        let mut kept: BTreeSet<Digest> = BTreeSet::new();
        for record in &self.records {
            for mount in &record.mounts {
                let same = mount.manifest.and_then(|digest| self.occurrences.get(&digest));
                for (path, digest) in same.into_iter().flatten() {
                    let session = self.wanted.get(&record.instance);
                    let paths = session.and_then(|session| session.get(&mount.coverage.label));
                    if paths.is_some_and(|paths| paths.iter().any(|wanted| path.is_within(wanted))) {
                        continue;
                    }
                    kept.insert(*digest);
                    let host = path.on_host(&mount.coverage.root.to_path());
                    *copies.entry((host, record.instance.clone())).or_default() += 1;
                }
            }
        }
        let all: BTreeSet<ForgottenContent> = self.all_contents().copied().collect();
        let gone = all.into_iter().filter(|content| !kept.contains(&content.digest));
        (gone.collect(), kept_copies(copies))
    }

    /// Returns the git directories that keep one of the contents as an object, and the number of contents that were not looked for.
    pub(super) fn in_git(&self) -> Result<(Vec<KeptCopy>, u64), StoreError> {
        let losing = self
            .records
            .iter()
            .filter(|record| self.wanted.contains_key(&record.instance));
        let mut objects = ForgottenObjects::of(self.store, self.all_contents(), losing);
        let holders = objects.holders(self.store, &self.records, |record, label, git| {
            let session = self.wanted.get(&record.instance);
            let mut paths = session
                .and_then(|session| session.get(label))
                .into_iter()
                .flatten();
            paths.any(|wanted| git.is_within(wanted))
        })?;
        Ok((kept_copies(holders), objects.unread()))
    }

    /// Returns the forgotten paths with the snapshots that have them, oldest first.
    pub(super) fn held(&mut self) -> Vec<HeldPath> {
        let mut all = Vec::new();
        for record in &self.records {
            for (mount, path) in wanted_in(&self.wanted, record) {
                let found = held(self.store, &mut self.found, record, mount, path)
                    .ok()
                    .flatten();
                let found = match found {
                    Some(found) => found,
                    None if is_private(mount, path) => Vec::new(),
                    None => continue,
                };
                let digests: Vec<u8> = found.iter().flat_map(|content| content.digest.0).collect();
                all.push(HeldPath {
                    path: path.on_host(&mount.coverage.root.to_path()),
                    instance: record.instance.clone(),
                    snapshot: record.id.clone(),
                    kind: record.kind,
                    name: record.name.clone(),
                    taken_at: record.taken_at,
                    files: found.len() as u64,
                    bytes: found.iter().map(|content| content.size).sum(),
                    version: Digest::of(&digests),
                });
            }
        }
        all
    }
}

fn kept_copies(snapshots: BTreeMap<(PathBuf, InstanceId), u64>) -> Vec<KeptCopy> {
    let copy = |((path, instance), snapshots)| KeptCopy {
        path,
        instance,
        snapshots,
    };
    snapshots.into_iter().map(copy).collect()
}

/// Reads all records, oldest first.
fn records(store: &Store) -> Result<Vec<SnapshotRecord>, StoreError> {
    let mut records = Vec::new();
    for id in store.record_ids()? {
        match store.record(&id) {
            Err(StoreError::NoSnapshot { .. }) => {}
            record => records.push(record?),
        }
    }
    records.sort_by(|a, b| (a.taken_at, &a.id).cmp(&(b.taken_at, &b.id)));
    Ok(records)
}

/// Returns the forgotten paths of a snapshot with their mounts.
fn wanted_in<'w>(
    wanted: &'w BTreeMap<InstanceId, Wanted>,
    record: &'w SnapshotRecord,
) -> Vec<(&'w MountRecord, &'w RelPath)> {
    let session = wanted.get(&record.instance);
    let of_mount = |mount: &'w MountRecord| {
        let paths = session.and_then(|session| session.get(&mount.coverage.label));
        paths.into_iter().flatten().map(move |path| (mount, path))
    };
    record.mounts.iter().flat_map(of_mount).collect()
}

/// Returns the path below the root of a coverage. `Some(None)`: it contains the root. `None`: it lies elsewhere.
#[expect(clippy::option_option, reason = "elsewhere and above are two answers")]
fn below(coverage: &Coverage, path: &Path) -> Option<Option<RelPath>> {
    let root = coverage.root.to_path();
    match path.strip_prefix(&root) {
        Ok(below) => RelPath::new(below.as_os_str().as_bytes()).ok().map(Some),
        // Of a home only the state of agents is covered, so its parents contain more than that.
        Err(_) if root.starts_with(path) && !coverage.state => Some(None),
        Err(_) => None,
    }
}

/// Returns true if a private file of an agent at or below the path is stored in parts.
fn is_private(mount: &MountRecord, path: &RelPath) -> bool {
    let mut facts = mount.withheld.iter().filter(|fact| fact.path.is_within(path));
    facts.any(|fact| fact.settings.is_some() || mount.sealed.is_some())
}

/// Returns the contents at and below a path; `None` if the mount does not have it.
fn held(
    store: &Store,
    found: &mut HashMap<(Digest, RelPath), Option<Vec<ForgottenContent>>>,
    record: &SnapshotRecord,
    mount: &MountRecord,
    path: &RelPath,
) -> Result<Option<Vec<ForgottenContent>>, StoreError> {
    let Some(digest) = mount.manifest else {
        return Ok(None);
    };
    let key = (digest, path.clone());
    if let Some(known) = found.get(&key) {
        return Ok(known.clone());
    }
    let manifest = store.contents(record).manifest(&digest)?;
    let contents = contents_at(&manifest, path);
    found.insert(key, contents.clone());
    Ok(contents)
}

/// Returns the contents at and below a path of a manifest; `None` if it does not have it.
fn contents_at(manifest: &Manifest, path: &RelPath) -> Option<Vec<ForgottenContent>> {
    let own = manifest.entry(path)?;
    let below = manifest.directories_within(path).flat_map(|dir| &dir.entries);
    let contents = std::iter::once(own)
        .chain(below)
        .filter_map(|entry| entry.content());
    let contents = contents.filter(|content| content.size > 0);
    let facts = contents.map(|content| ForgottenContent {
        digest: content.digest,
        size: content.size,
    });
    Some(facts.collect())
}
