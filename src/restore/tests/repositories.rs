//! Paths that count as git's own data.

use std::fs;

use super::{RestoreError, wrecked};
use crate::capture::tests::{Moment, Place, at, path};
use crate::git_directories::Repositories;

#[test]
fn what_is_git_s_own_is_told_from_what_only_looks_like_it() {
    let place = Place::new();
    for file in [
        ".git/HEAD",
        ".git/modules/sub/HEAD",
        ".gitignore",
        ".git-notes/x",
        "deep/inner/.git/config",
        "deep/inner/file",
        "linked/.git",
        "depot/HEAD",
        "depot/objects/x",
        "depot/refs/x",
        "depot/hooks/update",
        "half/HEAD",
        "half/objects/x",
    ] {
        place.write(file, "x");
    }
    let manifest = place.look(None);
    let own = Repositories::of([&manifest]);
    let holding = |at: &str| {
        own.holding(&path(at))
            .map(|own| own.as_path().to_str().unwrap().to_owned())
    };
    for (at, wanted) in [
        (".git", Some(".git")),
        (".git/HEAD", Some(".git")),
        (".git/modules/sub/HEAD", Some(".git")),
        (".git/not/there/yet", Some(".git")),
        (".gitignore", None),
        (".git-notes/x", None),
        ("deep/inner/.git/config", Some("deep/inner/.git")),
        ("deep/inner/file", None),
        ("deep/inner", None),
        ("linked/.git", Some("linked/.git")),
        ("depot/hooks/update", Some("depot")),
        ("depot", Some("depot")),
        ("half/HEAD", None),
        ("zzz", None),
        ("", None),
    ] {
        assert_eq!(holding(at).as_deref(), wanted, "{at}");
    }
    assert_eq!(Repositories::of([]), Repositories::default());
}

/// Writes a file as git does, which renames it into its place.
fn put(place: &Place, path: &str) {
    place.write("new", "meanwhile");
    fs::create_dir_all(place.at(path).parent().unwrap()).unwrap();
    fs::rename(place.at("new"), place.at(path)).unwrap();
}

/// A repository with a session that committed in it, and its branch.
fn committed() -> super::Wrecked {
    wrecked(
        &[
            (".git/FETCH_HEAD", "old"),
            (".git/HEAD", "ref: refs/heads/main"),
            (".git/config", ""),
            (".git/index", "old"),
            (".git/logs/HEAD", "old"),
            (".git/objects/11/old", "old"),
            (".git/refs/heads/main", "old"),
            (".git/refs/heads/other", "old"),
        ],
        |place| {
            place.write(".git/objects/22/new", "new");
            place.write(".git/objects/33/new", "new");
            place.write(".git/refs/heads/main", "new");
        },
    )
}

const POINTS: [&str; 5] = ["emergency", "staged", "journaled", "moved", "synced"];

/// It may name an object that goes.
#[test]
fn a_ref_that_git_writes_while_objects_are_deleted_stops_the_restore() {
    for point in POINTS {
        for (named, meddle) in [
            (".git/refs/heads/keep", None),
            (".git/refs/heads/topic", Some(".git/refs/heads/topic/keep")),
            (".git/HEAD", None),
            (".git/index", None),
            (".git/packed-refs", None),
            (".git/MERGE_HEAD", None),
            (".git/worktrees", Some(".git/worktrees/tree/HEAD")),
        ] {
            let wrecked = committed();
            let proposal = wrecked.propose();
            let place = &wrecked.place;
            let meddler = at(Moment::Reached(point), || put(place, meddle.unwrap_or(named)));
            let error = wrecked.execute_by(&proposal, &meddler).unwrap_err();
            let about = format!("{named} at {point}: {error}");
            assert!(
                matches!(&error, RestoreError::Drift { path } if *path == place.at(named)),
                "{about}"
            );
            assert_eq!(wrecked.beside(), ["data", "project"], "{about}");
            assert_eq!(
                fs::read(place.at(meddle.unwrap_or(named))).unwrap(),
                b"meanwhile",
                "{about}"
            );
            for path in [
                ".git/objects/22/new",
                ".git/objects/33/new",
                ".git/refs/heads/main",
            ] {
                assert_eq!(fs::read(place.at(path)).unwrap(), b"new", "{path} {about}");
            }
            drop(meddler);
        }
    }
    let wrecked = committed();
    let proposal = wrecked.propose();
    let other = wrecked.place.at(".git/refs/heads/other");
    let meddler = at(Moment::Reached("moved"), || fs::remove_file(&other).unwrap());
    let error = wrecked.execute_by(&proposal, &meddler).unwrap_err();
    assert!(
        matches!(&error, RestoreError::Drift { path } if *path == other),
        "{error}"
    );
}

/// The time of their directory does not show it.
#[test]
fn a_file_that_git_writes_in_place_stops_the_restore_too() {
    for point in POINTS {
        let wrecked = committed();
        let proposal = wrecked.propose();
        let named = wrecked.place.at(".git/FETCH_HEAD");
        let meddler = at(Moment::Reached(point), || fs::write(&named, "meanwhile").unwrap());
        let error = wrecked.execute_by(&proposal, &meddler).unwrap_err();
        assert!(
            matches!(&error, RestoreError::Drift { path } if *path == named),
            "{point}: {error}"
        );
        drop(meddler);
        assert!(wrecked.place.at(".git/objects/22/new").exists(), "{point}");
    }
}

#[test]
fn what_names_no_object_does_not_stop_a_restore() {
    for point in POINTS {
        for path in [
            ".git/COMMIT_EDITMSG",
            ".git/objects/44/new",
            ".git/logs/HEAD",
            ".git/logs/refs/heads/main",
            "file",
        ] {
            let wrecked = committed();
            let proposal = wrecked.propose();
            let place = &wrecked.place;
            let meddler = at(Moment::Reached(point), || place.write(path, "meanwhile"));
            let result = wrecked.execute_by(&proposal, &meddler);
            assert!(result.is_ok(), "{path} at {point}: {result:?}");
            assert!(!place.at(".git/objects/22").exists(), "{path} at {point}");
        }
    }
}
