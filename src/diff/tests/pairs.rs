//! Every pair of states that one path can be in.

use super::{Built, dir, file, object, symlink, tree, with_mode, with_xattr};
use crate::diff::ChangeKind::{self, Added, Deleted, Metadata, Mode, Modified, Type};
use crate::diff::{Comparison, Side, compare};
use crate::model::{Entry, EntryKind, Manifest, Time};

fn states() -> Vec<(&'static str, Option<Entry>)> {
    let owned = Entry {
        uid: 0,
        ..file("one")
    };
    vec![
        ("absent", None),
        ("file", Some(file("one"))),
        ("other", Some(file("two"))),
        ("empty", Some(file(""))),
        ("chmod", Some(with_mode(file("one"), 0o600))),
        ("chown", Some(owned)),
        ("xattr", Some(with_xattr(file("one"), "v"))),
        ("xattr2", Some(with_xattr(file("one"), "w"))),
        ("dir", Some(dir())),
        ("dirmode", Some(with_mode(dir(), 0o700))),
        ("link", Some(symlink("one"))),
        ("link2", Some(symlink("two"))),
        ("linkmode", Some(with_mode(symlink("one"), 0o700))),
        ("fifo", Some(object(EntryKind::Fifo, 0o644))),
        ("socket", Some(object(EntryKind::Socket, 0o644))),
        ("null", Some(object(EntryKind::CharDevice(1, 3), 0o644))),
        ("zero", Some(object(EntryKind::CharDevice(1, 5), 0o644))),
        ("block", Some(object(EntryKind::BlockDevice(1, 3), 0o644))),
    ]
}

/// Returns the expected change of each pair, stated without the logic of the code under test.
fn expected(from: &str, to: &str) -> Option<ChangeKind> {
    let class = |state: &str| match state {
        "absent" => 0,
        "dir" | "dirmode" => 2,
        "link" | "link2" | "linkmode" => 3,
        "fifo" => 4,
        "socket" => 5,
        "null" | "zero" => 6,
        "block" => 7,
        _ => 1,
    };
    let content = |state: &str| match state {
        "other" => 2,
        "empty" => 3,
        "link2" => 5,
        "zero" => 6,
        _ => 1,
    };
    if from == to {
        return None;
    }
    match (class(from), class(to)) {
        (0, _) => Some(Added),
        (_, 0) => Some(Deleted),
        (a, b) if a != b => Some(Type),
        _ if content(from) != content(to) => Some(Modified),
        // The mode of a symbolic link says nothing.
        (3, _) => None,
        (2, _) => Some(Mode),
        _ if [from, to]
            .iter()
            .all(|state| ["file", "other", "empty", "chmod"].contains(state)) =>
        {
            Some(Mode)
        }
        _ => Some(Metadata),
    }
}

fn one(state: Option<Entry>) -> Built {
    tree(state.map(|entry| ("p", entry))).build()
}

#[test]
fn every_pair_of_states_is_the_change_that_it_is() {
    for (from_name, from) in states() {
        for (to_name, to) in states() {
            let (old, new) = (one(from.clone()), one(to.clone()));
            let found = compare(&old.side(), &new.side());
            let kinds: Vec<ChangeKind> = found.changes.iter().map(|change| change.kind).collect();
            let wanted: Vec<ChangeKind> = expected(from_name, to_name).into_iter().collect();
            assert_eq!(kinds, wanted, "{from_name} to {to_name}");
            assert!(found.not_covered.is_empty());
            for change in found.changes {
                assert_eq!(change.path, super::path("p"));
                assert_eq!(change.from.map(|entry| entry.kind), from.clone().map(|e| e.kind));
                assert_eq!(change.to.map(|entry| entry.kind), to.clone().map(|e| e.kind));
                assert_eq!(change.from_path, None);
            }
        }
    }
}

#[test]
fn times_inodes_link_counts_and_flags_are_no_difference() {
    let later = Entry {
        mtime: Time { sec: 9, nsec: 9 },
        ctime: Time { sec: 9, nsec: 9 },
        ino: 99,
        nlink: 3,
        unstable: false,
        ..file("one")
    };
    let (old, new) = (one(Some(file("one"))), one(Some(later)));
    assert_eq!(compare(&old.side(), &new.side()), Comparison::default());
}

#[test]
fn another_hard_link_group_is_a_difference_in_metadata() {
    // Each path with the number of its file. Which of its names is the first follows from that.
    let files = |paths: &[(&'static str, u64)]| {
        let entry = |&(name, ino): &(&'static str, u64)| {
            let mut names = paths.iter().filter(|(_, other)| *other == ino);
            let nlink = u32::try_from(names.clone().count()).unwrap();
            let first = names
                .next()
                .map(|(first, _)| *first)
                .filter(|first| *first != name);
            let entry = super::linked(file("one"), first, nlink);
            (name, Entry { ino, ..entry })
        };
        tree(paths.iter().map(entry)).build()
    };
    let was = [("a", 1), ("b", 1), ("c", 1), ("z", 4)];
    type Paths = &'static [(&'static str, u64)];
    let cases: [(Paths, &[&str]); 8] = [
        (&[("a", 1), ("b", 1), ("c", 1), ("z", 4)], &[]),
        // A name went, or came: the others are names of the same file.
        (&[("b", 1), ("c", 1), ("z", 4)], &[]),
        (&[("0", 1), ("a", 1), ("b", 1), ("c", 1), ("z", 4)], &[]),
        // A name of another file.
        (&[("a", 2), ("b", 1), ("c", 1), ("z", 4)], &["a"]),
        (&[("a", 1), ("b", 2), ("c", 1), ("z", 4)], &["b"]),
        (&[("a", 4), ("b", 1), ("c", 1), ("z", 4)], &["a"]),
        (&[("a", 1), ("b", 1), ("c", 1), ("z", 1)], &["z"]),
        // All are other files, as in a copy: what counts is which of them are one.
        (&[("a", 5), ("b", 5), ("c", 6), ("z", 7)], &["c"]),
    ];
    for (is, names) in cases {
        for (old, new) in [(&was[..], is), (is, &was)] {
            let found = compare(&files(old).side(), &files(new).side());
            let found = found.changes.iter().filter(|change| change.kind == Metadata);
            let found: Vec<_> = found.map(|change| change.path.clone()).collect();
            let wanted: Vec<_> = names.iter().map(|name| super::path(name)).collect();
            assert_eq!(found, wanted, "{old:?} {new:?}");
        }
    }
}

fn listed(found: &Comparison) -> Vec<(String, ChangeKind)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    found
        .changes
        .iter()
        .map(|change| (text(change.path.as_bytes()), change.kind))
        .collect()
}

#[test]
fn trees_are_compared_to_their_depth_and_listed_in_path_order() {
    let old = tree([
        ("a", dir()),
        ("a/one", file("1")),
        ("a-b", file("x")),
        ("d", dir()),
        ("d/e", dir()),
        ("d/e/f", file("f")),
        ("was", file("w")),
    ])
    .build();
    let new = tree([
        ("a", dir()),
        ("a/one", file("2")),
        ("a-b", file("y")),
        ("was", dir()),
        ("was/in", file("i")),
    ])
    .build();
    let found = compare(&old.side(), &new.side());
    let expected = [
        ("a/one", Modified),
        ("a-b", Modified),
        ("d", Deleted),
        ("d/e", Deleted),
        ("d/e/f", Deleted),
        ("was", Type),
        ("was/in", Added),
    ];
    assert_eq!(listed(&found), expected.map(|(at, kind)| (at.to_owned(), kind)));
    let back = compare(&new.side(), &old.side());
    let mirrored = expected.map(|(at, kind)| {
        let kind = match kind {
            Added => Deleted,
            Deleted => Added,
            other => other,
        };
        (at.to_owned(), kind)
    });
    assert_eq!(listed(&back), mirrored);
}

#[test]
fn a_root_that_did_not_exist_makes_everything_new() {
    let full = tree([("d", dir()), ("d/f", file("f"))]).build();
    let nothing = Side {
        manifest: None,
        skipped: &[],
    };
    let appeared = ["", "d", "d/f"].map(str::to_owned);
    assert_eq!(
        listed(&compare(&nothing, &full.side())),
        appeared.clone().map(|at| (at, Added))
    );
    assert_eq!(
        listed(&compare(&full.side(), &nothing)),
        appeared.map(|at| (at, Deleted))
    );
    assert_eq!(compare(&nothing, &nothing), Comparison::default());
}

#[test]
fn the_root_itself_is_compared() {
    let old = tree([("f", file("f"))]).build();
    let new = Manifest {
        root: with_mode(dir(), 0o700),
        ..old.manifest.clone()
    };
    let to = Side {
        manifest: Some(&new),
        skipped: &[],
    };
    assert_eq!(listed(&compare(&old.side(), &to)), [(String::new(), Mode)]);
}
