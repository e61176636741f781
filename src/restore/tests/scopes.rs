//! Restoring only some paths: what lies elsewhere is not touched, what is missing above them comes back.

use super::{NOTHING, Plan, Scope, below, exactly, path, planned, words};
use crate::diff::tests::{Tree, dir, file, tree, with_mode};

fn target() -> Tree {
    tree([
        ("a", file("a")),
        ("d", with_mode(dir(), 0o750)),
        ("d/e", dir()),
        ("d/e/x", file("x")),
        ("d/y", file("y")),
        ("dx", file("dx")),
    ])
}

/// Restores a session that left `now`.
fn restore(now: &Tree, scope: &Scope) -> Plan {
    planned(&target(), now, now, scope, NOTHING)
}

#[test]
fn a_scope_takes_its_paths_and_the_directories_that_they_need() {
    let nothing = tree([]);
    let changed = tree([
        ("a", file("A")),
        ("d", dir()),
        ("d/e", dir()),
        ("d/e/new", file("n")),
        ("d/e/x", file("X")),
        ("d/y", file("Y")),
        ("dx", file("DX")),
    ]);
    let cases: &[(&Tree, Scope, &[&str])] = &[
        (
            &nothing,
            below(&["d/e"]),
            &["create d", "create d/e", "create d/e/x"],
        ),
        (
            &nothing,
            below(&["d/e/x"]),
            &["create d", "create d/e", "create d/e/x"],
        ),
        (
            &nothing,
            below(&["d/y", "a"]),
            &["create a", "create d", "create d/y"],
        ),
        (&nothing, exactly(&["d/e"]), &["create d", "create d/e"]),
        (
            &nothing,
            exactly(&["d/e/x", "a"]),
            &["create a", "create d", "create d/e", "create d/e/x"],
        ),
        (&nothing, below(&["not/there"]), &[]),
        (&nothing, below(&[]), &[]),
        (
            &changed,
            below(&["d"]),
            &["delete d/e/new", "metadata d", "replace d/e/x", "replace d/y"],
        ),
        // The metadata of a directory above are not asked for.
        (&changed, below(&["d/e"]), &["delete d/e/new", "replace d/e/x"]),
        (&changed, exactly(&["d"]), &["metadata d"]),
        (&changed, exactly(&["d/y"]), &["replace d/y"]),
        (
            &changed,
            below(&[""]),
            &[
                "delete d/e/new",
                "metadata d",
                "replace a",
                "replace d/e/x",
                "replace d/y",
                "replace dx",
            ],
        ),
    ];
    for (now, scope, expected) in cases {
        assert_eq!(words(&restore(now, scope)), *expected, "{scope:?}");
    }
}

#[test]
fn a_directory_is_not_removed_with_what_the_scope_leaves_out() {
    let now = tree([("new", dir()), ("new/in", file("i")), ("new/out", file("o"))]);
    let plan = planned(&tree([]), &now, &now, &exactly(&["new", "new/in"]), NOTHING);
    assert_eq!(words(&plan), ["delete new/in", "kept new: holds new/out"]);
    let all = planned(&tree([]), &now, &now, &below(&["new"]), NOTHING);
    assert_eq!(words(&all), ["delete new", "delete new/in", "delete new/out"]);
    let inner = planned(&tree([]), &now, &now, &below(&["new/in"]), NOTHING);
    assert_eq!(words(&inner), ["delete new/in"]);
}

#[test]
fn what_stands_in_the_way_of_a_wanted_path_is_judged_like_any_other() {
    let in_the_way = tree([("d", file("in the way"))]);
    let ours = restore(&in_the_way, &below(&["d/e/x"]));
    assert_eq!(words(&ours), ["create d/e", "create d/e/x", "replace d"]);
    let later = planned(&target(), &tree([]), &in_the_way, &below(&["d/e/x"]), NOTHING);
    assert_eq!(
        words(&later),
        [
            "conflict d/e/x: parent d",
            "conflict d/e: parent d",
            "conflict d: edit"
        ]
    );
}

#[test]
fn only_what_concerns_the_scope_is_said_not_to_be_covered() {
    let target = target().gap("d/e/unread").gap("gone");
    let plan = |scope: &Scope| {
        let plan = planned(&target, &target, &target, scope, NOTHING);
        let paths = plan.not_covered.into_iter().map(|gap| gap.path);
        paths.collect::<Vec<_>>()
    };
    let named = |names: &[&str]| names.iter().map(|at| path(at)).collect::<Vec<_>>();
    assert_eq!(plan(&Scope::All), named(&["d/e/unread", "gone"]));
    assert_eq!(plan(&below(&["d"])), named(&["d/e/unread"]));
    assert_eq!(plan(&below(&["d/e/unread/inside"])), named(&["d/e/unread"]));
    assert_eq!(plan(&below(&["dx"])), named(&[]));
    assert_eq!(plan(&exactly(&["gone"])), named(&["gone"]));
}

#[test]
fn a_scope_of_very_many_paths_looks_them_up() {
    /// With comparisons of each path with each other one this would take minutes.
    const MANY: u32 = 100_000;
    let at = |directory: &str, number: u32| path(&format!("{directory}/{}/{number}", number % 100));
    let scope = Scope::Below((0..MANY).map(|number| at("new", number)).collect());
    for number in 0..MANY {
        let (held, other) = (at("new", number), at("old", number));
        let below = path(&format!(
            "{held}/x",
            held = String::from_utf8_lossy(held.as_bytes())
        ));
        for inside in [&held, &below] {
            assert!(scope.holds(inside) && scope.names(inside) && scope.concerns(inside));
        }
        assert!(!scope.holds(&other) && !scope.names(&other) && !scope.concerns(&other));
    }
    let above = path("new/7");
    assert!(scope.concerns(&above) && !scope.holds(&above) && !scope.names(&above));
    // The root is no name.
    let all = below(&[""]);
    assert!(all.holds(&above) && !all.names(&above) && all.concerns(&above));
}
