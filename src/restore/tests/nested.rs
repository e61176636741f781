//! Directories: one that holds anything which stays is kept, and nothing is made where a directory cannot come back.

use super::{Allow, BOTH, DELETE, NOTHING, OVERWRITE, Scope, planned, words};
use crate::diff::tests::{Tree, dir, file, tree, with_mode};
use crate::model::Listing;

struct Case {
    about: &'static str,
    target: Tree,
    last: Tree,
    now: Tree,
    allow: Allow,
    expected: &'static [&'static str],
}

fn check(cases: Vec<Case>) {
    for case in cases {
        let plan = planned(&case.target, &case.last, &case.now, &Scope::All, case.allow);
        assert_eq!(words(&plan), case.expected, "{}", case.about);
    }
}

fn made() -> Tree {
    tree([
        ("d", dir()),
        ("d/e", dir()),
        ("d/e/x", file("x")),
        ("d/y", file("y")),
    ])
}

fn plus(mut tree: Tree, at: &str, entry: crate::model::Entry) -> Tree {
    tree.entries.insert(super::path(at), entry);
    tree
}

#[test]
fn a_directory_that_the_session_made_goes_with_all_that_it_made_and_nothing_else() {
    let none = || tree([]);
    check(vec![
        Case {
            about: "nothing came later",
            target: none(),
            last: made(),
            now: made(),
            allow: NOTHING,
            expected: &["delete d", "delete d/e", "delete d/e/x", "delete d/y"],
        },
        Case {
            about: "a later file deep inside",
            target: none(),
            last: made(),
            now: plus(made(), "d/e/later", file("l")),
            allow: NOTHING,
            expected: &[
                "conflict d/e/later: file",
                "delete d/e/x",
                "delete d/y",
                "kept d/e: holds d/e/later",
                "kept d: holds d/e/later",
            ],
        },
        Case {
            about: "a later file that may go",
            target: none(),
            last: made(),
            now: plus(made(), "d/e/later", file("l")),
            allow: DELETE,
            expected: &[
                "delete d",
                "delete d/e",
                "delete d/e/later overrode",
                "delete d/e/x",
                "delete d/y",
            ],
        },
        Case {
            about: "a later edit inside; replacing is not removing",
            target: none(),
            last: made(),
            now: plus(made(), "d/y", file("edited")),
            allow: OVERWRITE,
            expected: &[
                "conflict d/y: edit",
                "delete d/e",
                "delete d/e/x",
                "kept d: holds d/y",
            ],
        },
        Case {
            about: "an excluded child",
            target: none(),
            last: made(),
            now: made().skip("d/e/out"),
            allow: BOTH,
            expected: &[
                "delete d/e/x",
                "delete d/y",
                "kept d/e: holds d/e/out",
                "kept d: holds d/e/out",
            ],
        },
        Case {
            about: "a child that cannot be read",
            target: none(),
            last: made(),
            now: made().gap("d/gap"),
            allow: BOTH,
            expected: &["delete d/e", "delete d/e/x", "delete d/y", "kept d: holds d/gap"],
        },
        Case {
            about: "a directory that would not hold still",
            target: none(),
            last: made(),
            now: made().listing("d/e", Listing::Unsettled),
            allow: BOTH,
            expected: &[
                "delete d/e/x",
                "delete d/y",
                "kept d/e: closed",
                "kept d: holds d/e",
            ],
        },
    ]);
}

#[test]
fn what_the_snapshot_does_not_know_is_not_absent_from_it() {
    for unknown in [
        tree([]).gap("d"),
        tree([]).listing("", Listing::Unsettled),
        tree([]).listing("", Listing::Unreadable),
    ] {
        let plan = planned(&unknown, &made(), &made(), &Scope::All, BOTH);
        assert_eq!(words(&plan), [""; 0]);
        assert!(plan.not_covered.iter().any(|gap| gap.path == super::path("d")));
    }
    let inside = tree([("d", dir())]).listing("d", Listing::Unsettled);
    let plan = planned(&inside, &made(), &made(), &Scope::All, BOTH);
    assert_eq!(words(&plan), [""; 0]);
}

#[test]
fn a_type_change_takes_the_whole_directory_or_none_of_it() {
    let was_file = || tree([("d", file("f"))]);
    let was_dir = || tree([("d", dir()), ("d/a", file("a")), ("d/b", file("b"))]);
    check(vec![
        Case {
            about: "file, then a directory",
            target: was_file(),
            last: was_dir(),
            now: was_dir(),
            allow: NOTHING,
            expected: &["delete d/a", "delete d/b", "replace d"],
        },
        Case {
            about: "file, then a directory with a later file",
            target: was_file(),
            last: was_dir(),
            now: plus(was_dir(), "d/later", file("l")),
            allow: OVERWRITE,
            expected: &[
                "conflict d/later: file",
                "delete d/a",
                "delete d/b",
                "kept d: holds d/later",
            ],
        },
        Case {
            about: "directory, then a file",
            target: was_dir(),
            last: was_file(),
            now: was_file(),
            allow: NOTHING,
            expected: &["create d/a", "create d/b", "replace d"],
        },
        Case {
            about: "directory, then a file that somebody edited",
            target: was_dir(),
            last: was_file(),
            now: tree([("d", file("edited"))]),
            allow: DELETE,
            expected: &[
                "conflict d/a: parent d",
                "conflict d/b: parent d",
                "conflict d: edit",
            ],
        },
        Case {
            about: "directory, then nothing: somebody removed it later",
            target: was_dir(),
            last: plus(was_dir(), "d/a", file("changed")),
            now: tree([]),
            allow: NOTHING,
            expected: &[
                "conflict d/a: deletion",
                "conflict d/b: deletion",
                "conflict d: deletion",
            ],
        },
        Case {
            about: "directory, then nothing, but putting back is allowed",
            target: was_dir(),
            last: was_dir(),
            now: tree([]),
            allow: OVERWRITE,
            expected: &["create d overrode", "create d/a overrode", "create d/b overrode"],
        },
    ]);
}

#[test]
fn a_conflict_above_keeps_what_the_session_removed_below_from_coming_back() {
    // The session emptied `d`; then somebody removed `d` itself, or put a file there.
    let target = || tree([("d", dir()), ("d/e", dir()), ("d/e/x", file("x"))]);
    let last = || tree([("d", dir())]);
    check(vec![
        Case {
            about: "removed",
            target: target(),
            last: last(),
            now: tree([]),
            allow: NOTHING,
            expected: &[
                "conflict d/e/x: parent d",
                "conflict d/e: parent d",
                "conflict d: deletion",
            ],
        },
        Case {
            about: "another type",
            target: target(),
            last: last(),
            now: tree([("d", file("f"))]),
            allow: NOTHING,
            expected: &[
                "conflict d/e/x: parent d",
                "conflict d/e: parent d",
                "conflict d: edit",
            ],
        },
        Case {
            about: "a later chmod blocks nothing",
            target: target(),
            last: last(),
            now: tree([("d", with_mode(dir(), 0o700))]),
            allow: NOTHING,
            expected: &["conflict d: edit", "create d/e", "create d/e/x"],
        },
    ]);
}
