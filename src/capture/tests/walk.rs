//! Results of a walk: entries, excluded paths, and gaps.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::{Meddler, Moment, Place, coverage, entry, excluding, names, path};
use crate::model::{Digest, EntryKind, GapReason, Listing, Manifest, WithheldPath, WithheldReason};
use crate::observer::Silent;
use handle_fs::remote::Transports;
use handle_fs::{Dir, Root};

struct Case {
    excludes: &'static [&'static str],
    tracked: &'static [&'static str],
    withheld: &'static [&'static str],
    entries: &'static [&'static str],
    skipped: &'static [&'static str],
    gaps: &'static [&'static str],
    partial: &'static [&'static str],
}

/// The staging directory of another restore is never part of a tree.
const STAGING: &str = ".jackin-recovery-00";

const CASES: &[Case] = &[
    Case {
        excludes: &[],
        tracked: &[],
        withheld: &[],
        entries: &[
            "keep",
            "keep/a",
            "keep/b.log",
            "src",
            "src/lib",
            "src/target",
            "src/target/x",
            "target",
            "target/out",
        ],
        skipped: &[],
        gaps: &[STAGING],
        partial: &[],
    },
    Case {
        excludes: &["target/", "*.log"],
        tracked: &[],
        withheld: &[],
        entries: &["keep", "keep/a", "src", "src/lib"],
        skipped: &["keep/b.log", "src/target", "target"],
        gaps: &[STAGING],
        partial: &[],
    },
    Case {
        excludes: &["/target", "*.log", "!b.log", "src"],
        tracked: &[],
        withheld: &[],
        entries: &["keep", "keep/a", "keep/b.log"],
        skipped: &["src", "target"],
        gaps: &[STAGING],
        partial: &[],
    },
    Case {
        excludes: &[],
        tracked: &["src/target"],
        withheld: &[],
        entries: &["src", "src/target", "src/target/x"],
        skipped: &[],
        gaps: &[STAGING],
        partial: &["", "src"],
    },
    Case {
        excludes: &["target/"],
        tracked: &["src", "keep/a"],
        withheld: &[],
        entries: &["keep", "keep/a", "src", "src/lib"],
        skipped: &["src/target"],
        gaps: &[STAGING],
        partial: &["", "keep"],
    },
    Case {
        excludes: &["keep"],
        tracked: &[],
        withheld: &["keep/a", "src/target", "not/there"],
        entries: &["src", "src/lib", "target", "target/out"],
        skipped: &["keep"],
        gaps: &[STAGING, "src/target"],
        partial: &[],
    },
];

#[test]
fn what_is_left_out_leaves_the_trace_that_its_reason_asks_for() {
    let staged = format!("{STAGING}/new-0");
    let place = Place::with(&[
        ("keep/a", "a"),
        ("keep/b.log", "b"),
        ("target/out", "o"),
        ("src/lib", "l"),
        ("src/target/x", "x"),
        (&staged, "n"),
    ]);
    for case in CASES {
        let mut coverage = excluding(place.coverage(), case.excludes);
        coverage.tracked = case.tracked.iter().map(|at| path(at)).collect();
        coverage.withheld = case
            .withheld
            .iter()
            .map(|at| WithheldPath {
                path: path(at),
                reason: WithheldReason::Sensitive,
            })
            .collect();
        let seen = place.look_by(&coverage, None, &Silent);
        let manifest = seen.manifest.unwrap();
        let about = format!("{:?} {:?} {:?}", case.excludes, case.tracked, case.withheld);
        let entries: Vec<_> = manifest.entries().map(|(path, _)| path).collect();
        assert_eq!(names(entries.iter()), case.entries, "{about}");
        assert_eq!(
            names(seen.skipped.iter().map(|s| &s.path)),
            case.skipped,
            "{about}"
        );
        let gaps: Vec<_> = manifest.gaps().map(|(path, _)| path).collect();
        assert_eq!(names(gaps.iter()), case.gaps, "{about}");
        let partial = manifest
            .directories
            .iter()
            .filter(|dir| dir.listing == Listing::Partial);
        assert_eq!(names(partial.map(|dir| &dir.path)), case.partial, "{about}");
        // A path with the name of a staging directory was never agreed to be left out.
        let staging = manifest.gaps().any(|(_, gap)| gap.reason == GapReason::Staging);
        assert_eq!(
            manifest.lacks(&[]).is_empty(),
            !staging,
            "{about}: what was agreed is no lack"
        );
    }
}

#[test]
fn every_type_and_every_name_is_recorded_as_it_is() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::new();
    let odd = std::ffi::OsStr::from_bytes(b"-new\nline\xff");
    fs::write(place.root.join(odd), "odd").unwrap();
    symlink("../nowhere", place.at("link")).unwrap();
    fs::create_dir(place.at("empty")).unwrap();
    let dir = Dir::open(&Transports::default(), &place.root).unwrap();
    handle_fs::make_fifo(&dir, "pipe".as_ref()).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.at("socket")).unwrap();
    fs::write(place.at("nothing"), "").unwrap();
    fs::write(place.at("shut"), "shut").unwrap();
    fs::set_permissions(place.at("shut"), fs::Permissions::from_mode(0o4755)).unwrap();
    let manifest = place.look(None);
    assert!(manifest.lacks(&[]).is_empty());
    let (at, entry_of_odd) = manifest.entries().next().unwrap();
    assert_eq!(at.as_bytes(), b"-new\nline\xff");
    assert_eq!(entry_of_odd.content().unwrap().digest, Digest::of(b"odd"));
    assert_eq!(
        entry(&manifest, "link").kind,
        EntryKind::Symlink(b"../nowhere".as_slice().into())
    );
    assert_eq!(entry(&manifest, "empty").kind, EntryKind::Directory);
    assert_eq!(entry(&manifest, "pipe").kind, EntryKind::Fifo);
    assert_eq!(entry(&manifest, "socket").kind, EntryKind::Socket);
    assert_eq!(
        entry(&manifest, "nothing").content().unwrap().digest,
        Digest::of(b"")
    );
    assert_eq!(entry(&manifest, "shut").mode, 0o4755);
    if handle_fs::is_privileged() {
        handle_fs::make_device(&dir, "null".as_ref(), false, 1, 3).unwrap();
        assert_eq!(entry(&place.look(None), "null").kind, EntryKind::CharDevice(1, 3));
    }
}

#[test]
fn another_file_system_is_a_gap_and_is_not_entered() {
    let (outer, inner) = (std::path::Path::new("/dev"), std::path::Path::new("/dev/pts"));
    let places = (
        Root::open(&Transports::default(), outer).map(|r| r.place()),
        Root::open(&Transports::default(), inner).map(|r| r.place()),
    );
    let (Ok(here), Ok(there)) = places else {
        crate::skipped::skipped("there is no /dev/pts");
        return;
    };
    if here == there {
        crate::skipped::skipped("/dev/pts is no mount point");
        return;
    }
    let mut coverage = coverage(outer, "dev");
    coverage.tracked = vec![path("pts")];
    let manifest = Place::new().look_by(&coverage, None, &Silent).manifest.unwrap();
    let gaps: Vec<_> = manifest
        .gaps()
        .map(|(at, gap)| (at, gap.reason.clone()))
        .collect();
    assert_eq!(gaps, [(path("pts"), GapReason::MountPoint)]);
    assert!(manifest.directory(&path("pts")).is_none());
    assert!(!manifest.lacks(&[]).is_empty());
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_kept() {
    if handle_fs::is_privileged() {
        crate::skipped::skipped("nothing is unreadable to root");
        return;
    }
    let place = Place::with(&[("shut/in", "i"), ("secret", "s"), ("open", "o")]);
    for at in ["shut", "secret"] {
        fs::set_permissions(place.at(at), fs::Permissions::from_mode(0o0)).unwrap();
    }
    let manifest = place.look(None);
    fs::set_permissions(place.at("shut"), fs::Permissions::from_mode(0o700)).unwrap();
    let lacks: Vec<_> = manifest.lacks(&[]).into_iter().map(|(path, _)| path).collect();
    assert_eq!(names(lacks.iter()), ["secret", "shut"]);
    assert_eq!(
        manifest.directory(&path("shut")).unwrap().listing,
        Listing::Unreadable
    );
    assert_eq!(
        entry(&manifest, "open").content().unwrap().digest,
        Digest::of(b"o")
    );
}

/// Scans, and calls `deed` after the first directory was listed and before anything below it is examined.
fn look_while(place: &Place, deed: impl Fn() + Send + Sync) -> Manifest {
    let done = std::sync::Once::new();
    let meddler = Meddler(|moment| {
        if moment == Moment::Listed {
            done.call_once(&deed);
        }
        false
    });
    place.look_by(&place.coverage(), None, &meddler).manifest.unwrap()
}

#[test]
fn a_directory_that_vanishes_under_the_walk_is_a_gap_and_its_neighbors_are_read_right() {
    let place = Place::with(&[("a", "first"), ("d/x", "x"), ("m", "middle"), ("z", "last")]);
    let manifest = look_while(&place, || fs::remove_dir_all(place.at("d")).unwrap());
    let gaps: Vec<_> = manifest
        .gaps()
        .map(|(at, gap)| (at, gap.reason.clone()))
        .collect();
    assert_eq!(gaps, [(path("d"), GapReason::Moving)]);
    for (at, content) in [("a", "first"), ("m", "middle"), ("z", "last")] {
        let found = entry(&manifest, at).content().unwrap();
        assert_eq!(found.digest, Digest::of(content.as_bytes()), "{at}");
    }
}

#[test]
fn a_directory_that_becomes_a_link_leads_nowhere() {
    let place = Place::with(&[("d/x", "x")]);
    fs::create_dir(place.base.join("outside")).unwrap();
    fs::write(place.base.join("outside/stolen"), "s").unwrap();
    let manifest = look_while(&place, || {
        fs::remove_dir_all(place.at("d")).unwrap();
        symlink(place.base.join("outside"), place.at("d")).unwrap();
    });
    assert!(manifest.entry(&path("d/stolen")).is_none());
    assert!(!manifest.lacks(&[]).is_empty(), "the doubt is named");
}

#[test]
fn a_file_that_becomes_a_link_is_not_read_through_it() {
    let place = Place::with(&[("file", "innocent")]);
    fs::create_dir(place.base.join("outside")).unwrap();
    fs::write(place.base.join("outside/secret"), "stolen!!").unwrap();
    let manifest = look_while(&place, || {
        fs::remove_file(place.at("file")).unwrap();
        symlink(place.base.join("outside/secret"), place.at("file")).unwrap();
    });
    let contents = manifest.entries().filter_map(|(_, entry)| entry.content());
    let stolen = Digest::of(b"stolen!!");
    assert!(contents.into_iter().all(|content| content.digest != stolen));
    let is_link = manifest
        .entry(&path("file"))
        .is_some_and(|entry| matches!(entry.kind, EntryKind::Symlink(_)));
    assert!(is_link || !manifest.lacks(&[]).is_empty(), "the doubt is named");
}

#[test]
fn a_missing_root_is_no_tree_at_all() {
    let place = Place::new();
    fs::remove_dir(&place.root).unwrap();
    assert!(place.look_by(&place.coverage(), None, &Silent).manifest.is_none());
}
