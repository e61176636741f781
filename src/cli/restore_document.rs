//! The JSON of a restore or an undo: a plan, or what was done, under the same names.

use std::borrow::Cow;

use crate::cli::document::{
    AsideDocument, ChangeDocument, PathDocument, ReasonDocument, RestoreDocument, RestoreOutcome, why_words,
};
use crate::cli::view;
use crate::model::AsideAct;
use crate::restore::{Outcome, Proposal, Report};
use crate::store::InstanceRow;
use crate::terminal::size;

/// The document of a plan, or of what was done.
pub(super) fn document(row: &InstanceRow, proposal: &Proposal, report: Option<&Report>) -> RestoreDocument {
    let outcome = match report.map(|report| report.outcome) {
        Some(Outcome::Done) => RestoreOutcome::Restored,
        Some(Outcome::Nothing) => RestoreOutcome::Nothing,
        Some(Outcome::Partial) => RestoreOutcome::Partial,
        None if proposal.is_empty() && !proposal.is_in_part() => RestoreOutcome::Nothing,
        None => RestoreOutcome::Planned,
    };
    let left = report.map(|report| report.left.clone()).unwrap_or_default();
    let target = proposal.target.id.to_string();
    let mut made = RestoreDocument::bare(row.id.as_str(), outcome, target, left);
    made.plan = (!proposal.is_empty()).then(|| proposal.digest().hex());
    made.receipt = report.and_then(|report| report.receipt);
    let emergency = report.and_then(|report| report.emergency.as_ref());
    made.emergency = emergency.map(ToString::to_string);
    for (at, mount) in proposal.mounts.iter().enumerate() {
        let coverage = &mount.request.coverage;
        let done = report.and_then(|report| report.mounts.get(at));
        let steps = match done {
            Some(done) => done.applied(&mount.plan),
            None => Cow::Borrowed(mount.plan.steps.as_slice()),
        };
        let shown = view::plan::presented(&steps).into_iter();
        made.applied.extend(shown.map(|(change, step)| {
            ChangeDocument::new(coverage, &change)
                .action(step.action)
                .others(coverage, &step.others)
        }));
        let stays = |kept: &crate::restore::KeptPath| {
            ChangeDocument::new(coverage, &kept.change).reason(why_words(&kept.why))
        };
        made.kept.extend(mount.plan.kept.iter().map(stays));
        made.conflicts.extend(mount.plan.conflicts.iter().map(stays));
        let also = mount.also.iter();
        made.also
            .extend(also.map(|path| PathDocument::new(coverage, path)));
        let failed = done.into_iter().flat_map(|done| &done.failed);
        made.failed
            .extend(failed.map(|f| ReasonDocument::new(coverage, &f.path, f.problem.words.clone())));
        let aside = done.map_or(mount.aside.as_slice(), |done| done.aside.as_slice());
        for step in aside {
            let told = AsideDocument::new(coverage, &step.path, &step.lies());
            if step.act != AsideAct::Away {
                made.brought_back.push(told.clone());
            }
            if step.leaves() {
                made.set_aside.push(told);
            }
        }
        made.failed.extend(mount.hidden().map(|gap| {
            ReasonDocument::new(
                coverage,
                &gap.path,
                format!("cannot be looked at: {}", gap.reason),
            )
        }));
        made.not_covered.extend(
            mount
                .plan
                .not_covered
                .iter()
                .map(|gap| ReasonDocument::gap(coverage, gap)),
        );
        let left_out = mount.plan.left_out.iter();
        made.left_out.extend(left_out.map(|(own, paths)| {
            let differ = size::counted(*paths, "path differs", "paths differ");
            ReasonDocument::new(coverage, own, format!("--files-only: {differ}"))
        }));
        made.left_out.extend(mount.withheld.iter().map(|change| {
            let words = change.kind.words();
            ReasonDocument::new(
                coverage,
                &change.path,
                match mount.is_sealed {
                    false => format!("withheld, so no snapshot holds it: {words}"),
                    true => format!("encrypted, and no --identity was given: {words}"),
                },
            )
        }));
        made.left_out.extend(mount.notes.iter().map(|note| {
            let reason = format!("the secret {}: {}", note.key.join("."), note.words());
            ReasonDocument::new(coverage, &note.path, reason)
        }));
        let reason = "excluded, and changed since the snapshot";
        made.not_checked.extend(
            mount
                .not_checked
                .iter()
                .map(|skipped| ReasonDocument::new(coverage, &skipped.path, reason)),
        );
    }
    made
}
