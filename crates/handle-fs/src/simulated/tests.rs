//! The simulation against the kernel: the same calls give the same answers; and what its contract says of a power loss.

mod calls;

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use proptest::prelude::*;
use rustix::io::Errno;

use super::{Disk, Losses, Moment, Shared, World, outcomes};
use crate::remote::loopback::{through_agent, transports};
use crate::{File, Handle, open_root};
use calls::{call, run};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn the_simulation_answers_as_the_kernel_does(calls in prop::collection::vec(call(), 1..25)) {
        let place = tempfile::tempdir().unwrap();
        let (answers, lines) = run(&open_root(place.path()).unwrap(), &calls);
        let shared = Shared::new(of(cfg!(target_vendor = "apple")));
        let inside = shared.enter();
        let (simulated, shown) = run(&open_root(Path::new("/disk")).unwrap(), &calls);
        drop(inside);
        for ((call, real), ours) in calls.iter().zip(&answers).zip(&simulated) {
            prop_assert_eq!(real, ours, "{:?} (the kernel's answer first)", call);
        }
        prop_assert_eq!(lines, shown);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn an_agent_answers_as_the_kernel_does(calls in prop::collection::vec(call(), 1..25)) {
        let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (answers, lines) = run(&open_root(place.path()).unwrap(), &calls);
        let (theirs, shown) = run(&transports().open_root(&through_agent("calls", other.path())).unwrap(), &calls);
        for ((call, real), theirs) in calls.iter().zip(&answers).zip(&theirs) {
            prop_assert_eq!(real, theirs, "{:?} (the kernel's answer first)", call);
        }
        prop_assert_eq!(lines, shown);
    }
}

/// A world with the rules of macOS, or with those of Linux.
fn of(macos: bool) -> World {
    let mut world = World::new(&["/disk"]);
    world.set_macos(macos);
    world
}

/// The names in `/disk` that each power loss may leave.
fn after_power_loss(moment: &Moment) -> Vec<Vec<String>> {
    let names = |disk: Disk| {
        let world = World::after(moment, disk);
        world.names_in("/disk").into_iter().collect::<Vec<String>>()
    };
    let mut all: Vec<Vec<String>> = outcomes(moment, Losses::Power { most: 100 })
        .into_iter()
        .map(names)
        .collect();
    all.sort();
    all.dedup();
    all
}

fn in_work(work: impl FnOnce(&Handle)) -> Moment {
    let shared = Shared::new(World::new(&["/disk"]));
    let inside = shared.enter();
    work(&open_root(Path::new("/disk")).unwrap());
    drop(inside);
    let world = shared.lock();
    world.moment()
}

fn named(name: &str) -> &OsStr {
    OsStr::new(name)
}

#[test]
fn names_that_were_not_synced_come_to_disk_in_any_combination() {
    let moment = in_work(|dir| {
        crate::make_dir(dir, named("a")).unwrap();
        crate::make_dir(dir, named("b")).unwrap();
    });
    let all = after_power_loss(&moment);
    assert_eq!(all, [vec![], vec!["a"], vec!["a", "b"], vec!["b"]]);
    let moment = in_work(|dir| {
        crate::make_dir(dir, named("a")).unwrap();
        crate::sync_directory(dir).unwrap();
        crate::make_dir(dir, named("b")).unwrap();
    });
    assert_eq!(after_power_loss(&moment), [vec!["a"], vec!["a", "b"]]);
}

#[test]
fn a_rename_is_whole_and_builds_on_what_was_there() {
    let moment = in_work(|dir| {
        crate::make_dir(dir, named("a")).unwrap();
        crate::rename_new(dir, named("a"), dir, named("b")).unwrap();
    });
    assert_eq!(after_power_loss(&moment), [vec![], vec!["a"], vec!["b"]]);
}

#[test]
fn content_that_was_not_synced_may_be_old_new_or_torn() {
    let moment = in_work(|dir| {
        let mut file = crate::create_file(dir, named("f")).unwrap();
        crate::sync_directory(dir).unwrap();
        file.write_all(b"12345678").unwrap();
    });
    assert_eq!(contents(&moment), ["", "1234\0\0\0\0", "12345678"]);
}

/// The contents of `/disk/f` that each power loss may leave.
fn contents(moment: &Moment) -> Vec<String> {
    let content = |disk: Disk| World::after(moment, disk).content(Path::new("/disk/f")).unwrap();
    let mut all: Vec<String> = outcomes(moment, Losses::Power { most: 100 })
        .into_iter()
        .map(|disk| String::from_utf8(content(disk).to_vec()).unwrap())
        .collect();
    all.sort();
    all.dedup();
    all
}

/// The contents after `sync` has synced a new file with some rules.
fn synced(macos: bool, sync: impl FnOnce(&Handle, &mut File)) -> Vec<String> {
    let shared = Shared::new(of(macos));
    let inside = shared.enter();
    let dir = open_root(Path::new("/disk")).unwrap();
    let mut file = crate::create_file(&dir, named("f")).unwrap();
    crate::sync_directory(&dir).unwrap();
    file.write_all(b"12345678").unwrap();
    sync(&dir, &mut file);
    drop(inside);
    let world = shared.lock();
    contents(&world.moment())
}

#[test]
fn macos_keeps_what_was_synced_in_the_cache_of_the_disk_until_that_is_flushed() {
    let all = ["", "1234\0\0\0\0", "12345678"];
    let whole = ["12345678"];
    let send = |file: &File| file.write_out().unwrap();
    let everything = |dir: &Handle| crate::sync_file_system(dir).unwrap();
    assert_eq!(synced(true, |_, file| file.sync().unwrap()), whole);
    assert_eq!(synced(true, |_, file| send(file)), all);
    assert_eq!(
        synced(true, |dir, _| everything(dir)),
        all,
        "`sync` sends no content"
    );
    let both = |dir: &Handle, file: &mut File| {
        send(file);
        everything(dir);
    };
    assert_eq!(synced(true, both), whole);
    let other = |dir: &Handle, file: &mut File| {
        send(file);
        crate::create_file(dir, named("g")).unwrap().sync().unwrap();
    };
    assert_eq!(synced(true, other), whole, "any object flushes the cache");
    let early = |dir: &Handle, file: &mut File| {
        send(file);
        file.write_all(b"9").unwrap();
        everything(dir);
    };
    assert_eq!(synced(true, early), ["12345678", "12345678\0", "123456789"]);
    assert_eq!(synced(false, |dir, _| everything(dir)), whole);
    assert_eq!(
        synced(false, |_, file| send(file)),
        all,
        "Linux needs no such call"
    );
}

#[test]
fn macos_refuses_what_it_lacks() {
    let shared = Shared::new(of(true));
    let _inside = shared.enter();
    let dir = open_root(Path::new("/disk")).unwrap();
    let error = crate::make_dir(&dir, OsStr::from_bytes(b"\xff")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::ILSEQ.raw_os_error()));
    crate::make_dir(&dir, named("d")).unwrap();
    crate::make_dir(&dir, named("d/e")).unwrap();
    assert!(crate::open_beneath(&dir, Path::new("d/e")).is_ok());
    assert!(crate::remove_file(&dir, named("d")).is_err());
    crate::create_file(&dir, named("f")).unwrap();
    crate::chmod_node(&dir, named("f"), 0o640).unwrap();
    assert_eq!(crate::stat_child(&dir, named("f")).unwrap().mode, 0o640);
}

#[test]
fn names_that_fold_are_one_for_every_call_and_keep_how_they_were_written() {
    let mut moment = World::new(&["/disk"]).moment();
    moment.fold_names();
    let shared = Shared::new(World::after(&moment, moment.disk()));
    let _inside = shared.enter();
    let dir = open_root(Path::new("/disk")).unwrap();
    let exists = std::io::ErrorKind::AlreadyExists;
    // Nothing is in it that could be tried in another case.
    assert!(!crate::folds_names(&dir).unwrap());
    crate::make_dir(&dir, named("Readme")).unwrap();
    crate::make_dir(&dir, named("cafe\u{301}")).unwrap();
    assert!(crate::folds_names(&dir).unwrap());
    assert_eq!(crate::make_dir(&dir, named("README")).unwrap_err().kind(), exists);
    assert_eq!(
        crate::make_dir(&dir, named("caf\u{e9}")).unwrap_err().kind(),
        exists
    );
    let stored = |name: &str| crate::stored_name(&dir, named(name)).unwrap();
    assert_eq!(stored("readme").unwrap(), "Readme");
    assert_eq!(stored("Caf\u{e9}").unwrap(), "cafe\u{301}");
    assert_eq!(stored("other"), None);
    assert!(crate::holds_name(&dir, named("Readme")).unwrap());
    assert!(!crate::holds_name(&dir, named("readme")).unwrap());
    assert_eq!(
        crate::stored_path(Path::new("/disk/README/x")),
        Path::new("/disk/Readme/x")
    );
    crate::rename_over(&dir, named("Readme"), &dir, named("README")).unwrap();
    assert!(crate::holds_name(&dir, named("README")).unwrap());
    crate::sync_directory(&dir).unwrap();
    // A power loss leaves one of two cases of a name, never both.
    crate::rename_over(&dir, named("README"), &dir, named("readme")).unwrap();
    let moment = shared.lock().moment();
    assert_eq!(
        after_power_loss(&moment),
        [vec!["README", "cafe\u{301}"], vec!["cafe\u{301}", "readme"]]
    );
}

#[test]
fn a_directory_that_tells_case_apart_is_not_taken_for_one_that_folds() {
    let place = tempfile::tempdir().unwrap();
    let dir = open_root(place.path()).unwrap();
    assert!(!crate::folds_names(&dir).unwrap());
    std::fs::write(place.path().join("a"), "").unwrap();
    assert!(!crate::folds_names(&dir).unwrap());
    // Two names of one file are no proof.
    std::fs::hard_link(place.path().join("a"), place.path().join("A")).unwrap();
    assert!(!crate::folds_names(&dir).unwrap());
    let path = place.path().join("A");
    assert_eq!(crate::stored_path(&path), path);
    for (one, other, same) in [
        ("README", "readme", true),
        ("STRASSE", "stra\u{df}e", true),
        (".GIT", ".g\u{200c}it", true),
        ("\u{3a3}", "\u{3c2}", true),
        ("a", "b", false),
        ("i", "\u{131}", false),
    ] {
        assert_eq!(
            crate::is_one_name(one.as_bytes(), other.as_bytes()),
            same,
            "{one} {other}"
        );
    }
    assert!(crate::is_one_name(b"A\xff", b"a\xff") && !crate::is_one_name(b"\xff", b"\xfe"));
}
