//! Staging of new content, and removal of all of it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::{RestoreError, wrecked};
use crate::capture::tests::{Meddler, Moment, Place};
use crate::contract::STAGING_PREFIX;
use crate::observer::Phase;
use crate::restore::stage::{Location, Maker, OwnedInodes, Stage};
use handle_fs::Root;
use handle_fs::remote::Transports;
use handle_fs::remote::loopback::{CUT, cut_when, through, transports};

#[test]
fn beside_the_root_where_that_is_the_same_mount_else_inside() {
    let place = Place::new();
    let beside = Location::Beside(place.base.clone());
    assert_eq!(Location::choose(&Transports::default(), &place.root), beside);
    assert_eq!(
        Location::choose(&Transports::default(), &place.base.join("missing")),
        beside
    );
    // A link to a directory elsewhere says nothing about where its target lies.
    assert_eq!(
        Location::choose(&Transports::default(), Path::new("/")),
        Location::Inside("/".into())
    );
    let places = ["/dev", "/dev/pts"]
        .map(|path| Root::open(&Transports::default(), Path::new(path)).map(|root| root.place()));
    match places {
        [Ok(outer), Ok(inner)] if outer != inner => {
            let inside = Location::Inside("/dev/pts".into());
            assert_eq!(
                Location::choose(&Transports::default(), Path::new("/dev/pts")),
                inside
            );
        }
        _ => crate::skipped::skipped("/dev/pts is no mount point"),
    }
}

#[test]
fn a_staging_directory_is_ours_alone_and_goes_with_everything_in_it() {
    let place = Place::new();
    let location = Location::choose(&Transports::default(), &place.root);
    let stage_place = Stage::place(&location, &place.root, [7; 8]);
    let stage = Stage::create(&Transports::default(), &stage_place, None).unwrap();
    let path = stage.path().to_path_buf();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(STAGING_PREFIX), "{name}: a capture must know it");
    let again = Stage::create(&Transports::default(), &stage_place, None);
    assert!(
        matches!(again, Err(RestoreError::Stage { .. })),
        "never one that is there"
    );
    fs::create_dir_all(path.join("shut/in")).unwrap();
    fs::write(path.join("shut/in/file"), "f").unwrap();
    fs::create_dir(place.base.join("outside")).unwrap();
    fs::write(place.base.join("outside/kept"), "k").unwrap();
    std::os::unix::fs::symlink(place.base.join("outside"), path.join("link")).unwrap();
    let mut known = OwnedInodes::default();
    known.staged(stage.dir()).unwrap();
    fs::set_permissions(path.join("shut"), fs::Permissions::from_mode(0o000)).unwrap();
    stage.settle(&known).unwrap();
    assert!(!path.exists());
    assert!(place.base.join("outside/kept").exists(), "no link is followed");
}

#[test]
fn a_directory_that_shuts_us_out_can_be_synced() {
    let place = Place::new();
    let dir = handle_fs::Dir::open(&Transports::default(), &place.root).unwrap();
    for mode in [0o300, 0o000] {
        fs::set_permissions(&place.root, fs::Permissions::from_mode(mode)).unwrap();
        let synced = handle_fs::sync_directory(&dir);
        fs::set_permissions(&place.root, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(synced.is_ok(), "{mode:o}: {synced:?}");
    }
}

#[test]
fn staging_inside_the_root_shows_in_nothing() {
    let session = wrecked(&[("d/edit", "before"), ("d/gone", "g")], |place| {
        place.write("d/edit", "after");
        fs::remove_file(place.at("d/gone")).unwrap();
        place.write("d/made", "m");
    });
    let root = session.place.root.clone();
    let mtime = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let before = mtime(&root);
    let mut proposal = session.propose();
    proposal.mounts[0].location = Location::Inside(root.clone());
    let seen = std::sync::Mutex::new(Vec::new());
    let meddler = Meddler(|moment| {
        if moment == Moment::Begin(Phase::Apply) {
            let names = fs::read_dir(&root).unwrap();
            seen.lock()
                .unwrap()
                .extend(names.map(|entry| entry.unwrap().file_name()));
        }
        false
    });
    let report = session.execute_by(&proposal, &meddler).unwrap();
    assert_eq!(report.mounts[0].failed, []);
    assert_eq!(seen.into_inner().unwrap().len(), 2, "it was inside");
    let left: Vec<_> = fs::read_dir(&root).unwrap().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(mtime(&root), before, "the root's own time is kept");
    assert_eq!(fs::read_to_string(session.place.at("d/edit")).unwrap(), "before");
    assert!(session.propose().is_empty());
}

#[test]
fn staging_inside_a_root_whose_entries_change_is_taken_back_too() {
    let session = wrecked(&[("edit", "before"), ("z", "before")], |place| {
        place.write("edit", "after");
        place.write("z", "after");
    });
    let mut proposal = session.propose();
    proposal.mounts[0].location = Location::Inside(session.place.root.clone());
    let meddler = Meddler(|moment| {
        if moment == Moment::Begin(Phase::Apply) {
            session.place.write("z", "meanwhile");
        }
        false
    });
    let result = session.execute_by(&proposal, &meddler);
    assert!(matches!(result, Err(RestoreError::Drift { .. })), "{result:?}");
    let left: Vec<_> = fs::read_dir(&session.place.root).unwrap().collect();
    assert_eq!(left.len(), 2);
    assert_eq!(fs::read_to_string(session.place.at("edit")).unwrap(), "after");
}

/// The directory exists, but the restore only sees a failed creation.
#[test]
fn a_staging_directory_whose_answer_was_lost_is_left_to_the_next_command() {
    let place = Place::new();
    let transports = transports();
    let far = through(CUT, "staging", &place.base);
    let stage_place = Stage::place(&Location::Beside(far), &place.root, [7; 8]);
    let path = place.base.join(&stage_place.name);
    cut_when(path.clone());
    let Err(error) = Stage::create(&transports, &stage_place, None) else {
        panic!("the answer was not lost");
    };
    assert!(path.exists(), "the request got there");
    assert!(error.has_left_some(), "{error}");
    // By another connection.
    Stage::reopen(&transports, &stage_place, Maker::Actor)
        .unwrap()
        .unwrap()
        .forget()
        .unwrap();
    assert!(!path.exists());
}
