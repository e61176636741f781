//! The retention policy of the configuration, and what it deletes when a session ends or a checkpoint is taken.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::view::receipt::reason_words;
use crate::config::{Config, ConfigError, Retention};
use crate::environment::Environment;
use crate::model::{InstanceId, PruneReason};
use crate::retention::{Acting, Care, Pruned, Rules, Shortage, carry_out, is_due, plan, steady_now};
use crate::session::Services;
use crate::store::{Store, StoreError};
use crate::terminal::{sanitize, size};

/// Calls `work` with the rules; `own` is the session beside which they are asked. Also gives the faults of workspaces' files: nothing of such a workspace goes.
pub(super) fn with_rules<T>(
    environment: &Environment,
    own: Option<&InstanceId>,
    work: impl FnOnce(&Rules<'_>) -> Result<T, CliError>,
) -> Result<(T, Vec<String>), CliError> {
    let config = Config::load(environment)?;
    let faults: RefCell<Vec<ConfigError>> = RefCell::default();
    let of = |workspace: Option<&str>| {
        config.retention(workspace).unwrap_or_else(|error| {
            faults.borrow_mut().push(error);
            Retention::unlimited()
        })
    };
    let done = work(&Rules {
        of: &of,
        room: config.room(),
        own,
    })?;
    let mut told: Vec<String> = faults.into_inner().iter().map(ToString::to_string).collect();
    told.sort();
    told.dedup();
    Ok((done, told))
}

/// Tells of workspaces whose rules cannot be read.
pub(super) fn tell_faults(context: &Context<'_>, faults: &[String]) {
    for fault in faults {
        let fault = sanitize::text(fault);
        context
            .terminal
            .warn(&format!("no snapshot of that workspace is deleted: {fault}"));
    }
}

/// Names snapshots of file systems that nothing needs and that could not be removed: the next command tries again.
pub(super) fn tell_natives(context: &Context<'_>, pruned: &Pruned) {
    for stays in &pruned.swept.natives {
        context.terminal.warn(&sanitize::text(stays));
    }
}

/// Result of applying the retention policy.
#[derive(Default)]
pub(super) struct Kept {
    pruned: Pruned,
    /// Number of bytes by which the store is still too large.
    lacking: u64,
    /// Lack of free disk space for which nothing was deleted; `None` if enough is free.
    shortage: Option<Shortage>,
    /// Disk space used by the store, in bytes.
    size: u64,
    /// True if other processes use the store, so nothing was done.
    is_busy: bool,
    faults: Vec<String>,
}

/// Prunes the workspace of the session `own` by the rules, and prints nothing.
pub(super) fn quietly(
    environment: &Environment,
    world: Services<'_>,
    store: &Store,
    own: &InstanceId,
) -> Result<Kept, CliError> {
    let (mut kept, faults) = with_rules(environment, Some(own), |rules| {
        let now = world.clock.now();
        let steady = steady_now(store, now)?;
        if !is_due(store, rules, steady)? {
            return Ok(Kept::default());
        }
        let plan = plan(store, rules, Care::Passing, steady, world.observer)?;
        let mut kept = Kept {
            lacking: plan.lacking,
            shortage: plan.shortage,
            size: plan.size.all(),
            ..Kept::default()
        };
        if plan.chosen.is_empty() && !plan.repacks() {
            return Ok(kept);
        }
        let acting = Acting {
            entropy: world.entropy,
            observer: world.observer,
            now,
            uid: world.uid,
            automatic: true,
        };
        match carry_out(store, plan, &acting) {
            Err(StoreError::Locked { .. }) => kept.is_busy = true,
            Err(error) => return Err(error.into()),
            Ok(pruned) => kept.pruned = pruned,
        }
        Ok(kept)
    })?;
    kept.faults = faults;
    Ok(kept)
}

/// Prunes the workspace of the session `own` by the rules. It happens beside what was asked for, so nothing that goes wrong here is
/// more than a warning, and a store that others use is left for another time.
pub(super) fn by_the_rules(context: &Context<'_>, store: &Store, own: &InstanceId) {
    let kept = match quietly(context.environment, context.world(), store, own) {
        Ok(kept) => kept,
        Err(error) => {
            let message = sanitize::text(&error.message);
            return context.terminal.warn(&format!(
                "snapshots that exceed the retention policy were not deleted: {message}"
            ));
        }
    };
    tell_faults(context, &kept.faults);
    if kept.is_busy {
        context
            .terminal
            .detail("the store is in use; snapshots that exceed the retention policy are deleted later");
    }
    tell_natives(context, &kept.pruned);
    tell_pruned(context, &kept.pruned);
    if kept.lacking > 0 {
        context.terminal.warn(&format!(
            "the store is {} larger than retention allows, and nothing more of this workspace may be deleted",
            size::bytes(kept.lacking)
        ));
        context.propose("details", "prune --dry-run");
    }
    if let Some(shortage) = kept.shortage {
        context.terminal.warn(&shortage_words(shortage, kept.size));
        if kept.size > shortage.missing {
            context.propose("details", "prune --dry-run");
        }
    }
}

/// Names what was deleted, session by session, with the bytes that are free.
fn tell_pruned(context: &Context<'_>, pruned: &Pruned) {
    const NAMED: usize = 5;
    let mut sessions: BTreeMap<(&InstanceId, PruneReason), u64> = BTreeMap::new();
    for snapshot in &pruned.snapshots {
        *sessions.entry((&snapshot.instance, snapshot.reason)).or_default() += 1;
    }
    if sessions.is_empty() {
        return;
    }
    let bytes = size::bytes(pruned.freed().saturating_add(pruned.repacked));
    let mut told: Vec<String> = sessions
        .iter()
        .take(NAMED)
        .map(|((instance, reason), count)| {
            let count = size::counted(*count, "snapshot", "snapshots");
            format!("{count} of {instance} ({})", reason_words(*reason))
        })
        .collect();
    if sessions.len() > NAMED {
        told.push(format!("{} more sessions", sessions.len() - NAMED));
    }
    context.terminal.note(&format!(
        "The retention policy deleted {}; {bytes} are free again.",
        told.join(", ")
    ));
}

/// Describes a lack of free disk space, and what deleting snapshots could free.
pub(super) fn shortage_words(shortage: Shortage, store: u64) -> String {
    let (free, floor) = (size::bytes(shortage.free), size::bytes(shortage.floor));
    let short = format!("{free} are free on the disk of the store, and min_free keeps {floor} free");
    let missing = size::bytes(shortage.missing);
    let taken = size::bytes(store);
    if store <= shortage.missing {
        format!("{short}: the store takes {taken}, so pruning cannot free the missing {missing}")
    } else if shortage.within_reach < shortage.missing {
        let reach = size::bytes(shortage.within_reach);
        format!(
            "{short}: no snapshot was deleted, because only {reach} of the missing {missing} may be deleted here"
        )
    } else {
        format!("{short}: no snapshot was deleted, because the store is not what filled the disk")
    }
}
