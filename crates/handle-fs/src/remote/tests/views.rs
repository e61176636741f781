//! Many calls in one, and what was seen by one of them. The tests of `shell-fs` are alike.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use handle_fs::{AsHandle as _, Handle, NewFile, NewName, Survey, Time};

use super::roots;

fn name(name: &str) -> &OsStr {
    OsStr::new(name)
}

/// A place and the agent's root of it.
fn far(mark: &str) -> (tempfile::TempDir, Handle) {
    let place = tempfile::tempdir().unwrap();
    let root = roots(mark, place.path()).pop().unwrap().1;
    (place, root)
}

fn survey(root: &Handle, dir: &'static str, load: bool) -> Survey {
    let names = ["file", "gone", "bearer", "link"].map(name).to_vec();
    handle_fs::survey(root, std::iter::once((Path::new(dir), names)), load)
}

fn size(dir: &Handle) -> u64 {
    handle_fs::stat_child(dir, name("file")).unwrap().size
}

fn content(dir: &Handle) -> Vec<u8> {
    let (file, _) = handle_fs::open_child_file(dir, name("file")).unwrap();
    file.read_up_to(100).unwrap()
}

#[test]
fn what_was_seen_counts_until_something_is_changed() {
    for dir in ["in", ""] {
        let (place, root) = far("seen");
        let at = place.path().join(dir);
        fs::create_dir_all(&at).unwrap();
        fs::write(at.join("file"), "first").unwrap();
        symlink("nowhere", at.join("link")).unwrap();
        let view = survey(&root, dir, true);
        fs::write(at.join("file"), "second one").unwrap();
        fs::write(at.join("gone"), "").unwrap();
        let opened = handle_fs::open_beneath(&root, Path::new(dir)).unwrap();
        assert_eq!(size(&opened), 5, "{dir}");
        let gone = handle_fs::stat_child(&opened, name("gone")).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound, "{dir}");
        // Read once; the second time it is opened there.
        assert_eq!(content(&opened), b"first", "{dir}");
        assert_eq!(content(&opened), b"second one", "{dir}");
        // A change through this connection ends it.
        handle_fs::set_mtime(&opened, name("file"), Time { sec: 1, nsec: 0 }).unwrap();
        assert_eq!(size(&opened), 10, "{dir}");
        drop(view);
        // So does the drop of its last handle.
        let (view, other) = (survey(&root, dir, false), survey(&root, dir, false));
        let opened = handle_fs::open_beneath(&root, Path::new(dir)).unwrap();
        fs::write(at.join("file"), "third").unwrap();
        drop(view);
        assert_eq!(size(&opened), 10, "{dir}");
        drop(other);
        assert_eq!(size(&opened), 5, "{dir}");
        // A handle that was opened with it stays.
        fs::rename(&at, place.path().join("moved")).ok();
        assert_eq!(size(&opened), 5, "{dir}");
    }
}

#[test]
fn a_file_that_was_read_with_others_is_as_it_is_there() {
    let (place, root) = far("loaded");
    fs::write(place.path().join("file"), "0123456789").unwrap();
    fs::write(place.path().join("bearer"), "attributes").unwrap();
    let attribute = handle_fs::Xattr {
        name: (*b"user.mark").into(),
        value: (*b"value").into(),
    };
    let bears = handle_fs::set_attribute(&root, name("bearer"), &attribute).is_ok();
    let _view = survey(&root, "", true);
    let (file, stat) = handle_fs::open_child_file(&root, name("file")).unwrap();
    let ino = fs::metadata(place.path().join("file")).unwrap().ino();
    assert_eq!((stat.ino, stat.size), (ino, 10));
    let mut room = [0; 4];
    file.read_exact_at(&mut room, 6).unwrap();
    assert_eq!(&room, b"6789");
    assert_eq!(file.read_up_to(4).unwrap(), b"0123");
    assert_eq!(handle_fs::data_segments(&file, 10).unwrap(), [(0, 10)]);
    assert!(
        handle_fs::list_attributes(&root, name("file"))
            .unwrap()
            .is_empty()
    );
    if bears {
        let listed = handle_fs::list_attributes(&root, name("bearer")).unwrap();
        assert_eq!(listed, [attribute]);
    }
}

#[test]
fn names_are_moved_in_order_up_to_the_first_that_fails() {
    for (end, place, root) in both("moves") {
        for (file, content) in [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")] {
            fs::write(place.path().join(file), content).unwrap();
        }
        let dir = root.as_handle();
        let one = |old, new, exchange| NewName {
            from: dir,
            old: name(old),
            to: dir,
            new: name(new),
            exchange,
        };
        let moves = [
            one("a", "new", false),
            one("b", "c", true),
            // Taken.
            one("new", "d", false),
            one("d", "never", false),
        ];
        let (made, error) = handle_fs::rename_many(&moves);
        assert_eq!(made, 2, "{end}");
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::AlreadyExists, "{end}");
        let found = ["new", "b", "c", "d"].map(|file| fs::read_to_string(place.path().join(file)).unwrap());
        assert_eq!(found, ["1", "3", "2", "4"], "{end}");
        assert!(
            !place.path().join("a").exists() && !place.path().join("never").exists(),
            "{end}"
        );
    }
}

/// Places, each with a root of it by this kernel or by an agent.
fn both(mark: &str) -> Vec<(&'static str, tempfile::TempDir, Handle)> {
    let here = tempfile::tempdir().unwrap();
    let root = handle_fs::open_root(here.path()).unwrap();
    let (place, far) = far(mark);
    vec![("here", here, root), ("agent", place, far)]
}

#[test]
fn files_are_made_whole_or_not_at_all() {
    let (place, root) = far("made");
    fs::write(place.path().join("taken"), "mine").unwrap();
    let uid = fs::metadata(place.path()).unwrap().uid();
    let gid = fs::metadata(place.path()).unwrap().gid();
    let mtime = Time {
        sec: 1_700_000_000,
        nsec: 123_456_789,
    };
    let file = |name, data: &[u8], mode| NewFile {
        name,
        data: data.to_vec(),
        mode,
        owner: (uid, gid),
        mtime,
    };
    let files = vec![
        file(name("one"), b"content\n", 0o640),
        file(name("taken"), b"other", 0o600),
        file(name("empty"), b"", 0o444),
    ];
    let made = handle_fs::make_files(&root, files).unwrap();
    let modes: Vec<Option<u32>> = made.iter().map(|made| Some(made.as_ref().ok()?.mode)).collect();
    assert_eq!(modes, [Some(0o640), None, Some(0o444)]);
    assert_eq!(made[0].as_ref().unwrap().mtime, mtime);
    assert_eq!(fs::read(place.path().join("one")).unwrap(), b"content\n");
    assert_eq!(fs::read(place.path().join("taken")).unwrap(), b"mine");
    let mode = fs::metadata(place.path().join("empty"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o444);
    handle_fs::remove_many(&root, &[name("one"), name("empty")]).unwrap();
    let left: Vec<_> = fs::read_dir(place.path()).unwrap().collect();
    assert_eq!(left.len(), 1);
}
