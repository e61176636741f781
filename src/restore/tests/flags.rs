//! Flags that were in the way are there again when a restore is undone; those that come into the way keep what they bind.

use std::fs::{self, File};
use std::path::Path;

use super::{RestoreError, Wrecked, path, wrecked};
use crate::capture::tests::{Meddler, Moment, at};
use crate::model::InodeFlags;
use crate::observer::Phase;
use crate::restore::Outcome;
use handle_fs::{set_inode_flags, stat_handle};

const SEALED: [(&str, InodeFlags); 3] = [
    ("a", InodeFlags::IMMUTABLE),
    ("new/in", InodeFlags::APPEND),
    ("new", InodeFlags::IMMUTABLE),
];

/// Takes the flags off, or nobody could remove the directory.
struct Sealed<'a>(&'a Wrecked);

impl Drop for Sealed<'_> {
    fn drop(&mut self) {
        for (name, _) in SEALED {
            let _ = seal(&self.0.place.at(name), InodeFlags::default());
        }
    }
}

fn seal(path: &Path, flags: InodeFlags) -> std::io::Result<()> {
    set_inode_flags(File::open(path)?, flags)
}

fn flags(path: &Path) -> InodeFlags {
    stat_handle(File::open(path).unwrap()).unwrap().flags
}

#[test]
fn flags_are_there_again_after_a_restore_was_taken_back() {
    let mut can = true;
    let session = wrecked(&[("a", "before"), ("z", "before")], |place| {
        place.write("a", "after!");
        place.write("z", "after!");
        place.write("new/in", "made");
        for (name, flags) in SEALED {
            can &= seal(&place.at(name), flags).is_ok();
        }
    });
    let _sealed = Sealed(&session);
    if !can {
        // Neither the right nor, maybe, a file system that has any.
        return;
    }
    let meddler = Meddler(|moment| {
        if moment == Moment::Begin(Phase::Apply) {
            fs::write(session.place.at("z"), "edited by somebody").unwrap();
        }
        false
    });
    let result = session.execute_by(&session.propose(), &meddler);
    assert!(matches!(result, Err(RestoreError::Drift { .. })), "{result:?}");
    for (name, wanted) in SEALED {
        assert_eq!(flags(&session.place.at(name)), wanted, "{name}");
    }
    assert_eq!(fs::read(session.place.at("a")).unwrap(), b"after!");
    assert_eq!(session.beside(), ["data", "project"]);

    // An edit while the flags are off is not lost either.
    let session_now = session.place.at("a");
    fs::write(session.place.at("z"), "after!").unwrap();
    let meddler = Meddler(|moment| {
        if moment == Moment::Begin(Phase::Apply) {
            fs::write(&session_now, "edited").unwrap();
        }
        false
    });
    let result = session.execute_by(&session.propose(), &meddler);
    assert!(matches!(result, Err(RestoreError::Drift { .. })), "{result:?}");
    assert_eq!(fs::read(&session_now).unwrap(), b"edited");
    assert_eq!(flags(&session_now), InodeFlags::IMMUTABLE);
}

#[test]
fn a_directory_that_is_sealed_in_the_last_moment_keeps_its_paths_and_the_rest_is_done() {
    let session = wrecked(&[("d/fixed", "before"), ("free", "before")], |place| {
        place.write("d/fixed", "after!");
        place.write("free", "after!");
    });
    let directory = session.place.at("d");
    if seal(&directory, InodeFlags::IMMUTABLE).is_err() {
        return;
    }
    seal(&directory, InodeFlags::default()).unwrap();
    // After it was seen that nothing is in the way.
    let meddler = at(Moment::Begin(Phase::Apply), || {
        seal(&directory, InodeFlags::IMMUTABLE).unwrap();
    });
    let report = session.execute_by(&session.propose(), &meddler);
    seal(&directory, InodeFlags::default()).unwrap();
    let report = report.unwrap();
    assert_eq!(report.outcome, Outcome::Partial);
    let failed: Vec<_> = report.mounts[0].failed.iter().map(|f| f.path.clone()).collect();
    assert_eq!(failed, [path("d/fixed")]);
    assert_eq!(fs::read(session.place.at("d/fixed")).unwrap(), b"after!");
    assert_eq!(fs::read(session.place.at("free")).unwrap(), b"before");
    assert_eq!(session.beside(), ["data", "project"]);
}
