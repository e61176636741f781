//! Content of single files of a snapshot, streamed.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::paths::{as_glob, glob, in_snapshots, left_out, place};
use super::{Keys, Recovery, RecoveryError, no_files, no_keys};
use crate::capture::PrivateOverlay;
use crate::diff::{
    SecretGroups, end_of_logins, holds_passwords, is_binary, is_git_configuration, mask_settings,
};
use crate::model::{
    Coverage, Entry, EntryKind, Hasher, InstanceId, Manifest, RelPath, SnapshotId, SnapshotRecord,
};
use crate::restore::{RestoreError, UnmatchedGlob};
use crate::session::{Allowed, Covering, ensure_outside_session, find_snapshot};
use crate::store::archive::Piece;
use crate::store::{Blobs, InstanceRow, LockGuard, PathLookup, PathState, Store, StoreError};
use handle_fs::remote::{Transports, is_elsewhere};
use handle_fs::{MountError, NodeKind, Root};

/// Size of a block of zeros in which holes are passed on.
const BLOCK: usize = 64 << 10;
/// Longest part of a file that is searched for logins as one line, in bytes.
const LONGEST: usize = 4 << 20;
/// Number of other sessions in which a missing path is looked for, the newest first.
const LOOKED_AT: usize = 20;

/// Request for the stored content of files.
#[derive(Clone)]
pub struct FilesRequest<'a> {
    /// The session.
    pub session: &'a str,
    /// The snapshot; `None` for the baseline.
    pub snapshot: Option<&'a str>,
    /// Files, or globs of files.
    pub paths: &'a [OsString],
    /// Private keys for encrypted files.
    pub keys: Keys<'a>,
}

impl<'a> FilesRequest<'a> {
    /// Returns the request for files of the baseline of a session.
    #[must_use]
    pub fn of(session: &'a str, paths: &'a [OsString]) -> Self {
        Self {
            session,
            snapshot: None,
            paths,
            keys: &no_keys,
        }
    }
}

/// Files of a snapshot, in the order in which they were asked for.
pub struct StoredFiles {
    /// The session.
    pub row: InstanceRow,
    /// The snapshot.
    pub target: SnapshotRecord,
    /// The files.
    pub files: Vec<StoredFile>,
    blobs: Blobs,
    /// Keeps archives from being deleted while they are read.
    _needed: LockGuard,
}

/// A regular file or a symbolic link in a snapshot.
#[derive(Clone, Debug)]
pub struct StoredFile {
    /// The path on this machine.
    pub path: PathBuf,
    /// Its type, metadata and digest.
    pub entry: Entry,
    /// True if placeholders stand where the file held secrets, since they are not stored, or no key was given.
    pub has_placeholders: bool,
    is_secret: bool,
    root: PathBuf,
    below: RelPath,
}

/// State of the path of a stored file in the live tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveFile {
    /// A regular file, which no symbolic link leads to.
    Regular,
    /// It does not exist.
    Missing,
    /// It is something else, it lies behind a symbolic link, or its directory cannot be read.
    Other,
    /// It is on another machine.
    Elsewhere,
}

/// Returns true if a text holds a login, as in `https://user:password@host`. A binary content holds none.
#[must_use]
pub fn holds_login(bytes: &[u8]) -> bool {
    !is_binary(bytes) && holds_passwords(bytes)
}

impl Recovery<'_> {
    /// Finds files in a snapshot. Their content is read by [`StoredFiles::stream`].
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, FilesRequest, Recovery};
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
    /// std::fs::write(project.join("notes"), "one\n")?;
    /// let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// let session = recovery.begin(&(&contract).into())?.into_id();
    /// std::fs::write(project.join("notes"), "two\n")?;
    /// let found = recovery.stored_files(&FilesRequest::of(session.as_str(), &["notes".into()]))?;
    /// let mut bytes = Vec::new();
    /// found.stream(&found.files[0], &mut |block| {
    ///     bytes.extend_from_slice(block);
    ///     true
    /// })?;
    /// assert_eq!(bytes, b"one\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if no session or snapshot is found; [`RecoveryError::NotStored`] with the nearest snapshot that has the
    /// path; [`RecoveryError::StoredDirectory`] or [`RecoveryError::NoContent`] for what is no file; [`RecoveryError::Outside`];
    /// [`RecoveryError::Excluded`]; [`RecoveryError::Restore`] if a glob matches nothing; [`RecoveryError::Store`].
    pub fn stored_files(&self, request: &FilesRequest<'_>) -> Result<StoredFiles, RecoveryError> {
        let (store, row) = self.session(request.session)?;
        ensure_outside_session(&store, self.environment, Allowed::Nothing)?;
        let store = store.unlocked_by((request.keys)()?);
        let needed = store.share()?;
        let found = find_snapshot(&store, &row, request.snapshot.unwrap_or("baseline"));
        let target = store.record(&found.map_err(|error| no_files(&row, error))?.id)?;
        let coverages: Vec<Coverage> = target.mounts.iter().map(|mount| mount.coverage.clone()).collect();
        let mut blobs = store.contents(&target);
        let mut manifests: Vec<Option<Shown>> = coverages.iter().map(|_| None).collect();
        let mut files = Vec::new();
        let recorded = in_snapshots(&store, vec![target.id.clone()]);
        for argument in request.paths {
            let word = as_glob(self.environment, &coverages, argument.as_ref());
            let (at, path, glob) = match word {
                Some(word) => {
                    let (at, glob) = glob(self.environment, &coverages, word, &recorded)?;
                    (at, glob.literal.clone(), Some(glob))
                }
                None => {
                    let (at, path) = place(self.environment, &coverages, Path::new(argument), &recorded)?;
                    (at, path, None)
                }
            };
            let (Some(coverage), Some(mount), Some(known)) =
                (coverages.get(at), target.mounts.get(at), manifests.get_mut(at))
            else {
                continue;
            };
            if known.is_none() {
                // Secrets that only the original place holds are not shown elsewhere.
                let mut reveal = PrivateOverlay::elsewhere(&store);
                let (manifest, _) = reveal.stored_manifest(&store, &target, mount)?;
                blobs.lend(reveal.lent());
                *known = Some(Shown {
                    manifest,
                    reveal,
                    secret_groups: SecretGroups::default(),
                });
            }
            let Some(shown) = known else {
                continue;
            };
            let (manifest, reveal) = (shown.manifest.as_ref(), &shown.reveal);
            let private = |path: &RelPath| {
                let mut facts = mount.withheld.iter();
                facts.find(|fact| fact.path == *path && !reveal.has_opened(path))
            };
            let has_placeholders = |path: &RelPath| {
                let settings = private(path).and_then(|fact| fact.settings.as_ref());
                settings.is_some_and(|settings| !settings.secrets.is_empty())
            };
            let root = coverage.root.to_path();
            let file = |path: &RelPath, entry: &Entry| StoredFile {
                path: path.on_host(&root),
                entry: entry.clone(),
                has_placeholders: has_placeholders(path),
                is_secret: manifest
                    .is_some_and(|manifest| shown.secret_groups.hold(&root, manifest, path, entry)),
                root: root.clone(),
                below: path.clone(),
            };
            let entry = match path.is_root() {
                true => manifest.map(|manifest| &manifest.root),
                false => manifest.and_then(|manifest| manifest.entry(&path)),
            };
            match (entry, glob) {
                (Some(entry), _) => {
                    refuse_content(entry, &path.on_host(&root), &target)?;
                    files.push(file(&path, entry));
                }
                (None, Some(glob)) if !glob.is_there => {
                    let before = files.len();
                    let entries = manifest.into_iter().flat_map(Manifest::entries);
                    let matching = entries.filter(|(path, entry)| {
                        entry.content().is_some() && glob.glob.matches_itself(path, false)
                    });
                    files.extend(matching.map(|(path, entry)| file(&path, entry)));
                    if files.len() == before {
                        return Err(RestoreError::from(UnmatchedGlob { word: glob.word }).into());
                    }
                }
                (None, _) => {
                    if let Some(error) = left_out(coverage, &path) {
                        return Err(error);
                    }
                    if private(&path).is_some() {
                        return Err(RecoveryError::Credentials {
                            path: path.on_host(&root),
                            is_sealed: mount.sealed.is_some(),
                        });
                    }
                    let is_forgotten = coverage.has_forgotten(&path);
                    let path = path.on_host(&root);
                    if is_forgotten {
                        return Err(RecoveryError::Forgotten(path));
                    }
                    return Err(RecoveryError::NotStored {
                        nearest: nearest(&store, &row, &target.id, &path)?,
                        path,
                        snapshot: target.id,
                    });
                }
            }
        }
        Ok(StoredFiles {
            row,
            target,
            files,
            blobs,
            _needed: needed,
        })
    }
}

/// A mount as it is shown.
struct Shown {
    manifest: Option<Manifest>,
    reveal: PrivateOverlay,
    secret_groups: SecretGroups,
}

/// Fails for what has no content to print.
fn refuse_content(entry: &Entry, path: &Path, target: &SnapshotRecord) -> Result<(), RecoveryError> {
    let what = match entry.kind {
        EntryKind::File(_) | EntryKind::Symlink(_) => return Ok(()),
        EntryKind::Directory => {
            return Err(RecoveryError::StoredDirectory {
                path: path.to_path_buf(),
                instance: target.instance.clone(),
                snapshot: target.id.clone(),
            });
        }
        EntryKind::Fifo => "a named pipe",
        EntryKind::Socket => "a socket",
        EntryKind::CharDevice(..) | EntryKind::BlockDevice(..) => "a device",
    };
    Err(RecoveryError::NoContent {
        path: path.to_path_buf(),
        what,
    })
}

/// Returns the snapshot nearest to `target` that has a file at a path of the host: of the same session if one has, else of the newest.
fn nearest(
    store: &Store,
    row: &InstanceRow,
    target: &SnapshotId,
    host: &Path,
) -> Result<Option<(InstanceId, SnapshotId)>, StoreError> {
    let mut lookup = PathLookup::new(store);
    let mut has = |snapshot: &SnapshotId| {
        // Nothing is known of a record or a manifest that cannot be read.
        let record = store.record(snapshot).ok()?;
        let mut mounts = record.mounts.iter();
        let state = mounts.find_map(|mount| {
            let below = host.strip_prefix(mount.coverage.root.to_path()).ok()?;
            let path = RelPath::new(below.as_os_str().as_encoded_bytes()).ok()?;
            lookup.state(&record, mount.manifest.as_ref()?, &path).ok()
        });
        match state? {
            PathState::Present(entry) if !entry.is_dir() => Some(()),
            _ => None,
        }
    };
    let mut own = store.catalog().snapshots(&row.id)?;
    let at = own
        .iter()
        .position(|snapshot| snapshot.id == *target)
        .unwrap_or(0);
    let mut ranked: Vec<_> = own.drain(..).enumerate().collect();
    ranked.sort_by_key(|(other, _)| other.abs_diff(at));
    if let Some((_, found)) = ranked.iter().find(|(_, snapshot)| has(&snapshot.id).is_some()) {
        return Ok(Some((row.id.clone(), found.id.clone())));
    }
    let others = Covering::new(store, host)?;
    let is_other = |other: &Result<InstanceRow, _>| !other.as_ref().is_ok_and(|other| other.id == row.id);
    for other in others.filter(is_other).take(LOOKED_AT) {
        let other = other?;
        let snapshots = store.catalog().snapshots(&other.id)?;
        if let Some(found) = snapshots.iter().find(|snapshot| has(&snapshot.id).is_some()) {
            return Ok(Some((other.id, found.id.clone())));
        }
    }
    Ok(None)
}

impl StoredFiles {
    /// Passes the content of a file to `each`, block by block, until that returns false; of a symbolic link its target. What was read to
    /// the end has the recorded digest.
    ///
    /// # Errors
    /// [`RecoveryError::Store`] if the content is missing or damaged. Blocks before the damage were passed on.
    pub fn stream(
        &self,
        file: &StoredFile,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), RecoveryError> {
        let zeros = vec![0; BLOCK];
        self.pieces(file, &mut |piece| match piece {
            Piece::Data(data) => each(data),
            Piece::Hole(mut count) => {
                while count > 0 {
                    let part = usize::try_from(count).unwrap_or(BLOCK).min(BLOCK);
                    if !each(zeros.get(..part).unwrap_or_default()) {
                        return false;
                    }
                    count -= part as u64;
                }
                true
            }
        })
    }

    /// Writes the content of a file at the position of `out`, for as long as `goes_on` says so between two blocks. Holes and blocks of zeros
    /// are skipped. Returns the number of bytes that `out` has to have behind that position, or the error of `out`.
    ///
    /// # Errors
    /// As [`StoredFiles::stream`].
    pub fn write_to(
        &self,
        file: &StoredFile,
        out: &mut (impl io::Write + io::Seek),
        goes_on: &dyn Fn() -> bool,
    ) -> Result<io::Result<u64>, RecoveryError> {
        let (mut end, mut written) = (0_u64, Ok(()));
        self.pieces(file, &mut |piece| {
            let is_hole = |data: &[u8]| data.len() > 1 && data.iter().all(|byte| *byte == 0);
            let (count, data) = match piece {
                Piece::Data(data) => (data.len() as u64, Some(data).filter(|data| !is_hole(data))),
                Piece::Hole(count) => (count, None),
            };
            written = match data {
                Some(data) => out.write_all(data),
                None => i64::try_from(count)
                    .map_err(|_| io::ErrorKind::FileTooLarge.into())
                    .and_then(|count| out.seek_relative(count)),
            };
            end = end.saturating_add(count);
            written.is_ok() && goes_on()
        })?;
        Ok(written.map(|()| end))
    }

    fn pieces(
        &self,
        file: &StoredFile,
        each: &mut dyn FnMut(Piece<'_>) -> bool,
    ) -> Result<(), RecoveryError> {
        let content = match &file.entry.kind {
            EntryKind::Symlink(target) => {
                each(Piece::Data(target));
                return Ok(());
            }
            _ => match file.entry.content() {
                Some(content) if content.size > 0 => content,
                _ => return Ok(()),
            },
        };
        let mut hasher = Hasher::new(content.method, content.size);
        let mut is_stopped = false;
        let streamed = self.blobs.stream(&content.digest, &mut |piece| {
            match piece {
                Piece::Data(data) => hasher.update(data),
                Piece::Hole(count) => hasher.skip_zeros(count),
            }
            match each(piece) {
                true => Ok(()),
                false => {
                    is_stopped = true;
                    Err(io::ErrorKind::Interrupted.into())
                }
            }
        });
        if is_stopped {
            return Ok(());
        }
        streamed?;
        match hasher.finish() == *content {
            true => Ok(()),
            false => Err(RecoveryError::Store(StoreError::Content {
                digest: content.digest,
                reason: "its bytes have another digest".to_owned(),
            })),
        }
    }

    /// Looks at the path of a stored file in the live tree, and follows no symbolic link below the root of the mount.
    #[must_use]
    pub fn live(&self, file: &StoredFile) -> LiveFile {
        if self.row.is_imported() || is_elsewhere(&file.root) {
            return LiveFile::Elsewhere;
        }
        let Some((parent, name)) = file.below.split() else {
            return LiveFile::Other;
        };
        let dir = match Root::open(&Transports::default(), &file.root) {
            Ok(root) => root.dir(&parent),
            Err(MountError::Missing { .. }) => Err(io::ErrorKind::NotFound.into()),
            Err(other) => Err(io::Error::other(other)),
        };
        match dir.and_then(|dir| dir.look(name.as_os_str())) {
            Ok(Some(stat)) if stat.kind == NodeKind::File => LiveFile::Regular,
            Ok(None) => LiveFile::Missing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => LiveFile::Missing,
            Ok(Some(_)) | Err(_) => LiveFile::Other,
        }
    }

    /// Returns true if the content is not shown unless the operator asks for it: a name or its mode says that it holds secrets, or a line
    /// of it holds a login, or a setting of git a secret.
    ///
    /// # Errors
    /// As [`Self::stream`].
    pub fn is_secret(&self, file: &StoredFile) -> Result<bool, RecoveryError> {
        if file.is_secret || self.is_binary(file)? {
            return Ok(file.is_secret);
        }
        let mut begun = Vec::new();
        if is_git_configuration(&file.path) {
            // A value may span lines.
            self.stream(file, &mut |block| {
                begun.extend_from_slice(block);
                begun.len() <= LONGEST
            })?;
            let is_found = holds_passwords(&begun) || mask_settings(&file.path, &begun).is_some();
            return Ok(is_found || begun.len() > LONGEST);
        }
        // Whole lines at a time: a login does not span two.
        let mut is_found = false;
        self.stream(file, &mut |block| {
            begun.extend_from_slice(block);
            let end = begun.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            let end = end.unwrap_or_else(|| match begun.len() > LONGEST {
                true => end_of_logins(&begun),
                false => 0,
            });
            is_found = holds_passwords(begun.get(..end).unwrap_or_default());
            begun.drain(..end);
            !is_found
        })?;
        Ok(is_found || holds_passwords(&begun))
    }

    /// Returns true if the content is no text.
    ///
    /// # Errors
    /// As [`Self::stream`].
    pub fn is_binary(&self, file: &StoredFile) -> Result<bool, RecoveryError> {
        let mut first = Vec::new();
        self.stream(file, &mut |block| {
            first.extend_from_slice(block);
            first.len() < BLOCK
        })?;
        Ok(is_binary(&first))
    }
}
