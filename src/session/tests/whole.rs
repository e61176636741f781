//! Whole sessions on random trees, with random excludes, later edits, scopes and permissions: what a restore makes of the tree is what
//! the model says, `diff` says it before, and undo and its undo are exact.
//!
//! `JACKIN_CASES` asks for more or fewer cases. One that fails is shown as the commands that lead to it.

mod case;
mod expected;
mod mapper;
mod rules;
mod seen;
mod steps;

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{begun, request, row, world};
use crate::capture::tests::{Place, coverage, excluding, path};
use crate::clock::Clock as _;
use crate::diff::{Side, compare};
use crate::model::{Coverage, Ending, InstanceId, RelPath, SnapshotId};
use crate::observer::Silent;
use crate::restore::{
    Allow, MountRequest, Proposal, Purpose, Report, RestoreContext, Scope, Why, execute, of_instance,
    of_restore, propose,
};
use crate::session::{EndRequest, end};
use case::{Case, case, runner};
use rules::is_hidden;
use seen::{Seen, differences, look, regroup};
use steps::apply;

/// A session that has ended.
struct Session {
    place: Place,
    instance: InstanceId,
    coverage: Coverage,
    baseline: SnapshotId,
    before: Seen,
    ended: Seen,
    now: Seen,
}

impl Session {
    fn of(case: &Case) -> Self {
        let place = Place::new();
        mapper::forget();
        apply(&place.root, &case.building);
        let patterns: Vec<&str> = case.rules.iter().map(|rule| rule.text).collect();
        let mut coverage = excluding(coverage(&place.root, "project"), &patterns);
        let before = look(&place.root);
        coverage.tracked = case.tracked(&before).iter().map(|at| path(at)).collect();
        let begun = begun(&place, request(vec![coverage.clone()])).unwrap();
        let baseline = begun.baseline.as_ref().unwrap();
        assert!(baseline.record.complete, "{:?}", baseline.record.mounts);
        let baseline = baseline.record.id.clone();
        apply(&place.root, &case.damage);
        let ended = look(&place.root);
        let instance = begun.instance.clone();
        let request = EndRequest {
            row: &row(&place, &instance),
            ending: Ending::Status(0),
            survivors: Vec::new(),
            lock: Some(&begun.lock),
        };
        end(&place.store, world(&place, &Silent), request).unwrap();
        drop(begun);
        apply(&place.root, &case.later);
        Self {
            before,
            ended,
            now: look(&place.root),
            place,
            instance,
            coverage,
            baseline,
        }
    }

    fn restore(&self, case: &Case) -> Proposal {
        let scope = case.scope.as_ref().map_or(Scope::All, |spots| {
            Scope::Below(spots.iter().map(|spot| path(&spot.text())).collect())
        });
        let row = row(&self.place, &self.instance);
        let request = MountRequest {
            coverage: self.coverage.clone(),
            scope,
            witness: of_instance(&self.place.store, &row, &self.coverage, &self.baseline).unwrap(),
        };
        let allow = Allow {
            overwrite_later: case.overwrite,
            delete_later: case.delete,
            ..Allow::default()
        };
        self.propose(&self.baseline, Purpose::Restore, request, allow)
    }

    /// Of the last restore or undo.
    fn undo(&self) -> Proposal {
        let restores = self.place.store.catalog().restores(&self.instance).unwrap();
        let last = restores.iter().max_by_key(|restore| restore.number).unwrap();
        let paths: BTreeSet<RelPath> = last.changed.iter().map(|change| change.path.clone()).collect();
        let request = MountRequest {
            coverage: self.coverage.clone(),
            scope: Scope::Exactly(paths),
            witness: of_restore(&self.place.store, &self.instance, &self.coverage).unwrap(),
        };
        let purpose = Purpose::Undo(last.number);
        self.propose(&last.emergency, purpose, request, Allow::default())
    }

    fn propose(
        &self,
        target: &SnapshotId,
        purpose: Purpose,
        request: MountRequest,
        allow: Allow,
    ) -> Proposal {
        let target = self.place.store.record(target).unwrap();
        propose(
            &self.place.store,
            target,
            purpose,
            vec![request],
            allow,
            false,
            &Silent,
        )
        .unwrap()
    }

    fn execute(&self, proposal: &Proposal) -> Report {
        let acting = RestoreContext {
            observer: &Silent,
            entropy: &self.place.entropy,
            now: self.place.clock.now(),
            uid: 1000,
            inside: false,
            exact_mtimes: false,
        };
        let report = execute(&self.place.store, proposal, &acting).unwrap();
        assert!(
            report.mounts[0].failed.is_empty(),
            "{:?}",
            report.mounts[0].failed
        );
        report
    }

    fn look(&self) -> Seen {
        look(&self.place.root)
    }

    /// Returns the covered part of a tree, with link groups among covered names only.
    fn covered(&self, case: &Case, seen: &Seen) -> Seen {
        let mut covered = seen.clone();
        let tracked: Vec<String> = self.coverage.tracked.iter().map(text).collect();
        covered.retain(|path, node| {
            let is_meant = |top: &String| path == top || path.starts_with(&format!("{top}/"));
            let inside = tracked.is_empty() || tracked.iter().any(is_meant);
            inside && !is_hidden(&case.rules, path, node.is_dir())
        });
        regroup(&mut covered);
        covered
    }

    /// Returns the names outside the mount with their contents, which must never change.
    fn beside(&self) -> Vec<(String, Vec<u8>)> {
        let names = (0..3).map(|number| format!("outside-{number}"));
        let held = names.filter_map(|name| {
            let content = std::fs::read(self.place.base.join(&name)).ok()?;
            Some((name, content))
        });
        held.collect()
    }
}

fn text(path: &RelPath) -> String {
    String::from_utf8(path.as_bytes().to_vec()).unwrap()
}

fn changed(proposal: &Proposal) -> BTreeSet<String> {
    let steps = proposal.mounts[0].plan.steps.iter();
    steps.map(|step| text(&step.change.path)).collect()
}

/// Returns the paths that stay because what was at a path that stays was moved there; which those are has tests of its own.
fn moved(proposal: &Proposal) -> Vec<String> {
    let kept = proposal.mounts[0].plan.kept.iter();
    let moved = kept.filter(|kept| matches!(kept.why, Why::Moved(_)));
    moved.map(|kept| text(&kept.change.path)).collect()
}

fn same(wanted: &Seen, found: &Seen, groups: bool, about: &str) -> Result<(), TestCaseError> {
    let lines = differences(wanted, found, groups);
    prop_assert!(lines.is_empty(), "{about}:\n  {}", lines.join("\n  "));
    Ok(())
}

#[test]
fn a_restore_is_what_the_model_says_and_what_the_diff_said_and_undo_is_exact() {
    let tried = std::cell::Cell::new([0_u32; 4]);
    let enough = || {
        let [all, busy, kept, _] = tried.get();
        // About half of what is drawn has something to restore, so half is no bound: chance alone fell below it.
        busy * 5 > all * 2 && kept * 8 > all
    };
    let one = |mut case: Case| {
        let session = Session::of(&case);
        let proposal = session.restore(&case);
        // The other side of a rename is meant as well; which paths those are has tests of its own.
        case.also = proposal.mounts[0].also.iter().map(text).collect();
        case.moved = moved(&proposal);
        let wanted = case.expected(&session.before, &session.ended, &session.now);
        let mount = &proposal.mounts[0];
        let sides = [
            (mount.target.as_ref(), &[][..]),
            (mount.now.manifest.as_ref(), &mount.now.skipped[..]),
        ];
        let [then, now] = sides.map(|(manifest, skipped)| Side { manifest, skipped });
        let shown: BTreeSet<String> = compare(&then, &now)
            .changes
            .iter()
            .map(|change| text(&change.path))
            .collect();
        prop_assert_eq!(&shown, &wanted.differs, "what a diff shows");
        prop_assert_eq!(&changed(&proposal), &wanted.changed, "what is planned");
        let named: BTreeSet<String> = mount
            .plan
            .conflicts
            .iter()
            .chain(&mount.plan.kept)
            .map(|kept| text(&kept.change.path))
            .collect();
        prop_assert_eq!(
            &named,
            &wanted.stays,
            "what differs, was asked for and stays is named"
        );

        let mut counts = tried.get();
        counts[0] += 1;
        counts[1] += u32::from(!wanted.changed.is_empty());
        counts[2] += u32::from(!wanted.stays.is_empty());
        counts[3] += u32::from(!case.rules.is_empty());
        tried.set(counts);
        session.execute(&proposal);
        let after = session.look();
        same(&wanted.after, &after, false, "after the restore")?;
        let stirred = wanted.stirred(&session.now, &after);
        prop_assert!(stirred.is_empty(), "{stirred:?} should have been left alone");
        let again = session.restore(&case);
        prop_assert_eq!(
            &changed(&again),
            &BTreeSet::new(),
            "a second restore has something to do"
        );
        if wanted.changed.is_empty() {
            return Ok(());
        }
        let undo = session.undo();
        prop_assert!(undo.mounts[0].plan.conflicts.is_empty(), "an undo has a conflict");
        session.execute(&undo);
        same(&session.now, &session.look(), false, "after the undo")?;
        let redo = session.undo();
        session.execute(&redo);
        same(&after, &session.look(), false, "after the undo of the undo")
    };
    // Sixty may be too few that say anything, by chance.
    for _ in 0..5 {
        if !enough() {
            runner(60, 400).run(&case(false), one).unwrap();
        }
    }
    let [all, busy, kept, excluding] = tried.get();
    eprintln!(
        "{all} sessions: {busy} with something to restore, {kept} with something kept, {excluding} with excludes"
    );
    assert!(enough(), "too few that say anything");
}

#[test]
fn names_of_one_file_come_back_as_names_of_one_file() {
    let tried = std::cell::Cell::new([0_u32; 4]);
    runner(60, 400)
        .run(&case(true), |mut case| {
            let session = Session::of(&case);
            let beside = session.beside();
            let proposal = session.restore(&case);
            case.moved = moved(&proposal);
            let report = session.execute(&proposal);
            let after = session.look();
            prop_assert_eq!(&session.beside(), &beside, "what lies beside the mount");
            let everything = case.rules.is_empty() && case.tracked.is_empty() && case.scope.is_none();
            let whole = everything && (case.later.is_empty() || case.overwrite && case.delete);
            if whole {
                same(&session.before, &after, true, "after the restore")?;
            } else if everything {
                let wanted = case.expected(&session.before, &session.ended, &session.now);
                same(&wanted.after, &after, false, "after the restore")?;
            }
            let again = session.restore(&case);
            prop_assert_eq!(
                &changed(&again),
                &BTreeSet::new(),
                "a second restore has something to do"
            );
            let steps = &proposal.mounts[0].plan.steps;
            let mut counts = tried.get();
            counts[0] += 1;
            counts[1] += u32::from(!steps.is_empty());
            counts[2] += u32::from(steps.iter().any(|step| !step.others.parted_from.is_empty()));
            counts[3] += u32::from(steps.iter().any(|step| step.others.outside > 0));
            tried.set(counts);
            prop_assert_eq!(report.receipt.is_some(), !steps.is_empty());
            if steps.is_empty() {
                return Ok(());
            }
            for round in ["the undo", "the third undo"] {
                session.execute(&session.undo());
                let found = session.look();
                let about = format!("after {round}");
                same(&session.now, &found, false, &about)?;
                let covered = |seen| session.covered(&case, seen);
                same(&covered(&session.now), &covered(&found), true, &about)?;
                session.execute(&session.undo());
                let found = session.look();
                let about = format!("after the undo of {round}");
                same(&after, &found, false, &about)?;
                same(&covered(&after), &covered(&found), true, &about)?;
                prop_assert_eq!(&session.beside(), &beside, "what lies beside the mount");
            }
            Ok(())
        })
        .unwrap();
    let [all, busy, parted, outside] = tried.get();
    eprintln!(
        "{all} sessions: {busy} with something to restore, {parted} with names parted, {outside} with names outside"
    );
    assert!(busy > 0, "nothing was tried");
}
