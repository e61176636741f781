//! Files that another process can write to.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::{Search, Writer, WriterSearch, writers_of};

/// A process that goes with the test.
struct Going(Child);

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn with_output(file: &Path) -> Going {
    let output = File::options().append(true).create(true).open(file).unwrap();
    let mut command = Command::new("sleep");
    Going(
        command
            .arg("600")
            .stdin(Stdio::null())
            .stdout(output)
            .spawn()
            .unwrap(),
    )
}

#[test]
fn a_file_that_another_process_can_write_to_is_found() {
    let scratch = tempfile::tempdir().unwrap();
    let (root, beside) = (scratch.path().join("root"), scratch.path().join("beside"));
    fs::create_dir(&root).unwrap();
    fs::create_dir(&beside).unwrap();
    let roots = [root.clone()];
    let search = |counts: &dyn Fn(&Path) -> bool| {
        let mut search = WriterSearch::begin(&roots).unwrap();
        // It goes on where it was stopped.
        let turn = Cell::new(0_u32);
        let stops = || {
            turn.set(turn.get() + 1);
            turn.get().is_multiple_of(7)
        };
        loop {
            match search.go_on(counts, &stops) {
                Search::Stopped => {}
                end => return end == Search::Found,
            }
        }
    };
    // Other processes of the machine may have files of this file system that this one cannot name.
    if search(&|_| false) {
        return;
    }
    let found = || search(&|path| path.starts_with(&root));
    // One of them may have such a file for a moment.
    let nothing = || {
        (0..100).any(|turn| {
            std::thread::sleep(Duration::from_millis(turn));
            !found()
        })
    };
    assert!(nothing());
    let outside = with_output(&beside.join("output"));
    assert!(nothing());
    drop(outside);
    let inside = with_output(&root.join("output"));
    assert!(found());
    // A file without a name is in no tree.
    fs::remove_file(root.join("output")).unwrap();
    assert!(nothing());
    drop(inside);
    fs::write(root.join("input"), "").unwrap();
    let mut reading = Command::new("sleep");
    reading.arg("600").stdin(File::open(root.join("input")).unwrap());
    let _reading = Going(reading.stdout(Stdio::null()).spawn().unwrap());
    assert!(nothing());
}

#[test]
fn the_processes_that_have_a_file_open_for_writing_are_named() {
    let scratch = tempfile::tempdir().unwrap();
    let (written, other) = (scratch.path().join("written"), scratch.path().join("other"));
    let writer = with_output(&written);
    let _another = with_output(&other);
    let ino = |path: &Path| fs::metadata(path).unwrap().ino();
    let (root, inodes) = (
        scratch.path().canonicalize().unwrap(),
        BTreeSet::from([ino(&written)]),
    );
    // A child of another test has what was open when it was made, until it runs its own program.
    let found = |inodes: &BTreeSet<u64>, places: &[PathBuf]| {
        let search = || writers_of(&root, inodes, places);
        let mut tries = (0..100).map(|turn| {
            std::thread::sleep(Duration::from_millis(turn));
            search()
        });
        tries.find(|found| found.len() == 1).unwrap_or_else(search)
    };
    let expected = Writer {
        ino: ino(&written),
        path: root.join("written"),
        pid: writer.0.id(),
        name: "sleep".to_owned(),
    };
    assert_eq!(found(&inodes, &[]), std::slice::from_ref(&expected));
    assert_eq!(found(&BTreeSet::new(), &[root.join("written")]), [expected]);
    // This process has it open for reading alone, and does not count anyway.
    let _read = File::open(&written).unwrap();
    drop(writer);
    assert_eq!(writers_of(&root, &inodes, &[root.join("written")]), []);
}
