//! Files that another process can write to.

use std::cell::Cell;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::{Search, WriterSearch};

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
