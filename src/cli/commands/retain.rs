//! The rules of retention as the configuration has them, and what happens by them when a session ends or a checkpoint is taken.

use std::cell::RefCell;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::config::{Config, ConfigError, Retention};
use crate::retention::{Acting, Care, Rules, carry_out, is_due, plan};
use crate::store::{Store, StoreError};
use crate::terminal::{sanitize, size};

/// Calls `work` with the rules. A fault in a workspace's file is told, and nothing of that workspace goes.
pub(super) fn with_rules<T>(
    context: &Context<'_>,
    work: impl FnOnce(&Rules<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let config = Config::load(context.environment)?;
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
    });
    let mut told: Vec<String> = faults.into_inner().iter().map(ToString::to_string).collect();
    told.sort();
    told.dedup();
    for fault in told {
        let fault = sanitize::text(&fault);
        context
            .terminal
            .warn(&format!("nothing of that workspace is given up: {fault}"));
    }
    done
}

/// Gives up what goes beyond the rules. It happens beside what was asked for, so nothing that goes wrong here is more than a warning,
/// and a store that others use is left for another time.
pub(super) fn by_the_rules(context: &Context<'_>, store: &Store) {
    let done = with_rules(context, |rules| {
        let world = context.world();
        if !is_due(store, rules, context.now())? {
            return Ok(());
        }
        let plan = plan(store, rules, Care::Passing, context.now(), world.observer)?;
        let lacking = plan.lacking;
        if plan.chosen.is_empty() && !plan.repacks() {
            tell_lacking(context, lacking);
            return Ok(());
        }
        let acting = Acting {
            entropy: world.entropy,
            observer: world.observer,
            now: context.now(),
            uid: world.uid,
            automatic: true,
        };
        match carry_out(store, plan, &acting) {
            Err(StoreError::Locked { .. }) => {
                context
                    .terminal
                    .detail("others use the store; what goes beyond the rules goes another time");
            }
            Err(error) => return Err(error.into()),
            Ok(pruned) => {
                let count = pruned.snapshots.len() as u64;
                if count > 0 {
                    let snapshots = size::counted(count, "snapshot", "snapshots");
                    let bytes = size::bytes(pruned.swept.bytes.saturating_add(pruned.repacked));
                    context
                        .terminal
                        .detail(&format!("by the rules of retention {snapshots} went, {bytes}"));
                }
                tell_lacking(context, lacking);
            }
        }
        Ok(())
    });
    if let Err(error) = done {
        let message = sanitize::text(&error.message);
        context.terminal.warn(&format!(
            "what goes beyond the rules of retention is still there: {message}"
        ));
    }
}

fn tell_lacking(context: &Context<'_>, lacking: u64) {
    if lacking > 0 {
        context.terminal.warn(&format!(
            "the store is {} larger than retention allows, and all that is left in it is held",
            size::bytes(lacking)
        ));
        context.propose("see what holds it", "prune --dry-run");
    }
}
