//! Writing a snapshot into a directory of its own, for `restore --to` and forks. Nothing that is there already is touched.

mod claim;
mod encrypted;
mod error;
mod outside_git;
mod sockets;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use claim::MissingClaim;
pub use encrypted::EncryptedFile;
pub(super) use encrypted::encrypted_files;
pub use error::OutputError;
pub use outside_git::OutsideGit;
pub(super) use outside_git::outside_git;
pub use sockets::UnwrittenSocket;

use super::{Recovery, RecoveryError, RestoreRequest, RestoreSubject, paths, restore_target};
use crate::capture::{Note, PrivateOverlay};
use crate::clock::random;
use crate::config::{settle, settle_path};
use crate::git_directories::Repositories;
use crate::model::{Coverage, EntryKind, Manifest, RelPath, SnapshotRecord};
use crate::restore::{
    OutputDir, Problem, RestoreError, Scope, SnapshotScope, Written, is_empty, mark, take_away, write_to,
    write_verified,
};
use crate::store::{Blobs, InstanceRow, LockGuard, Store};
use handle_fs::Root;
use handle_fs::remote::{Address, Transports, has_path, is_elsewhere, scheme_of};

/// Snapshot to write into a new directory, with its session, its store, and the lock that keeps its archives.
pub struct OutputPlan {
    /// The session.
    pub row: InstanceRow,
    /// The snapshot.
    pub target: SnapshotRecord,
    /// Directory to write into.
    pub directory: PathBuf,
    /// Number of paths to write.
    pub paths: u64,
    /// Claim that is made first; `None` if the directory can be written as things are.
    pub new_claim: Option<MissingClaim>,
    /// Files that are not written because their key is missing.
    pub encrypted: Vec<EncryptedFile>,
    /// Sockets, which are not written.
    pub sockets: Vec<UnwrittenSocket>,
    /// Paths below a mount that were not asked for and belong to a database of which a part was.
    pub also: Vec<(Coverage, RelPath)>,
    /// Databases of which an excluded file is not written.
    pub incomplete: Vec<IncompleteDatabase>,
    parts: Vec<Part>,
    store: Store,
    _needed: LockGuard,
}

/// Database of which an excluded file is not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncompleteDatabase {
    /// Coverage of its mount in the snapshot.
    pub coverage: Coverage,
    /// Its directory or its first file, below the mount root.
    pub database: RelPath,
    /// The first excluded file.
    pub excluded: RelPath,
}

/// Result of writing a snapshot.
pub struct WrittenSnapshot {
    /// Number of paths written.
    pub paths: u64,
    /// Number of paths that this user may not read, so that they were not read back.
    pub unread: u64,
    /// Notes and problems of each mount.
    pub mounts: Vec<WrittenMount>,
    /// Sockets, which were not written.
    pub sockets: Vec<UnwrittenSocket>,
    /// Places outside of the directory that git in it works on.
    pub outside_git: Vec<OutsideGit>,
}

impl WrittenSnapshot {
    /// Returns the number of paths that differ from the snapshot.
    #[must_use]
    pub fn problem_count(&self) -> u64 {
        self.mounts.iter().map(|mount| mount.problems.len() as u64).sum()
    }
}

/// Notes and problems of a mount that was written.
pub struct WrittenMount {
    /// Its coverage in the snapshot.
    pub coverage: Coverage,
    /// Directory with its files.
    pub directory: PathBuf,
    /// Values in settings files that no snapshot holds.
    pub notes: Vec<Note>,
    /// Paths that differ from the snapshot, with the reasons.
    pub problems: Vec<(RelPath, Problem)>,
}

/// One mount, and its paths to write.
pub(super) struct Part {
    coverage: Coverage,
    manifest: Manifest,
    scope: Scope,
    reveal: PrivateOverlay,
    notes: Vec<Note>,
    /// Paths in the scope that stay encrypted, each with whether the request names it.
    encrypted: Vec<(RelPath, bool)>,
    /// Sockets in the scope, each with whether the request names it.
    sockets: Vec<(RelPath, bool)>,
    also: Vec<RelPath>,
    /// Databases, each with the first excluded file of it.
    incomplete: BTreeMap<RelPath, RelPath>,
}

impl Recovery<'_> {
    /// Plans to write the snapshot of a request into a directory that is absent or empty. Nothing is written.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, Recovery, RestoreRequest};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let environment = Environment { home: Some(scratch.path().join("home")), ..Environment::default() };
    /// # let project = scratch.path().join("project");
    /// # std::fs::create_dir(&project)?;
    /// # std::fs::write(project.join("notes"), "one\n")?;
    /// # let recovery = Recovery::open(&environment);
    /// # let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// # let session = recovery.begin(&(&contract).into())?.into_id();
    /// # drop(recovery.end(session.as_str())?);
    /// let request = RestoreRequest::of(session.as_str());
    /// let copy = scratch.path().join("copy");
    /// let plan = recovery.plan_output(recovery.restore_subject(&request, true)?, &request, &copy)?;
    /// recovery.write_output(&plan)?;
    /// assert_eq!(std::fs::read_to_string(copy.join("notes"))?, "one\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Output`] if the directory cannot be used; as [`Self::plan`] for the snapshot and the paths.
    pub fn plan_output(
        &self,
        subject: RestoreSubject,
        request: &RestoreRequest<'_>,
        directory: &Path,
    ) -> Result<OutputPlan, RecoveryError> {
        let directory = settle_path(self.environment, directory);
        let RestoreSubject { reading, row, .. } = subject;
        let store = reading.unlocked_by((request.keys)()?);
        let needed = store.share()?;
        let (target, _) = restore_target(&store, &row, request)?;
        let parts = self.output_parts(
            &store,
            &target,
            (request.paths, request.excluded),
            request.allow.files_only,
        )?;
        // Before the operator is asked: what cannot be done is no question.
        let new_claim = MissingClaim::find(
            &self.environment.snapshot_programs,
            &target,
            &directory,
            bytes(&parts),
        )?;
        if new_claim.is_none() {
            self.check_output(&directory)?;
        }
        Ok(OutputPlan {
            encrypted: encrypted_files(&parts, &target, &directory),
            sockets: sockets::unwritten(&parts),
            also: also(&parts),
            incomplete: incomplete(&parts),
            row,
            target,
            directory,
            paths: count(&parts),
            new_claim,
            parts,
            store,
            _needed: needed,
        })
    }

    /// Writes a snapshot as planned.
    ///
    /// # Errors
    /// [`RecoveryError::Output`]; [`RecoveryError::Restore`]. Nothing is left of what was written then, unless the text says otherwise.
    pub fn write_output(&self, plan: &OutputPlan) -> Result<WrittenSnapshot, RecoveryError> {
        if let Some(claim) = &plan.new_claim {
            claim.make(&plan.directory)?;
            self.check_output(&plan.directory)
                .map_err(|error| claim.after(error))?;
        }
        let fresh = OutputDir::make(
            plan.store.transports(),
            &plan.directory,
            random(self.services.entropy),
        )?;
        let job = Job {
            store: &plan.store,
            target: &plan.target,
            parts: &plan.parts,
            directory: &plan.directory,
            verified: false,
        };
        let mut written = self.write(&job, &fresh)?;
        fresh.finish()?;
        written.outside_git = outside_git(&job);
        Ok(written)
    }

    /// Fails unless a directory to write into is empty, or absent from an existing parent, and outside the store.
    pub(super) fn check_output(&self, directory: &Path) -> Result<(), OutputError> {
        let store = self.environment.store_directory().map(|store| settle(&store));
        if store.is_some_and(|store| directory.starts_with(store)) {
            let path = directory.to_path_buf();
            return Err(OutputError::InStore { path });
        }
        check(&self.environment.transports, directory)
    }

    /// Returns the parts of `target` to write: everything if `asked` is empty.
    pub(super) fn output_parts(
        &self,
        store: &Store,
        target: &SnapshotRecord,
        (asked, excluded): (&[OsString], &[String]),
        files_only: bool,
    ) -> Result<Vec<Part>, RecoveryError> {
        let coverages: Vec<Coverage> = target.mounts.iter().map(|mount| mount.coverage.clone()).collect();
        let recorded = paths::in_snapshots(store, vec![target.id.clone()]);
        let scopes = paths::scopes(self.environment, &coverages, asked, excluded, &recorded)?;
        let mut parts = Vec::new();
        for ((mount, coverage), scope) in target.mounts.iter().zip(coverages).zip(scopes) {
            // Secrets that only the original place holds are not written elsewhere.
            let mut reveal = PrivateOverlay::elsewhere(store);
            let (manifest, notes) = reveal.stored_manifest(store, target, mount)?;
            let Some(manifest) = manifest else { continue };
            let encrypted = encrypted::find(mount, &manifest, &scope);
            let named = scope.named().to_vec();
            let known = paths::Known {
                sides: &[Some(&manifest)],
                elsewhere: &encrypted.iter().map(|(path, _)| path).collect::<Vec<_>>(),
                described: &format!("is not in the {} snapshot", target.kind.word()),
            };
            known.check(&coverage, &scope, &target.instance)?;
            let SnapshotScope {
                scope,
                also,
                incomplete,
            } = scope.resolved_in(&manifest).map_err(RestoreError::from)?;
            let scope = if files_only {
                without_repositories(&manifest, &scope)
            } else {
                scope
            };
            parts.push(Part {
                sockets: sockets::find(&manifest, &scope, &named),
                coverage,
                manifest,
                scope,
                reveal,
                notes,
                encrypted,
                also,
                incomplete,
            });
        }
        Ok(parts)
    }

    /// Writes everything into `fresh`, which the caller finishes. When that fails, nothing is left of it.
    pub(super) fn write(&self, job: &Job<'_>, fresh: &OutputDir) -> Result<WrittenSnapshot, RestoreError> {
        let private = job.parts.iter().map(|part| part.reveal.lent());
        let blobs = private.fold(job.store.contents(job.target), Blobs::lending);
        let mut done = WrittenSnapshot {
            paths: 0,
            unread: 0,
            mounts: Vec::new(),
            sockets: sockets::unwritten(job.parts),
            outside_git: Vec::new(),
        };
        for (at, part) in job.parts.iter().enumerate() {
            match self.write_part(job, part, fresh, &blobs) {
                Ok(written) => done.add(job, part, written),
                Err(error) => {
                    for before in job.parts.iter().take(at) {
                        let path = mount_directory(fresh.path(), job.target, &before.coverage);
                        // The error that led here is the one to report; what stays is not under the name of a finished one.
                        let _ = take_away(blobs.transports(), &path, &before.manifest, &before.scope);
                    }
                    return Err(error);
                }
            }
        }
        Ok(done)
    }

    fn write_part(
        &self,
        job: &Job<'_>,
        part: &Part,
        fresh: &OutputDir,
        blobs: &Blobs,
    ) -> Result<Written, RestoreError> {
        let path = mount_directory(fresh.path(), job.target, &part.coverage);
        let write = if job.verified { write_verified } else { write_to };
        write(&path, &part.manifest, &part.scope, blobs, self.services.observer)
    }
}

/// Parts of a snapshot to write, and their destination.
pub(super) struct Job<'a> {
    pub(super) store: &'a Store,
    pub(super) target: &'a SnapshotRecord,
    pub(super) parts: &'a [Part],
    /// Final name of the destination.
    pub(super) directory: &'a Path,
    /// True if everything is read back.
    pub(super) verified: bool,
}

impl WrittenSnapshot {
    fn add(&mut self, job: &Job<'_>, part: &Part, written: Written) {
        self.paths += written.paths.len() as u64;
        self.unread += written.unread;
        let notes = part.notes.iter().filter(|note| part.scope.holds(&note.path));
        self.mounts.push(WrittenMount {
            coverage: part.coverage.clone(),
            directory: mount_directory(job.directory, job.target, &part.coverage),
            notes: notes.cloned().collect(),
            problems: written.problems,
        });
    }
}

/// Returns the directory of a mount below `top`; with several mounts, each has its own.
pub(super) fn mount_directory(top: &Path, target: &SnapshotRecord, coverage: &Coverage) -> PathBuf {
    match target.mounts.len() {
        0 | 1 => top.to_path_buf(),
        _ => top.join(&coverage.label),
    }
}

/// Returns the paths outside git repositories.
fn without_repositories(manifest: &Manifest, scope: &Scope) -> Scope {
    let own = Repositories::of([manifest]);
    let entries = manifest.entries().map(|(path, _)| path);
    Scope::Exactly(
        entries
            .filter(|path| scope.holds(path) && own.holding(path).is_none())
            .collect(),
    )
}

/// Returns the paths that were not asked for and belong to what was.
fn also(parts: &[Part]) -> Vec<(Coverage, RelPath)> {
    let of_part = |part: &Part| {
        let each = part.also.iter();
        let each = each.map(|path| (part.coverage.clone(), path.clone()));
        each.collect::<Vec<_>>()
    };
    parts.iter().flat_map(of_part).collect()
}

/// Returns the databases of which an excluded file is not written.
fn incomplete(parts: &[Part]) -> Vec<IncompleteDatabase> {
    let of_part = |part: &Part| {
        let each = part.incomplete.iter();
        let each = each.map(|(database, excluded)| IncompleteDatabase {
            coverage: part.coverage.clone(),
            database: database.clone(),
            excluded: excluded.clone(),
        });
        each.collect::<Vec<_>>()
    };
    parts.iter().flat_map(of_part).collect()
}

/// Returns the number of paths to write.
fn count(parts: &[Part]) -> u64 {
    parts.iter().map(|part| wanted(&part.manifest, &part.scope)).sum()
}

/// Returns the size of the contents to write, in bytes.
fn bytes(parts: &[Part]) -> u64 {
    let of = |part: &Part| -> u64 {
        let entries = part.manifest.entries();
        entries
            .filter(|(path, _)| part.scope.holds(path))
            .filter_map(|(_, entry)| Some(entry.content()?.size))
            .sum()
    };
    parts.iter().map(of).sum()
}

/// Counts the paths to write for one mount: those in the scope and their parents, without sockets.
fn wanted(manifest: &Manifest, scope: &Scope) -> u64 {
    let files = manifest
        .entries()
        .filter(|(path, entry)| scope.holds(path) && entry.kind != EntryKind::Socket);
    let mut needed: HashSet<RelPath> = HashSet::new();
    for (path, _) in files {
        let mut at = Some(path);
        // What is above a directory that is needed is needed already.
        while let Some(path) = at.filter(|path| !path.is_root()) {
            at = path.split().map(|(parent, _)| parent);
            if !needed.insert(path) {
                break;
            }
        }
    }
    needed.len() as u64
}

/// Fails if the path is an address and not a path on this machine.
pub(crate) fn refuse_address(path: &Path) -> Result<(), OutputError> {
    if !is_elsewhere(path) {
        return Ok(());
    }
    // An unknown address may hold a password.
    let shown = match Address::split(path) {
        Some(_) => crate::display::sanitize::path(path),
        None => format!("{}://…", scheme_of(path)),
    };
    Err(OutputError::Address { shown })
}

/// Returns true for a directory in a volume of containers or in a claim: a snapshot may be written into a new one.
fn is_volume(path: &Path) -> bool {
    let found = Address::split(path).map(|(address, _)| address);
    matches!(found, Some(Address::Claim(_) | Address::Volume { .. })) && has_path(path)
}

/// Fails unless the directory in a volume exists and is empty.
fn check_volume(transports: &Transports, directory: &Path) -> Result<(), OutputError> {
    let path = directory.to_path_buf();
    let opened = match Root::open(transports, directory) {
        Ok(opened) => opened,
        Err(source) => return Err(OutputError::Volume { path, source }),
    };
    let top = opened.dir(&RelPath::root());
    match top.and_then(|top| is_empty(&top)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(OutputError::NotEmpty { path }),
        Err(source) => Err(OutputError::Unreadable { path, source }),
    }
}

/// Fails unless the directory is empty, or absent from an existing parent.
fn check(transports: &Transports, directory: &Path) -> Result<(), OutputError> {
    if is_volume(directory) {
        return check_volume(transports, directory);
    }
    refuse_address(directory)?;
    let path = directory.to_path_buf();
    match directory.symlink_metadata() {
        Ok(found) if !found.is_dir() => Err(OutputError::NoDirectory { path }),
        Ok(_) => match directory.read_dir().map(|mut names| names.next().is_none()) {
            Ok(true) => Ok(()),
            Ok(false) if directory.join(mark()).symlink_metadata().is_ok() => {
                Err(OutputError::Unfinished { path })
            }
            Ok(false) => Err(OutputError::NotEmpty { path }),
            Err(source) => Err(OutputError::Unreadable { path, source }),
        },
        Err(_) => match directory.parent() {
            Some(parent) if !parent.is_dir() => Err(OutputError::NoParent {
                parent: parent.to_path_buf(),
                path,
            }),
            _ => Ok(()),
        },
    }
}
