//! Puts private files in place of their gaps in a manifest, so that they are compared, planned and restored like any other. The
//! stored part of a settings file is merged with the current secrets; encrypted files need the operator's key. All of it stays in
//! memory: no manifest that holds it is ever stored.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::Arc;

use super::{Keyed, Loss, MOST, Note, PrivateFile, content, private_now, read};
use crate::contract::PrivateFiles;
use crate::model::{
    Coverage, Digest, Entry, EntryKind, Manifest, MountRecord, REDACTOR, RelPath, SettingsFact,
    SnapshotRecord, WithheldFact,
};
use crate::store::{Blobs, DecryptedContent, DigestKey, Store, StoreError};
use handle_fs::Dir;
use handle_fs::NodeKind;
use settings_redaction::{Format, Secret};

/// Form in which settings files are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// Stored form, without secrets.
    #[default]
    Stored,
    /// Form that a restore writes, with the current secrets.
    Whole,
}

/// The private files of one mount.
#[derive(Default)]
pub struct PrivateOverlay {
    show: Show,
    key: Option<DigestKey>,
    facts: Option<Vec<WithheldFact>>,
    now: Vec<PrivateFile>,
    /// Files that may have been at these paths before, with their content.
    also: Vec<(RelPath, Vec<u8>)>,
    /// True if an interrupted restore is resumed.
    is_again: bool,
    /// True while the state before that restore is shown: no current secret is merged into it.
    is_before: bool,
    /// Paths that may hold private files.
    places: Vec<RelPath>,
    /// Rules that tell which files there are private.
    private: PrivateFiles,
    /// True if the emergency snapshot will be encrypted, and the operator's key is available.
    is_sealing: bool,
    is_unlocked: bool,
    /// Paths of encrypted files that were opened.
    opened: BTreeSet<RelPath>,
    lent: DecryptedContent,
}

impl PrivateOverlay {
    /// Reads the private files that exist now.
    ///
    /// # Errors
    /// When the key of digests cannot be read.
    pub fn of(store: &Store, coverage: &Coverage, show: Show) -> Result<Self, StoreError> {
        if !coverage.state {
            return Ok(Self {
                facts: Some(Vec::new()),
                ..Self::default()
            });
        }
        let key = store.digest_key()?;
        let now = private_now(store.transports(), key.as_ref(), coverage);
        let (facts, files) = now.map_or((None, Vec::new()), |now| (Some(now.facts), now.files));
        Ok(Self {
            show,
            key,
            facts,
            now: files,
            is_sealing: store.is_unlocked() && !coverage.recipients.is_empty(),
            is_unlocked: store.is_unlocked(),
            ..Self::default()
        })
    }

    /// Returns the same overlay without keys; `None` if there are none.
    pub(crate) fn locked(&self) -> Option<Self> {
        self.is_unlocked.then(|| Self {
            show: self.show,
            key: self.key,
            now: self.now.clone(),
            ..Self::default()
        })
    }

    /// Returns true if keys for encrypted files are available.
    #[must_use]
    pub fn is_unlocked(&self) -> bool {
        self.is_unlocked
    }

    /// Returns the overlay for an interrupted restore. It finds files by their recorded digests, with or without keys, and shows
    /// the others as they were recorded.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn again(store: &Store, coverage: &Coverage) -> Result<Self, StoreError> {
        let reveal = Self::of(store, coverage, Show::Whole)?;
        let is_state = coverage.state;
        let places = coverage.tracked.iter().filter(|_| is_state).cloned();
        Ok(Self {
            places: places.collect(),
            private: PrivateFiles::of(coverage),
            is_again: true,
            ..reveal
        })
    }

    /// Switches to the state before the interrupted restore.
    #[must_use]
    pub(crate) fn before(self) -> Self {
        Self {
            is_before: true,
            ..self
        }
    }

    /// Returns the overlay for writing a snapshot to another place, where there are no secrets.
    #[must_use]
    pub fn elsewhere(store: &Store) -> Self {
        Self {
            show: Show::Whole,
            is_unlocked: store.is_unlocked(),
            ..Self::default()
        }
    }

    /// Returns the facts that a capture would record now; `None` if the key or the root is missing.
    #[must_use]
    pub fn facts(&self) -> Option<&[WithheldFact]> {
        self.facts.as_deref()
    }

    /// Returns true if the file at `path` was encrypted, and is shown as it was.
    #[must_use]
    pub(crate) fn has_opened(&self, path: &RelPath) -> bool {
        self.opened.contains(path)
    }

    /// Adds content that no archive holds.
    pub fn lend(&mut self, digest: Digest, bytes: Arc<[u8]>) {
        self.lent.lend(digest, bytes);
    }

    /// Returns the content that no archive holds in the form that is shown.
    #[must_use]
    pub fn lent(&self) -> &DecryptedContent {
        &self.lent
    }

    /// Returns the regular file that is at `path` now.
    fn live(&self, path: &RelPath) -> Option<&PrivateFile> {
        let mut files = self.now.iter().filter(|file| file.entry.content().is_some());
        files.find(|file| file.path == *path)
    }

    /// Puts the private files of the snapshot of `mount` into `manifest`. A file that cannot be shown stays a gap.
    ///
    /// # Errors
    /// Fails if stored content cannot be read, or the operator's key does not fit.
    pub fn then(
        &mut self,
        manifest: &mut Manifest,
        mount: &MountRecord,
        blobs: &Blobs,
        store: &Store,
    ) -> Result<Vec<Note>, StoreError> {
        if !mount.coverage.state {
            return Ok(Vec::new());
        }
        let mut sealed = match &mount.sealed {
            Some(sealed) if self.is_unlocked => store.unseal(sealed, blobs)?,
            _ => None,
        };
        let mut notes = Vec::new();
        for fact in &mount.withheld {
            let Some(entry) = &fact.entry else { continue };
            if entry.0.content().is_none() {
                insert(manifest, &fact.path, *entry.0.clone());
                continue;
            }
            let sealed = sealed.as_mut().and_then(|files| files.remove(&fact.path));
            if sealed.is_some() {
                self.opened.insert(fact.path.clone());
            }
            let whole = match (self.unchanged(fact, &entry.0).or(sealed), &fact.settings) {
                (Some(whole), _) => Some(whole),
                (None, Some(settings)) if !self.is_before => {
                    self.settings(fact, settings, blobs, &mut notes)?
                }
                (None, _) => None,
            };
            match whole {
                Some(whole) => self.put(manifest, &fact.path, &entry.0, whole),
                None if self.is_again => insert(manifest, &fact.path, *entry.0.clone()),
                None => {}
            }
        }
        Ok(notes)
    }

    /// Returns the content of a file that still exists exactly as it was recorded.
    fn unchanged(&self, fact: &WithheldFact, then: &Entry) -> Option<Vec<u8>> {
        let keyed = Keyed(self.key.as_ref().filter(|_| self.show == Show::Whole)?);
        let is_it = |whole: &&[u8]| {
            let digest = keyed.over(&fact.path, b'f', &mut [*whole].into_iter());
            then.content().is_some_and(|content| content.digest == digest)
        };
        if fact.settings.is_none() && !self.is_again {
            return None;
        }
        let live = self.live(&fact.path).map(|file| &*file.whole);
        let also = self.also.iter().filter(|(path, _)| *path == fact.path);
        let mut all = live.into_iter().chain(also.map(|(_, whole)| &**whole));
        all.find(is_it).map(<[u8]>::to_vec)
    }

    /// Returns the content to show for a stored settings file.
    fn settings(
        &self,
        fact: &WithheldFact,
        settings: &SettingsFact,
        blobs: &Blobs,
        notes: &mut Vec<Note>,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let public = match settings.size {
            0 => Vec::new(),
            _ => blobs.whole(&settings.digest)?,
        };
        let (Show::Whole, Some(format)) = (self.show, Format::of(fact.path.as_bytes())) else {
            return Ok(Some(public));
        };
        let keyed = self.key.as_ref().map(Keyed);
        let is_same = |secret: &Secret| {
            let now = keyed.map(|keyed| keyed.secret(&fact.path, secret));
            now.is_some_and(|now| settings.secrets.contains(&now))
        };
        let has_secrets = |file: &&PrivateFile| {
            file.parted
                .as_ref()
                .is_none_or(|parted| !parted.secrets.is_empty())
        };
        let live = self.live(&fact.path).filter(has_secrets);
        if live.is_none() && settings.secrets.is_empty() {
            return Ok(Some(public));
        }
        let joined = REDACTOR.merge(format, &public, live.map(|file| &*file.whole), &is_same);
        Ok(joined.map(|joined| {
            let mut lost: BTreeSet<_> = joined.lost.into_iter().collect();
            let missing = joined.missing.into_iter().map(|key| {
                let loss = if lost.remove(&key) {
                    Loss::Other
                } else {
                    Loss::Missing
                };
                (key, loss)
            });
            let mut all: Vec<_> = missing.collect();
            all.extend(lost.into_iter().map(|key| (key, Loss::Lost)));
            notes.extend(all.into_iter().map(|(key, loss)| Note {
                path: fact.path.clone(),
                key,
                loss,
            }));
            joined.whole
        }))
    }

    /// Puts the private files that exist now into `manifest`. `target` is what a restore would bring back. A file that would be
    /// lost for good stays a gap, and is not touched.
    pub fn now(&mut self, manifest: &mut Manifest, target: &MountRecord) {
        for file in std::mem::take(&mut self.now) {
            self.show_now(manifest, target, &file);
            self.now.push(file);
        }
    }

    /// Does the same as [`Self::now`], with the files that a capture saw and stored.
    pub(crate) fn captured(&self, manifest: &mut Manifest, target: &MountRecord, files: &[PrivateFile]) {
        let mut reveal = Self {
            show: self.show,
            is_sealing: self.is_sealing,
            ..Self::default()
        };
        for file in files {
            reveal.show_now(manifest, target, file);
        }
    }

    /// Remembers the private files in `dir` under `name`; they may have been at `path` and below it before.
    pub(crate) fn also(&mut self, path: &RelPath, dir: &Dir, name: &OsStr) {
        let may_hold = |place: &RelPath| path.is_within(place) || place.is_within(path);
        if self.also.len() >= MOST || !self.places.iter().any(may_hold) {
            return;
        }
        // What cannot be looked at is not found, and shown as it was recorded.
        match dir.look(name) {
            Ok(Some(stat)) if stat.kind == NodeKind::Directory => {
                let inner = dir.dir(name).and_then(|inner| Ok((inner.names()?, inner)));
                for (name, inner) in inner
                    .iter()
                    .flat_map(|(names, inner)| names.iter().map(move |name| (name, inner)))
                {
                    self.also(&path.join(name), inner, name.as_os_str());
                }
            }
            Ok(Some(stat)) if stat.kind == NodeKind::File && self.private.holds(path) => {
                let whole = read(dir, name).map(|(_, whole, _)| whole);
                self.also.extend(whole.ok().map(|whole| (path.clone(), whole)));
            }
            _ => {}
        }
    }

    /// Returns a stored manifest with the private files of its snapshot.
    ///
    /// # Errors
    /// Fails as [`Self::then`] does, and if the manifest cannot be read.
    pub fn stored_manifest(
        &mut self,
        store: &Store,
        record: &SnapshotRecord,
        mount: &MountRecord,
    ) -> Result<(Option<Manifest>, Vec<Note>), StoreError> {
        let manifest = store.manifest(record, mount)?;
        self.shown(store, record, mount, manifest)
    }

    /// Does the same with a manifest that was read already.
    ///
    /// # Errors
    /// As [`Self::then`].
    pub fn shown(
        &mut self,
        store: &Store,
        record: &SnapshotRecord,
        mount: &MountRecord,
        mut manifest: Option<Manifest>,
    ) -> Result<(Option<Manifest>, Vec<Note>), StoreError> {
        let notes = match &mut manifest {
            Some(manifest) if !mount.withheld.is_empty() => {
                self.then(manifest, mount, &store.blobs(&record.archives), store)?
            }
            _ => Vec::new(),
        };
        Ok((manifest, notes))
    }

    fn show_now(&mut self, manifest: &mut Manifest, target: &MountRecord, file: &PrivateFile) {
        if file.entry.content().is_none() {
            return insert(manifest, &file.path, file.entry.clone());
        }
        let fact = target.withheld.iter().find(|fact| fact.path == file.path);
        let parted = file.parted.as_ref();
        // A file with secrets that the snapshot lacks would be removed, and no other copy of them exists.
        let is_joined = parted.is_some_and(|parted| {
            parted.secrets.is_empty() || fact.is_some_and(|fact| fact.settings.is_some())
        });
        match (self.show, parted) {
            (Show::Stored, Some(parted)) if !self.is_sealing => {
                self.put(manifest, &file.path, &file.entry, parted.public.clone());
            }
            _ if self.is_sealing || is_joined => {
                self.put(manifest, &file.path, &file.entry, file.whole.clone());
            }
            _ => {}
        }
    }

    /// Puts a file into a manifest, in the place of its gap.
    fn put(&mut self, manifest: &mut Manifest, path: &RelPath, object: &Entry, whole: Vec<u8>) {
        let shown = content(whole.len() as u64, Digest::of(&whole));
        let entry = Entry {
            kind: EntryKind::File(shown),
            ..object.clone()
        };
        insert(manifest, path, entry);
        self.lent.lend(shown.digest, whole);
    }
}

/// Puts an entry into a manifest, in the place of its gap.
fn insert(manifest: &mut Manifest, path: &RelPath, entry: Entry) {
    let Some((parent, name)) = path.split() else {
        return;
    };
    let found = manifest.directories.binary_search_by(|dir| dir.path.cmp(&parent));
    let Some(directory) = found.ok().and_then(|at| manifest.directories.get_mut(at)) else {
        return;
    };
    let directory = Arc::make_mut(directory);
    directory.gaps.retain(|gap| gap.name != name);
    if let Err(at) = directory.entries.binary_search_by(|known| known.name.cmp(&name)) {
        directory.entries.insert(at, entry);
    }
}
