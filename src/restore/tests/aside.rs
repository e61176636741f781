//! Objects that a restore knows in a staging directory: it may remove these and no others. Also how it recognizes an object.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::model::Time;
use crate::restore::file_identity::{identity, is_same};
use crate::restore::stage::OwnedInodes;
use handle_fs::Dir;
use handle_fs::remote::Transports;

/// A directory with one of each kind, some of it in directories that say that nobody may enter.
fn filled() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    fs::write(at("file"), "f").unwrap();
    symlink("nowhere", at("link")).unwrap();
    fs::create_dir_all(at("dir/in")).unwrap();
    fs::write(at("dir/in/deep"), "d").unwrap();
    fs::create_dir(at("shut")).unwrap();
    fs::write(at("shut/inner"), "i").unwrap();
    if handle_fs::is_privileged() {
        fs::set_permissions(at("shut"), fs::Permissions::from_mode(0o000)).unwrap();
    }
    top
}

const TOP: [&str; 4] = ["dir", "file", "link", "shut"];

fn known(top: &Path) -> (Dir, OwnedInodes) {
    let dir = Dir::open(&Transports::default(), top).unwrap();
    let mut known = OwnedInodes::default();
    known.staged(&dir).unwrap();
    (dir, known)
}

fn held(dir: &Dir, known: &OwnedInodes) -> Vec<&'static str> {
    let mut held = TOP.to_vec();
    held.retain(|name| known.holds(dir, OsStr::new(name)).unwrap());
    held
}

#[test]
fn what_was_staged_is_known_and_what_is_not_there_is_not() {
    let top = filled();
    let (dir, known) = known(top.path());
    assert_eq!(held(&dir, &known), TOP);
    assert!(!known.holds(&dir, OsStr::new("missing")).unwrap());
    // A journal holds all of it, and gives all of it back.
    let objects = known.objects();
    assert_eq!(objects.len(), 7);
    assert!(objects.is_sorted_by_key(|object| object.0));
    let again = OwnedInodes::of(&objects);
    assert_eq!(again.objects(), objects);
    assert_eq!(held(&dir, &again), TOP);
    // What is missing of it changes nothing.
    fs::remove_file(top.path().join("dir/in/deep")).unwrap();
    assert_eq!(held(&dir, &known), TOP);
    assert_eq!(held(&dir, &OwnedInodes::default()), [""; 0]);
}

/// Each of these makes one object unknown, and with it the directories that it lies in.
#[test]
fn what_somebody_changed_or_brought_is_not_known() {
    type Change<'a> = (&'static str, &'a dyn Fn(&Path));
    let strange: [Change<'_>; 6] = [
        ("file", &|top| fs::write(top.join("file"), "longer").unwrap()),
        ("file", &|top| later(&top.join("file"))),
        ("dir", &|top| later(&top.join("dir/in/deep"))),
        ("dir", &|top| fs::write(top.join("dir/in/new"), "").unwrap()),
        ("shut", &|top| fs::write(top.join("shut/new"), "").unwrap()),
        ("link", &|top| {
            // Made while the old one is there still, so that it is another object.
            symlink("elsewhere", top.join("other")).unwrap();
            fs::rename(top.join("other"), top.join("link")).unwrap();
        }),
    ];
    for (number, (name, change)) in strange.into_iter().enumerate() {
        let top = filled();
        let (dir, known) = known(top.path());
        change(top.path());
        let rest: Vec<&str> = TOP.into_iter().filter(|other| *other != name).collect();
        assert_eq!(held(&dir, &known), rest, "change {number}");
    }
}

fn later(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(5))
        .unwrap();
}

#[test]
fn what_is_older_than_the_staging_directory_came_from_elsewhere() {
    let top = filled();
    let at = |name: &str| top.path().join(name);
    fs::write(at("twice"), "t").unwrap();
    fs::hard_link(at("twice"), at("dir/again")).unwrap();
    let dir = Dir::open(&Transports::default(), top.path()).unwrap();
    let born = |name: &str| dir.look(OsStr::new(name)).unwrap().unwrap().born;
    if born("file").is_none() {
        crate::skipped::skipped("the file system tells no birth times");
        return;
    }
    // Births are as coarse as the kernel's clock ticks.
    std::thread::sleep(Duration::from_millis(30));
    fs::write(at("made"), "m").unwrap();
    let since: Time = born("made").unwrap();
    std::thread::sleep(Duration::from_millis(30));
    fs::create_dir(at("after")).unwrap();
    fs::write(at("after/file"), "a").unwrap();

    let mut known = OwnedInodes::default();
    known.staged_since(&dir, Some(since)).unwrap();
    let ino = |name: &str| fs::symlink_metadata(at(name)).unwrap().ino();
    let mut wanted = ["made", "after", "after/file", "twice"].map(ino);
    wanted.sort_unstable();
    let found: Vec<u64> = known.objects().iter().map(|object| object.0).collect();
    assert_eq!(found, wanted);

    let mut all = OwnedInodes::default();
    all.staged_since(&dir, None).unwrap();
    assert_eq!(all.objects().len(), 11, "two names are one object");
}

#[test]
fn only_what_is_known_is_removed_and_what_stays_is_named() {
    let top = filled();
    let (dir, known) = known(top.path());
    known.empty(&dir).unwrap();
    assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);

    let top = filled();
    let (dir, known) = self::known(top.path());
    let at = |name: &str| top.path().join(name);
    fs::write(at("dir/mine"), "m").unwrap();
    let file = fs::File::options().write(true).open(at("shut/inner")).unwrap();
    file.write_at(b"changed", 0).unwrap();
    let error = known.empty(&dir).unwrap_err().to_string();
    assert!(error.contains("mine") || error.contains("inner"), "{error}");
    let left: Vec<String> = walkdir::WalkDir::new(top.path())
        .min_depth(1)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(left, ["dir", "mine", "shut", "inner"]);
    assert_eq!(fs::read(at("shut/inner")).unwrap(), b"changed");
}

/// Their owner opens them, where he is not allowed everything anyway.
#[test]
fn directories_that_keep_their_owner_out_are_emptied_too() {
    for mode in [0o000, 0o300, 0o500, 0o555] {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::create_dir_all(at("shut/in")).unwrap();
        fs::write(at("shut/in/deep"), "d").unwrap();
        fs::write(at("shut/file"), "f").unwrap();
        let (dir, known) = known(top.path());
        for shut in ["shut/in", "shut"] {
            fs::set_permissions(at(shut), fs::Permissions::from_mode(mode)).unwrap();
        }
        let emptied = known.empty(&dir);
        assert!(emptied.is_ok(), "{mode:o}: {emptied:?}");
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0, "{mode:o}");
    }
}

/// An inode number alone is no identity: it is used again.
#[test]
fn an_object_is_known_by_its_birth_and_where_that_is_not_kept_by_its_last_change() {
    let top = filled();
    let dir = Dir::open(&Transports::default(), top.path()).unwrap();
    let mut stat = dir.look(OsStr::new("file")).unwrap().unwrap();
    let moment = |sec| Time { sec, nsec: 7 };
    stat.born = Some(moment(100));
    let known = identity(&stat);
    let unborn = {
        let mut stat = stat;
        stat.born = None;
        identity(&stat)
    };
    let ours = true;

    let mut other = stat;
    other.ino += 1;
    assert!(!is_same(&known, &other, ours) && !is_same(&known, &other, !ours));

    // Written to, it is the same object; born at another time, it is another one, unless nobody else may be there.
    let mut written = stat;
    written.size += 1;
    written.mtime = moment(200);
    assert!(is_same(&known, &written, ours) && is_same(&known, &written, !ours));
    let mut reborn = written;
    reborn.born = Some(moment(150));
    assert!(!is_same(&known, &reborn, !ours));
    assert!(is_same(&known, &reborn, ours));

    // Without births, or copied up with everything as it was, size and time have to agree, both.
    let mut copied = stat;
    copied.born = Some(moment(150));
    assert!(is_same(&known, &copied, !ours) && is_same(&unborn, &copied, !ours));
    let (mut longer, mut later) = (stat, stat);
    longer.size += 1;
    later.mtime = moment(9);
    for changed in [longer, later] {
        assert!(!is_same(&unborn, &changed, !ours));
        assert!(is_same(&unborn, &changed, ours));
    }
}
