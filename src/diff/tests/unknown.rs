//! Paths that one side does not know are neither added nor deleted, but not covered.

use super::{Built, Tree, dir, file, path, symlink, tree};
use crate::diff::{compare, count_unknown};
use crate::model::Listing;

/// Returns the ways in which a side may not know `d/p`.
fn ways() -> Vec<(&'static str, Tree)> {
    let bare = || tree([("d", dir())]);
    vec![
        ("a gap", bare().gap("d/p")),
        ("an exclude", bare().skip("d/p")),
        ("an unsettled list", bare().listing("d", Listing::Unsettled)),
        ("an unreadable list", bare().listing("d", Listing::Unreadable)),
        ("its directory is a gap", tree([]).gap("d")),
        ("its directory is excluded", tree([]).skip("d")),
        (
            "its directory is in no sure list",
            tree([]).listing("", Listing::Unsettled),
        ),
    ]
}

#[test]
fn whatever_keeps_a_path_from_being_known_neither_side_of_it_is_a_change() {
    let states = [
        tree([("d", dir()), ("d/p", file("p"))]),
        tree([("d", dir()), ("d/p", dir()), ("d/p/below", file("b"))]),
        tree([("d", dir()), ("d/p", symlink("t"))]),
    ];
    for (way, unknown) in ways() {
        for known in &states {
            let (unknown, known) = (unknown.build(), known.build());
            for found in [
                compare(&known.side(), &unknown.side()),
                compare(&unknown.side(), &known.side()),
            ] {
                assert_eq!(found.changes, [], "{way}");
                let named = found
                    .not_covered
                    .iter()
                    .any(|gap| path("d/p").is_within(&gap.path) && !gap.reason.is_empty());
                assert!(named, "{way}: {:?}", found.not_covered);
                let sorted = found.not_covered.is_sorted_by(|a, b| a.path < b.path);
                assert!(sorted, "{way}: each path once, in order");
            }
        }
    }
}

#[test]
fn what_can_be_read_now_is_not_called_unreadable() {
    let unread = tree([]).gap("p").build();
    for (now, reason) in [
        (file("p"), "was unreadable, can be read now"),
        (symlink("t"), "was unreadable, is a symbolic link now"),
        (dir(), "was unreadable, is a directory now"),
    ] {
        let now = tree([("p", now)]).build();
        let reasons = |from: &Built, to: &Built| -> Vec<String> {
            let gaps = compare(&from.side(), &to.side()).not_covered;
            gaps.into_iter().map(|gap| gap.reason).collect()
        };
        assert_eq!(reasons(&unread, &now), [reason]);
        assert_eq!(reasons(&now, &unread), ["cannot be read: permission denied"]);
    }
}

#[test]
fn what_both_do_not_know_or_one_lacks_is_no_change() {
    for (way, one) in ways() {
        for (other_way, other) in ways() {
            let found = compare(&one.build().side(), &other.build().side());
            assert!(
                found.changes.iter().all(|change| change.path == path("d")),
                "{way}, {other_way}: {:?}",
                found.changes
            );
        }
        let absent = tree([("d", dir())]).build();
        for found in [
            compare(&one.build().side(), &absent.side()),
            compare(&absent.side(), &one.build().side()),
        ] {
            assert_eq!(found.changes, [], "{way}");
        }
    }
}

#[test]
fn what_is_listed_was_there_however_doubtful_the_list() {
    for listing in [Listing::Unsettled, Listing::Partial] {
        let doubtful = tree([("d", dir()), ("d/p", file("new"))])
            .listing("d", listing)
            .build();
        let before = tree([("d", dir()), ("d/p", file("old"))]).build();
        let found = compare(&before.side(), &doubtful.side());
        assert_eq!(found.changes.len(), 1, "{listing:?}");
        // What is there and was proven absent is new, whatever else the list may lack.
        let empty = tree([("d", dir())]).build();
        let found = compare(&empty.side(), &doubtful.side());
        assert_eq!(found.changes[0].path, path("d/p"), "{listing:?}");
    }
}

#[test]
fn a_file_that_would_not_hold_still_is_compared_and_named() {
    let mut moving = tree([("p", file("one"))]);
    for entry in moving.entries.values_mut() {
        entry.unstable = true;
    }
    let found = compare(&moving.build().side(), &tree([("p", file("two"))]).build().side());
    assert_eq!(found.changes.len(), 1);
    assert_eq!(found.not_covered.len(), 1);
    assert_eq!(found.not_covered[0].path, path("p"));
}

#[test]
fn an_unknown_neighbor_hides_nothing_else() {
    let old = tree([("d", dir()), ("d/a", file("a")), ("d/z", file("z"))])
        .gap("d/m")
        .build();
    let new = tree([("d", dir()), ("d/a", file("changed")), ("d/new", file("n"))])
        .skip("d/m")
        .build();
    let found = compare(&old.side(), &new.side());
    let paths: Vec<_> = found.changes.iter().map(|change| change.path.clone()).collect();
    assert_eq!(paths, ["d/a", "d/new", "d/z"].map(path));
}

#[test]
fn what_one_side_alone_knows_may_have_changed() {
    let bare = || tree([("d", dir())]);
    let holds = || tree([("d", dir()), ("d/p", file("p"))]);
    // With an object on the other side, and with nothing there.
    for (way, unknown, of_object, of_absence) in [
        ("unreadable", bare().gap("d/p"), true, true),
        // It was on its way.
        ("vanished", bare().vanished("d/p"), true, false),
        ("excluded", bare().skip("d/p"), false, false),
        (
            "in a list that is unreadable",
            bare().listing("d", Listing::Unreadable),
            true,
            false,
        ),
    ] {
        let unknown = unknown.build();
        for (known, counts) in [(holds().build(), of_object), (bare().build(), of_absence)] {
            for found in [
                compare(&known.side(), &unknown.side()),
                compare(&unknown.side(), &known.side()),
            ] {
                let count = count_unknown(&found.not_covered);
                assert_eq!(count, u64::from(counts), "{way}: {:?}", found.not_covered);
            }
        }
        let both = compare(&unknown.side(), &unknown.side());
        assert_eq!(count_unknown(&both.not_covered), 0, "{way}");
    }
}
