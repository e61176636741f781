//! No emergency snapshot, no restore; and no content that is not what it was.

use std::fs;
use std::os::unix::fs::FileExt as _;

use super::{RestoreContext, RestoreError, Wrecked, wrecked};
use crate::capture::CaptureError;
use crate::model::{
    ByteString, Intent, IntentMount, IntentScope, RestoreId, RestoreKind, SnapshotRecord, StagePlace, Time,
};
use crate::observer::Silent;
use crate::restore::clear_up;
use crate::store::StoreError;

/// Bytes that do not compress, so that what lies where in the archive is known.
fn noise(seed: u64) -> String {
    let mut state = seed;
    let mut letters = String::new();
    while letters.len() < 5 << 20 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        letters.push_str(&format!("{state:016x}"));
    }
    letters
}

/// Flips a bit in the middle of the archive of `record`: in content, with chunks and index intact.
fn damage(session: &Wrecked, record: &SnapshotRecord) {
    let path = session.place.store.layout().archive(&record.id.archive());
    let file = fs::File::options().read(true).write(true).open(path).unwrap();
    let middle = file.metadata().unwrap().len() / 2;
    let mut byte = [0];
    file.read_exact_at(&mut byte, middle).unwrap();
    file.write_all_at(&[byte[0] ^ 1], middle).unwrap();
}

#[test]
fn an_emergency_snapshot_that_cannot_be_written_refuses_the_restore() {
    let session = wrecked(&[("f", "before")], |place| place.write("f", "after"));
    let proposal = session.propose();
    let before = session.place.tree();
    let drafts = session.place.store.layout().drafts();
    fs::remove_dir(&drafts).unwrap();
    let result = session.execute(&proposal);
    assert!(
        matches!(result, Err(RestoreError::Emergency(CaptureError::Store(_)))),
        "{result:?}"
    );
    fs::create_dir(&drafts).unwrap();
    session.assert_untouched(&before, "no drafts");
    session.execute(&proposal).unwrap();
    assert_eq!(fs::read_to_string(session.place.at("f")).unwrap(), "before");
}

#[test]
fn an_emergency_snapshot_that_does_not_read_back_refuses_the_restore() {
    let session = wrecked(&[("f", &noise(1))], |place| place.write("f", noise(2)));
    session.place.rest();
    // Rested on by the emergency snapshot: what is there now was stored by the closing one.
    let closing = session.place.take(crate::model::SnapshotKind::Closing);
    let proposal = session.propose();
    let before = session.place.tree();
    damage(&session, &session.closing.record);
    let result = session.execute(&proposal);
    let Err(RestoreError::Emergency(CaptureError::ReadBack { .. })) = result else {
        panic!("{:?}, {:?}", result.map(|_| ()), closing.record.archives);
    };
    session.assert_untouched(&before, "read back");
}

#[test]
fn damaged_content_is_not_put_back() {
    let session = wrecked(&[("a", "before"), ("f", &noise(1))], |place| {
        place.write("a", "after");
        fs::remove_file(place.at("f")).unwrap();
    });
    let proposal = session.propose();
    let before = session.place.tree();
    damage(&session, &session.baseline.record);
    let result = session.execute(&proposal);
    let named = match &result {
        Err(RestoreError::Damaged { path, .. } | RestoreError::Content { path, .. }) => path.clone(),
        other => panic!("{:?}", other.as_ref().map(|_| ())),
    };
    assert_eq!(named, super::path("f"));
    session.assert_untouched(&before, "damaged");
}

#[test]
fn an_intent_that_stages_in_somebody_elses_directory_empties_nothing() {
    let session = wrecked(&[("f", "before")], |place| place.write("f", "after"));
    let documents = session.place.base.join("documents");
    fs::create_dir(&documents).unwrap();
    fs::write(documents.join("letter"), "dear").unwrap();
    let intent = Intent {
        id: RestoreId::new([7; 12]),
        at: Time::default(),
        uid: 1000,
        instance: session.place.instance.clone(),
        kind: RestoreKind::Restore,
        undoes: None,
        only_changes_of: None,
        inside: false,
        target: session.baseline.record.id.clone(),
        overwrite_later: false,
        delete_later: false,
        files_only: false,
        unlocked: false,
        plan: None,
        exact_mtimes: false,
        mounts: vec![IntentMount {
            coverage: session.place.coverage(),
            scope: IntentScope::All,
            stage: Some(StagePlace {
                directory: ByteString::from(session.place.base.as_path()),
                name: "documents".to_owned(),
                inside: false,
            }),
            conflicts: 0,
            hidden: 0,
            bound: Vec::new(),
            aside: Vec::new(),
            root_mtime: None,
            composed: Vec::new(),
        }],
    };
    // As an earlier process leaves it that had not moved anything yet: the next command that writes clears up after it.
    drop(session.place.store.run_transaction(intent).unwrap());
    let acting = RestoreContext {
        observer: &Silent,
        entropy: &session.place.entropy,
        now: Time::default(),
        uid: 1000,
        inside: false,
        exact_mtimes: false,
    };
    let coverages = [session.place.coverage()];
    let cleared = clear_up(&session.place.store, &coverages, &acting);
    assert_eq!(fs::read_to_string(documents.join("letter")).unwrap(), "dear");
    assert!(
        matches!(
            cleared,
            Err(RestoreError::Store(StoreError::DamagedJournal { .. }))
        ),
        "{cleared:?}"
    );
}
