//! Questions to another machine about unchanged directories, and its answers.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::capture::remote_compare::{Question, UNCHANGED, answer, expected};
use crate::capture::tests::{Place, coverage};
use crate::model::{ByteString, Manifest};
use crate::observer::Silent;
use handle_fs::remote::loopback::{set_knows, through_agent};

fn place() -> Place {
    let place = Place::with(&[
        ("a/one", "1\n"),
        ("a/two", "2\n"),
        ("b/c/deep", "deep\n"),
        ("b/twin", "twin\n"),
        ("empty/", ""),
        ("run", "x\n"),
    ]);
    symlink("run", place.at("a/link")).unwrap();
    fs::hard_link(place.at("b/twin"), place.at("b/other")).unwrap();
    fs::set_permissions(place.at("run"), fs::Permissions::from_mode(0o4711)).unwrap();
    let fifo = handle_fs::open_root(&place.at("b")).unwrap();
    handle_fs::make_fifo(&fifo, "pipe".as_ref()).unwrap();
    place.rest();
    place
}

/// Returns the directories that equal the manifest.
fn same(root: &Path, manifest: &Manifest) -> Vec<String> {
    let question = Question {
        root: ByteString::from(root).0,
        ino: manifest.root.ino,
        directories: manifest
            .directories
            .iter()
            .map(|dir| (dir.path.as_bytes().to_vec(), expected(dir)))
            .collect(),
    };
    let bits = answer(&postcard::to_stdvec(&question).unwrap()).unwrap();
    let is_set = |at: usize| bits[at / 8] & (1 << (at % 8)) != 0;
    let directories = manifest.directories.iter().enumerate();
    directories
        .filter(|(at, _)| is_set(*at))
        .map(|(_, dir)| format!("/{}", dir.path.as_path().display()))
        .collect()
}

#[test]
fn what_did_not_change_is_told_to_be_the_same() {
    let place = place();
    let manifest = place.look(None);
    assert_eq!(same(&place.root, &manifest), ["/", "/a", "/b", "/b/c", "/empty"]);
    // In another directory with the same path nothing is.
    let mut other = manifest;
    other.root.ino += 1;
    assert!(same(&place.root, &other).is_empty());
    assert!(answer(b"\xff\xff\xff").is_none());
}

#[test]
fn every_change_is_told_of_the_directory_that_it_is_in() {
    type Change = (&'static str, fn(&Place), &'static [&'static str]);
    let changes: [Change; 8] = [
        (
            "content",
            |place| place.write("a/one", "9\n"),
            &["/", "/b", "/b/c", "/empty"],
        ),
        (
            "a name",
            |place| place.write("empty/new", ""),
            &["/a", "/b", "/b/c"],
        ),
        (
            "a name less",
            |place| fs::remove_file(place.at("b/c/deep")).unwrap(),
            &["/", "/a", "/empty"],
        ),
        (
            "a mode",
            |place| fs::set_permissions(place.at("run"), fs::Permissions::from_mode(0o711)).unwrap(),
            &["/a", "/b", "/b/c", "/empty"],
        ),
        (
            "a link",
            |place| {
                fs::remove_file(place.at("a/link")).unwrap();
                symlink("two", place.at("a/link")).unwrap();
            },
            &["/b", "/b/c", "/empty"],
        ),
        (
            "a second name",
            |place| fs::hard_link(place.at("a/one"), place.at("a/also")).unwrap(),
            &["/b", "/b/c", "/empty"],
        ),
        (
            "holes",
            |place| {
                let file = fs::File::options()
                    .write(true)
                    .open(place.at("b/c/deep"))
                    .unwrap();
                file.set_len(1 << 20).unwrap();
            },
            &["/", "/a", "/b", "/empty"],
        ),
        (
            "a directory gone",
            |place| fs::remove_dir(place.at("empty")).unwrap(),
            &["/a", "/b", "/b/c"],
        ),
    ];
    for (what, change, rest) in changes {
        let place = place();
        let began = handle_fs::file_clock();
        let manifest = place.look(None);
        change(&place);
        assert_eq!(same(&place.root, &manifest), rest, "{what}");
        // What is looked at through the answers is what is there.
        place.rest();
        set_knows(|question| match question.split_first()? {
            (&UNCHANGED, rest) => answer(rest),
            _ => None,
        });
        let far = through_agent("unchanged", &place.root);
        let reference = Some((&manifest, began));
        let there = place.look_by(&coverage(&far, "project"), reference, &Silent);
        assert_eq!(there.manifest.unwrap(), place.look(None), "{what}");
    }
}
