//! Changes at the last moment, when everything is staged: the restore rolls back every move.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Mutex;

use super::{RestoreError, Wrecked, wrecked};
use crate::capture::tests::{Meddler, Moment, Place, at};
use crate::contract::STAGING_PREFIX;
use crate::observer::Phase;

fn session() -> Wrecked {
    wrecked(
        &[
            ("a/gone", "gone"),
            ("b", "before"),
            ("mode", "m"),
            ("y", "before"),
            ("z", "before"),
        ],
        |place| {
            fs::remove_dir_all(place.at("a")).unwrap();
            for name in ["b", "y", "z"] {
                place.write(name, "after!");
            }
            place.write("x/in/side", "made");
            place.write("x/other", "made");
            set_mode(place, "mode", 0o600);
        },
    )
}

fn set_mode(place: &Place, name: &str, mode: u32) {
    fs::set_permissions(place.at(name), fs::Permissions::from_mode(mode)).unwrap();
}

/// Only that it was changed at all tells: nobody knows what else may be.
fn touch_mode(place: &Place, name: &str) {
    let mode = fs::metadata(place.at(name)).unwrap().permissions();
    set_mode(place, name, 0o606);
    fs::set_permissions(place.at(name), mode).unwrap();
}

/// Executes, and does `deed` when all is staged and nothing moved yet. Gives what the tree was then.
fn meddle(
    session: &Wrecked,
    deed: &(dyn Fn(&Place) + Send + Sync),
) -> (Result<super::Report, RestoreError>, Tree) {
    let tree = Mutex::new(Tree::new());
    let meddler = Meddler(|moment| {
        if moment == Moment::Begin(Phase::Apply) {
            deed(&session.place);
            *tree.lock().unwrap() = session.place.tree();
        }
        false
    });
    let result = session.execute_by(&session.propose(), &meddler);
    (result, tree.into_inner().unwrap())
}

type Tree = std::collections::BTreeMap<std::path::PathBuf, (u32, Vec<u8>)>;

/// Writes other bytes of the same length and puts the old time back: only the content tells.
fn forge(place: &Place, name: &str) {
    let path = place.at(name);
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let length = fs::metadata(&path).unwrap().len();
    let file = fs::File::options().write(true).open(&path).unwrap();
    let bytes = vec![b'?'; usize::try_from(length).unwrap()];
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
    file.set_modified(time).unwrap();
}

#[test]
fn a_surprise_at_any_path_takes_everything_back() {
    type Deed = (&'static str, fn(&Place), &'static str);
    let deeds: &[Deed] = &[
        ("the last file is edited", |p| p.write("z", "edited"), "z"),
        ("the last file is edited unseen", |p| forge(p, "z"), "z"),
        (
            "the last file had another mode for a moment",
            |p| touch_mode(p, "z"),
            "z",
        ),
        (
            "a file deep in what is removed had another mode for a moment",
            |p| touch_mode(p, "x/in/side"),
            "x",
        ),
        (
            "the last file is gone",
            |p| fs::remove_file(p.at("z")).unwrap(),
            "z",
        ),
        ("a missing one is there", |p| p.write("a/mine", "mine"), "a"),
        (
            "a file changed deep in what is removed",
            |p| forge(p, "x/in/side"),
            "x",
        ),
        (
            "a file came into what is removed",
            |p| p.write("x/in/new", "n"),
            "x",
        ),
        ("a file came in at its top", |p| p.write("x/new", "n"), "x"),
        (
            "a file left what is removed",
            |p| fs::remove_file(p.at("x/other")).unwrap(),
            "x",
        ),
        (
            "another file is where only the mode was to change",
            |p| {
                // Made while the old one is there still, so that it is another object.
                p.write("other", "m");
                set_mode(p, "other", 0o640);
                fs::rename(p.at("other"), p.at("mode")).unwrap();
            },
            "mode",
        ),
    ];
    for (about, deed, named) in deeds {
        let session = session();
        let (result, before) = meddle(&session, deed);
        let Err(RestoreError::Drift { path }) = result else {
            panic!("{about}: {result:?}");
        };
        assert_eq!(path, session.place.at(named), "{about}");
        session.assert_untouched(&before, about);
    }
}

/// The journal then has the identity of a file that the plan never saw.
#[test]
fn another_name_of_a_file_outside_keeps_its_mode_when_a_restore_is_taken_back() {
    let session = session();
    let (outside, kept) = (
        session.place.base.join("outside"),
        session.place.base.join("kept"),
    );
    fs::write(&outside, "outside").unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o644)).unwrap();
    let at = session.place.at("mode");
    let swap_in = || {
        if !kept.exists() {
            fs::rename(&at, &kept).unwrap();
            fs::hard_link(&outside, &at).unwrap();
        }
    };
    let backs = Mutex::new(0);
    let meddler = Meddler(|moment| {
        match moment {
            Moment::Reached("staging") => swap_in(),
            Moment::Reached("staged") => fs::rename(&kept, &at).unwrap(),
            Moment::Reached("back") => {
                *backs.lock().unwrap() += 1;
                swap_in();
            }
            _ => {}
        }
        false
    });
    let result = session.execute_by(&session.propose(), &meddler);
    result.unwrap_err();
    assert!(*backs.lock().unwrap() > 0, "nothing was taken back");
    let found = fs::metadata(&outside).unwrap().permissions();
    assert_eq!(found.mode() & 0o7777, 0o644);
    assert_eq!(fs::read(&outside).unwrap(), b"outside");
}

#[test]
fn what_lies_aside_and_is_taken_away_stops_it_and_is_named() {
    let session = wrecked(&[("y", "before")], |place| place.write("y", "after!"));
    let take = at(Moment::Reached("moved"), || {
        let beside = session.beside();
        let stage = beside
            .iter()
            .find(|name| name.starts_with(STAGING_PREFIX))
            .unwrap();
        let stage = session.place.base.join(stage);
        let mut names = fs::read_dir(stage).unwrap().map(|entry| entry.unwrap().path());
        let aside = names.find(|path| path.is_file()).unwrap();
        assert_eq!(fs::read(&aside).unwrap(), b"after!");
        fs::remove_file(aside).unwrap();
    });
    let result = session.execute_by(&session.propose(), &take);
    let Err(RestoreError::Left { cause, left }) = result else {
        panic!("{result:?}");
    };
    assert!(matches!(*cause, RestoreError::Drift { .. }), "{cause:?}");
    assert!(matches!(*left, RestoreError::Gone { .. }), "{left:?}");
    assert_eq!(session.receipts(), 0);
    assert_eq!(session.beside(), ["data", "project"]);
}

#[test]
fn stopping_between_two_moves_takes_everything_back() {
    for number in 0..4 {
        let session = session();
        let before = session.place.tree();
        let state = Mutex::new((false, 0));
        let meddler = Meddler(|moment| {
            let mut state = state.lock().unwrap();
            match moment {
                Moment::Begin(Phase::Apply) => state.0 = true,
                Moment::Asked if state.0 => {
                    state.1 += 1;
                    return state.1 > number;
                }
                _ => {}
            }
            false
        });
        let result = session.execute_by(&session.propose(), &meddler);
        assert!(
            matches!(result, Err(RestoreError::Interrupted)),
            "{number}: {result:?}"
        );
        session.assert_untouched(&before, &format!("stopped at move {number}"));
    }
}

#[test]
fn stopping_while_content_is_staged_leaves_nothing() {
    let session = session();
    let before = session.place.tree();
    let staging = Mutex::new(false);
    let meddler = Meddler(|moment| {
        let mut staging = staging.lock().unwrap();
        *staging = *staging || moment == Moment::Begin(Phase::Stage);
        *staging && moment == Moment::Asked
    });
    let result = session.execute_by(&session.propose(), &meddler);
    assert!(matches!(result, Err(RestoreError::Interrupted)), "{result:?}");
    session.assert_untouched(&before, "staging");
}

#[test]
fn a_file_with_two_names_is_compared_by_its_bytes() {
    let session = wrecked(&[("a", "before")], |place| {
        place.write("a", "after!");
        fs::hard_link(place.at("a"), place.at("b")).unwrap();
    });
    let (result, before) = meddle(&session, &|place| forge(place, "a"));
    assert!(matches!(result, Err(RestoreError::Drift { .. })), "{result:?}");
    assert_eq!(before[&session.place.at("b")].1, b"??????");
    session.assert_untouched(&before, "forged");
}

#[test]
fn a_second_mount_that_fails_takes_the_first_one_back() {
    let place = Place::with(&[("one/f", "before"), ("two/f", "before"), ("two/g", "before")]);
    let coverages = ["one", "two"].map(|name| crate::capture::tests::coverage(&place.at(name), name));
    let take = |kind| {
        let limits = crate::capture::Limits::NONE;
        place
            .try_take(kind, &coverages, limits, &crate::observer::Silent)
            .unwrap()
    };
    let baseline = take(crate::model::SnapshotKind::Baseline);
    for name in ["one/f", "two/f", "two/g"] {
        place.write(name, "after");
    }
    let closing = take(crate::model::SnapshotKind::Closing);
    let requests = coverages
        .iter()
        .zip(&closing.manifests)
        .map(|(coverage, manifest)| {
            let witness = super::ChangeHistory {
                last: manifest.clone(),
                ..super::ChangeHistory::default()
            };
            super::MountRequest {
                coverage: coverage.clone(),
                scope: super::Scope::All,
                witness,
            }
        });
    let proposal = super::propose(
        &place.store,
        baseline.record.clone(),
        super::Purpose::Restore,
        requests.collect(),
        super::NOTHING,
        false,
        &crate::observer::Silent,
    )
    .unwrap();
    let session = Wrecked {
        place,
        baseline,
        closing,
    };
    let meddler = Meddler(|moment| {
        if moment == Moment::Begin(Phase::Apply) {
            session.place.write("two/g", "meanwhile");
        }
        false
    });
    let result = session.execute_by(&proposal, &meddler);
    assert!(matches!(result, Err(RestoreError::Drift { .. })), "{result:?}");
    for (name, content) in [("one/f", "after"), ("two/f", "after"), ("two/g", "meanwhile")] {
        assert_eq!(
            fs::read_to_string(session.place.at(name)).unwrap(),
            content,
            "{name}"
        );
    }
    let names: Vec<_> = fs::read_dir(&session.place.root).unwrap().collect();
    assert_eq!(names.len(), 2, "no staging directory stays");
    // Left alone, both come back.
    let report = session.execute(&proposal);
    assert!(
        matches!(report, Err(RestoreError::Drift { .. })),
        "the edit is still there"
    );
    session.place.write("two/g", "after");
}
