//! `blame` and `find` read few parts of manifests, however many files and snapshots there are.

#![allow(
    clippy::unwrap_used,
    reason = "a test shall stop where it meets the unexpected"
)]

use std::fs;

use jackin_recovery::environment::Environment;
use jackin_recovery::recovery::{
    BlameRequest, CheckpointRequest, ContractRequest, FindRequest, Origin, Recovery,
};

const DIRECTORIES: usize = 100;
const FILES: usize = 40;
const CHECKPOINTS: usize = 30;

#[test]
fn few_chunks_of_many_files_are_read() {
    let scratch = tempfile::tempdir().unwrap();
    let project = scratch.path().canonicalize().unwrap().join("project");
    for directory in 0..DIRECTORIES {
        let directory = project.join(format!("d{directory:03}"));
        fs::create_dir_all(&directory).unwrap();
        for file in 0..FILES {
            fs::write(directory.join(format!("f{file:03}")), format!("{file}\n")).unwrap();
        }
    }
    let environment = Environment {
        home: Some(scratch.path().join("home")),
        current: project.clone(),
        ..Environment::default()
    };
    let recovery = Recovery::open(&environment);
    let contract = recovery
        .contract(&ContractRequest::of_directory(&project))
        .unwrap();
    let session = recovery.begin(&(&contract).into()).unwrap().into_id();
    let mut text = "0\n".to_owned();
    for number in 0..CHECKPOINTS {
        // Each changes another directory, and every third one the file that is asked about.
        let other = project
            .join(format!("d{:03}", number * 7 % DIRECTORIES))
            .join("other");
        fs::write(other, format!("{number}\n")).unwrap();
        if number % 3 == 0 {
            text.push_str(&format!("line {number}\n"));
            fs::write(project.join("d050/f000"), &text).unwrap();
        }
        recovery
            .checkpoint(session.as_str(), CheckpointRequest::default())
            .unwrap();
    }
    recovery.end(session.as_str()).unwrap();
    let request = BlameRequest {
        session: None,
        path: "d050/f000".as_ref(),
    };
    let found = recovery.blame(&request).unwrap();
    assert_eq!(found.lines.len(), 1 + CHECKPOINTS / 3);
    assert_eq!(found.steps.len(), 1 + CHECKPOINTS / 3);
    assert_eq!(found.steps[0].origin, Origin::Before);
    let snapshots = u64::try_from(CHECKPOINTS).unwrap() + 2;
    assert!(found.read.lists <= snapshots, "{:?}", found.read);
    // Some four thousand entries are in sixteen chunks or more; a binary search visits at most five, and most of them are known.
    assert!(found.read.chunks <= 2 * snapshots, "{:?}", found.read);

    let request = FindRequest {
        pattern: Some("f000".as_ref()),
        deleted: false,
        any: false,
    };
    let found = recovery.find(&request).unwrap();
    assert_eq!(found.paths.len(), DIRECTORIES);
    assert!(found.read.lists <= snapshots, "{:?}", found.read);
    // A chunk that several snapshots share is read once. Each checkpoint changed one or two of them.
    assert!(found.read.chunks <= 40 + 2 * snapshots, "{:?}", found.read);
}
