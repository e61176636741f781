//! A fork: a snapshot in a directory of its own, read back, with a receipt. Nothing else is touched.

use std::path::{Path, PathBuf};

use super::args::ForkArgs;
use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::fork_reference::mounts;
use super::identity_arg::identities;
use super::named_session::nothing;
use super::write_snapshot::{Done, Job, check, parts, refuse_address, write};
use crate::clock::random;
use crate::config::settle_path;
use crate::model::{ByteString, ForkId, ForkReference, Operation, SnapshotRecord};
use crate::report::{ForkDocument, ForkOutcome, Head, HostPathDocument};
use crate::restore::{OutputDir, RestoreError};
use crate::session::{check_branch, find_snapshot};
use crate::store::{ForkRow, InstanceRow, LockGuard, Store, fork_draft};
use crate::terminal::sanitize;
use handle_fs::Dir;

/// A fork that was made.
pub(super) struct Forked {
    /// Directory that holds the fork.
    pub(super) directory: PathBuf,
    /// The snapshot that it holds.
    pub(super) target: SnapshotRecord,
    /// Reference that names the fork.
    pub(super) reference: ForkReference,
    /// Number of paths written, and the problems with them.
    pub(super) done: Done,
}

/// Makes a fork of the session `row`: of the snapshot of another fork `again`, or of the one that `args` name.
pub(super) fn fork(
    context: &Context<'_>,
    reading: Store,
    row: &InstanceRow,
    again: Option<&ForkRow>,
    args: &ForkArgs,
) -> Result<Forked, CliError> {
    let identities = identities(context, &args.unlock)?;
    let target = target(&reading, row, again, args)?;
    if let Some(branch) = &args.branch {
        check_branch(branch)?;
        must_be_free(&reading, row, branch)?;
    }
    let wanted = match &args.directory {
        Some(directory) => Some(named(context, &target, directory.as_ref())?),
        None => None,
    };
    drop(reading);
    let store = context.store_for_writing()?.unlocked_by(identities);
    let _needed = store.share()?;
    for left in store.sweep_forks() {
        context
            .terminal
            .warn(&format!("a fork that was interrupted: {left}"));
    }
    let branch = args.branch.as_deref();
    let _own_branch = branch
        .map(|branch| store.lock_branch(&row.id, branch))
        .transpose()?;
    if let Some(branch) = branch {
        must_be_free(&store, row, branch)?;
    }
    let id = ForkId::new(random(context.world().entropy));
    let (directory, _lock, fresh) = make(context, &store, &id, wanted)?;
    context.world().observer.reached("fork-made");
    let parts = parts(context, &store, &target, &[], false)?;
    let job = Job {
        context,
        store: &store,
        target: &target,
        parts: &parts,
        directory: &directory,
        json: args.json,
        verified: true,
    };
    let done = write(&job, &fresh)?;
    give_mounts(context, &target, fresh.path())?;
    context.world().observer.reached("fork-verified");
    fresh.finish()?;
    context.world().observer.reached("fork-named");
    let act = Operation::Fork {
        snapshot: target.id.clone(),
        fork: id.clone(),
        directory: ByteString::from(directory.as_path()),
        branch: args.branch.clone(),
        paths: done.paths,
        failed: done.problems.len() as u64,
    };
    store
        .append(context.now(), context.world().uid, &row.id, act)
        .map_err(|error| {
            let made = CliError::from(error);
            let shown = sanitize::path(&directory);
            made.hint(format!(
                "{shown} is complete, but its receipt could not be written"
            ))
        })?;
    let reference = ForkReference::new(id, target.id.clone(), mounts(&target, &directory));
    Ok(Forked {
        directory,
        target,
        reference,
        done,
    })
}

/// The snapshot that is meant.
fn target(
    store: &Store,
    row: &InstanceRow,
    again: Option<&ForkRow>,
    args: &ForkArgs,
) -> Result<SnapshotRecord, CliError> {
    let wanted = match again {
        Some(fork) => fork.snapshot.as_str(),
        None => args.from.as_deref().unwrap_or("baseline"),
    };
    let snapshot = find_snapshot(store, row, wanted).map_err(|error| nothing(row, error))?;
    Ok(store.record(&snapshot.id)?)
}

/// No other fork of the session may have this branch.
fn must_be_free(store: &Store, row: &InstanceRow, branch: &str) -> Result<(), CliError> {
    let forks = store.catalog().forks()?;
    let is_so = |fork: &&ForkRow| fork.instance == row.id && fork.branch.as_deref() == Some(branch);
    match forks.iter().find(is_so) {
        None => Ok(()),
        Some(other) => Err(CliError::new(
            ErrorKind::Usage,
            format!(
                "{} already has a fork {branch:?}: {}, in {}",
                row.id,
                other.id,
                sanitize::path(&other.directory)
            ),
        )
        .hint("choose another name; names of forks are never reused")),
    }
}

/// The directory that was named: absent or empty, and outside of what the session works on.
fn named(context: &Context<'_>, target: &SnapshotRecord, directory: &Path) -> Result<PathBuf, CliError> {
    let directory = settle_path(context.environment, directory);
    let shown = sanitize::path(&directory);
    let refused = |why: String| {
        CliError::new(ErrorKind::Usage, format!("{shown} {why}"))
            .hint("choose a directory elsewhere, or omit it to use data/forks in jackin's home")
    };
    let roots = target.mounts.iter().map(|mount| mount.coverage.root.to_path());
    for root in roots {
        if directory.starts_with(&root) {
            let root = sanitize::path(&root);
            return Err(refused(format!("is in {root}, a mount of the session")));
        }
    }
    if directory.starts_with(context.store_directory()?) {
        return Err(refused("is in the store".to_owned()));
    }
    refuse_address(&directory)?;
    check(&context.environment.transports, &directory)?;
    Ok(directory)
}

/// Makes room for the fork. In the directory of forks it is locked, so that what is left when we are killed is swept.
fn make(
    context: &Context<'_>,
    store: &Store,
    id: &ForkId,
    wanted: Option<PathBuf>,
) -> Result<(PathBuf, Option<LockGuard>, OutputDir), CliError> {
    let (directory, lock, fresh) = match wanted {
        Some(directory) => {
            let fresh = OutputDir::make(store.transports(), &directory, random(context.world().entropy))?;
            (directory, None, fresh)
        }
        None => {
            let directory = store.make_forks_directory()?.join(id.as_str());
            let lock = store.lock_fork(id)?;
            let fresh = OutputDir::called(store.transports(), &directory, &fork_draft(id))?;
            (directory, Some(lock), fresh)
        }
    };
    // What root makes for an operator is theirs to enter.
    let owner = context.environment.operator;
    fresh.make_private(owner.map(|owner| (owner.uid, owner.gid)))?;
    Ok((directory, lock, fresh))
}

/// The directories of several mounts are created too: root gives them to the operator it acts for.
fn give_mounts(context: &Context<'_>, target: &SnapshotRecord, top: &Path) -> Result<(), CliError> {
    let Some(owner) = context.environment.operator.filter(|_| target.mounts.len() > 1) else {
        return Ok(());
    };
    for mount in mounts(target, top) {
        let path = mount.path.to_path();
        Dir::open(&context.environment.transports, &path)
            .and_then(|dir| handle_fs::chown_handle(dir, owner.uid, owner.gid))
            .map_err(|source| RestoreError::Stage { path, source })?;
    }
    Ok(())
}

/// The document of a fork.
pub(super) fn document(forked: Forked, args: &ForkArgs) -> ForkDocument {
    let place = HostPathDocument::new(&forked.directory);
    let Done {
        paths,
        unread,
        problems,
    } = forked.done;
    ForkDocument {
        head: Head::default(),
        reference: forked.reference,
        instance: forked.target.instance.to_string(),
        branch: args.branch.clone(),
        outcome: match problems.is_empty() {
            true => ForkOutcome::Forked,
            false => ForkOutcome::Partial,
        },
        directory: place.path,
        directory_bytes: place.path_bytes,
        complete: forked.target.complete,
        paths,
        unread,
        failed: problems,
    }
}
