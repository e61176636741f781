//! Writing a snapshot into a directory of its own, as `restore --to` and `fork` do. Nothing that is there already is touched.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::capture::{Note, PrivateOverlay};
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::git_directories::Repositories;
use crate::model::{Coverage, EntryKind, Manifest, MountRecord, RelPath, SnapshotRecord};
use crate::recovery::paths;
use crate::report::ReasonDocument;
use crate::restore::{
    OutputDir, RestoreError, Scope, Written, is_empty, take_away, write_to, write_verified,
};
use crate::store::{Blobs, Store};
use crate::terminal::{sanitize, shell};
use handle_fs::Root;
use handle_fs::remote::{Address, Transports, has_path, is_elsewhere, scheme_of};

/// One mount, and which of its paths are wanted.
pub(super) struct Part<'a> {
    pub(super) mount: &'a MountRecord,
    manifest: Manifest,
    scope: Scope,
    reveal: PrivateOverlay,
    notes: Vec<Note>,
}

/// Returns the parts of `target` to write: everything if `asked` is empty.
pub(super) fn parts<'a>(
    context: &Context<'_>,
    store: &Store,
    target: &'a SnapshotRecord,
    asked: &[OsString],
    files_only: bool,
) -> Result<Vec<Part<'a>>, CliError> {
    let coverages: Vec<Coverage> = target.mounts.iter().map(|mount| mount.coverage.clone()).collect();
    let scopes = paths::scopes(context.environment, &coverages, asked)?;
    let mut parts = Vec::new();
    for (mount, scope) in target.mounts.iter().zip(scopes) {
        // Secrets that only the original place holds are not written elsewhere.
        let mut reveal = PrivateOverlay::elsewhere(store);
        let (manifest, notes) = reveal.stored_manifest(store, target, mount)?;
        let Some(manifest) = manifest else { continue };
        let known = paths::Known {
            sides: &[Some(&manifest)],
            elsewhere: &[],
            described: &format!("is not in the {} snapshot", target.kind.word()),
        };
        known.check(&mount.coverage, &scope, &target.instance)?;
        let scope = if files_only {
            without_repositories(&manifest, &scope)
        } else {
            scope
        };
        parts.push(Part {
            mount,
            manifest,
            scope,
            reveal,
            notes,
        });
    }
    Ok(parts)
}

/// Returns the scope of `--files-only`: paths outside git repositories.
fn without_repositories(manifest: &Manifest, scope: &Scope) -> Scope {
    let own = Repositories::of([manifest]);
    let entries = manifest.entries().map(|(path, _)| path);
    Scope::Exactly(
        entries
            .filter(|path| scope.holds(path) && own.holding(path).is_none())
            .collect(),
    )
}

/// Returns the number of paths to write.
pub(super) fn count(parts: &[Part<'_>]) -> u64 {
    parts.iter().map(|part| wanted(&part.manifest, &part.scope)).sum()
}

/// Returns the size of the contents to write, in bytes.
pub(super) fn bytes(parts: &[Part<'_>]) -> u64 {
    let of = |part: &Part<'_>| -> u64 {
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
    let mut needed: BTreeSet<RelPath> = BTreeSet::new();
    for (path, _) in files {
        needed.extend(path.ancestors());
        needed.insert(path);
    }
    needed.remove(&RelPath::root());
    needed.len() as u64
}

/// Fails if the path is an address and not a path on this machine.
pub(super) fn refuse_address(path: &Path) -> Result<(), CliError> {
    if !is_elsewhere(path) {
        return Ok(());
    }
    // An unknown address may hold a password.
    let shown = match Address::split(path) {
        Some(_) => sanitize::path(path),
        None => format!("{}://…", scheme_of(path)),
    };
    let message =
        format!("{shown} is an address, and files are written into directories of this machine alone");
    Err(CliError::new(ErrorKind::Usage, message).hint("name a place here, and copy it there yourself"))
}

/// A volume of containers, or a claim: a snapshot may be written into a new one.
fn is_volume(path: &Path) -> bool {
    let found = Address::split(path).map(|(address, _)| address);
    matches!(found, Some(Address::Claim(_) | Address::Volume { .. })) && has_path(path)
}

/// Fails unless the directory in a volume exists and is empty.
fn check_volume(transports: &Transports, directory: &Path) -> Result<(), CliError> {
    let shown = sanitize::path(directory);
    let opened = Root::open(transports, directory).map_err(|error| {
        let made = CliError::new(ErrorKind::Usage, format!("nothing can be written into {shown}"));
        made.because(error)
            .hint("make the volume or the claim first, and name a directory that is there and empty")
    })?;
    let top = opened.dir(&RelPath::root());
    match top.and_then(|top| is_empty(&top)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(RestoreError::NotEmpty(directory.to_path_buf()).into()),
        Err(error) => Err(CliError::new(ErrorKind::Io, format!("{shown} cannot be read")).because(error)),
    }
}

/// Fails unless the directory is empty, or absent from an existing parent.
pub(super) fn check(transports: &Transports, directory: &Path) -> Result<(), CliError> {
    if is_volume(directory) {
        return check_volume(transports, directory);
    }
    let shown = sanitize::path(directory);
    let usage = |text: String| CliError::new(ErrorKind::Usage, text);
    refuse_address(directory)?;
    match std::fs::symlink_metadata(directory) {
        Ok(found) if !found.is_dir() => {
            Err(usage(format!("{shown} is there already, and is not a directory"))
                .hint("choose an absent or empty directory"))
        }
        Ok(_) => match std::fs::read_dir(directory).map(|mut names| names.next().is_none()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(RestoreError::NotEmpty(directory.to_path_buf()).into()),
            Err(error) => Err(CliError::new(ErrorKind::Io, format!("{shown} cannot be read")).because(error)),
        },
        Err(_) => match directory.parent() {
            Some(parent) if !parent.is_dir() => {
                let above = sanitize::path(parent);
                Err(
                    usage(format!("{shown} cannot be made: there is no directory {above}")).hint(format!(
                        "make it first:\n  mkdir -p {}",
                        shell::word(parent.as_os_str())
                    )),
                )
            }
            _ => Ok(()),
        },
    }
}

/// Returns the directory of a mount below `top`; with several mounts, each has its own.
pub(super) fn place(top: &Path, target: &SnapshotRecord, mount: &MountRecord) -> PathBuf {
    match target.mounts.len() {
        0 | 1 => top.to_path_buf(),
        _ => top.join(&mount.coverage.label),
    }
}

/// Parts of a snapshot to write, and their destination.
pub(super) struct Job<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) store: &'a Store,
    pub(super) target: &'a SnapshotRecord,
    pub(super) parts: &'a [Part<'a>],
    /// Final name of the destination.
    pub(super) directory: &'a Path,
    /// Problems are for the document alone.
    pub(super) json: bool,
    /// Everything is read back.
    pub(super) verified: bool,
}

/// Result of writing a snapshot.
#[derive(Default)]
pub(super) struct Done {
    /// Number of paths written.
    pub(super) paths: u64,
    /// Number of paths that could not be read back.
    pub(super) unread: u64,
    /// Paths that differ from the snapshot, with the reasons.
    pub(super) problems: Vec<ReasonDocument>,
}

/// Writes everything into `fresh`, which the caller finishes. When that fails, nothing is left of it.
pub(super) fn write(job: &Job<'_>, fresh: &OutputDir) -> Result<Done, CliError> {
    let private = job.parts.iter().map(|part| part.reveal.lent());
    let blobs = private.fold(job.store.contents(job.target), Blobs::lending);
    let mut done = Done::default();
    for (at, part) in job.parts.iter().enumerate() {
        match write_part(job, part, fresh, &blobs) {
            Ok(written) => tell(job, part, written, &mut done),
            Err(error) => {
                for before in job.parts.iter().take(at) {
                    let path = place(fresh.path(), job.target, before.mount);
                    // The error that led here is the one to report; what stays is not under the name of a finished one.
                    let _ = take_away(blobs.transports(), &path, &before.manifest, &before.scope);
                }
                return Err(error.into());
            }
        }
    }
    Ok(done)
}

fn write_part(
    job: &Job<'_>,
    part: &Part<'_>,
    fresh: &OutputDir,
    blobs: &Blobs,
) -> Result<Written, RestoreError> {
    let path = place(fresh.path(), job.target, part.mount);
    let observer = job.context.world().observer;
    let write = if job.verified { write_verified } else { write_to };
    write(&path, &part.manifest, &part.scope, blobs, observer)
}

fn tell(job: &Job<'_>, part: &Part<'_>, written: Written, done: &mut Done) {
    let terminal = job.context.terminal;
    let coverage = &part.mount.coverage;
    let top = place(job.directory, job.target, part.mount);
    done.paths += written.paths.len() as u64;
    done.unread += written.unread;
    for note in part.notes.iter().filter(|note| part.scope.holds(&note.path)) {
        let host = sanitize::path(&note.path.on_host(&top));
        let key = sanitize::text(&note.key.join("."));
        terminal.note(&format!("{host}: {key}: {}", note.words()));
    }
    for (path, problem) in written.problems {
        if !job.json {
            terminal.warn(&format!("{}: {problem}", sanitize::path(&path.on_host(&top))));
        }
        done.problems
            .push(ReasonDocument::new(coverage, &path, problem.words));
    }
}
