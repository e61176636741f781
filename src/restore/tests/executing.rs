//! Restores of real directories, from the proposal to the receipt.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::{DELETE, NOTHING, Proposal, Scope, below, path, wrecked};
use crate::capture::tests::{Meddler, Moment, Place};
use crate::model::{Operation, PathAct};
use crate::observer::Phase;
use crate::restore::{After, KeptPath, Outcome, Report, RestoreError, Why};
use handle_fs::remote::Transports;

fn files() -> Vec<(&'static str, &'static str)> {
    vec![
        ("d/deep/file", "deep"),
        ("d/other", "other"),
        ("edit", "before"),
        ("empty/", ""),
        ("mode", "mode"),
        ("still", "still"),
        ("type", "a file"),
    ]
}

fn wreck(place: &Place) {
    fs::remove_dir_all(place.at("d")).unwrap();
    fs::remove_dir(place.at("empty")).unwrap();
    place.write("edit", "after");
    place.write("made/by/session", "junk");
    fs::set_permissions(place.at("mode"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(place.at("type")).unwrap();
    place.write("type/is/a/directory", "now");
    symlink("/etc/passwd", place.at("link")).unwrap();
}

fn applied(proposal: &Proposal, report: &Report) -> Vec<String> {
    let steps = report.mounts[0].applied(&proposal.mounts[0].plan);
    steps
        .iter()
        .map(|step| String::from_utf8(step.change.path.as_bytes().to_vec()).unwrap())
        .collect()
}

#[test]
fn a_wrecked_tree_comes_back_and_is_written_down() {
    let place = Place::with(&files());
    let before = place.tree();
    let session = {
        let baseline = place.take(crate::model::SnapshotKind::Baseline);
        wreck(&place);
        let closing = place.take(crate::model::SnapshotKind::Closing);
        super::Wrecked {
            place,
            baseline,
            closing,
        }
    };
    let wreckage = session.place.tree();
    let proposal = session.propose();
    let report = session.execute(&proposal).unwrap();
    assert_eq!(report.outcome, Outcome::Done);
    assert_eq!(session.place.tree(), before);
    assert_eq!(session.beside(), ["data", "project"]);
    assert_eq!(report.left, [""; 0]);
    assert_eq!(report.mounts[0].failed, []);
    assert_eq!(report.mounts[0].failed, []);

    let receipts = session.place.store.receipts().unwrap();
    let last = receipts.last().unwrap();
    assert_eq!(Some(last.number), report.receipt);
    let Operation::Restore {
        target,
        emergency,
        changed,
        conflicts,
        failed,
        ..
    } = &last.act
    else {
        panic!("{:?}", last.act);
    };
    assert_eq!(target, &session.baseline.record.id);
    assert_eq!(Some(emergency), report.emergency.as_ref());
    assert_eq!((*conflicts, *failed), (0, 0));
    assert_eq!(changed.len(), applied(&proposal, &report).len());
    let act = |at: &str| changed.iter().find(|c| c.path == path(at)).map(|c| c.act);
    for (at, expected) in [
        ("edit", PathAct::Replaced),
        ("d/deep/file", PathAct::Created),
        ("made/by/session", PathAct::Deleted),
        ("mode", PathAct::Metadata),
    ] {
        assert_eq!(act(at), Some(expected), "{at}");
    }
    // The emergency snapshot holds the wreckage: restoring it leads back there.
    let record = session.place.store.record(emergency).unwrap();
    let manifest = session
        .place
        .store
        .manifest(&record, &record.mounts[0])
        .unwrap()
        .unwrap();
    assert_eq!(manifest.entries().count() + 1, wreckage.len());
}

#[test]
fn nothing_to_do_writes_nothing() {
    let session = wrecked(&files(), |_| ());
    let stored = ["archives", "snapshots"].map(|directory| session.place.stored(directory));
    let report = session.execute(&session.propose()).unwrap();
    assert_eq!(report.outcome, Outcome::Nothing);
    assert_eq!((report.emergency, report.receipt), (None, None));
    assert_eq!(
        ["archives", "snapshots"].map(|directory| session.place.stored(directory)),
        stored
    );
    assert_eq!(session.receipts(), 0);
}

#[test]
fn a_second_restore_has_nothing_to_do() {
    let session = wrecked(&files(), wreck);
    session.execute(&session.propose()).unwrap();
    assert!(session.propose().is_empty());
}

#[test]
fn later_work_stays_unless_it_is_given_up() {
    let session = wrecked(&files(), wreck);
    session.place.write("edit", "by hand, later");
    session.place.write("made/later", "by hand");
    let report = session.execute(&session.propose()).unwrap();
    assert_eq!(report.outcome, Outcome::Partial);
    let content = |at: &str| fs::read_to_string(session.place.at(at)).unwrap();
    assert_eq!(content("edit"), "by hand, later");
    assert_eq!(content("made/later"), "by hand");
    assert_eq!(content("d/deep/file"), "deep");
    assert!(!session.place.at("made/by").exists());

    let proposal = session.propose_with(Scope::All, DELETE);
    let edits: Vec<&KeptPath> = proposal.mounts[0].plan.conflicts.iter().collect();
    assert_eq!(edits.len(), 1);
    assert_eq!(edits[0].why, Why::LaterEdit(After::Session));
    session.execute(&proposal).unwrap();
    assert!(!session.place.at("made").exists());
    assert_eq!(content("edit"), "by hand, later");
}

#[test]
fn only_the_asked_paths_come_back() {
    let session = wrecked(&files(), wreck);
    let proposal = session.propose_with(below(&["d/deep"]), NOTHING);
    let report = session.execute(&proposal).unwrap();
    assert_eq!(applied(&proposal, &report), ["d", "d/deep", "d/deep/file"]);
    assert!(!session.place.at("d/other").exists());
    assert_eq!(fs::read_to_string(session.place.at("edit")).unwrap(), "after");
}

#[test]
fn a_removed_root_comes_back_as_a_whole() {
    let session = wrecked(&files(), |place| fs::remove_dir_all(&place.root).unwrap_or(()));
    assert!(session.closing.manifests[0].is_none());
    // Nobody saw what came after the last live snapshot: putting back what is missing loses nothing.
    let request = crate::restore::MountRequest {
        coverage: session.place.coverage(),
        scope: Scope::All,
        witness: crate::restore::ChangeHistory::default(),
    };
    let proposal = crate::restore::propose(
        &session.place.store,
        session.baseline.record.clone(),
        crate::restore::Purpose::Restore,
        vec![request],
        NOTHING,
        false,
        &crate::observer::Silent,
    )
    .unwrap();
    let report = session.execute(&proposal).unwrap();
    assert_eq!(report.outcome, Outcome::Done);
    assert_eq!(
        fs::read_to_string(session.place.at("d/deep/file")).unwrap(),
        "deep"
    );
    assert_eq!(session.beside(), ["data", "project"]);
}

#[test]
fn hard_link_groups_come_back_joined() {
    let session = {
        let place = Place::with(&[("a", "shared"), ("alone", "x")]);
        for name in ["b", "c"] {
            fs::hard_link(place.at("a"), place.at(name)).unwrap();
        }
        let baseline = place.take(crate::model::SnapshotKind::Baseline);
        fs::remove_file(place.at("a")).unwrap();
        fs::remove_file(place.at("b")).unwrap();
        place.write("b", "torn off");
        let closing = place.take(crate::model::SnapshotKind::Closing);
        super::Wrecked {
            place,
            baseline,
            closing,
        }
    };
    let report = session.execute(&session.propose()).unwrap();
    assert_eq!(report.outcome, Outcome::Done, "{:?}", report.mounts);
    let inodes = ["a", "b", "c"].map(|name| fs::metadata(session.place.at(name)).unwrap().ino());
    assert!(inodes.iter().all(|ino| *ino == inodes[0]));
    assert_eq!(fs::read_to_string(session.place.at("b")).unwrap(), "shared");
}

#[test]
fn metadata_of_a_file_with_a_name_outside_are_set_on_the_one_file() {
    let session = wrecked(&[("f", "before")], |place| {
        fs::hard_link(place.at("f"), place.base.join("outside")).unwrap();
        fs::set_permissions(place.at("f"), fs::Permissions::from_mode(0o600)).unwrap();
    });
    let inode = |path: std::path::PathBuf| fs::metadata(path).unwrap().ino();
    let was = inode(session.place.at("f"));
    session.execute(&session.propose()).unwrap();
    let mode = |path: std::path::PathBuf| fs::metadata(path).unwrap().mode() & 0o777;
    assert_ne!(mode(session.place.at("f")), 0o600);
    // No undo could find the name outside again, so it is never parted from it.
    assert_eq!(inode(session.place.at("f")), was);
    assert_eq!(inode(session.place.base.join("outside")), was);
}

#[test]
fn a_directory_that_its_owner_may_not_write_is_opened_and_shut_again() {
    let chmod = |place: &Place, mode| {
        fs::set_permissions(place.at("shut"), fs::Permissions::from_mode(mode)).unwrap();
    };
    let shut_session = || {
        let place = Place::with(&[("shut/f", "before"), ("shut/in/g", "before"), ("z", "before")]);
        chmod(&place, 0o555);
        let baseline = place.take(crate::model::SnapshotKind::Baseline);
        chmod(&place, 0o755);
        place.write("shut/f", "after");
        fs::remove_dir_all(place.at("shut/in")).unwrap();
        place.write("z", "after");
        chmod(&place, 0o555);
        let closing = place.take(crate::model::SnapshotKind::Closing);
        super::Wrecked {
            place,
            baseline,
            closing,
        }
    };
    let session = shut_session();
    let report = session.execute(&session.propose()).unwrap();
    assert_eq!(report.outcome, Outcome::Done, "{:?}", report.mounts[0].failed);
    assert_eq!(
        fs::metadata(session.place.at("shut")).unwrap().mode() & 0o777,
        0o555
    );
    assert_eq!(
        fs::read_to_string(session.place.at("shut/in/g")).unwrap(),
        "before"
    );
    chmod(&session.place, 0o755);

    let session = shut_session();
    let before = session.place.tree();
    let meddler = Meddler(|moment| {
        if moment == Moment::Begin(Phase::Apply) {
            session.place.write("z", "meanwhile");
        }
        false
    });
    let result = session.execute_by(&session.propose(), &meddler);
    assert!(matches!(result, Err(RestoreError::Drift { .. })), "{result:?}");
    session.place.write("z", "after");
    session.assert_untouched(&before, "shut");
    chmod(&session.place, 0o755);
}

#[test]
fn a_path_that_cannot_be_changed_is_named_and_the_rest_is_done() {
    if !handle_fs::is_privileged() {
        crate::skipped::skipped("only root can make a directory immutable");
        return;
    }
    let session = wrecked(&[("d/fixed", "before"), ("free", "before")], |place| {
        place.write("d/fixed", "after");
        place.write("free", "after");
    });
    // By the operator, after the session: the flag is not taken off.
    let fixed = fs::File::open(session.place.at("d")).unwrap();
    if handle_fs::set_inode_flags(&fixed, handle_fs::InodeFlags::IMMUTABLE).is_err() {
        crate::skipped::skipped("this file system has no such flag");
        return;
    }
    let proposal = session.propose();
    let report = session.execute(&proposal);
    handle_fs::set_inode_flags(&fixed, handle_fs::InodeFlags::default()).unwrap();
    let report = report.unwrap();
    assert_eq!(report.outcome, Outcome::Partial);
    let failed: Vec<_> = report.mounts[0].failed.iter().map(|f| f.path.clone()).collect();
    assert_eq!(failed, [path("d/fixed")]);
    assert_eq!(applied(&proposal, &report), ["free"]);
    assert_eq!(fs::read_to_string(session.place.at("d/fixed")).unwrap(), "after");
    assert_eq!(fs::read_to_string(session.place.at("free")).unwrap(), "before");
    assert_eq!(session.beside(), ["data", "project"]);
}

#[test]
fn a_directory_that_is_not_empty_is_no_place_to_write_to() {
    let session = wrecked(&files(), wreck);
    let blobs = session.place.store.blobs(&session.baseline.record.archives);
    let manifest = session.baseline.manifests[0].as_ref().unwrap();
    let write = |to: &str, scope: &Scope| {
        let to = session.place.base.join(to);
        crate::restore::write_to(&to, manifest, scope, &blobs, &crate::observer::Silent)
    };
    let refused = write("project", &Scope::All);
    assert!(matches!(refused, Err(RestoreError::NotEmpty(_))), "{refused:?}");
    let written = write("copy", &below(&["d/deep", "edit"])).unwrap();
    assert_eq!(written.paths, ["d", "d/deep", "d/deep/file", "edit"].map(path));
    let copy = session.place.base.join("copy");
    assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::read_to_string(copy.join("edit")).unwrap(), "before");
}

#[test]
fn a_link_that_comes_back_where_a_tree_was_made_leaves_nothing_to_complain_of() {
    let place = Place::new();
    symlink("elsewhere", place.at("d")).unwrap();
    let baseline = place.take(crate::model::SnapshotKind::Baseline);
    fs::remove_file(place.at("d")).unwrap();
    place.write("d/deep/deeper/file", "made");
    let closing = place.take(crate::model::SnapshotKind::Closing);
    let session = super::Wrecked {
        place,
        baseline,
        closing,
    };
    let report = session.execute(&session.propose()).unwrap();
    assert_eq!(report.mounts[0].failed, []);
    assert_eq!(report.outcome, Outcome::Done);
    assert!(session.place.at("d").is_symlink());
}

#[test]
fn what_is_written_out_gets_its_name_when_it_is_whole() {
    use crate::restore::OutputDir;
    let session = wrecked(&files(), wreck);
    let base = &session.place.base;
    let copy = base.join("copy");
    let fresh = OutputDir::make(&Transports::default(), &copy, [7; 8]).unwrap();
    assert!(!copy.exists());
    drop(fresh);
    assert_eq!(session.beside(), ["data", "project"]);
    let fresh = OutputDir::make(&Transports::default(), &copy, [7; 8]).unwrap();
    fs::write(fresh.path().join("file"), "whole").unwrap();
    fresh.finish().unwrap();
    assert_eq!(session.beside(), ["copy", "data", "project"]);
    assert_eq!(fs::read_to_string(copy.join("file")).unwrap(), "whole");
    // One that is there keeps its place, and says that it is not whole as long as it is not.
    let there = base.join("there");
    fs::create_dir(&there).unwrap();
    let before = fs::metadata(&there).unwrap().ino();
    let fresh = OutputDir::make(&Transports::default(), &there, [7; 8]).unwrap();
    assert_eq!(fs::read_dir(&there).unwrap().count(), 1);
    assert!(matches!(
        OutputDir::make(&Transports::default(), &there, [8; 8]),
        Err(RestoreError::NotEmpty(_))
    ));
    fresh.finish().unwrap();
    assert_eq!(fs::read_dir(&there).unwrap().count(), 0);
    assert_eq!(fs::metadata(&there).unwrap().ino(), before);
}
