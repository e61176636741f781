//! Errors that a shell reports, and changes that affect only the object that was opened.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use handle_fs::Time;

use super::{shells, through, transports};

#[test]
fn a_name_says_nothing_of_the_reason() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let dir = transports()
            .open_root(&through(shell, "reasons", place.path()))
            .unwrap();
        for name in [
            "No such file or directory",
            "x\n: No such file or directory\n",
            "a open b",
            "opening",
        ] {
            let name = OsStr::new(name);
            handle_fs::make_dir(&dir, name).unwrap();
            let made = handle_fs::make_dir(&dir, name).unwrap_err();
            assert_eq!(made.kind(), std::io::ErrorKind::AlreadyExists, "{shell} {name:?}");
            let removed = handle_fs::remove_file(&dir, name).unwrap_err();
            assert_eq!(
                removed.kind(),
                std::io::ErrorKind::IsADirectory,
                "{shell} {name:?}"
            );
        }
        // What is too long to be looked at is not missing.
        let long = "n".repeat(300);
        for found in [
            handle_fs::stat_child(&dir, OsStr::new(&long)).unwrap_err(),
            handle_fs::open_child_dir(&dir, OsStr::new(&long)).unwrap_err(),
            handle_fs::read_link(&dir, OsStr::new(&long)).unwrap_err(),
            handle_fs::set_mtime(&dir, OsStr::new(&long), Time { sec: 1, nsec: 0 }).unwrap_err(),
        ] {
            assert_eq!(found.raw_os_error(), Some(36), "{shell}");
        }
    }
}

#[test]
fn a_full_disk_is_told_whatever_the_file_is_called() {
    // A device that is always full stands for one.
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let dir = transports()
            .open_root(&through(shell, "full", place.path()))
            .unwrap();
        let name = OsStr::new("re opening it");
        let mut file = handle_fs::create_file(&dir, name).unwrap();
        std::fs::remove_file(place.path().join(name)).unwrap();
        std::fs::create_dir(place.path().join(name)).unwrap();
        assert!(file.write_all(&[b'x'; 50_000]).is_err(), "{shell}");
        // The next call is understood.
        assert!(handle_fs::stat_child(&dir, name).is_ok(), "{shell}");
    }
}

#[test]
fn what_is_changed_by_its_handle_is_what_was_opened() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let dir = transports()
            .open_root(&through(shell, "handles", place.path()))
            .unwrap();
        let name = OsStr::new("f");
        let file = handle_fs::create_file(&dir, name).unwrap();
        std::fs::write(place.path().join("other"), "another's").unwrap();
        std::fs::rename(place.path().join("other"), place.path().join("f")).unwrap();
        let before = std::fs::metadata(place.path().join("f")).unwrap();
        assert!(handle_fs::chmod_handle(&file, 0o4777).is_err(), "{shell}");
        assert!(
            handle_fs::set_mtime_handle(&file, Time { sec: 1, nsec: 0 }).is_err(),
            "{shell}"
        );
        assert!(file.sync().is_err(), "{shell}");
        let after = std::fs::metadata(place.path().join("f")).unwrap();
        assert_eq!(
            (before.mode(), before.mtime()),
            (after.mode(), after.mtime()),
            "{shell}"
        );
    }
}

#[test]
fn times_before_1970_and_far_away_are_read_and_set() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let dir = transports()
            .open_root(&through(shell, "times", place.path()))
            .unwrap();
        let name = OsStr::new("f");
        handle_fs::create_file(&dir, name).unwrap();
        let whole = shell == "busybox";
        let nsec = if whole { 0 } else { 500_000_000 };
        // The `touch` of busybox knows none before 1970.
        let first = if whole { 0 } else { -2 };
        for sec in [first, first + 1, 4_000_000_000] {
            handle_fs::set_mtime(&dir, name, Time { sec, nsec }).unwrap();
            let told = std::fs::metadata(place.path().join("f")).unwrap();
            assert_eq!(
                (told.mtime(), told.mtime_nsec()),
                (sec, i64::from(nsec)),
                "{shell} {sec}"
            );
            assert_eq!(
                handle_fs::stat_child(&dir, name).unwrap().mtime,
                Time { sec, nsec },
                "{shell}"
            );
        }
    }
}

#[test]
fn the_mode_of_a_directory_that_lets_its_owner_not_in_is_set() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let dir = transports()
            .open_root(&through(shell, "shut", place.path()))
            .unwrap();
        for mode in [0o600, 0] {
            let shut = place.path().join("shut");
            std::fs::create_dir(&shut).unwrap();
            let opened = handle_fs::open_child_dir(&dir, OsStr::new("shut")).unwrap();
            std::fs::set_permissions(&shut, std::fs::Permissions::from_mode(mode)).unwrap();
            handle_fs::chmod_handle(&opened, 0o755).unwrap();
            assert_eq!(
                std::fs::metadata(&shut).unwrap().mode() & 0o7777,
                0o755,
                "{shell}"
            );
            // Another one in its place is not meant.
            std::fs::rename(&shut, place.path().join(format!("away-{mode:o}"))).unwrap();
            std::fs::create_dir(&shut).unwrap();
            std::fs::set_permissions(&shut, std::fs::Permissions::from_mode(0o600)).unwrap();
            assert!(handle_fs::chmod_handle(&opened, 0o755).is_err(), "{shell}");
            std::fs::remove_dir(&shut).unwrap();
        }
    }
}
