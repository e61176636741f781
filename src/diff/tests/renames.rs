//! Moved files: which deleted and which added path belong together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::prelude::*;

use super::{dir, file, path, symlink, tree};
use crate::diff::{Change, ChangeKind, compare, moved, pair_renames, renames};
use crate::model::{Content, Entry, RelPath, Time};

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
        let above: Vec<_> = all.entries.keys().flat_map(RelPath::ancestors).collect();
        for at in above.into_iter().filter(|at| !at.is_root()) {
            all.entries.insert(at, dir());
        }
        all.build()
    };
    let (old, new) = (build(before), build(after));
    let changes = pair_renames(compare(&old.side(), &new.side()).changes);
    let text = |path: &RelPath| String::from_utf8(path.as_bytes().to_vec()).unwrap();
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

/// Pairs each added file with the first deleted one that fits: by inode, then by name, then by content alone.
fn renames_by_reference(changes: &[Change]) -> HashMap<usize, usize> {
    let content = |entry: &Option<Entry>| -> Option<Content> {
        let content = entry.as_ref()?.content().copied();
        content.filter(|content| content.size > 0)
    };
    let ino = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.ino);
    let name = |change: &Change| change.path.split().map(|(_, name)| name);
    let mut partner: HashMap<usize, usize> = HashMap::new();
    for criterion in 0..3 {
        for (at, new) in changes.iter().enumerate() {
            let Some(wanted) = content(&new.to).filter(|_| new.kind == ChangeKind::Added) else {
                continue;
            };
            if partner.contains_key(&at) {
                continue;
            }
            let found = changes.iter().enumerate().find(|(at, old)| {
                let fits = match criterion {
                    0 => ino(&old.from) == ino(&new.to),
                    1 => name(old) == name(new),
                    _ => true,
                };
                let is_equal = old.kind == ChangeKind::Deleted && content(&old.from) == Some(wanted);
                fits && is_equal && !partner.values().any(|taken| taken == at)
            });
            partner.extend(found.map(|(old, _)| (at, old)));
        }
    }
    partner
}

/// Returns the pairs that [`moved`] has to find among changes of files and links.
fn moved_by_reference(changes: &[Change]) -> BTreeSet<(RelPath, RelPath)> {
    let shown = renames_by_reference(changes);
    let path_of = |at: usize| changes[at].path.clone();
    let mut pairs: BTreeSet<_> = shown
        .iter()
        .map(|(new, old)| (path_of(*old), path_of(*new)))
        .collect();
    let ino = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.ino);
    let went = || {
        changes
            .iter()
            .filter(|change| ino(&change.from) != ino(&change.to))
    };
    let name = |change: &Change| change.path.split().map(|(_, name)| name);
    let paired: BTreeSet<RelPath> = pairs.iter().map(|(_, new)| new.clone()).collect();
    for new in went().filter(|new| !paired.contains(&new.path)) {
        let Some(to) = &new.to else { continue };
        let is_same = |from: &Entry| from.ino == to.ino && from.kind == to.kind;
        let alike = || went().filter(|old| old.from.as_ref().is_some_and(is_same));
        let Some(old) = alike()
            .find(|old| name(old) == name(new))
            .or_else(|| alike().next())
        else {
            continue;
        };
        let is_full = to.content().is_some_and(|content| content.size > 0);
        if is_full || old.from.as_ref().map(|from| from.mtime) == Some(to.mtime) {
            pairs.insert((old.path.clone(), new.path.clone()));
        }
    }
    pairs
}

fn some_entry() -> impl Strategy<Value = Entry> {
    let kind = prop::sample::select(vec![
        file("x"),
        file("x"),
        file("x"),
        file("y"),
        file(""),
        symlink("t"),
    ]);
    (kind, 1..6_u64, 1..3_i64).prop_map(|(entry, ino, sec)| Entry {
        ino,
        mtime: Time { sec, nsec: 0 },
        ..entry
    })
}

fn some_changes() -> impl Strategy<Value = Vec<Change>> {
    let name = || prop::sample::select(vec!["a", "b", "c", "d", "e"]);
    let sides = prop_oneof![
        4 => some_entry().prop_map(|entry| (ChangeKind::Added, None, Some(entry))),
        4 => some_entry().prop_map(|entry| (ChangeKind::Deleted, Some(entry), None)),
        1 => (some_entry(), some_entry()).prop_map(|(from, to)| (ChangeKind::Modified, Some(from), Some(to))),
    ];
    let all = prop::collection::vec((name(), name(), sides), 0..24);
    let changes = all.prop_map(|all| {
        let mut unique: BTreeMap<RelPath, Change> = BTreeMap::new();
        for (dir, name, (kind, from, to)) in all {
            let path = path(&format!("{dir}/{name}"));
            let change = Change {
                path: path.clone(),
                kind,
                from,
                to,
                from_path: None,
                has_secret_name: false,
            };
            unique.insert(path, change);
        }
        unique.into_values().collect::<Vec<Change>>()
    });
    changes.prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]
    #[test]
    fn files_are_paired_as_by_the_reference(changes in some_changes()) {
        let all: Vec<&Change> = changes.iter().collect();
        prop_assert_eq!(renames(&all), renames_by_reference(&changes));
        let found = moved(&changes);
        let unique: BTreeSet<_> = found.iter().cloned().collect();
        prop_assert_eq!(found.len(), unique.len());
        prop_assert_eq!(unique, moved_by_reference(&changes));
    }
}
