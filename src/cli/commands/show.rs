//! `show`: one instance in full.

use super::diff::open;
use super::pending::waiting_instances;
use crate::cli::args::ShowArgs;
use crate::cli::context::Context;
use crate::cli::document::{
    Head, InstanceDocument, ReasonDocument, RepositoryStateDocument, RestoredDocument, ShowDocument,
};
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::view;
use crate::session::state;
use crate::snapshot::{SnapshotKind, SnapshotRecord};

pub(super) fn run(context: &Context<'_>, args: &ShowArgs) -> Result<Status, CliError> {
    let (store, row) = open(context, &args.instance)?;
    let snapshots = store.catalog().snapshots(&row.id)?;
    let restores = store.catalog().restores(&row.id)?;
    let state = state(&store, &row);
    let baseline = snapshots.iter().find(|row| row.kind == SnapshotKind::Baseline);
    let baseline = match baseline {
        Some(row) => Some(store.record(&row.id)?),
        None => None,
    };
    if args.json {
        context.terminal.json(&ShowDocument {
            head: Head::default(),
            instance: InstanceDocument::new(
                &row,
                &state,
                &snapshots,
                waiting_instances(&store).contains(&row.id),
            ),
            command: row.command.as_ref(),
            coverage: &row.mounts,
            lacks: baseline.as_ref().map(lacks).unwrap_or_default(),
            git: baseline.as_ref().map(git).unwrap_or_default(),
            restores: restores.iter().map(RestoredDocument::from).collect(),
        });
        return Ok(ExitCode::Done.into());
    }
    let shown = view::instances::Shown {
        row: &row,
        state: &state,
        snapshots: &snapshots,
        restores: &restores,
        baseline: baseline.as_ref(),
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

fn git(record: &SnapshotRecord) -> Vec<RepositoryStateDocument<'_>> {
    let all = record
        .mounts
        .iter()
        .flat_map(|mount| mount.git.iter().flatten().map(move |facts| (mount, facts)));
    all.map(|(mount, facts)| RepositoryStateDocument::new(&mount.coverage, facts))
        .collect()
}
