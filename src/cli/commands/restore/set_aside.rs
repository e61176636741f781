//! `--set-aside-excluded`: the directories that were named, as part of the proposal.

use std::path::Path;

use crate::cli::args::RestoreArgs;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::paths;
use crate::model::{Coverage, Intent};
use crate::restore::{AsideError, Proposal, Purpose, bring_back, set_aside};
use crate::store::Store;
use crate::terminal::sanitize;

/// Number of excluded directories that a hint names.
const NAMED: usize = 8;

pub(super) fn add(
    context: &Context<'_>,
    proposal: &mut Proposal,
    args: &RestoreArgs,
) -> Result<(), CliError> {
    let mounts = proposal.mounts.iter();
    let coverages: Vec<Coverage> = mounts.map(|mount| mount.request.coverage.clone()).collect();
    for argument in &args.set_aside_excluded {
        let (mount, path) = paths::place(context.environment, &coverages, Path::new(argument))?;
        set_aside(proposal, mount, &path, context.world().entropy)
            .map_err(|error| refused(error, proposal))?;
    }
    Ok(())
}

/// Adds the set-aside moves of an interrupted restore's intent to a new proposal.
pub(in crate::cli::commands) fn again(
    context: &Context<'_>,
    store: &Store,
    proposal: &mut Proposal,
    intent: &Intent,
) -> Result<(), CliError> {
    let entropy = context.world().entropy;
    if let Purpose::Undo(number) = Purpose::of(intent) {
        let restores = store.catalog().restores(&intent.instance)?;
        let undone = restores.iter().find(|restore| restore.number == number);
        let changes = undone.map_or(&[] as &[_], |restore| &restore.aside);
        bring_back(proposal, changes, entropy);
        return Ok(());
    }
    for mount in &intent.mounts {
        let label = &mount.coverage.label;
        let mut mounts = proposal.mounts.iter();
        let at = mounts.position(|proposed| proposed.request.coverage.label == *label);
        for (at, step) in at
            .into_iter()
            .flat_map(|at| mount.aside.iter().map(move |step| (at, step)))
        {
            set_aside(proposal, at, &step.path, entropy).map_err(|error| refused(error, proposal))?;
        }
    }
    Ok(())
}

fn refused(error: AsideError, proposal: &Proposal) -> CliError {
    let message = sanitize::text(&error.to_string());
    let made = CliError {
        message,
        ..error.into()
    };
    let mut there = Vec::new();
    for mount in &proposal.mounts {
        let root = mount.request.coverage.root.to_path();
        let left = mount.now.skipped.iter().filter(|left| left.is_dir);
        there.extend(left.map(|left| sanitize::path(&left.path.on_host(&root))));
    }
    if there.is_empty() {
        return made.hint("the snapshot's excludes leave no directory out that is there now");
    }
    let more = match there.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    there.truncate(NAMED);
    made.hint(format!(
        "excluded directories that are there: {}{more}",
        there.join(", ")
    ))
}
