//! Many calls in one command.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use handle_fs::{
    AsHandle as _, Dir, NewFile, NewName, NodeKind, Time, Wanted, make_files, own_ids, remove_many,
    rename_many, settable, stat_child, survey,
};

use super::{HOSTILE, shells, through, transports};

fn name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// Runs a test on a directory that each shell reaches.
fn each(test: impl Fn(&str, &Path, &Dir)) {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let dir = Dir::open(&transports(), &through(shell, "many", place.path())).unwrap();
        test(shell, place.path(), &dir);
    }
}

#[test]
fn names_move_in_order_up_to_the_first_that_fails() {
    each(|shell, place, root| {
        fs::create_dir(place.join("a")).unwrap();
        fs::create_dir(place.join("b")).unwrap();
        for (file, content) in [
            ("a/-x", "1"),
            ("a/it's\n", "2"),
            ("a/3", "3"),
            ("a/4", "4"),
            ("b/taken", "old"),
        ] {
            fs::write(place.join(file), content).unwrap();
        }
        let (a, b) = (root.dir(name(b"a")).unwrap(), root.dir(name(b"b")).unwrap());
        let step = |old: &'static [u8], new: &'static [u8]| NewName {
            from: a.as_handle(),
            old: name(old),
            to: b.as_handle(),
            new: name(new),
            exchange: false,
        };
        let within = |old: &'static [u8], new: &'static [u8]| NewName {
            from: b.as_handle(),
            ..step(old, new)
        };
        let moves = [
            step(b"-x", b"one"),
            step(b"it's\n", b"t'wo\n"),
            within(b"one", b"-1"),
        ];
        let (count, result) = rename_many(&moves);
        assert_eq!((count, result.is_ok()), (3, true), "{shell}");
        assert_eq!(fs::read(place.join("b/-1")).unwrap(), b"1", "{shell}");
        assert_eq!(fs::read(place.join("b/t'wo\n")).unwrap(), b"2", "{shell}");
        let (count, result) = rename_many(&[step(b"3", b"three"), step(b"4", b"taken"), step(b"3", b"five")]);
        assert_eq!(count, 1, "{shell}");
        assert_eq!(
            result.unwrap_err().kind(),
            std::io::ErrorKind::AlreadyExists,
            "{shell}"
        );
        assert_eq!(fs::read(place.join("b/taken")).unwrap(), b"old", "{shell}");
        let (count, result) = rename_many(&[step(b"gone", b"six")]);
        assert_eq!(
            (count, result.unwrap_err().kind()),
            (0, std::io::ErrorKind::NotFound),
            "{shell}"
        );
        // Nothing moves where another directory has the path by now.
        fs::rename(place.join("b"), place.join("elsewhere")).unwrap();
        fs::create_dir(place.join("b")).unwrap();
        let (count, result) = rename_many(&[step(b"4", b"four")]);
        assert_eq!((count, result.is_err()), (0, true), "{shell}");
        assert!(
            place.join("a/4").exists() && !place.join("b/four").exists(),
            "{shell}"
        );
    });
}

#[test]
fn files_of_more_directories_than_descriptors_are_read_each_from_its_own() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let directories: Vec<String> = (0..15).map(|number| format!("it's {number}\n")).collect();
        for directory in &directories {
            let path = place.path().join(directory);
            fs::create_dir(&path).unwrap();
            for hostile in HOSTILE {
                let content = [directory.as_bytes(), hostile].concat();
                fs::write(path.join(name(hostile)), content).unwrap();
            }
        }
        let root = transports()
            .open_root(&through(shell, "many", place.path()))
            .unwrap();
        let wanted = |hostile: &'static [u8]| Wanted {
            name: name(hostile),
            size: 0,
            last: Time { sec: 0, nsec: 0 },
            write_back: false,
        };
        let parts: Vec<(&Path, Vec<Wanted<'_>>)> = directories
            .iter()
            .map(|directory| (Path::new(directory), HOSTILE.map(wanted).into()))
            .collect();
        let loaded = handle_fs::load_below(&root, &parts).unwrap();
        for (directory, files) in directories.iter().zip(loaded) {
            for (hostile, file) in HOSTILE.iter().zip(files.unwrap()) {
                let file = file.unwrap_or_else(|error| {
                    panic!(
                        "{shell} {directory:?} {:?}: {error}",
                        hostile.escape_ascii().to_string()
                    )
                });
                assert_eq!(file.data, [directory.as_bytes(), hostile].concat(), "{shell}");
                let path = place.path().join(directory).join(name(hostile));
                assert_eq!(file.stat.ino, fs::metadata(path).unwrap().ino(), "{shell}");
            }
        }
    }
}

#[test]
fn files_are_made_as_they_should_be_and_never_over_another_one() {
    each(|shell, place, root| {
        let mtime = Time {
            sec: 1_577_836_800,
            nsec: 123_456_789,
        };
        let owner = own_ids();
        let file = |own: &'static [u8], data: &[u8], mode| NewFile {
            name: name(own),
            data: data.to_vec(),
            mode,
            owner,
            mtime,
        };
        let long = [b'n'; 200].as_slice();
        let long: &'static [u8] = Box::leak(long.to_vec().into_boxed_slice());
        let files = vec![
            file(b"-r", b"content\n", 0o751),
            file(b"it's\n\xff", &[0; 70_000], 0o600),
            file(b"empty", b"", 0o444),
            file(long, b"x", 0o644),
        ];
        let made = make_files(root, files).unwrap();
        let modes: Vec<u32> = made.iter().map(|stat| stat.as_ref().unwrap().mode).collect();
        assert_eq!(modes, [0o751, 0o600, 0o444, 0o644], "{shell}");
        assert!(
            made.iter()
                .all(|stat| stat.as_ref().unwrap().mtime == settable(root, mtime)),
            "{shell}"
        );
        assert_eq!(fs::read(place.join("-r")).unwrap(), b"content\n", "{shell}");
        assert_eq!(
            fs::read(place.join(name(b"it's\n\xff"))).unwrap(),
            [0; 70_000],
            "{shell}"
        );
        assert_eq!(
            fs::metadata(place.join("empty")).unwrap().permissions().mode() & 0o7777,
            0o444,
            "{shell}"
        );
        // What is there stays, and the next call is understood.
        symlink("/nowhere", place.join("link")).unwrap();
        for taken in [b"empty".as_slice(), b"link"] {
            let refused = make_files(
                root,
                vec![
                    file(b"new", b"1", 0o600),
                    file(Box::leak(taken.into()), b"2", 0o600),
                ],
            );
            assert!(refused.is_err(), "{shell}");
        }
        assert_eq!(fs::read(place.join("empty")).unwrap(), b"", "{shell}");
        assert!(
            place.join("link").is_symlink() && !place.join("new").exists(),
            "{shell}"
        );
        remove_many(root, &[name(b"-r"), name(b"it's\n\xff")]).unwrap();
        assert!(
            !place.join("-r").exists() && place.join("empty").exists(),
            "{shell}"
        );
    });
}

#[test]
fn what_was_seen_counts_until_something_is_changed() {
    each(|shell, place, root| {
        fs::create_dir(place.join("in")).unwrap();
        fs::write(place.join("in/file"), "first").unwrap();
        symlink("in", place.join("through")).unwrap();
        let names = || vec![name(b"file"), name(b"gone")];
        let view = survey(root, std::iter::once((Path::new("in"), names())), true);
        fs::write(place.join("in/file"), "second one").unwrap();
        fs::write(place.join("in/gone"), "").unwrap();
        let dir = handle_fs::open_beneath(root, Path::new("in")).unwrap();
        let size = || stat_child(&dir, name(b"file")).unwrap().size;
        assert_eq!(size(), 5, "{shell}");
        assert!(stat_child(&dir, name(b"gone")).is_err(), "{shell}");
        let (file, stat) = handle_fs::open_child_file(&dir, name(b"file")).unwrap();
        assert_eq!(
            (stat.kind, file.read_up_to(100).unwrap()),
            (NodeKind::File, b"first".to_vec()),
            "{shell}"
        );
        // A change through this shell ends it, and so does its drop.
        handle_fs::set_mtime(&dir, name(b"file"), Time { sec: 1, nsec: 0 }).unwrap();
        assert_eq!(size(), 10, "{shell}");
        drop(view);
        // What no part of it tells of is asked for.
        let parts = [(Path::new("in"), names()), (Path::new("through"), names())];
        let view = survey(root, parts.into_iter(), false);
        fs::write(place.join("in/file"), "third").unwrap();
        fs::remove_file(place.join("in/gone")).unwrap();
        assert_eq!(size(), 10, "{shell}");
        assert!(
            handle_fs::open_beneath(root, Path::new("through")).is_err(),
            "{shell}"
        );
        drop(view);
        assert_eq!(size(), 5, "{shell}");
    });
}

/// A name that was listed as a small file may be anything by the time it is read: no more comes than was asked for.
#[test]
fn a_small_file_that_became_a_large_directory_is_not_read_with_it() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("kept"), "kept").unwrap();
        fs::create_dir(place.path().join("grown")).unwrap();
        let large = fs::File::create(place.path().join("grown/large")).unwrap();
        large.set_len(3 << 30).unwrap();
        let large = fs::File::create(place.path().join("large")).unwrap();
        large.set_len(3 << 30).unwrap();
        let root = transports()
            .open_root(&through(shell, "grown", place.path()))
            .unwrap();
        for changed in ["grown", "large"] {
            let wanted = |name: &'static str| Wanted {
                name: OsStr::new(name),
                size: 4,
                last: Time { sec: 0, nsec: 0 },
                write_back: false,
            };
            let parts = [(Path::new(""), vec![wanted("kept"), wanted(changed)])];
            let loaded = handle_fs::load_below(&root, &parts).unwrap().remove(0).unwrap();
            let mut loaded = loaded.into_iter();
            assert_eq!(loaded.next().unwrap().unwrap().data, b"kept", "{shell}");
            let other = loaded.next().unwrap();
            assert!(
                other.is_err() || other.unwrap().data.len() < 1 << 20,
                "{shell} {changed}"
            );
        }
        // The next call is understood.
        assert_eq!(handle_fs::look_into(&root).unwrap().children.len(), 3, "{shell}");
    }
}
