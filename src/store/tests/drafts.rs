//! Drafts: visible in one step, or gone without a trace.

use std::io::Write as _;

use super::*;

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn with_archive(store: &Store, n: u8) -> Draft {
    let draft = store.draft(snapshot(n)).unwrap();
    draft
        .archive_file(&draft.id().archive())
        .unwrap()
        .write_all(b"abc")
        .unwrap();
    draft.publish_archive(&snapshot(n).archive()).unwrap();
    draft
}

fn with_archives(n: u8, archives: &[u8]) -> SnapshotRecord {
    let mut record = record(n);
    record.archives = archives
        .iter()
        .map(|n| archive_ref(snapshot(*n).archive()))
        .collect();
    record
}

#[test]
fn a_draft_becomes_a_snapshot() {
    let place = Place::new();
    let store = place.write();
    let layout = place.layout();
    let draft = with_archive(&store, 1);
    assert_eq!(draft.id(), &snapshot(1));
    assert!(store.catalog().snapshots(&instance(1)).unwrap().is_empty());
    let record = with_archives(1, &[1]);
    let digest = draft.publish(&record).unwrap();
    drop(draft);
    assert_eq!(
        Digest::of(&fs::read(layout.record(&snapshot(1))).unwrap()),
        digest
    );
    assert_eq!(fs::read(layout.archive(&snapshot(1).archive())).unwrap(), b"abc");
    assert!(names(&layout.drafts()).is_empty());
    assert_eq!(store.record(&snapshot(1)).unwrap(), record);
    // Visible without its receipt.
    let rows = store.catalog().snapshots(&instance(1)).unwrap();
    assert_eq!(
        rows.iter()
            .map(|row| (row.id.clone(), row.receipt))
            .collect::<Vec<_>>(),
        [(snapshot(1), None)]
    );
}

#[test]
fn a_dropped_draft_leaves_nothing() {
    let place = Place::new();
    let store = place.write();
    let before = tree(&place.root);
    let draft = store.draft(snapshot(1)).unwrap();
    drop(draft.archive_file(&draft.id().archive()).unwrap());
    fs::write(draft.directory().join("more"), "x").unwrap();
    drop(draft);
    let published = with_archive(&store, 2);
    assert!(place.layout().archive(&snapshot(2).archive()).exists());
    drop(published);
    let mut after = tree(&place.root);
    after.remove(&place.layout().lock("drafts"));
    let mut before = before;
    before.remove(&place.layout().lock("drafts"));
    assert_eq!(after, before);
}

#[test]
fn a_refused_record_leaves_nothing() {
    let place = Place::new();
    let store = place.write();
    let mut outside = record(1);
    outside.mounts[0].coverage.label = "..".to_owned();
    let refusals = [
        (record(2), "cannot publish"),
        (with_archives(1, &[1, 7]), "not in the store"),
        (outside, "not a mount's label"),
    ];
    for (record, why) in refusals {
        let error = with_archive(&store, 1).publish(&record).unwrap_err();
        assert!(error.to_string().contains(why), "{error:?}");
        for directory in [
            place.layout().drafts(),
            place.layout().archives(),
            place.layout().snapshots(),
        ] {
            assert!(names(&directory).is_empty(), "{directory:?} after {error}");
        }
    }
    let draft = store.draft(snapshot(1)).unwrap();
    drop(draft.archive_file(&draft.id().archive()).unwrap());
    let wrong = draft.publish_archive(&snapshot(2).archive());
    assert!(matches!(wrong, Err(StoreError::WrongDraft { .. })));
}

#[test]
fn an_id_is_used_once() {
    let place = Place::new();
    let store = place.write();
    let draft = store.draft(snapshot(1)).unwrap();
    assert!(matches!(
        place.write().draft(snapshot(1)),
        Err(StoreError::Exists { .. })
    ));
    draft.publish(&record(1)).unwrap();
    assert!(matches!(store.draft(snapshot(1)), Err(StoreError::Exists { .. })));
}

#[test]
fn a_killed_draft_is_swept_and_a_live_one_is_not() {
    let place = Place::new();
    let layout = place.layout();
    let child = children::hold(&place.root, "draft");
    let live = place.write().draft(snapshot(2)).unwrap();
    drop(place.write());
    let both = [snapshot(1).to_string(), snapshot(2).to_string()];
    assert_eq!(names(&layout.drafts()), both, "a live draft was swept");
    assert!(layout.archive(&snapshot(1).archive()).exists());
    children::kill(child);
    // A reader does not sweep.
    drop(place.read());
    assert_eq!(names(&layout.drafts()), both);
    let store = place.write();
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
    assert_eq!(names(&layout.drafts()), both[1..]);
    assert!(names(&layout.archives()).is_empty());
    drop(live);
    assert!(names(&layout.drafts()).is_empty());
}

#[test]
fn a_sweep_spares_the_archive_of_a_visible_snapshot() {
    let place = Place::new();
    let layout = place.layout();
    children::kill(children::hold(&place.root, "published"));
    let store = place.write();
    assert!(names(&layout.drafts()).is_empty());
    assert!(layout.archive(&snapshot(1).archive()).exists());
    assert_eq!(store.catalog().snapshots(&instance(1)).unwrap().len(), 1);
}

#[test]
fn a_sweep_spares_an_archive_that_another_snapshot_needs_or_may_need() {
    let place = Place::new();
    let layout = place.layout();
    let store = place.write();
    with_archive(&store, 1).publish(&with_archives(1, &[1])).unwrap();
    store
        .draft(snapshot(2))
        .unwrap()
        .publish(&with_archives(2, &[1]))
        .unwrap();
    // Its own record was pruned, and its draft's directory is back.
    fs::remove_file(layout.record(&snapshot(1))).unwrap();
    fs::create_dir(layout.draft(&snapshot(1))).unwrap();
    drop(place.write());
    assert!(names(&layout.drafts()).is_empty());
    assert!(layout.archive(&snapshot(1).archive()).exists());
    // The record that needs it cannot be read any more.
    fs::write(layout.record(&snapshot(2)), "{").unwrap();
    fs::create_dir(layout.draft(&snapshot(1))).unwrap();
    drop(place.write());
    assert!(layout.archive(&snapshot(1).archive()).exists());
    fs::remove_file(layout.record(&snapshot(2))).unwrap();
    fs::create_dir(layout.draft(&snapshot(1))).unwrap();
    drop(place.write());
    assert!(names(&layout.archives()).is_empty());
}

#[test]
fn a_sweep_takes_only_drafts() {
    let place = Place::new();
    drop(place.write());
    let drafts = place.layout().drafts();
    fs::create_dir(drafts.join("sn-..")).unwrap();
    fs::write(drafts.join(snapshot(3).as_str()), "a file").unwrap();
    let outside = place.root.join("../outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "").unwrap();
    std::os::unix::fs::symlink(&outside, drafts.join(snapshot(4).as_str())).unwrap();
    drop(place.write());
    assert_eq!(names(&drafts).len(), 3);
    assert_eq!(names(&outside), ["kept"]);
}

#[test]
fn both_archives_of_a_draft_go_with_it_unless_a_record_needs_one() {
    let place = Place::new();
    let store = place.write();
    let layout = place.layout();
    let both = |n| {
        let draft = with_archive(&store, n);
        let id = draft.id().state_archive();
        draft.archive_file(&id).unwrap().write_all(b"state").unwrap();
        draft.publish_archive(&id).unwrap();
        draft
    };
    let draft = both(1);
    let wrong = draft.archive_file(&snapshot(2).state_archive());
    assert!(matches!(wrong, Err(StoreError::WrongDraft { .. })));
    assert_eq!(names(&layout.archives()).len(), 2);
    drop(draft);
    assert!(names(&layout.archives()).is_empty());
    let draft = both(2);
    let mut needed = record(2);
    needed.archives = vec![archive_ref(snapshot(2).state_archive())];
    draft.publish(&needed).unwrap();
    assert_eq!(names(&layout.archives()).len(), 2);
    // The letters of both are taken.
    for archive in snapshot(3).archives() {
        fs::write(layout.archive(&archive), "other").unwrap();
        assert!(matches!(store.draft(snapshot(3)), Err(StoreError::Exists { .. })));
        fs::remove_file(layout.archive(&archive)).unwrap();
    }
}
