//! Records: what was published comes back, everything else is refused.

use super::*;

/// A store with the snapshot 1, and the path of its record.
fn one() -> (Place, Store, PathBuf) {
    let place = Place::new();
    let store = place.write();
    capture(&store, &record(1));
    let path = place.layout().record(&snapshot(1));
    (place, store, path)
}

#[test]
fn every_flipped_byte_is_found() {
    let (place, store, path) = one();
    let good = fs::read(&path).unwrap();
    let reader = place.read();
    for (position, byte) in good.iter().enumerate() {
        change(&path, position, byte ^ (1 << (position % 8)));
        for store in [&store, &reader] {
            let found = store.record(&snapshot(1));
            // A flip that makes the format number larger cannot be told from a record of a later version.
            let refused = match &found {
                Err(StoreError::Damaged { path: named, .. }) => *named == path,
                Err(StoreError::Newer {
                    path: named,
                    found,
                    known,
                }) => *named == path && found > known,
                _ => false,
            };
            assert!(refused, "byte {position}: {found:?}");
        }
        change(&path, position, *byte);
    }
    fs::write(&path, &good[..good.len() - 1]).unwrap();
    assert!(matches!(
        store.record(&snapshot(1)),
        Err(StoreError::Damaged { .. })
    ));
    fs::write(&path, &good).unwrap();
    assert_eq!(store.record(&snapshot(1)).unwrap(), record(1));
}

#[test]
fn a_damaged_record_does_not_hide_the_others() {
    let (place, store, path) = one();
    capture(&store, &record(2));
    drop(store);
    let mut bad = fs::read(&path).unwrap();
    bad[20] ^= 1;
    fs::write(&path, bad).unwrap();
    fs::remove_file(place.layout().catalog()).unwrap();
    for store in [place.read(), place.write(), place.read()] {
        let rows = store.catalog().snapshots(&instance(1)).unwrap();
        assert_eq!(rows.iter().map(|row| &row.id).collect::<Vec<_>>(), [&snapshot(2)]);
        let warnings = store.warnings();
        assert!(
            matches!(warnings, [StoreError::Damaged { path: named, .. }] if *named == path),
            "{warnings:?}"
        );
        assert_eq!(store.record_ids().unwrap(), [snapshot(1), snapshot(2)]);
    }
}

#[test]
fn a_record_of_a_newer_version_is_refused_by_name() {
    let place = Place::new();
    let store = place.write();
    // Everything but the number may have changed.
    let path = place.layout().record(&snapshot(1));
    fs::write(&path, r#"{"format":3,"snapshots":[]}"#).unwrap();
    let error = store.record(&snapshot(1)).unwrap_err();
    assert!(matches!(&error, StoreError::Newer { path: named, found: 3, known: 2 } if *named == path));
    assert!(matches!(place.read().warnings(), [StoreError::Newer { .. }]));
}

#[test]
fn a_missing_record_is_no_snapshot() {
    let place = Place::new();
    let error = place.write().record(&snapshot(1)).unwrap_err();
    assert!(matches!(error, StoreError::NoSnapshot { id } if id == snapshot(1)));
}

#[test]
fn hostile_records_are_refused() {
    let place = Place::new();
    let store = place.write();
    let path = place.layout().record(&snapshot(1));
    let good = serde_json::to_value(record(1)).unwrap();
    let at = |value: &mut serde_json::Value, pointer: &str, new: serde_json::Value| {
        *value.pointer_mut(pointer).unwrap() = new;
    };
    let mount = good.pointer("/mounts/0").unwrap().clone();
    let cases: Vec<(&str, serde_json::Value)> = vec![
        ("/id", "sn-000000000002".into()),
        ("/id", "../../etc/passwd".into()),
        ("/instance", "rc-00000000-../x".into()),
        ("/format", 0.into()),
        ("/format", "1".into()),
        ("/mounts/0/coverage/label", "..".into()),
        ("/mounts/0/coverage/label", ".hidden".into()),
        ("/mounts/0/coverage/label", "a/b".into()),
        ("/mounts/0/coverage/label", "".into()),
        ("/mounts/0/coverage/label", "x".repeat(65).into()),
        ("/mounts/0/coverage/root", "relative".into()),
        ("/mounts/0/coverage/root", "/srv/../etc".into()),
        ("/mounts/0/coverage/root", "/srv//x".into()),
        ("/mounts/0/coverage/root", "/srv/\0".into()),
        ("/mounts/0/coverage/tracked", serde_json::json!(["../up"])),
        ("/mounts/0/entries", u64::MAX.into()),
        ("/mounts", serde_json::json!([mount.clone(), mount])),
        (
            "/archives",
            serde_json::json!([{"id": "ar-../../../../x", "size": 1, "digest": "0", "index": "0"}]),
        ),
        ("/taken_at", "yesterday".into()),
    ];
    for (pointer, new) in cases {
        let mut bad = good.clone();
        at(&mut bad, pointer, new);
        fs::write(&path, serde_json::to_vec(&bad).unwrap()).unwrap();
        let found = store.record(&snapshot(1));
        assert!(
            matches!(found, Err(StoreError::Damaged { .. })),
            "{pointer}: {found:?}"
        );
    }
    // Unknown fields are ignored, so that later versions may add some.
    let mut more = good.clone();
    more["later"] = 1.into();
    fs::write(&path, serde_json::to_vec(&more).unwrap()).unwrap();
    assert!(store.record(&snapshot(1)).is_ok());
}

#[test]
fn a_record_that_is_no_regular_file_is_refused_at_once() {
    let place = Place::new();
    let store = place.write();
    let path = place.layout().record(&snapshot(1));
    let outside = place.root.join("../outside");
    fs::write(&outside, serde_json::to_vec(&record(1)).unwrap()).unwrap();
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    assert!(matches!(
        store.record(&snapshot(1)),
        Err(StoreError::Damaged { .. })
    ));
    fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert!(
        matches!(store.record(&snapshot(1)), Err(StoreError::Damaged { .. })),
        "or it would hang"
    );
}

#[test]
fn foreign_names_are_no_records() {
    let place = Place::new();
    let store = place.write();
    for name in [
        "sn-0.json",
        "sn-00000000000i.json",
        "..json",
        "notes.txt",
        "sn-000000000001.json.bak",
    ] {
        fs::write(place.layout().snapshots().join(name), "{}").unwrap();
    }
    assert!(store.record_ids().unwrap().is_empty());
    assert!(place.write().warnings().is_empty());
}

/// Checks that a foreign record cannot name other snapshots: a restore reads what it names, and in a cluster that creates
/// something.
#[test]
fn snapshots_of_file_systems_have_to_be_called_ours() {
    use crate::model::{NativePlace, NativeRef, RelPath};
    use crate::store::{check_record, dataset_snapshot, volume_snapshot};
    let id = snapshot(1);
    let with = |place: NativePlace| {
        let mut record = record(1);
        let mut mount = record.mounts.remove(0);
        mount.native = Some(NativeRef {
            place,
            inner: RelPath::root(),
            uuid: None,
        });
        record.mounts.insert(0, mount);
        check_record(&record).is_ok()
    };
    let volume = |claim: &str, snapshot: String| {
        with(NativePlace::Volume {
            claim: claim.to_owned(),
            uid: "u".to_owned(),
            snapshot,
            class: None,
        })
    };
    let claim = "k8s-pvc://dev/shop/data:";
    assert!(volume(claim, volume_snapshot(&id, 0)));
    assert!(!volume("ssh://host/", volume_snapshot(&id, 0)));
    assert!(!volume(
        "k8s-pvc://dev/shop/data:another",
        volume_snapshot(&id, 0)
    ));
    assert!(!volume(claim, volume_snapshot(&snapshot(2), 0)));
    assert!(!volume(claim, format!("{}/../x", volume_snapshot(&id, 0))));
    let zfs = |snapshot: String| {
        let mountpoint = ByteString::from(Path::new("/srv"));
        with(NativePlace::Zfs { snapshot, mountpoint })
    };
    assert!(zfs(dataset_snapshot("tank/a", &id, 3)));
    assert!(!zfs("tank/a@daily".to_owned()));
    let btrfs = |at: &str| {
        let (subvolume, at) = (
            ByteString::from(Path::new("/srv")),
            ByteString::from(Path::new(at)),
        );
        with(NativePlace::Btrfs { subvolume, at })
    };
    let letters = id.as_str().trim_start_matches("sn-");
    assert!(btrfs(&format!("/store/native/{id}/0")));
    assert!(btrfs(&format!(
        "/srv/.jackin-recovery-01234567-{letters}-frozen/1"
    )));
    assert!(!btrfs("/home/ann"));
    assert!(!btrfs(&format!("/store/native/{id}/x")));
}
