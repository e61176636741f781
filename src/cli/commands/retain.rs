//! The rules of retention as the configuration has them, and what happens by them when a session ends or a checkpoint is taken.

use std::cell::RefCell;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::config::{Config, ConfigError, Retention};
use crate::environment::Environment;
use crate::retention::{Acting, Care, Pruned, Rules, carry_out, is_due, plan, steady_now};
use crate::session::World;
use crate::store::{Store, StoreError};
use crate::terminal::{sanitize, size};

/// Calls `work` with the rules. Also gives the faults of workspaces' files: nothing of such a workspace goes.
pub(super) fn with_rules<T>(
    environment: &Environment,
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
            .warn(&format!("nothing of that workspace is given up: {fault}"));
    }
}

/// Names snapshots of file systems that nothing needs and that could not be removed: the next command tries again.
pub(super) fn tell_natives(context: &Context<'_>, pruned: &Pruned) {
    for stays in &pruned.swept.natives {
        context.terminal.warn(&sanitize::text(stays));
    }
}

/// What happened by the rules.
#[derive(Default)]
pub(super) struct Kept {
    pruned: Pruned,
    /// By so many bytes the store is still too large.
    lacking: u64,
    /// Others use the store, so nothing was done.
    is_busy: bool,
    faults: Vec<String>,
}

/// Gives up what goes beyond the rules, and says nothing.
pub(super) fn quietly(environment: &Environment, world: World<'_>, store: &Store) -> Result<Kept, CliError> {
    let (mut kept, faults) = with_rules(environment, |rules| {
        let now = world.clock.now();
        let steady = steady_now(store, now)?;
        if !is_due(store, rules, steady)? {
            return Ok(Kept::default());
        }
        let plan = plan(store, rules, Care::Passing, steady, world.observer)?;
        let mut kept = Kept {
            lacking: plan.lacking,
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

/// Gives up what goes beyond the rules. It happens beside what was asked for, so nothing that goes wrong here is more than a warning,
/// and a store that others use is left for another time.
pub(in crate::cli) fn by_the_rules(context: &Context<'_>, store: &Store) {
    let kept = match quietly(context.environment, context.world(), store) {
        Ok(kept) => kept,
        Err(error) => {
            let message = sanitize::text(&error.message);
            return context.terminal.warn(&format!(
                "what goes beyond the rules of retention is still there: {message}"
            ));
        }
    };
    tell_faults(context, &kept.faults);
    if kept.is_busy {
        context
            .terminal
            .detail("others use the store; what goes beyond the rules goes another time");
    }
    tell_natives(context, &kept.pruned);
    let count = kept.pruned.snapshots.len() as u64;
    if count > 0 {
        let snapshots = size::counted(count, "snapshot", "snapshots");
        let bytes = size::bytes(kept.pruned.freed().saturating_add(kept.pruned.repacked));
        context
            .terminal
            .detail(&format!("by the rules of retention {snapshots} went, {bytes}"));
    }
    if kept.lacking > 0 {
        context.terminal.warn(&format!(
            "the store is {} larger than retention allows, and all that is left in it is held",
            size::bytes(kept.lacking)
        ));
        context.propose("see what holds it", "prune --dry-run");
    }
}
