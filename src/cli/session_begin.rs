//! Messages about a session that begins, and about a snapshot of it.

use super::context::Context;
use super::error::CliError;
use super::view;
use super::written_snapshot::print_changed_meanwhile;
use crate::capture::Captured;
use crate::contract::Contract;
use crate::display::size;
use crate::model::{Coverage, InstanceId, RepositoryFacts, SnapshotRecord, WatchedMount};
use crate::report::RepositoryStateDocument;
use crate::session::Begun;
use crate::store::Store;
use crate::terminal::sanitize;

/// Warns about live sessions on the same files other than `own`. They are no reason to stop.
pub(super) fn say_who_else(
    context: &Context<'_>,
    store: &Store,
    contract: &Contract,
    own: Option<&InstanceId>,
) -> Result<(), CliError> {
    for id in context.engine().active_beside(store, contract)? {
        if Some(&id) != own {
            context.terminal.warn(&format!(
                "{id} is also active here; files that both change are reported as conflicts"
            ));
        }
    }
    Ok(())
}

/// Warns about each path in the contract that does not exist yet; nothing of it is captured.
pub(super) fn warn_of_absent(context: &Context<'_>, contract: &Contract) {
    for mount in &contract.mounts {
        for path in &mount.absent_paths {
            let host = sanitize::path(&path.on_host(&mount.root.to_path()));
            context.terminal.warn(&format!(
                "{host} is not there yet, and only what is tracked is captured"
            ));
        }
    }
}

/// Prints what the operator must know before the agent starts; the state of git repositories only `with_git`.
pub(super) fn warn_about(context: &Context<'_>, begun: &Begun, with_git: bool) {
    if let Some(error) = &begun.baseline_error {
        context.terminal.warn(&format!(
            "the baseline failed, so nothing can be restored: {error}"
        ));
    }
    let record = begun.baseline.as_ref().map(|captured| &captured.record);
    tell_notes(context, begun.baseline.as_ref());
    if let Some(record) = record {
        let baseline = format!("baseline {} of {} is stored", record.id, begun.instance);
        context.terminal.detail(&baseline);
    }
    let watched = begun.watched.iter().flat_map(WatchedMount::repositories);
    let kept = record.into_iter().flat_map(SnapshotRecord::repositories);
    let all: Vec<_> = watched.chain(kept).collect();
    if with_git {
        tell_of_repositories(context, &all, begun.instance.as_str());
    }
    let Some(record) = record else { return };
    warn_of_unsteady(context, record);
    print_changed_meanwhile(context, record);
    if record.complete {
        return;
    }
    let lacking: u64 = record.mounts.iter().map(|mount| mount.gap_count).sum();
    let lacking = size::counted(lacking, "path is missing", "paths are missing");
    let mut text = format!("the baseline is incomplete: {lacking}");
    for gap in record.mounts.iter().flat_map(|mount| &mount.gaps).take(5) {
        let path = sanitize::name(gap.path.as_bytes());
        text.push_str(&format!("\n  {path}: {}", gap.reason));
    }
    let command = context.command(&format!("show {}", begun.instance));
    text.push_str(&format!("\n  to list all: {command}"));
    context.terminal.warn(&text);
}

/// Says what became of snapshots of file systems that did not go as agreed.
pub(super) fn tell_notes(context: &Context<'_>, captured: Option<&Captured>) {
    for note in captured.into_iter().flat_map(|captured| &captured.notes) {
        context.terminal.warn(&sanitize::text(note));
    }
}

/// Prints notes about the first repositories found at the start. Each class says what is lost with the directory.
fn tell_of_repositories(context: &Context<'_>, all: &[(&Coverage, &RepositoryFacts)], instance: &str) {
    const SHOWN: usize = 5;
    for (coverage, facts) in all.iter().take(SHOWN) {
        context
            .terminal
            .note(&view::repository::sentence(&RepositoryStateDocument::new(
                coverage, facts,
            )));
    }
    if all.len() > SHOWN {
        let rest = all.len() - SHOWN;
        let command = context.command(&format!("show {instance}"));
        context
            .terminal
            .note(&format!("git: {rest} more repositories: {command}"));
    }
}

/// Says which repositories did not hold still while they were captured.
pub(super) fn warn_of_unsteady(context: &Context<'_>, record: &SnapshotRecord) {
    for (coverage, facts) in record.repositories() {
        let Some(why) = &facts.unsteady else { continue };
        let own = sanitize::path(&facts.own.on_host(&coverage.root.to_path()));
        context.terminal.warn(&format!(
            "git was running in {own} the whole time, so its state in {} may be inconsistent: {}",
            record.id,
            sanitize::text(why)
        ));
    }
}
