//! A watch counts each kind of change, and says when it cannot know of one.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use super::{Blindness, TreeWatch};

fn watch(root: &Path) -> TreeWatch<'static> {
    let enters = |path: &crate::RelPath| !path.as_bytes().ends_with(b"excluded");
    TreeWatch::begin(root, Box::new(enters)).unwrap()
}

/// Does something, and returns the changes and openings that it counted as.
fn counted(watch: &mut TreeWatch<'_>, act: impl FnOnce()) -> (u64, u64) {
    assert!(watch.read().unwrap());
    let before = (watch.changes(), watch.openings());
    act();
    assert!(watch.read().unwrap());
    (watch.changes() - before.0, watch.openings() - before.1)
}

#[test]
fn each_change_is_counted_and_reading_is_none() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    fs::create_dir_all(root.join("dir/excluded")).unwrap();
    fs::write(root.join("dir/file"), "one").unwrap();
    let held = OpenOptions::new()
        .append(true)
        .open(root.join("dir/file"))
        .unwrap();
    let watch = &mut watch(root);
    let file = root.join("dir/file");
    assert_eq!(counted(watch, || {}), (0, 0));
    let (changes, openings) = counted(watch, || drop(fs::read(&file).unwrap()));
    assert_eq!((changes, openings > 0), (0, true));
    // A directory that is listed tells nothing.
    assert_eq!(
        counted(watch, || assert_eq!(
            fs::read_dir(root.join("dir")).unwrap().count(),
            2
        )),
        (0, 0)
    );
    let acts: [(&str, &dyn Fn()); 7] = [
        ("write", &|| (&held).write_all(b"two").unwrap()),
        ("truncate", &|| held.set_len(1).unwrap()),
        ("mode", &|| {
            let mut mode = fs::metadata(&file).unwrap().permissions();
            mode.set_readonly(true);
            fs::set_permissions(&file, mode).unwrap();
        }),
        ("times", &|| held.set_modified(std::time::UNIX_EPOCH).unwrap()),
        ("link", &|| {
            std::os::unix::fs::symlink("x", root.join("link")).unwrap()
        }),
        ("rename", &|| {
            fs::rename(root.join("link"), root.join("dir/link")).unwrap()
        }),
        ("remove", &|| fs::remove_file(root.join("dir/link")).unwrap()),
    ];
    for (what, act) in acts {
        assert_ne!(counted(watch, act).0, 0, "{what}");
    }
    assert_ne!(counted(watch, || drop(held)).0, 0, "the end of a writer");
    assert_eq!(
        counted(watch, || fs::write(root.join("dir/excluded/new"), "").unwrap()),
        (0, 0)
    );
    assert_eq!(watch.blindness(), None);
}

#[test]
fn a_directory_that_comes_is_watched_with_all_below_it() {
    let scratch = tempfile::tempdir().unwrap();
    let (root, beside) = (scratch.path().join("root"), scratch.path().join("beside"));
    fs::create_dir(&root).unwrap();
    fs::create_dir_all(beside.join("x/y")).unwrap();
    let watch = &mut watch(&root);
    assert_ne!(
        counted(watch, || fs::create_dir_all(root.join("a/b/c")).unwrap()).0,
        0
    );
    assert_ne!(
        counted(watch, || drop(File::create(root.join("a/b/c/d")).unwrap())).0,
        0
    );
    assert_eq!(watch.blindness(), None);
    // One that was moved keeps its watch, under another path.
    assert_ne!(
        counted(watch, || fs::rename(&beside, root.join("moved")).unwrap()).0,
        0
    );
    assert_eq!(watch.blindness(), Some(Blindness::Stale));
    let before = watch.changes();
    watch.renew().unwrap();
    assert_ne!(watch.changes(), before);
    assert_eq!(watch.blindness(), None);
    assert_ne!(
        counted(watch, || fs::write(root.join("moved/x/y/z"), "").unwrap()).0,
        0
    );
}

#[test]
fn it_says_what_it_cannot_know() {
    let scratch = tempfile::tempdir().unwrap();
    let (root, outside) = (scratch.path().join("root"), scratch.path().join("outside"));
    fs::create_dir(&root).unwrap();
    fs::write(root.join("one"), "").unwrap();
    // All names of it lie in the tree.
    fs::hard_link(root.join("one"), root.join("two")).unwrap();
    let mut watched = watch(&root);
    assert_eq!(watched.blindness(), None);
    fs::hard_link(root.join("one"), &outside).unwrap();
    assert_ne!(
        counted(&mut watched, || fs::remove_file(root.join("two")).unwrap()).0,
        0
    );
    assert_eq!(watched.blindness(), Some(Blindness::Stale));
    watched.renew().unwrap();
    assert_eq!(watched.blindness(), Some(Blindness::Links));
    fs::rename(&root, scratch.path().join("moved")).unwrap();
    assert_eq!(watched.blindness(), Some(Blindness::Replaced));
    let refused = TreeWatch::begin(Path::new("/proc"), Box::new(|_| true));
    assert_eq!(refused.err().unwrap().kind(), std::io::ErrorKind::Unsupported);
}
