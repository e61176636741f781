//! Clean work trees that are recorded by their commit, and programs that write to them meanwhile.

use std::fs;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use super::git_command::git;
use super::{Meddler, Moment, Place, entry, only};
use crate::capture::Limits;
use crate::model::{Coverage, Digest, RepositoryFacts, SnapshotKind, SnapshotRecord};
use crate::observer::Silent;

/// Size of a file that is not read at once into memory.
const LARGE: usize = (4 << 20) + 4096;

/// Returns a clean work tree, whose commit a remote has.
fn clean() -> (Place, Coverage) {
    let place = Place::with(&[("a", "small")]);
    place.write("large", vec![b'a'; LARGE]);
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "all"],
        &["remote", "add", "origin", "https://example.org/x.git"],
        &["update-ref", "refs/remotes/origin/main", "HEAD"],
    ] {
        assert!(git(&place.root, args).status().unwrap().success(), "{args:?}");
    }
    let coverage = Coverage {
        by_commit: true,
        ..place.coverage()
    };
    (place, coverage)
}

fn facts(record: &SnapshotRecord) -> &RepositoryFacts {
    record.repositories().next().unwrap().1
}

#[test]
fn what_is_written_after_the_commit_was_read_is_archived() {
    let (place, coverage) = clean();
    let capture = |kind, observer: &dyn crate::observer::Observer| {
        place
            .try_take(kind, std::slice::from_ref(&coverage), Limits::NONE, observer)
            .unwrap()
    };
    // Files are read after the commit is, and this one is written to before it is read.
    let (reading, written) = (AtomicBool::new(false), AtomicBool::new(false));
    let meddler = Meddler(|moment| {
        reading.fetch_or(moment == Moment::Read, Ordering::Relaxed);
        let is_time = moment == Moment::Asked && reading.load(Ordering::Relaxed);
        if is_time && !written.swap(true, Ordering::Relaxed) {
            let file = fs::OpenOptions::new().append(true).open(place.at("large"));
            file.unwrap().write_all(b"agent").unwrap();
        }
        false
    });
    let captured = capture(SnapshotKind::Baseline, &meddler);
    assert!(written.load(Ordering::Relaxed));
    assert!(!facts(&captured.record).by_commit);
    let now = fs::read(place.at("large")).unwrap();
    let content = *entry(only(&captured), "large").content().unwrap();
    assert_eq!(content.digest, Digest::of(&now));
    // Without the repository: everything is in archives.
    fs::remove_dir_all(place.at(".git")).unwrap();
    let all = only(&captured)
        .entries()
        .filter_map(|(_, entry)| entry.content().copied());
    crate::capture::read_back(&place.store, &captured.record, all, &Silent).unwrap();
}

#[test]
fn what_nobody_writes_to_is_not_archived() {
    let (place, coverage) = clean();
    let request = std::slice::from_ref(&coverage);
    let captured = place
        .try_take(SnapshotKind::Baseline, request, Limits::NONE, &Silent)
        .unwrap();
    assert!(facts(&captured.record).by_commit);
}
