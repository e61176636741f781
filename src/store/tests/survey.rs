//! A survey sees what is wrong in each part, whatever the others look like, and changes nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;
use crate::store::{Inconsistency, LockName, Survey};

/// A store with two snapshots and their receipts; the first needs an archive that is there.
fn filled() -> Place {
    let place = Place::new();
    let store = place.write();
    store
        .append(at(0), 1000, &instance(1), begin("/srv/one"))
        .unwrap();
    let mut first = record(1);
    let draft = store.draft(first.id.clone()).unwrap();
    use std::io::Write as _;
    draft
        .archive_file(&draft.id().archive())
        .unwrap()
        .write_all(b"abc")
        .unwrap();
    draft.publish_archive(&first.id.archive()).unwrap();
    first.archives.push(archive_ref(first.id.archive()));
    let digest = draft.publish(&first).unwrap();
    let act = Operation::Capture {
        snapshot: first.id.clone(),
        kind: first.kind,
        record: digest,
        name: None,
        withheld: 0,
        sealed_to: Vec::new(),
        step: None,
        call: None,
        since: None,
    };
    store.append(at(1), 1000, &instance(1), act).unwrap();
    capture(&store, &record(2));
    place
}

#[track_caller]
fn survey(place: &Place) -> Survey {
    let before = tree(&place.root);
    let survey = Survey::of(&place.root).unwrap();
    assert_eq!(before, tree(&place.root), "something was changed");
    survey
}

#[test]
fn a_whole_store_has_nothing_to_tell() {
    let place = filled();
    let seen = survey(&place);
    assert_eq!((seen.records, seen.archives, seen.receipts.unwrap()), (2, 1, 3));
    assert!(seen.odd.is_empty(), "{:?}", seen.odd);
    assert!(
        seen.unreadable.is_empty()
            && seen.lost.is_empty()
            && seen.without_receipt.is_empty()
            && seen.untold.is_empty()
    );
    assert!(seen.missing.is_empty() && seen.orphans.is_empty() && seen.drafts.is_empty());
    assert!(seen.failures.is_empty(), "{:?}", seen.failures);
    assert!(seen.catalog.current && seen.catalog.error.is_none() && seen.catalog.faults.is_empty());
    assert!(seen.files >= 5 && seen.bytes > 0);
    assert!(Survey::of(&place.root.join("nowhere")).is_none());
}

#[test]
fn open_modes_links_and_strange_kinds_are_named() {
    let place = filled();
    let layout = place.layout();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&layout.receipts(), 0o640);
    mode(&layout.locks(), 0o770);
    mode(&layout.record(&snapshot(1)), 0o400);
    symlink("/etc/passwd", layout.snapshots().join("sn-000000000000.json")).unwrap();
    fs::remove_dir(layout.drafts()).unwrap();
    fs::write(layout.drafts(), "").unwrap();
    let seen = survey(&place);
    let told: Vec<String> = seen
        .odd
        .iter()
        .map(|odd| {
            let name = odd.path.strip_prefix(&place.root).unwrap().display().to_string();
            let what = match odd.lapse {
                Inconsistency::Link => "link".to_owned(),
                Inconsistency::Kind => "kind".to_owned(),
                Inconsistency::Open(mode) => format!("open {mode:o}"),
                Inconsistency::Closed(mode) => format!("closed {mode:o}"),
                ref other => panic!("{other:?}"),
            };
            format!("{name} {what} {}", odd.directory)
        })
        .collect();
    let record = format!("snapshots/{}.json closed 400 false", snapshot(1));
    let expected = [
        "locks open 770 true",
        "receipts.log open 640 false",
        "snapshots/sn-000000000000.json link false",
        &record,
        "tmp kind true",
    ];
    for line in expected {
        assert!(told.iter().any(|told| told == line), "{line} is not in {told:?}");
    }
    assert_eq!(told.len(), expected.len(), "{told:?}");
    // The link is a record too, and is not followed.
    assert_eq!(seen.unreadable.len(), 1, "{:?}", seen.unreadable);
}

#[test]
fn what_does_not_belong_together_is_named() {
    let place = filled();
    let layout = place.layout();
    fs::remove_file(layout.record(&snapshot(2))).unwrap();
    fs::write(layout.archive(&snapshot(1).archive()), "ab").unwrap();
    fs::write(layout.archive(&snapshot(9).archive()), "orphan").unwrap();
    {
        let store = place.write();
        let third = record(3);
        store.draft(third.id.clone()).unwrap().publish(&third).unwrap();
    }
    let seen = survey(&place);
    assert_eq!(seen.lost.len(), 1);
    assert_eq!(seen.lost[0].snapshot, snapshot(2));
    assert_eq!(seen.without_receipt, [snapshot(3)]);
    assert_eq!(seen.missing, [(snapshot(1), snapshot(1).archive())]);
    assert_eq!(seen.orphans, [(layout.archive(&snapshot(9).archive()), 6)]);
}

#[test]
fn a_broken_part_hides_no_other() {
    let place = filled();
    let layout = place.layout();
    let log = fs::read_to_string(layout.receipts()).unwrap();
    fs::write(layout.receipts(), log.replacen("project", "prefect", 1)).unwrap();
    fs::write(layout.record(&snapshot(2)), "{").unwrap();
    fs::write(layout.catalog(), "no database").unwrap();
    let seen = survey(&place);
    assert!(matches!(seen.receipts, Err(StoreError::Chain { number: 1, .. })));
    assert_eq!(seen.unreadable.len(), 1);
    assert!(
        seen.without_receipt.is_empty(),
        "behind a broken chain nobody knows"
    );
    assert!(matches!(seen.catalog.error, Some(StoreError::Damaged { .. })));
    assert_eq!(seen.archives, 1);
}

#[test]
fn a_catalog_that_lacks_something_or_is_newer_is_told() {
    let place = filled();
    let catalog = place.layout().catalog();
    fs::remove_file(&catalog).unwrap();
    assert_eq!(survey(&place).catalog.version, None);
    drop(place.write());
    let connection = rusqlite::Connection::open(&catalog).unwrap();
    connection
        .execute("DELETE FROM receipts WHERE number = 3", [])
        .unwrap();
    let seen = survey(&place);
    assert!(!seen.catalog.current && seen.catalog.error.is_none());
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let seen = survey(&place);
    assert_eq!(seen.catalog.version, Some(99));
    assert!(matches!(
        seen.catalog.error,
        Some(StoreError::Newer { found: 99, .. })
    ));
}

#[test]
fn drafts_are_live_as_long_as_their_lock_is_held() {
    let place = filled();
    let store = place.write();
    let live = store.draft(snapshot(4)).unwrap();
    let dead = place.layout().draft(&snapshot(5));
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("lock"), "").unwrap();
    // What either of them published already is nobody's orphan.
    fs::write(place.layout().archive(&snapshot(5).archive()), "x").unwrap();
    let seen = survey(&place);
    let of = |id: u8| {
        let path = place.layout().draft(&snapshot(id));
        seen.drafts.iter().find(|draft| draft.path == path).unwrap()
    };
    assert!(of(4).holders.is_some());
    assert!(of(5).holders.is_none());
    assert!(seen.orphans.is_empty());
    drop(live);
    assert_eq!(survey(&place).drafts.len(), 1);
}

#[test]
fn held_locks_are_named_with_their_processes() {
    let place = filled();
    let store = place.write();
    let (none, failed) = Survey::locks(&place.root, &[]);
    assert!(none.is_empty() && failed.is_empty(), "{none:?}{failed:?}");
    let root = PathBuf::from("/srv/one");
    let _instance = store.lock_instance(&instance(1)).unwrap();
    let _restore = store.lock_restore(std::slice::from_ref(&root)).unwrap();
    let _shared = store.share().unwrap();
    let before = tree(&place.root);
    let (held, _) = Survey::locks(&place.root, std::slice::from_ref(&root));
    assert_eq!(before, tree(&place.root));
    let find = |name: &LockName| held.iter().find(|lock| lock.name == *name).unwrap();
    assert!(!find(&LockName::Instance(instance(1))).shared);
    assert!(!find(&LockName::Root(root)).shared);
    assert!(find(&LockName::Root(PathBuf::from("/srv"))).shared);
    assert!(find(&LockName::Store).shared);
    if cfg!(target_os = "linux") {
        for lock in &held {
            let pids: Vec<u32> = lock.holders.iter().map(|holder| holder.pid).collect();
            assert_eq!(pids, [std::process::id()], "{lock:?}");
        }
    }
    // A root that nobody knows is a lock all the same.
    let (held, _) = Survey::locks(&place.root, &[]);
    assert!(
        held.iter()
            .any(|lock| matches!(&lock.name, LockName::Other(_)) && !lock.shared)
    );
}
