//! What changed about the repositories of a mount.

use std::collections::BTreeSet;

use crate::cli::context::Context;
use crate::diff::{Change, RepositoryChange, compare_repository, is_secret};
use crate::git::{Files, Live, Repositories, work_tree};
use crate::mount::Root;
use crate::restore::{Proposal, Report};
use crate::snapshot::{Coverage, Manifest, RelPath, SnapshotRecord};
use crate::store::{Blobs, Store, StoredTree};
use crate::terminal::sanitize;

/// The repositories that `changes` concern. The later state is that of the live mount when no content is given with it.
pub(super) fn repositories(
    coverage: &Coverage,
    (before, blobs): (Option<&Manifest>, &Blobs),
    (after, later): (Option<&Manifest>, Option<&Blobs>),
    changes: &[Change],
    show_secrets: bool,
) -> Vec<RepositoryChange> {
    let host = coverage.root.to_path();
    let sides = || [before, after].into_iter().flatten();
    let stored = |manifest, blobs| StoredTree::new(manifest, blobs, &host);
    let then = before.map(|manifest| stored(manifest, blobs));
    let root = later.is_none().then(|| Root::open(&host).ok()).flatten();
    let later = after.zip(later).map(|(manifest, blobs)| stored(manifest, blobs));
    let live = root.as_ref().map(Live::new);
    let then = then.as_ref().map(|files| files as &dyn Files);
    let now = match (&later, &live) {
        (Some(files), _) => Some(files as &dyn Files),
        (None, live) => live.as_ref().map(|files| files as &dyn Files),
    };
    let mut found = Vec::new();
    let all = Repositories::of(sides());
    for own in concerned(&all, changes) {
        let mut change = compare_repository(own, then, now, changes);
        let is_private = |config| sides().any(|side| is_secret(config, side.entry(config)));
        if !show_secrets && change.configs.iter().any(is_private) {
            change.hide_values();
        }
        if !change.is_nothing() {
            found.push(change);
        }
    }
    found
}

/// Those of which something changed, or something in the work tree that git takes orders from.
fn concerned<'r>(all: &'r Repositories, changes: &[Change]) -> BTreeSet<&'r RelPath> {
    let mut found: BTreeSet<&RelPath> = changes
        .iter()
        .filter_map(|change| all.holding(&change.path))
        .collect();
    let is_attributes = |change: &&Change| {
        let name = change.path.split().map(|(_, name)| name);
        name.is_some_and(|name| name.as_bytes() == b".gitattributes")
    };
    for change in changes.iter().filter(is_attributes) {
        found.extend(all.iter().filter(|own| change.path.is_within(&work_tree(own))));
    }
    found
}

/// The repositories that a restore took commits out of, which only its emergency snapshot has now: the change from what is there
/// now to what was there before.
pub(super) fn emptied(
    store: &Store,
    proposal: &Proposal,
    report: &Report,
) -> Vec<(Coverage, RepositoryChange)> {
    let Some(emergency) = report.emergency.as_ref().and_then(|id| store.record(id).ok()) else {
        return Vec::new();
    };
    let (now, before) = (
        store.blobs(&proposal.target.archives),
        store.blobs(&emergency.archives),
    );
    let mut found = Vec::new();
    for (mount, done) in proposal.mounts.iter().zip(&report.mounts) {
        let changes: Vec<Change> = done
            .applied(&mount.plan)
            .iter()
            .map(|step| step.change.clone())
            .collect();
        let coverage = &mount.request.coverage;
        let changed = repositories(
            coverage,
            (mount.target.as_ref(), &now),
            (mount.now.manifest.as_ref(), Some(&before)),
            &changes,
            false,
        );
        let has_any = |change: &RepositoryChange| {
            let mut both = [&change.made, &change.given_up].into_iter();
            both.any(|commits| !commits.listed.is_empty())
        };
        let emptied = changed.into_iter().filter(has_any);
        found.extend(emptied.map(|change| (coverage.clone(), change)));
    }
    found
}

/// Says which repositories did not hold still while they were captured.
pub(super) fn warn_of_unsteady(context: &Context<'_>, record: &SnapshotRecord) {
    for (coverage, facts) in record.repositories() {
        let Some(why) = &facts.unsteady else { continue };
        let own = sanitize::path(&facts.own.on_host(&coverage.root.to_path()));
        context.terminal.warn(&format!(
            "git was at work in {own} all the while, so what {} has of it may not fit together: {}",
            record.id,
            sanitize::text(why)
        ));
    }
}
