//! `show`: one instance in full.

use super::diff::{no_store, settled};
use super::fork::called;
use super::pending::waiting_instances;
use super::steps::steps;
use crate::cli::args::ShowArgs;
use crate::cli::context::Context;
use crate::cli::document::{
    ForkedDocument, Head, InstanceDocument, ReasonDocument, RepositoryStateDocument, RestoredDocument,
    ShowDocument, WatchedDocument,
};
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::view;
use crate::cli::view::instances::Begun;
use crate::session::{forked_from, state};
use crate::snapshot::{Act, InstanceId, SnapshotKind, SnapshotRecord, WatchedMount};
use crate::store::{ForkRow, Store};

pub(super) fn run(context: &Context<'_>, args: &ShowArgs) -> Result<Status, CliError> {
    let reading = context
        .store_for_reading()?
        .ok_or_else(|| no_store(&args.instance))?;
    let (row, fork) = called(context, &reading, &args.instance)?;
    let (store, row) = settled(context, reading, row)?;
    let all_forks = store.catalog().forks()?;
    let forked_from = forked_from(&store, &all_forks, &row)?;
    let forks: Vec<&ForkRow> = all_forks.iter().filter(|fork| fork.instance == row.id).collect();
    let snapshots = store.catalog().snapshots(&row.id)?;
    let restores = store.catalog().restores(&row.id)?;
    let state = state(&store, &row);
    let steps = steps(&store, &row, &snapshots)?;
    let pins = store
        .catalog()
        .pins()?
        .into_iter()
        .filter(|(of, _)| *of == row.id);
    let pins: Vec<_> = pins.map(|(_, snapshot)| snapshot).collect();
    let pruned = store.catalog().pruned_of(&row.id)?.len() as u64;
    let baseline = snapshots.iter().find(|row| row.kind == SnapshotKind::Baseline);
    let baseline = match baseline {
        Some(row) => Some(store.record(&row.id)?),
        None => None,
    };
    let begun = begun(&store, &row.id)?;
    let kept = baseline.iter().flat_map(SnapshotRecord::repositories);
    let seen = begun.watched.iter().flat_map(WatchedMount::repositories);
    let repositories: Vec<_> = kept.chain(seen).collect();
    if args.json {
        context.terminal.json(&ShowDocument {
            head: Head::default(),
            instance: InstanceDocument::new(
                &row,
                &state,
                &snapshots,
                forked_from,
                waiting_instances(&store).contains(&row.id),
            ),
            command: row.command.as_ref(),
            steps: steps
                .counts
                .iter()
                .map(|(id, counts)| (id.to_string(), *counts))
                .collect(),
            calls: steps
                .calls
                .iter()
                .map(|(id, call)| (id.to_string(), call))
                .collect(),
            agent: begun.agent.as_ref(),
            pinned: pins
                .iter()
                .map(|pin| pin.as_ref().map(ToString::to_string))
                .collect(),
            pruned,
            coverage: &row.mounts,
            lacks: baseline.as_ref().map(lacks).unwrap_or_default(),
            cleanup_policy: begun.cleanup_policy.as_deref(),
            container: begun.container.as_ref(),
            git: repositories
                .iter()
                .map(|(coverage, facts)| RepositoryStateDocument::new(coverage, facts))
                .collect(),
            watched: begun.watched.iter().map(WatchedDocument::from).collect(),
            restores: restores.iter().map(RestoredDocument::from).collect(),
            forks: forks.iter().map(|fork| ForkedDocument::new(fork)).collect(),
            fork: fork.map(|fork| fork.id.to_string()),
        });
        return Ok(ExitCode::Done.into());
    }
    let shown = view::instances::Shown {
        row: &row,
        state: &state,
        snapshots: &snapshots,
        steps: &steps.counts,
        pins: &pins,
        pruned,
        restores: &restores,
        baseline: baseline.as_ref(),
        begun: &begun,
        repositories: &repositories,
        forks: &forks,
        meant: fork.as_ref(),
        forked_from,
    };
    let width = context.terminal.width_out();
    context
        .terminal
        .out(&view::instances::show(&shown, context.now(), width));
    if baseline.is_some() {
        context.propose("what changed", &format!("diff {}", row.id));
    }
    Ok(ExitCode::Done.into())
}

fn lacks(record: &SnapshotRecord) -> Vec<ReasonDocument> {
    let all = record
        .mounts
        .iter()
        .flat_map(|mount| mount.gaps.iter().map(move |gap| (mount, gap)));
    all.map(|(mount, gap)| ReasonDocument::new(&mount.coverage, &gap.path, gap.reason.clone()))
        .collect()
}

/// What was written down when an instance began, beside what is in its row.
fn begun(store: &Store, instance: &InstanceId) -> Result<Begun, CliError> {
    let (first, _) = store.catalog().lifetime(instance)?;
    let receipt = match first {
        Some(number) => store.catalog().receipt(number)?,
        None => None,
    };
    let found = receipt.and_then(|receipt| match receipt.act {
        Act::Begin {
            cleanup_policy,
            container,
            watched,
            agent,
            ..
        } => Some(Begun {
            cleanup_policy,
            container,
            watched,
            agent,
        }),
        _ => None,
    });
    Ok(found.unwrap_or_default())
}
