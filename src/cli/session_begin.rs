//! The beginning of a session for every command that begins one, and what the operator must know about it.

use super::context::Context;
use super::document::ChangedMeanwhileDocument;
use super::error::CliError;
use super::repositories::warn_of_unsteady;
use super::view;
use crate::capture::{Captured, Limits};
use crate::config::OnFailure;
use crate::contract::Contract;
use crate::model::{
    AgentRef, ContainerRef, Coverage, ProcessRef, RepositoryFacts, SnapshotRecord, WatchedMount,
};
use crate::session::{BeginRequest, Begun, begin};
use crate::store::Store;
use crate::terminal::sanitize;

/// Begins an instance by a contract.
pub(super) fn begin_instance(
    context: &Context<'_>,
    store: &Store,
    contract: &Contract,
    keeper: Option<ProcessRef>,
    command: Option<(String, u32)>,
    agent: Option<AgentRef>,
) -> Result<Begun, CliError> {
    let limits = Limits {
        max_entries: contract.limits.max_entries.value,
        max_bytes: contract.limits.max_bytes.value,
    };
    let behind = command.is_some();
    let request = BeginRequest {
        label: &contract.label,
        workspace: contract.subject.workspace(),
        mode: contract.snapshot.mode.word(),
        coverages: contract.coverages().cloned().collect(),
        limits,
        keeper,
        command,
        cleanup_policy: contract.cleanup_policy.clone(),
        container: contract.jackin.as_ref().and_then(|jackin| {
            Some(ContainerRef {
                name: jackin.container.clone()?,
                id: jackin.instance_id.clone(),
            })
        }),
        watched: contract.watched.clone(),
        agent,
        run_without_baseline: contract.on_failure.value == OnFailure::Run,
        behind,
        // An agent waits for its first tool call otherwise.
        waits: context.takes_up_frozen,
    };
    Ok(begin(store, context.world(), request)?)
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

/// Says what the operator must know before the agent starts.
pub(super) fn warn_about(context: &Context<'_>, begun: &Begun) {
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
    tell_of_repositories(context, &all, begun.instance.as_str());
    let Some(record) = record else { return };
    warn_of_unsteady(context, record);
    if let Some(changed) = ChangedMeanwhileDocument::of(record) {
        context.terminal.warn(&changed.line());
    }
    if record.complete {
        return;
    }
    let lacking: u64 = record.mounts.iter().map(|mount| mount.gap_count).sum();
    let mut text =
        format!("the baseline is not complete: it lacks {lacking} of the paths that it should hold");
    for gap in record.mounts.iter().flat_map(|mount| &mount.gaps).take(5) {
        let path = sanitize::name(gap.path.as_bytes());
        text.push_str(&format!("\n  {path}: {}", gap.reason));
    }
    let command = context.command(&format!("show {}", begun.instance));
    text.push_str(&format!("\n  all of them: {command}"));
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
            .note(&view::repository::sentence(coverage, facts));
    }
    if all.len() > SHOWN {
        let rest = all.len() - SHOWN;
        let command = context.command(&format!("show {instance}"));
        context
            .terminal
            .note(&format!("git: {rest} more repositories: {command}"));
    }
}
