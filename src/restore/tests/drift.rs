//! Changes between the proposal and its execution: the restore applies the plan that was shown, or nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use super::{RestoreError, wrecked};
use crate::capture::tests::{Meddler, Moment, Place};
use crate::observer::Phase;

fn session() -> super::Wrecked {
    wrecked(
        &[("edit", "before"), ("gone", "gone"), ("still", "still")],
        |place| {
            place.write("edit", "after");
            fs::remove_file(place.at("gone")).unwrap();
            place.write("made/one", "1");
            place.write("made/two", "2");
        },
    )
}

type Meddling = (&'static str, fn(&Place), &'static str);

/// Changes by another process, each with its name and the path that the refusal names.
const DRIFTS: &[Meddling] = &[
    ("edits", |place| place.write("edit", "meanwhile"), "edit"),
    ("puts back", |place| place.write("edit", "before"), "edit"),
    (
        "chmods",
        |place| fs::set_permissions(place.at("edit"), fs::Permissions::from_mode(0o600)).unwrap(),
        "edit",
    ),
    (
        "replaces by an equal file",
        |place| {
            place.write("new", "after");
            fs::rename(place.at("new"), place.at("edit")).unwrap();
        },
        "edit",
    ),
    (
        "removes",
        |place| fs::remove_file(place.at("edit")).unwrap(),
        "edit",
    ),
    (
        "creates what would be created",
        |place| place.write("gone", "mine"),
        "gone",
    ),
    (
        "adds to what would be removed",
        |place| place.write("made/three", "3"),
        "made",
    ),
    (
        "empties what would be removed",
        |place| fs::remove_file(place.at("made/one")).unwrap(),
        "made/one",
    ),
    (
        "swaps a directory for a file",
        |place| {
            fs::remove_dir_all(place.at("made")).unwrap();
            place.write("made", "file");
        },
        "made",
    ),
];

#[test]
fn drift_is_refused_with_nothing_changed() {
    for (about, meddle, named) in DRIFTS {
        let session = session();
        let proposal = session.propose();
        meddle(&session.place);
        let before = session.place.tree();
        let result = session.execute(&proposal);
        let Err(RestoreError::Drift { path }) = result else {
            panic!("{about}: {result:?}");
        };
        assert_eq!(path, session.place.at(named), "{about}");
        session.assert_untouched(&before, about);
    }
}

#[test]
fn what_changed_after_the_emergency_snapshot_is_seen_before_anything_moves() {
    // What lies deeper is seen when it has been moved aside, and all is taken back then.
    let top = DRIFTS.iter().filter(|(_, _, named)| !named.starts_with("made"));
    for (about, meddle, named) in top {
        let session = session();
        let proposal = session.propose();
        let moves = AtomicU32::new(0);
        // Everything is staged and written down when it begins.
        let late = Meddler(|moment| {
            match moment {
                Moment::Begin(Phase::Apply) => meddle(&session.place),
                Moment::Reached("move") => drop(moves.fetch_add(1, Ordering::Relaxed)),
                _ => {}
            }
            false
        });
        let result = session.execute_by(&proposal, &late);
        let Err(RestoreError::Drift { path }) = result else {
            panic!("{about}: {result:?}");
        };
        assert_eq!(path, session.place.at(named), "{about}");
        assert_eq!(moves.load(Ordering::Relaxed), 0, "{about}");
        assert!(session.place.at("made/one").exists(), "{about}");
        assert_eq!(session.receipts(), 0, "{about}");
    }
}

#[test]
fn what_the_plan_does_not_touch_may_change() {
    type Other = (&'static str, fn(&Place));
    let others: &[Other] = &[
        ("another file", |place| place.write("still", "changed")),
        ("a new file", |place| place.write("new", "new")),
        ("a time", |place| {
            let file = fs::File::options().write(true).open(place.at("edit")).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }),
    ];
    for (about, meddle) in others {
        let session = session();
        let proposal = session.propose();
        meddle(&session.place);
        session.execute(&proposal).unwrap();
        let content = fs::read_to_string(session.place.at("edit")).unwrap();
        assert_eq!(content, "before", "{about}");
        assert!(!session.place.at("made").exists(), "{about}");
    }
}

#[test]
fn a_root_that_became_a_link_is_refused() {
    let session = session();
    let proposal = session.propose();
    fs::rename(&session.place.root, session.place.base.join("moved")).unwrap();
    std::os::unix::fs::symlink(session.place.base.join("moved"), &session.place.root).unwrap();
    let result = session.execute(&proposal);
    assert!(matches!(result, Err(RestoreError::Emergency(_))), "{result:?}");
    let moved = session.place.base.join("moved/edit");
    assert_eq!(fs::read_to_string(moved).unwrap(), "after");
    assert_eq!(session.receipts(), 0);
}

/// Nothing is known then of a path in it.
#[test]
fn a_directory_that_keeps_changing_is_named_itself() {
    for _ in 0..12 {
        let session = wrecked(&[("busy/gone", "gone")], |place| {
            fs::remove_file(place.at("busy/gone")).unwrap();
            place.write("busy/made", "made");
        });
        let proposal = session.propose();
        let is_done = AtomicBool::new(false);
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                let mut number = 0;
                while !is_done.load(Ordering::Relaxed) {
                    session.place.write(&format!("busy/mine-{number}"), "mine");
                    number += 1;
                }
            });
            let result = session.execute(&proposal);
            is_done.store(true, Ordering::Relaxed);
            result
        });
        match result {
            Ok(_) => assert!(session.place.at("busy/gone").exists()),
            Err(RestoreError::Drift { path }) => assert_eq!(path, session.place.at("busy")),
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// The ctime of a directory, and of a file with several names, is moved by the restore's own moves and tells nothing.
#[test]
fn an_attribute_set_while_it_is_under_way_is_seen() {
    for path in ["made", "twin", "again", "mode"] {
        let session = wrecked(&[("edit", "before"), ("mode", "x")], |place| {
            place.write("edit", "after");
            place.write("made/one", "1");
            place.write("twin", "2");
            fs::hard_link(place.at("twin"), place.at("again")).unwrap();
            fs::set_permissions(place.at("mode"), fs::Permissions::from_mode(0o600)).unwrap();
        });
        let proposal = session.propose();
        let place = session.place.at(path);
        let is_set = AtomicBool::new(false);
        let late = Meddler(|moment| {
            if moment == Moment::Begin(Phase::Apply) {
                let none = rustix::fs::XattrFlags::empty();
                let set = rustix::fs::lsetxattr(&place, "user.mine", b"1", none);
                is_set.store(set.is_ok(), Ordering::Relaxed);
            }
            false
        });
        let result = session.execute_by(&proposal, &late);
        // The file system may have no attributes.
        if is_set.load(Ordering::Relaxed) {
            assert!(
                matches!(result, Err(RestoreError::Drift { .. })),
                "{path}: {result:?}"
            );
            let mut value = [0; 8];
            let read = rustix::fs::lgetxattr(&place, "user.mine", &mut value);
            assert_eq!(read, Ok(1), "{path}");
        }
    }
}
