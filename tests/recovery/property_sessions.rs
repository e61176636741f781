//! Whole sessions on random trees with the built binary: excludes and tracked directories from a workspace's file, paths and permissions
//! on the command line. What must come of them says the model that the library's own tests use for many more.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::support::documents::Restored;
use crate::support::sandbox::Sandbox;

#[path = "../../src/session/tests/whole/case.rs"]
mod case;
#[path = "../../src/session/tests/whole/expected.rs"]
mod expected;
#[path = "../../src/session/tests/whole/mapper.rs"]
mod mapper;
#[path = "../../src/session/tests/whole/rules.rs"]
mod rules;
#[path = "../../src/session/tests/whole/seen.rs"]
mod seen;
#[path = "../../src/session/tests/whole/steps.rs"]
mod steps;

use case::{Case, case, runner};
use seen::{Seen, differences, look};
use steps::apply;

/// The workspace's file.
fn configured(case: &Case, tracked: &[String]) -> String {
    let list = |words: Vec<&str>| {
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        words.join(", ")
    };
    let excludes = list(case.rules.iter().map(|rule| rule.text).collect());
    let paths = list(tracked.iter().map(String::as_str).collect());
    format!(
        "version = \"v1alpha8\"\nworkdir = \"/w\"\n\n[recovery]\nsnapshot = \"project\"\nintegrations = false\n\
         exclude = [{excludes}]\npaths = [{paths}]\n\n[[mounts]]\nsrc = \"~/src/drawn\"\ndst = \"/w\"\n"
    )
}

fn texts(paths: &[Vec<u8>]) -> BTreeSet<String> {
    let text = |path: &Vec<u8>| String::from_utf8(path.clone()).unwrap();
    paths.iter().map(text).collect()
}

fn same(wanted: &Seen, found: &Seen, about: &str) -> Result<(), TestCaseError> {
    let lines = differences(wanted, found, false);
    prop_assert!(lines.is_empty(), "{about}:\n  {}", lines.join("\n  "));
    Ok(())
}

#[test]
fn what_the_binary_makes_of_a_session_is_what_the_model_says() {
    runner(8, 60)
        .run(&case(false), |mut case| {
            let sandbox = Sandbox::new();
            let project = sandbox.project("drawn");
            mapper::forget();
            apply(&project, &case.building);
            let before = look(&project);
            sandbox.configure(
                "workspaces/drawn.toml",
                &configured(&case, &case.tracked(&before)),
            );
            let begun = sandbox.jackin(["begin", "drawn"]).ok();
            let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
            apply(&project, &case.damage);
            let ended = look(&project);
            sandbox.jackin(["end", &id]).ok();
            apply(&project, &case.later);
            let now = look(&project);
            // A path that is nowhere is refused as a mistake, and one that no snapshot may know as well.
            let wanted = case.expected(&before, &ended, &now);
            if let Some(scope) = &mut case.scope {
                scope.retain(|spot| wanted.differs.contains(&spot.text()));
                if scope.is_empty() {
                    case.scope = None;
                }
            }
            let mut args: Vec<String> = ["restore", &id, "--yes", "--json"].map(str::to_owned).to_vec();
            args.extend(case.overwrite.then(|| "--overwrite-later-edits".to_owned()));
            args.extend(case.delete.then(|| "--delete-later-files".to_owned()));
            let spots = case.scope.iter().flatten();
            args.extend(spots.map(|spot| project.join(spot.text()).to_str().unwrap().to_owned()));

            let dry: Vec<&str> = args
                .iter()
                .map(String::as_str)
                .filter(|arg| *arg != "--yes")
                .collect();
            let planned = sandbox
                .jackin([&dry[..], &["--dry-run"]].concat())
                .code_in(&[0, 6])
                .json();
            let also = planned["also"].as_array().unwrap().iter();
            case.also = also
                .map(|path| path["path"].as_str().unwrap().to_owned())
                .collect();
            let wanted = case.expected(&before, &ended, &now);
            let shown = sandbox.diff(&id, &["--now", "--no-renames"]).touched();
            prop_assert_eq!(&texts(&shown), &wanted.differs, "what a diff shows");
            let run = sandbox.jackin(&args).code_in(&[0, 6]);
            let restored = Restored::of(&run);
            prop_assert_eq!(
                &texts(&restored.applied),
                &wanted.changed,
                "what was done\n{}",
                run
            );
            let mut named = texts(&restored.conflicts);
            named.extend(texts(&restored.kept));
            prop_assert_eq!(&named, &wanted.stays, "what stays is named\n{}", run);
            let after = look(&project);
            same(&wanted.after, &after, "after the restore")?;
            let stirred = wanted.stirred(&now, &after);
            prop_assert!(stirred.is_empty(), "{stirred:?} should have been left alone");
            // A path that the first one removed is nowhere now, and naming it is a mistake.
            let gone = case
                .scope
                .iter()
                .flatten()
                .any(|spot| !before.contains_key(&spot.text()) && !after.contains_key(&spot.text()));
            let run = sandbox.jackin(&args);
            if gone {
                run.code(2);
            } else {
                let again = Restored::of(&run.code_in(&[0, 6]));
                prop_assert!(
                    again.applied.is_empty(),
                    "a second restore has something to do: {:#}",
                    again.document
                );
            }
            if !wanted.changed.is_empty() {
                sandbox.undo(&id);
                same(&now, &look(&project), "after the undo")?;
                sandbox.undo(&id);
                same(&after, &look(&project), "after the undo of the undo")?;
            }
            Ok(())
        })
        .unwrap();
}
