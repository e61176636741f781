//! Parallel writing restores what was there, and reports the first failure in the order of paths.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::{RestoreError, Scope, Wrecked, wrecked};
use crate::capture::tests::{Meddler, Moment, Place, only, shows_holes};
use crate::model::{RelPath, SnapshotKind, Xattr};
use crate::observer::{Observer, Silent};
use crate::restore::{Outcome, Written, write_to};
use crate::store::{BlobReader, Blobs};
use handle_fs::Dir;
use handle_fs::remote::Transports;

/// Bytes that do not compress.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed + 1;
    std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(length)
    .collect()
}

/// A tree with a bit of everything, in more frames than there are threads.
fn everything(place: &Place) {
    for number in 0_u64..200 {
        let directory = number % 20;
        place.write(&format!("many/{directory:02}/{number:03}"), noise(number, 60_000));
    }
    for number in 0..100 {
        place.write(&format!("same/{number:02}/copy"), noise(3, 60_000));
        place.write(&format!("same/{number:02}/empty"), "");
    }
    place.write("large", noise(9, 9 << 20));
    let holes = fs::File::create(place.at("many/holes")).unwrap();
    holes.write_all_at(&noise(5, 100_000), 1 << 20).unwrap();
    holes.set_len(16 << 20).unwrap();
    fs::hard_link(place.at("many/00/000"), place.at("again")).unwrap();
    fs::hard_link(place.at("many/00/000"), place.at("same/third")).unwrap();
    std::os::unix::fs::symlink("many", place.at("link")).unwrap();
    handle_fs::make_fifo(
        Dir::open(&Transports::default(), &place.root).unwrap(),
        OsStr::new("pipe"),
    )
    .unwrap();
    let top = Dir::open(&Transports::default(), &place.at("many")).unwrap();
    let note = Xattr {
        name: b"user.note"[..].into(),
        value: b"v"[..].into(),
    };
    for name in ["00", "holes"] {
        if let Err(error) = handle_fs::set_attribute(&top, OsStr::new(name), &note) {
            crate::skipped::skipped(&format!("attributes: {error}"));
        }
    }
    place.write("shut/in/file", "f");
    fs::create_dir(place.at("shut/in/none")).unwrap();
    for (path, mode) in [
        ("many/01/001", 0o4711),
        ("many/02/002", 0o400),
        ("shut/in/file", 0o444),
        ("shut/in/none", 0o500),
        ("shut/in", 0o555),
        ("shut", 0o500),
    ] {
        fs::set_permissions(place.at(path), fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// So that the test's directory can be removed.
fn open_again(root: &Path) {
    for path in ["shut", "shut/in", "shut/in/none"] {
        let _ = fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o700));
    }
}

/// Mode, number of names, time, bytes, attributes.
type Facts = (u32, u64, Option<(i64, i64)>, Vec<u8>, Vec<Xattr>);

/// Everything that can be seen, with times where `with_times` says so.
fn seen(root: &Path, with_times: bool) -> BTreeMap<PathBuf, Facts> {
    let below = walkdir::WalkDir::new(root)
        .min_depth(1)
        .into_iter()
        .map(Result::unwrap);
    let facts = |path: &Path| {
        let meta = path.symlink_metadata().unwrap();
        let bytes = if meta.is_file() {
            fs::read(path).unwrap()
        } else {
            Vec::new()
        };
        let dir = Dir::open(&Transports::default(), path.parent().unwrap()).unwrap();
        let attributes = dir.attributes(path.file_name().unwrap()).unwrap();
        let time = with_times.then(|| (meta.mtime(), meta.mtime_nsec()));
        let nlink = if meta.is_dir() { 0 } else { meta.nlink() };
        (meta.mode(), nlink, time, bytes, attributes)
    };
    below
        .map(|entry| {
            (
                entry.path().strip_prefix(root).unwrap().to_path_buf(),
                facts(entry.path()),
            )
        })
        .collect()
}

fn blobs(session: &Wrecked) -> Blobs {
    session.place.store.blobs(&session.baseline.record.archives)
}

fn write(session: &Wrecked, to: &str, observer: &dyn Observer) -> Result<Written, RestoreError> {
    let to = session.place.base.join(to);
    write_to(
        &to,
        only(&session.baseline),
        &Scope::All,
        &blobs(session),
        observer,
    )
}

fn session() -> Wrecked {
    let place = Place::new();
    everything(&place);
    let baseline = place.take(SnapshotKind::Baseline);
    let closing = place.take(SnapshotKind::Closing);
    Wrecked {
        place,
        baseline,
        closing,
    }
}

#[test]
fn everything_comes_back_in_a_directory_of_its_own() {
    let session = session();
    let written = write(&session, "copy", &Silent).unwrap();
    assert_eq!(written.problems, []);
    let mut paths: Vec<RelPath> = only(&session.baseline).entries().map(|(path, _)| path).collect();
    paths.sort();
    assert_eq!(written.paths, paths);
    let copy = session.place.base.join("copy");
    assert_eq!(seen(&copy, true), seen(&session.place.root, true));
    let holes = fs::metadata(copy.join("many/holes")).unwrap();
    let are_kept = holes.blocks() * 512 < 1 << 20;
    assert_eq!(are_kept, shows_holes(&session.place), "holes stay holes");
    let names =
        ["again", "many/00/000", "same/third"].map(|name| fs::metadata(copy.join(name)).unwrap().ino());
    assert!(names.iter().all(|ino| *ino == names[0]));
    open_again(&copy);
    open_again(&session.place.root);
}

#[test]
fn everything_comes_back_in_place() {
    let mut session = session();
    let before = seen(&session.place.root, false);
    open_again(&session.place.root);
    for entry in fs::read_dir(&session.place.root).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
    session.closing = session.place.take(SnapshotKind::Closing);
    let report = session.execute(&session.propose()).unwrap();
    assert_eq!(
        (report.outcome, &report.mounts[0].failed[..]),
        (Outcome::Done, &[][..])
    );
    assert_eq!(seen(&session.place.root, false), before);
    open_again(&session.place.root);
}

#[test]
fn the_first_damaged_path_is_named_whoever_finds_one_first() {
    let session = session();
    let archive = session.baseline.record.id.archive();
    let archive = session.place.store.layout().archive(&archive);
    let file = fs::File::options().read(true).write(true).open(archive).unwrap();
    let length = file.metadata().unwrap().len();
    // Three frames in the first half, where no index is.
    for at in [length / 8, length / 4, length / 2] {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1], at).unwrap();
    }
    let (content, mut reader) = (blobs(&session), BlobReader::default());
    let mut entries: Vec<_> = only(&session.baseline).entries().collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    let is_damaged = |digest| content.stream_by(&mut reader, digest, &mut |_| Ok(())).is_err();
    let damaged: Vec<_> = {
        let mut is_damaged = is_damaged;
        entries.retain(|(_, entry)| {
            entry
                .content()
                .is_some_and(|content| content.size > 0 && is_damaged(&content.digest))
        });
        entries.into_iter().map(|(path, _)| path).collect()
    };
    assert!(damaged.len() > 3, "{damaged:?}");
    for _ in 0..5 {
        let result = write(&session, "copy", &Silent);
        let Err(RestoreError::Content { path, .. }) = result else {
            panic!("{result:?}");
        };
        assert_eq!(path, damaged[0]);
        assert!(!session.place.base.join("copy").exists(), "nothing of it stays");
    }
    open_again(&session.place.root);
}

#[test]
fn a_stop_in_the_middle_leaves_nothing() {
    let session = session();
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let meddler = Meddler(|moment| {
        moment == Moment::Asked && asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 40
    });
    let result = write(&session, "copy", &meddler);
    assert!(matches!(result, Err(RestoreError::Interrupted)), "{result:?}");
    assert!(!session.place.base.join("copy").exists());
    open_again(&session.place.root);
}

#[test]
fn what_cannot_be_written_names_its_path() {
    // A name that is there already: somebody else writes into the same directory.
    let session = wrecked(&[("d/a", "a"), ("d/b", "b"), ("z", "z")], |_| {});
    let copy = session.place.base.join("copy");
    let meddler = Meddler(|moment| {
        if moment == Moment::Begin(crate::observer::Phase::Stage) {
            fs::create_dir(copy.join("d")).unwrap();
        }
        false
    });
    let result = write(&session, "copy", &meddler);
    let Err(RestoreError::Build { path, source }) = result else {
        panic!("{result:?}");
    };
    assert_eq!(
        (path, source.kind()),
        (super::path("d"), std::io::ErrorKind::AlreadyExists)
    );
}

#[test]
fn what_somebody_else_put_there_stays_when_it_fails() {
    let session = wrecked(&[("d/a", "a"), ("d/b", "b"), ("shut/c", "c"), ("z", "z")], |_| {});
    let copy = session.place.base.join("copy");
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let meddler = Meddler(|moment| {
        if moment != Moment::Asked {
            return false;
        }
        let number = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if number == 0 {
            fs::write(copy.join("d/mine"), "mine").unwrap();
            fs::write(copy.join("mine"), "mine").unwrap();
        }
        number > 2
    });
    let result = write(&session, "copy", &meddler);
    let Err(RestoreError::Left { cause, left }) = result else {
        panic!("{result:?}");
    };
    assert!(matches!(*cause, RestoreError::Interrupted), "{cause:?}");
    assert!(left.to_string().contains("copy"), "{left}");
    assert_eq!(fs::read_to_string(copy.join("mine")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(copy.join("d/mine")).unwrap(), "mine");
    assert_eq!(
        fs::read_dir(copy.join("d")).unwrap().count(),
        1,
        "and nothing else"
    );
    assert_eq!(fs::read_dir(&copy).unwrap().count(), 2);
}
