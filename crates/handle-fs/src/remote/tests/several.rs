//! Calls about a whole directory return what single calls return, in every way to reach it. The tests of `shell-fs` are the same.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use handle_fs::{NodeKind, Time, Wanted};

use super::roots;

fn tree() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::create_dir_all(at("a/inner")).unwrap();
    fs::create_dir(at("b")).unwrap();
    fs::write(at("a/one"), "one").unwrap();
    fs::write(at("a/empty"), "").unwrap();
    fs::write(at("b/two"), vec![7; 70_000]).unwrap();
    symlink("../b", at("a/link")).unwrap();
    symlink("b", at("through")).unwrap();
    place
}

#[test]
fn a_directory_below_is_opened_and_listed_at_once() {
    let place = tree();
    for (end, root) in roots("below", place.path()) {
        let (dir, own, looked) = handle_fs::look_below(&root, Path::new("a")).unwrap();
        assert_eq!(own.ino, handle_fs::stat_handle(&dir).unwrap().ino, "{end}");
        let looked = looked.unwrap();
        let names: Vec<&[u8]> = looked.children.iter().map(|(name, _)| name.as_slice()).collect();
        assert_eq!(names, [b"empty".as_slice(), b"inner", b"link", b"one"], "{end}");
        assert_eq!(looked.before.ino, own.ino, "{end}");
        let kinds = looked
            .children
            .iter()
            .map(|(_, stat)| stat.as_ref().unwrap().kind);
        let expected = [
            NodeKind::File,
            NodeKind::Directory,
            NodeKind::Symlink,
            NodeKind::File,
        ];
        assert!(kinds.eq(expected), "{end}");
        // The top itself; nothing through a link, outside, or of what is not there.
        assert!(handle_fs::look_below(&root, Path::new("")).is_ok(), "{end}");
        for refused in ["through", "a/link", "..", "a/../..", "a/one", "gone", "/etc"] {
            assert!(
                handle_fs::look_below(&root, Path::new(refused)).is_err(),
                "{end}: {refused}"
            );
        }
    }
}

#[test]
fn what_is_not_read_is_told_at_once() {
    let place = tree();
    for (end, root) in roots("objects", place.path()) {
        let dir = handle_fs::open_beneath(&root, Path::new("a")).unwrap();
        let names = [
            ("link", true),
            ("inner", false),
            ("gone", true),
            ("inner", true),
            ("empty", false),
        ];
        let names = names.map(|(name, is_link)| (OsStr::new(name), is_link));
        let told = handle_fs::objects(&dir, &names).unwrap();
        let targets: Vec<_> = told
            .iter()
            .map(|one| one.as_ref().ok().map(|one| one.target.clone()))
            .collect();
        let link = Some(Some(b"../b".to_vec()));
        assert_eq!(targets, [link, Some(None), None, None, Some(None)], "{end}");
    }
}

#[test]
fn files_of_several_directories_are_read_at_once() {
    let place = tree();
    let wanted = |name: &'static str, size| Wanted {
        name: OsStr::new(name),
        size,
        last: Time { sec: 0, nsec: 0 },
        write_back: true,
    };
    for (end, root) in roots("several", place.path()) {
        let parts = [
            (Path::new("b"), vec![wanted("two", 70_000)]),
            (Path::new("through"), vec![wanted("two", 70_000)]),
            (Path::new("gone"), vec![]),
            (
                Path::new("a"),
                vec![wanted("one", 3), wanted("none", 1), wanted("empty", 0)],
            ),
        ];
        let loaded = handle_fs::load_below(&root, &parts).unwrap();
        let data: Vec<Option<Vec<Option<usize>>>> = loaded
            .iter()
            .map(|part| {
                let files = part.as_ref().ok()?.iter();
                Some(files.map(|file| Some(file.as_ref().ok()?.data.len())).collect())
            })
            .collect();
        let a = Some(vec![Some(3), None, Some(0)]);
        assert_eq!(data, [Some(vec![Some(70_000)]), None, None, a], "{end}");
        let two = loaded[0].as_ref().unwrap()[0].as_ref().unwrap();
        // Through a shell the whole file system is written back before any file is read.
        let writes_back = handle_fs::file_system(&root).unwrap().writes_back;
        assert_eq!(
            two.written_back,
            writes_back && !handle_fs::is_by_shell(&root),
            "{end}"
        );
    }
}
