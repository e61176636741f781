//! Moved files: which deleted and which added path belong together.

use super::{dir, file, path, symlink, tree};
use crate::diff::{ChangeKind, compare, pair_renames};
use crate::model::Entry;

type Side = &'static [(&'static str, &'static str)];

/// Files before, files after, and the expected changes: `old > new`, `+ new`, `- old`, `~ changed`.
const CASES: &[(&str, Side, Side, &[&str])] = &[
    ("one file", &[("a", "x")], &[("b", "x")], &["a > b"]),
    (
        "changed content is no move",
        &[("a", "x")],
        &[("b", "y")],
        &["- a", "+ b"],
    ),
    (
        "an empty file came from nowhere",
        &[("a", "")],
        &[("b", "")],
        &["- a", "+ b"],
    ),
    (
        "a copy is no move",
        &[("a", "x")],
        &[("a", "x"), ("b", "x")],
        &["+ b"],
    ),
    (
        "the same name is preferred",
        &[("old/m", "x"), ("old/n", "x")],
        &[("new/m", "x"), ("new/n", "x")],
        &["old/m > new/m", "old/n > new/n"],
    ),
    (
        "a name kept further down wins over an earlier path",
        &[("a", "x"), ("z/keep", "x")],
        &[("b/keep", "x")],
        &["- a", "z/keep > b/keep"],
    ),
    (
        "one of two copies moved",
        &[("a", "x")],
        &[("b", "x"), ("c", "x")],
        &["a > b", "+ c"],
    ),
    (
        "two became one",
        &[("a", "x"), ("b", "x")],
        &[("c", "x")],
        &["- b", "a > c"],
    ),
    (
        "swapped files are two changes",
        &[("a", "x"), ("b", "y")],
        &[("a", "y"), ("b", "x")],
        &["~ a", "~ b"],
    ),
];

fn said(before: Side, after: Side) -> Vec<String> {
    let build = |side: Side| {
        let mut all = tree(side.iter().map(|(at, content)| (*at, file(content))));
        let above: Vec<_> = all
            .entries
            .keys()
            .flat_map(crate::model::RelPath::ancestors)
            .collect();
        for at in above.into_iter().filter(|at| !at.is_root()) {
            all.entries.insert(at, dir());
        }
        all.build()
    };
    let (old, new) = (build(before), build(after));
    let changes = pair_renames(compare(&old.side(), &new.side()).changes);
    let text = |path: &crate::model::RelPath| String::from_utf8(path.as_bytes().to_vec()).unwrap();
    let is_dir = |entry: &Option<Entry>| entry.as_ref().is_some_and(Entry::is_dir);
    changes
        .iter()
        .filter(|change| !is_dir(&change.from) && !is_dir(&change.to))
        .map(|change| match (change.kind, &change.from_path) {
            (ChangeKind::Renamed, Some(from)) => format!("{} > {}", text(from), text(&change.path)),
            (ChangeKind::Added, None) => format!("+ {}", text(&change.path)),
            (ChangeKind::Deleted, None) => format!("- {}", text(&change.path)),
            (_, None) => format!("~ {}", text(&change.path)),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn deleted_and_added_files_are_paired() {
    for (about, before, after, expected) in CASES {
        let mut found = said(before, after);
        let mut expected: Vec<String> = expected.iter().map(|s| (*s).to_owned()).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{about}");
    }
}

#[test]
fn a_move_keeps_both_states_and_only_files_move() {
    let mut old = file("x");
    old.mode = 0o600;
    let before = tree([("a", old), ("l", symlink("t")), ("d", dir())]).build();
    let after = tree([("b", file("x")), ("m", symlink("t")), ("e", dir())]).build();
    let changes = pair_renames(compare(&before.side(), &after.side()).changes);
    let moved: Vec<_> = changes
        .iter()
        .filter(|change| change.kind == ChangeKind::Renamed)
        .collect();
    assert_eq!(moved.len(), 1);
    assert_eq!(moved[0].path, path("b"));
    assert_eq!(moved[0].from_path, Some(path("a")));
    assert_eq!(moved[0].from.as_ref().unwrap().mode, 0o600);
    assert_eq!(moved[0].to.as_ref().unwrap().mode, 0o644);
    assert_eq!(changes.len(), 5, "links and directories are added and deleted");
    assert!(changes.is_sorted_by(|a, b| a.path < b.path));
}
