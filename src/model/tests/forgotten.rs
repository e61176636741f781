//! Manifests and records without the paths that were forgotten.

use std::sync::Arc;

use super::super::{
    AmendedManifest, AmendedMount, AmendedSnapshot, Chunk, Content, Digest, DigestMethod, Directory, Entry,
    EntryKind, GapReason, InodeFlags, InstanceId, Listing, Manifest, Name, RelPath, SnapshotId, Time, runs,
    without,
};

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

fn path(text: &str) -> RelPath {
    RelPath::new(text.as_bytes()).unwrap()
}

fn entry(called: &str, kind: EntryKind, link: Option<&str>) -> Entry {
    Entry {
        name: name(called),
        kind,
        mode: 0o644,
        uid: 0,
        gid: 0,
        mtime: Time::default(),
        ctime: Time::default(),
        ino: 1,
        flags: InodeFlags::default(),
        xattrs: Vec::new(),
        link: link.map(path),
        nlink: 1,
        unstable: false,
    }
}

fn file(called: &str, link: Option<&str>) -> Entry {
    let content = Content {
        size: 3,
        digest: Digest::of(b"one"),
        method: DigestMethod::Plain,
    };
    entry(called, EntryKind::File(content), link)
}

fn directory(at: &str, entries: Vec<Entry>) -> Arc<Directory> {
    Arc::new(Directory {
        path: path(at),
        listing: Listing::Proven,
        all_named: true,
        entries,
        gaps: Vec::new(),
    })
}

fn manifest() -> Manifest {
    let keys = entry("keys", EntryKind::Directory, None);
    Manifest {
        root: entry("root", EntryKind::Directory, None),
        directories: vec![
            directory(
                "",
                vec![file("a", None), file("b", Some("a")), keys, file("z", Some("a"))],
            ),
            directory("keys", vec![file("deep", None), file("other", Some("keys/deep"))]),
        ],
    }
}

#[test]
fn a_gap_takes_the_place_of_a_forgotten_file_and_the_next_name_that_of_its_group() {
    let left = without(&manifest(), &[path("a")]).unwrap();
    assert!(left.entry(&path("a")).is_none());
    let root = left.directory(&path("")).unwrap();
    assert_eq!(root.gap(&name("a")).unwrap().reason, GapReason::Forgotten);
    assert_eq!(left.entry(&path("b")).unwrap().link, None);
    assert_eq!(left.entry(&path("z")).unwrap().link, Some(path("b")));
    assert_eq!(
        left.entry(&path("keys/other")).unwrap().link,
        Some(path("keys/deep"))
    );
    assert_eq!(left.lacks(&[]), [(path("a"), GapReason::Forgotten.words())]);
}

#[test]
fn a_forgotten_directory_goes_with_its_children_and_what_is_not_there_changes_nothing() {
    let left = without(&manifest(), &[path("keys"), path("keys/deep"), path("no")]).unwrap();
    assert_eq!(left.directories.len(), 1);
    assert_eq!(left.entry_count(), 3);
    assert_eq!(without(&left, &[path("keys"), path("no/such"), path("")]), None);
}

#[test]
fn a_chunk_with_a_forgotten_gap_is_of_its_own_version_and_reads_back() {
    let first = |manifest: &Manifest| runs(manifest)[0].encode(manifest).bytes;
    assert_eq!(first(&manifest())[7], 1);
    let left = without(&manifest(), &[path("z")]).unwrap();
    let bytes = first(&left);
    assert_eq!(bytes[7], 3);
    let parts = Chunk::decode(&bytes).unwrap();
    assert_eq!(parts[0].part(), left.directories[0].as_ref());
}

#[test]
fn an_amendment_covers_its_paths_and_what_lies_below() {
    let mount = AmendedMount {
        mount: "project".to_owned(),
        paths: vec![path("keys")],
        manifest: Some(AmendedManifest {
            digest: Digest::of(b"list"),
            entries: 3,
            bytes: 3,
            gap_count: 1,
            gaps: vec![path("keys")],
        }),
    };
    assert!(mount.covers(&path("keys")) && mount.covers(&path("keys/deep")));
    assert!(!mount.covers(&path("keys2")) && !mount.covers(&path("a")));
    let amended = AmendedSnapshot {
        snapshot: SnapshotId::new([1; 12]),
        instance: InstanceId::new([1; 8], "demo"),
        mounts: vec![mount],
        complete: false,
        entries: 3,
        bytes: 3,
    };
    let json = serde_json::to_string(&amended).unwrap();
    assert_eq!(serde_json::from_str::<AmendedSnapshot>(&json).unwrap(), amended);
}
