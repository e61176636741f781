//! Whatever a tree looks like and whatever is done to it: a restore is exact, and so is its undo.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::property_model::{Step, apply, building, damage};
use crate::support::build::Build;
use crate::support::compare::{
    assert_kept, assert_names_changes, assert_same_tree, assert_untouched, changed_paths, groupless,
};
use crate::support::machine::is_nightly;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Every case starts the binary some ten times; the cases are few and the steps many. `JACKIN_CASES` asks for another number.
pub(crate) fn runner(usual: u32) -> TestRunner {
    let wanted = std::env::var("JACKIN_CASES").ok();
    let usual = if is_nightly() { usual * 20 } else { usual };
    TestRunner::new(Config {
        cases: wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(usual),
        max_shrink_iters: 40,
        failure_persistence: None,
        ..Config::default()
    })
}

/// A project made of these steps, in a sandbox of its own.
fn built(steps: &[Step]) -> (Sandbox, std::path::PathBuf, Tree) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("drawn");
    apply(&project, steps);
    Build::at(&project).aged();
    let before = Tree::read(&project);
    (sandbox, project, before)
}

#[test]
fn restore_equals_before_and_undo_equals_the_damage() {
    runner(10)
        .run(&(building(), damage()), |(building, damage)| {
            let (sandbox, project, before) = built(&building);
            let id = sandbox.session(&project, |project| apply(project, &damage));
            let damaged = Tree::read(&project);
            let wrong = sandbox.diff(&id, &["--no-renames"]).touched();
            assert_names_changes(&wrong, &before, &damaged);

            let restored = sandbox.restore(&id, &[]);
            let after = Tree::read(&project);
            assert_same_tree(&before, &after);
            prop_assert_eq!(&restored.applied, &wrong);
            if wrong.is_empty() {
                assert_untouched(&damaged, &after);
            } else {
                sandbox.undo(&id);
                assert_same_tree(&damaged, &Tree::read(&project));
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn work_done_after_the_session_survives() {
    runner(8)
        .run(&(building(), damage(), damage()), |(building, damage, later)| {
            let (sandbox, project, _) = built(&building);
            let id = sandbox.session(&project, |project| apply(project, &damage));
            let ended = Tree::read(&project);
            apply(&project, &later);
            let edited = Tree::read(&project);
            // Who lost or won a second name was not edited.
            let theirs = changed_paths(&groupless(&ended), &groupless(&edited));

            sandbox
                .jackin(["restore", &id, "--yes", "--json"])
                .code_in(&[0, 6]);
            let after = Tree::read(&project);
            for path in theirs.iter().filter(|path| !path.is_empty() && edited.has(path)) {
                prop_assert!(after.has(path), "later work is gone: {}", path.escape_ascii());
                prop_assert_eq!(
                    &edited.at(path).kind,
                    &after.at(path).kind,
                    "{}",
                    path.escape_ascii()
                );
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn restoring_one_path_touches_no_other() {
    runner(8)
        .run(
            &(building(), damage(), any::<prop::sample::Index>()),
            |(building, damage, pick)| {
                let (sandbox, project, before) = built(&building);
                let id = sandbox.session(&project, |project| apply(project, &damage));
                let damaged = Tree::read(&project);
                let wrong = changed_paths(&before, &damaged);
                // A path whose parent is there in both: then nothing but itself needs to be made.
                let simple = |path: &&Vec<u8>| {
                    let parent = crate::support::compare::parent(path);
                    !path.is_empty() && before.has(parent) && !wrong.iter().any(|other| other == parent)
                };
                let choices: Vec<&Vec<u8>> = wrong.iter().filter(simple).collect();
                if choices.is_empty() {
                    return Ok(());
                }
                let one = choices[pick.index(choices.len())];
                let host = project.join(std::str::from_utf8(one).unwrap());
                let mut renames = sandbox.diff(&id, &[]).renames();
                renames.extend(moved(&before, &damaged));
                let paths = before.nodes.keys().chain(damaged.nodes.keys()).collect();
                let sides = sides_of(one, &renames, &paths);
                let also = sandbox.restore(&id, &["--", host.to_str().unwrap()]).also;
                for path in &also {
                    prop_assert!(
                        sides.iter().any(|side| is_within(path, side)),
                        "{} is no other side of a rename of {}",
                        path.escape_ascii(),
                        one.escape_ascii()
                    );
                }
                let after = Tree::read(&project);
                // Hard link groups reach beyond one path; everything else is as it was.
                let loose = |tree: &Tree| {
                    let mut tree = tree.only(one);
                    tree.nodes.values_mut().for_each(|node| node.group = None);
                    tree
                };
                assert_same_tree(&loose(&before), &loose(&after));
                let named: Vec<&Vec<u8>> = also.iter().chain([one]).collect();
                assert_kept(&groupless(&damaged), &groupless(&after), &named);
                Ok(())
            },
        )
        .unwrap();
}

/// Every pair of paths under which one object lay before and afterwards.
fn moved(before: &Tree, after: &Tree) -> BTreeSet<(Vec<u8>, Vec<u8>)> {
    let mut pairs = BTreeSet::new();
    for (old, from) in &before.nodes {
        for (new, to) in &after.nodes {
            let is_one = from.times.inode == to.times.inode
                && std::mem::discriminant(&from.kind) == std::mem::discriminant(&to.kind);
            if old != new && is_one {
                pairs.insert((old.clone(), new.clone()));
            }
        }
    }
    pairs
}

/// A path and whichever of `paths` a restore of it may include: the other side of each rename of it, of what lies in it, and of the
/// renamed directory that it lies in; and so on.
fn sides_of(
    one: &[u8],
    renames: &BTreeSet<(Vec<u8>, Vec<u8>)>,
    paths: &BTreeSet<&Vec<u8>>,
) -> BTreeSet<Vec<u8>> {
    let both_ways = || renames.iter().flat_map(|(old, new)| [(old, new), (new, old)]);
    let mut sides = BTreeSet::from([one.to_vec()]);
    loop {
        let mut more = Vec::new();
        for (from, to) in both_ways() {
            for side in &sides {
                if is_within(from, side) {
                    more.push(to.clone());
                } else if is_within(side, from) {
                    more.push([to, &side[from.len()..]].concat());
                }
            }
        }
        let known = sides.len();
        sides.extend(more.into_iter().filter(|path| paths.contains(path)));
        if sides.len() == known {
            return sides;
        }
    }
}

fn is_within(path: &[u8], top: &[u8]) -> bool {
    path.strip_prefix(top)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}
