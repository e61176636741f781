//! Properties of every plan, whatever the trees.

use proptest::prelude::*;

use super::model::{carry_out, doubtful, known, provably_absent, same};
use super::{Action, BOTH, NOTHING, Plan, Scope, below, path, planned};
use crate::diff::tests::Tree;
use crate::model::{Entry, Listing, RelPath};

/// Every path that any of these trees has.
fn all<'a>(trees: &[&'a Tree]) -> Vec<&'a RelPath> {
    trees.iter().flat_map(|tree| tree.entries.keys()).collect()
}

/// The paths that a plan takes away, also those that something else comes to.
fn leaving(plan: &Plan) -> impl Iterator<Item = &RelPath> {
    plan.steps
        .iter()
        .filter(|step| step.action == Action::Delete || step.action == Action::Replace)
        .map(|step| &step.change.path)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_plan_over_the_sessions_own_work_leads_to_the_target(target in known(), now in known()) {
        let plan = planned(&target, &now, &now, &Scope::All, NOTHING);
        let done = carry_out(&now.entries, &plan).map_err(TestCaseError::fail)?;
        for at in all(&[&target, &now]) {
            prop_assert!(same(done.get(at), target.entries.get(at)), "{at:?}");
        }
        prop_assert!(plan.conflicts.is_empty() && plan.kept.is_empty() && plan.not_covered.is_empty());
        let mut restored = Tree::default();
        restored.entries = done;
        let again = planned(&target, &now, &restored, &Scope::All, NOTHING);
        prop_assert_eq!(again.steps.len(), 0, "a second restore has nothing to do");
    }

    #[test]
    fn with_every_permission_the_target_is_reached_whoever_changed_what(
        target in known(), last in known(), now in known(),
    ) {
        let plan = planned(&target, &last, &now, &Scope::All, BOTH);
        let done = carry_out(&now.entries, &plan).map_err(TestCaseError::fail)?;
        for at in all(&[&target, &now]) {
            prop_assert!(same(done.get(at), target.entries.get(at)), "{at:?}");
        }
    }

    #[test]
    fn later_work_survives_and_the_rest_goes_as_far_as_it_lets(
        target in known(), last in known(), now in known(),
    ) {
        let plan = planned(&target, &last, &now, &Scope::All, NOTHING);
        let done = carry_out(&now.entries, &plan).map_err(TestCaseError::fail)?;
        for at in all(&[&target, &last, &now]) {
            let (then, is) = (target.entries.get(at), now.entries.get(at));
            let later = !same(is, last.entries.get(at));
            if later {
                prop_assert!(same(done.get(at), is), "{at:?} was changed later");
            }
            // What differs in the end is named, or has its reason above it or below it.
            if !same(done.get(at), then) {
                let named = plan.conflicts.iter().chain(&plan.kept).any(|kept| kept.change.path == *at);
                prop_assert!(named, "{at:?} stays without a word");
            }
        }
    }

    #[test]
    fn only_what_is_provably_absent_is_removed_and_nothing_unknown_goes_with_it(
        target in doubtful(), now in doubtful(),
    ) {
        let plan = planned(&target, &now, &now, &Scope::All, BOTH);
        carry_out(&now.entries, &plan).map_err(TestCaseError::fail)?;
        let (then, is) = (target.build(), now.build());
        for step in plan.steps.iter().filter(|step| step.action == Action::Delete) {
            let at = &step.change.path;
            prop_assert!(provably_absent(&then.manifest, at), "{at:?} is removed");
        }
        for at in leaving(&plan) {
            for dir in is.manifest.directories.iter().filter(|dir| dir.path.is_within(at)) {
                prop_assert_eq!(dir.listing, Listing::Proven, "{:?} goes with {:?}", &dir.path, at);
                prop_assert!(dir.gaps.is_empty(), "{:?} goes with {:?}", &dir.gaps, at);
            }
            for skipped in is.skipped.iter().filter(|skipped| skipped.path.is_within(at)) {
                prop_assert!(false, "{:?} is excluded and goes with {at:?}", skipped.path);
            }
        }
        // Where either side knows nothing, nothing is done.
        let unknown = then.manifest.gaps().chain(is.manifest.gaps()).map(|(at, _)| at);
        let unknown: Vec<RelPath> = unknown.chain(is.skipped.iter().map(|s| s.path.clone())).collect();
        for step in &plan.steps {
            let touched = unknown.iter().find(|at| step.change.path.is_within(at));
            prop_assert!(touched.is_none(), "{:?} is touched", step.change.path);
        }
    }

    #[test]
    fn a_scope_is_never_left(target in known(), last in known(), now in known(), wide in any::<bool>()) {
        let top = path(if wide { "d" } else { "d/e" });
        let scope = below(&[std::str::from_utf8(top.as_bytes()).unwrap()]);
        for allow in [NOTHING, BOTH] {
            let plan = planned(&target, &last, &now, &scope, allow);
            let done = carry_out(&now.entries, &plan).map_err(TestCaseError::fail)?;
            for at in all(&[&target, &now]).into_iter().filter(|at| !at.is_within(&top)) {
                let on_the_way = top.is_within(at)
                    && target.entries.get(at).is_some_and(Entry::is_dir)
                    && !now.entries.get(at).is_some_and(Entry::is_dir);
                prop_assert!(on_the_way || same(done.get(at), now.entries.get(at)), "{at:?}");
            }
        }
    }
}
