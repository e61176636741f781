//! `show`: one instance in full.

use super::diff::{no_store, settled};
use super::fork::called;
use super::frozen::natives_of;
use super::named_file::{Kind, Output};
use super::pending::waiting_instances;
use super::steps::{Steps, steps};
use crate::cli::args::ShowArgs;
use crate::cli::context::Context;
use crate::cli::document::{
    ChangedMeanwhileDocument, ForkedDocument, Head, ImportedDocument, InstanceDocument, ReasonDocument,
    RepositoryStateDocument, RestoredDocument, ShowDocument, WatchedDocument,
};
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::view::instances::{Begun, Imported};
use crate::cli::{html, view};
use crate::model::{
    Coverage, InstanceId, Operation, RepositoryFacts, SnapshotId, SnapshotKind, SnapshotRecord, WatchedMount,
};
use crate::session::{State, forked_from, state};
use crate::store::{ForkRow, InstanceRow, RestoreRow, SnapshotRow, Store};
use crate::terminal::sanitize;

/// So many of the newest snapshots are looked at in full.
const LOOKED_AT: usize = 20;

/// All that is known of a session.
pub(in crate::cli) struct SessionReport {
    pub(in crate::cli) row: InstanceRow,
    pub(in crate::cli) state: State,
    pub(in crate::cli) snapshots: Vec<SnapshotRow>,
    pub(in crate::cli) steps: Steps,
    pub(in crate::cli) pins: Vec<Option<SnapshotId>>,
    pub(in crate::cli) pruned: u64,
    pub(in crate::cli) restores: Vec<RestoreRow>,
    pub(in crate::cli) baseline: Option<SnapshotRecord>,
    /// Of the newest snapshots and the baseline: those during which files changed.
    pub(in crate::cli) changed_meanwhile: Vec<ChangedMeanwhileDocument>,
    pub(in crate::cli) begun: Begun,
    pub(in crate::cli) forks: Vec<ForkRow>,
    pub(in crate::cli) forked_from: Option<ForkRow>,
    pub(in crate::cli) imported: Option<Imported>,
    /// Reason for a missing closing snapshot.
    pub(in crate::cli) closing_error: Option<String>,
}

impl SessionReport {
    pub(in crate::cli) fn of(store: &Store, row: InstanceRow) -> Result<Self, CliError> {
        let catalog = store.catalog();
        let all_forks = catalog.forks()?;
        let snapshots = catalog.snapshots(&row.id)?;
        let pins = catalog.pins()?.into_iter().filter(|(of, _)| *of == row.id);
        let baseline = snapshots.iter().find(|row| row.kind == SnapshotKind::Baseline);
        let baseline = match baseline {
            Some(row) => Some(store.record(&row.id)?),
            None => None,
        };
        let newest = snapshots.iter().take(LOOKED_AT);
        let records = newest.filter_map(|row| store.record(&row.id).ok());
        let older = baseline.clone().filter(|_| snapshots.len() > LOOKED_AT);
        let changed_meanwhile = records.chain(older);
        Ok(Self {
            changed_meanwhile: changed_meanwhile
                .filter_map(|record| ChangedMeanwhileDocument::of(&record))
                .collect(),
            state: state(store, &row),
            steps: steps(store, &row, &snapshots)?,
            pins: pins.map(|(_, snapshot)| snapshot).collect(),
            pruned: catalog.pruned_of(&row.id)?.len() as u64,
            restores: catalog.restores(&row.id)?,
            begun: begun(store, &row.id)?,
            imported: imported(store, &row)?,
            closing_error: catalog.missing_closings()?.remove(&row.id),
            forked_from: forked_from(store, &all_forks, &row)?.cloned(),
            forks: all_forks
                .into_iter()
                .filter(|fork| fork.instance == row.id)
                .collect(),
            baseline,
            snapshots,
            row,
        })
    }

    /// Returns true if the snapshot or the whole session is pinned.
    pub(in crate::cli) fn is_pinned(&self, snapshot: &SnapshotId) -> bool {
        let mut pins = self.pins.iter();
        pins.any(|pin| pin.as_ref().is_none_or(|id| id == snapshot))
    }

    /// The git repositories as they were found at the beginning.
    pub(in crate::cli) fn repositories(&self) -> Vec<(&Coverage, &RepositoryFacts)> {
        let kept = self.baseline.iter().flat_map(SnapshotRecord::repositories);
        let seen = self.begun.watched.iter().flat_map(WatchedMount::repositories);
        kept.chain(seen).collect()
    }
}

pub(super) fn run(context: &Context<'_>, args: &ShowArgs) -> Result<Status, CliError> {
    let page = args.html.as_ref();
    let page = page
        .map(|file| Output::settle(context, file, Kind::Page))
        .transpose()?;
    let reading = context
        .store_for_reading()?
        .ok_or_else(|| no_store(&args.instance))?;
    let (row, fork) = called(context, &reading, &args.instance)?;
    let (store, row) = settled(context, reading, row)?;
    let known = SessionReport::of(&store, row)?;
    if let Some(file) = &page {
        let page = html::page(&store, &known, None, context.now())?;
        return file.write_page(context, &page);
    }
    let row = &known.row;
    if args.json {
        context.terminal.json(&ShowDocument {
            head: Head::default(),
            instance: InstanceDocument::new(
                row,
                &known.state,
                &known.snapshots,
                known.forked_from.as_ref(),
                waiting_instances(&store).contains(&row.id),
            )
            .keeping(natives_of(&store, &row.id))
            .lacking(known.closing_error.clone()),
            command: row.command.as_ref(),
            steps: known
                .steps
                .counts
                .iter()
                .map(|(id, counts)| (id.to_string(), *counts))
                .collect(),
            calls: known
                .steps
                .calls
                .iter()
                .map(|(id, call)| (id.to_string(), call))
                .collect(),
            agent: known.begun.agent.as_ref(),
            pinned: known
                .pins
                .iter()
                .map(|pin| pin.as_ref().map(ToString::to_string))
                .collect(),
            pruned: known.pruned,
            coverage: &row.mounts,
            lacks: known.baseline.as_ref().map(lacks).unwrap_or_default(),
            changed_meanwhile: &known.changed_meanwhile,
            cleanup_policy: known.begun.cleanup_policy.as_deref(),
            container: known.begun.container.as_ref(),
            git: known
                .repositories()
                .iter()
                .map(|(coverage, facts)| RepositoryStateDocument::new(coverage, facts))
                .collect(),
            watched: known.begun.watched.iter().map(WatchedDocument::from).collect(),
            restores: RestoredDocument::all(&known.restores),
            forks: known.forks.iter().map(ForkedDocument::new).collect(),
            fork: fork.map(|fork| fork.id.to_string()),
            imported: known.imported.as_ref().map(ImportedDocument::from),
        });
        return Ok(ExitCode::Done.into());
    }
    let width = context.terminal.width_out();
    context.terminal.out(&view::instances::show(
        &known,
        fork.as_ref(),
        context.now(),
        width,
    ));
    for native in natives_of(&store, &row.id) {
        let place = sanitize::text(&native.place);
        let what = if native.kept {
            "kept by the file system in"
        } else {
            "is frozen until it is stored, in"
        };
        context
            .terminal
            .out(&format!("{}: {what} {place}", native.snapshot));
    }
    if known.baseline.is_some() {
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

/// The file that an instance came from.
fn imported(store: &Store, row: &InstanceRow) -> Result<Option<Imported>, CliError> {
    if !row.is_imported() {
        return Ok(None);
    }
    let receipts = store.catalog().receipts_of(&row.id)?;
    Ok(receipts.into_iter().find_map(|receipt| match receipt.act {
        Operation::Import {
            file, digest, origin, ..
        } => Some(Imported {
            file: file.to_path(),
            digest,
            origin,
        }),
        _ => None,
    }))
}

/// Returns the facts of a session's first receipt that its catalog row lacks.
pub(in crate::cli) fn begun(store: &Store, instance: &InstanceId) -> Result<Begun, CliError> {
    let (first, _) = store.catalog().lifetime(instance)?;
    let receipt = match first {
        Some(number) => store.catalog().receipt(number)?,
        None => None,
    };
    let found = receipt.and_then(|receipt| match receipt.act {
        Operation::Begin {
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
