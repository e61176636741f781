//! The beginning: the instance is recorded, its baseline taken.

use super::end::close_orphaned_sessions_on;
use super::recovery::{recover_interrupted_restores, roots};
use super::{Services, SessionError};
use crate::capture::{
    CaptureError, Captured, Frozen, Limits, Request, SnapshotAttempt, freeze, observe, take_with,
};
use crate::clock::random;
use crate::model::{
    AgentRef, ContainerRef, Coverage, Ending, InstanceId, Operation, ProcessRef, SessionTitle, SnapshotKind,
    WatchedMount,
};
use crate::observer::Observer;
use crate::process;
use crate::store::{LockGuard, Store};

/// So many repositories, and so many of each thing in one, stand in a receipt.
const MOST_WATCHED: usize = 20;

/// Session to begin.
pub struct BeginRequest<'a> {
    /// For the id.
    pub label: &'a str,
    /// Workspace name, when there is one.
    pub workspace: Option<&'a str>,
    /// Recovery mode in words.
    pub mode: &'a str,
    /// Mounts to capture; empty in a mode that captures nothing.
    pub coverages: Vec<Coverage>,
    /// Limits of the baseline.
    pub limits: Limits,
    /// The process whose life is the instance's.
    pub keeper: Option<ProcessRef>,
    /// Shells that run a script, below the keeper: one of them may be the agent.
    pub scripts: Vec<ProcessRef>,
    /// Program name and number of arguments.
    pub command: Option<(String, u32)>,
    /// jackin's policy for a dirty work tree at the end, in jackin's own word.
    pub cleanup_policy: Option<String>,
    /// jackin's container that it is about.
    pub container: Option<ContainerRef>,
    /// Mounts whose files are not kept, but the state of their git repositories.
    pub watched: Vec<Coverage>,
    /// The agent whose hook it is.
    pub agent: Option<AgentRef>,
    /// Name, message and arguments.
    pub title: SessionTitle,
    /// Begin even when the baseline cannot be taken.
    pub run_without_baseline: bool,
    /// True if the caller stores the baseline during the session, where all mounts can be frozen ([`super::store_baseline`]).
    pub behind: bool,
    /// Wait until a cluster has frozen what lies in it, which may take long.
    pub waits: bool,
}

/// An instance that began.
pub struct Begun {
    /// Its id.
    pub instance: InstanceId,
    /// Held by a launcher as long as it lives.
    pub lock: LockGuard,
    /// The baseline, when the mode has one.
    pub baseline: Option<Captured>,
    /// Mounts whose files are not kept.
    pub watched: Vec<WatchedMount>,
    /// Error of the baseline, if there should be one and it failed.
    pub baseline_error: Option<CaptureError>,
    /// Frozen mounts of a baseline that is not stored yet.
    pub behind: Option<Frozen>,
    /// True if the deferred baseline could not be stored yet.
    pub waits: bool,
}

/// Begins an instance.
///
/// # Errors
/// [`SessionError::Baseline`] when the baseline fails and `run_without_baseline` is off; the instance is then recorded
/// as failed. [`SessionError::Store`].
pub fn begin(store: &Store, world: Services<'_>, request: BeginRequest<'_>) -> Result<Begun, SessionError> {
    // An earlier session on the same files whose end nobody saw is closed first: afterwards nobody could tell its
    // changes from this one's.
    let writable: Vec<Coverage> = request
        .coverages
        .iter()
        .chain(&request.watched)
        .cloned()
        .collect();
    let roots = roots(&writable);
    {
        let _no_restore = store.lock_restore(&roots)?;
        recover_interrupted_restores(store, world, &writable)?;
    }
    close_orphaned_sessions_on(store, world, &writable)?;
    let watch = |coverage| watch(store, coverage, request.limits, world.observer);
    let watched: Vec<WatchedMount> = request.watched.iter().map(watch).collect();
    let instance = InstanceId::new(random(world.entropy), request.label);
    let lock = store.lock_instance(&instance)?;
    // No session begins in the middle of a restore: its baseline would hold half of it. From the receipt on it is
    // active, and a restore that comes later refuses; so the lock is held no longer, and sessions do not exclude each
    // other.
    let no_restore = store.lock_restore(&roots)?;
    let act = Operation::Begin {
        workspace: request.workspace.map(str::to_owned),
        mode: request.mode.to_owned(),
        mounts: request.coverages.clone(),
        keeper: request.keeper,
        scripts: request.scripts,
        boot: process::current_boot(),
        command: request.command,
        cleanup_policy: request.cleanup_policy,
        container: request.container,
        watched: watched.clone(),
        agent: request.agent,
        title: request.title,
    };
    // The baseline's receipt follows, and one transaction serves for both.
    store.append_deferred(world.clock.now(), world.uid, &instance, act)?;
    drop(no_restore);
    let mut begun = Begun {
        instance,
        lock,
        baseline: None,
        watched,
        baseline_error: None,
        behind: None,
        waits: false,
    };
    if request.coverages.is_empty() {
        store.catalog().flush();
        return Ok(begun);
    }
    let capture = Request {
        workspace: request.workspace,
        limits: request.limits,
        enforce_limits: true,
        waits: request.waits,
        ..Request::of(
            &begun.instance,
            SnapshotKind::Baseline,
            &request.coverages,
            (world.clock.now(), world.uid),
        )
    };
    world.observer.reached("session-begun");
    let taken = match freeze(store, &capture, world.observer, world.entropy) {
        Ok(SnapshotAttempt {
            frozen: Some(frozen), ..
        }) if request.behind && frozen.paper().whole => {
            begun.behind = Some(frozen);
            store.catalog().flush();
            return Ok(begun);
        }
        Ok(freezing) => take_with(store, &capture, freezing, world.observer, world.entropy),
        Err(error) => Err(error),
    };
    match taken {
        Ok(captured) => begun.baseline = Some(captured),
        Err(source) => {
            let (kind, error) = (SnapshotKind::Baseline, source.to_string());
            let failed = Operation::CaptureFailed {
                kind,
                error: error.clone(),
            };
            // What failed first is what the operator must hear of, also when it cannot be written down.
            let recorded = store.append(world.clock.now(), world.uid, &begun.instance, failed);
            if request.run_without_baseline && !matches!(source, CaptureError::Interrupted) {
                recorded?;
                begun.baseline_error = Some(source);
                return Ok(begun);
            }
            let end = Operation::End {
                ending: Ending::Failed(error),
                survivors: Vec::new(),
            };
            let _ = store.append(world.clock.now(), world.uid, &begun.instance, end);
            return Err(SessionError::Baseline {
                instance: begun.instance,
                source: Box::new(source),
            });
        }
    }
    Ok(begun)
}

/// Returns the facts that a receipt records of a mount of which no file is kept.
///
/// Receipts are kept for good, so lists of unlimited length are omitted or cut short.
fn watch(store: &Store, coverage: &Coverage, limits: Limits, observer: &dyn Observer) -> WatchedMount {
    let (mut git, error) = match observe(store.layout(), coverage, limits, observer) {
        Ok(git) => (git, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let more = git.len().saturating_sub(MOST_WATCHED) as u64;
    git.truncate(MOST_WATCHED);
    for facts in &mut git {
        facts.shorten(MOST_WATCHED);
    }
    WatchedMount {
        coverage: coverage.clone(),
        git,
        more,
        error,
    }
}
