//! Queries: newest first in the order of the chain, also when the clock stands still.

use super::*;
use crate::store::Tally;

fn ids(rows: &[InstanceRow]) -> Vec<InstanceId> {
    rows.iter().map(|row| row.id.clone()).collect()
}

#[test]
fn an_instance_is_told_as_it_was_recorded() {
    let place = Place::new();
    let store = place.write();
    store.append(at(0), 0, &instance(1), begin("/srv/one")).unwrap();
    let row = store.catalog().instance(&instance(1)).unwrap().unwrap();
    let Operation::Begin {
        workspace,
        mode,
        mounts,
        keeper,
        boot,
        command,
        ..
    } = begin("/srv/one")
    else {
        panic!()
    };
    let id = instance(1);
    let started_at = at(0);
    let open = InstanceRow {
        id,
        workspace,
        mode,
        mounts,
        watched: Vec::new(),
        keeper,
        boot,
        command,
        started_at,
        ended_at: None,
        ending: None,
        survivors: Vec::new(),
        title: crate::model::SessionTitle::default(),
    };
    assert_eq!(row, open);
    let survivors = vec![ProcessRef {
        pid: 1,
        start: u64::MAX,
        boot: "c".to_owned(),
    }];
    let ending = Ending::Failed("no such program".to_owned());
    let act = Operation::End {
        ending: ending.clone(),
        survivors: survivors.clone(),
    };
    store.append(at(5), 0, &instance(1), act).unwrap();
    // A second end does not change how it ended.
    store
        .append(
            at(6),
            0,
            &instance(1),
            Operation::End {
                ending: Ending::Unseen,
                survivors: Vec::new(),
            },
        )
        .unwrap();
    let closed = InstanceRow {
        ended_at: Some(at(5)),
        ending: Some(ending),
        survivors,
        ..open
    };
    assert_eq!(store.catalog().instance(&instance(1)).unwrap(), Some(closed));
    assert_eq!(store.catalog().instance(&instance(2)).unwrap(), None);
}

#[test]
fn instances_are_found_by_what_is_known_of_them() {
    let place = Place::new();
    let store = place.write();
    // The clock stands still: the chain says what is newer.
    for (n, root) in [(3, "/srv/one"), (1, "/srv/two"), (2, "/srv/one")] {
        let mut act = begin(root);
        if let Operation::Begin { workspace, .. } = &mut act {
            *workspace = (n != 1).then(|| "demo".to_owned());
        }
        store.append(at(0), 0, &instance(n), act).unwrap();
    }
    let catalog = store.catalog();
    assert_eq!(
        ids(&catalog.instances().unwrap()),
        [instance(2), instance(1), instance(3)]
    );
    assert_eq!(catalog.latest_instance().unwrap().unwrap().id, instance(2));
    assert_eq!(
        ids(&catalog.instances_of_workspace("demo").unwrap()),
        [instance(2), instance(3)]
    );
    assert_eq!(
        ids(&catalog.instances_on_root(b"/srv/one").unwrap()),
        [instance(2), instance(3)]
    );
    assert_eq!(ids(&catalog.instances_on_root(b"/srv").unwrap()), []);
    assert_eq!(ids(&catalog.find_instances("rc-").unwrap()).len(), 3);
    assert_eq!(ids(&catalog.find_instances("rc-3").unwrap()), [instance(3)]);
    for nothing in ["rc-4", "%", "rc_", "' OR 1 --", &format!("{}x", instance(3))] {
        assert_eq!(ids(&catalog.find_instances(nothing).unwrap()), [], "{nothing}");
    }
}

#[test]
fn those_that_may_live_have_no_end_or_survivors_or_are_named() {
    let place = Place::new();
    let store = place.write();
    let end = |survivors: &[ProcessRef]| Operation::End {
        ending: Ending::Unseen,
        survivors: survivors.to_vec(),
    };
    let survivor = ProcessRef {
        pid: 1,
        start: 1,
        boot: "c".to_owned(),
    };
    for n in 1..=4 {
        store.append(at(0), 0, &instance(n), begin("/srv/one")).unwrap();
    }
    for (n, survivors) in [(1, &[][..]), (2, &[survivor]), (4, &[])] {
        store.append(at(1), 0, &instance(n), end(survivors)).unwrap();
    }
    let found = |named: &[u8]| {
        let named: Vec<String> = named.iter().map(|n| instance(*n).to_string()).collect();
        ids(&store.catalog().instances_that_may_live(&named).unwrap())
    };
    assert_eq!(found(&[]), [instance(3), instance(2)]);
    assert_eq!(found(&[1, 3, 7]), [instance(3), instance(2), instance(1)]);
    let odd = "' OR \"1\" --".to_owned();
    let rows = store.catalog().instances_that_may_live([&odd]).unwrap();
    assert_eq!(ids(&rows), [instance(3), instance(2)]);
}

#[test]
fn snapshots_follow_the_chain_and_not_the_clock() {
    let place = Place::new();
    let store = place.write();
    store.append(at(0), 0, &instance(1), begin("/srv/one")).unwrap();
    let with = |n: u8, kind| SnapshotRecord {
        kind,
        taken_at: at(0),
        ..record(n)
    };
    for (n, kind) in [
        (9, SnapshotKind::Baseline),
        (2, SnapshotKind::Checkpoint),
        (5, SnapshotKind::Baseline),
        (1, SnapshotKind::Closing),
    ] {
        capture(&store, &with(n, kind));
    }
    let order = |store: &Store| -> Vec<SnapshotId> {
        store
            .catalog()
            .snapshots(&instance(1))
            .unwrap()
            .into_iter()
            .map(|row| row.id)
            .collect()
    };
    // A baseline that was stored behind others is still in front of them.
    assert_eq!(order(&store), [1, 2, 5, 9].map(snapshot));
    let catalog = store.catalog();
    assert_eq!(
        catalog.latest_snapshot_on_root(b"/srv/one").unwrap(),
        Some(snapshot(1))
    );
    assert_eq!(
        catalog.latest_baseline_on_root(b"/srv/one").unwrap(),
        Some(snapshot(5))
    );
    assert_eq!(catalog.latest_snapshot_on_root(b"/srv/two").unwrap(), None);
    assert_eq!(
        catalog.names_taken(&instance(1)).unwrap(),
        ["step-1", "step-2", "step-5", "step-9"]
    );
    assert_eq!(catalog.names_taken(&instance(2)).unwrap(), Vec::<String>::new());
    // Without a receipt, and at the same time: nothing says that anything came later.
    let killed = with(0, SnapshotKind::Checkpoint);
    store.draft(snapshot(0)).unwrap().publish(&killed).unwrap();
    assert_eq!(order(&store), [0, 1, 2, 5, 9].map(snapshot));
    fs::remove_file(place.layout().record(&snapshot(0))).unwrap();
    drop(store);
    let store = place.write();
    // Without a receipt it is the newest as long as nothing later happened, and keeps its place afterwards.
    let killed = SnapshotRecord {
        taken_at: at(10),
        ..record(3)
    };
    store.draft(snapshot(3)).unwrap().publish(&killed).unwrap();
    assert_eq!(order(&store), [3, 1, 2, 5, 9].map(snapshot));
    capture(
        &store,
        &SnapshotRecord {
            taken_at: at(20),
            ..record(4)
        },
    );
    assert_eq!(order(&store), [4, 3, 1, 2, 5, 9].map(snapshot));
    let row = store.catalog().snapshot(&snapshot(2)).unwrap().unwrap();
    assert_eq!(
        (row.entries, row.bytes, row.receipt, row.complete),
        (7, 7000, Some(3), true)
    );
    // What is told in short is what all of them say.
    let tallies = store.catalog().tallies().unwrap();
    let all = store.catalog().snapshots_by_instance().unwrap();
    assert_eq!(tallies.len(), all.len());
    for (id, rows) in all {
        let tally = Tally {
            snapshots: rows.len() as u64,
            bytes: rows.last().unwrap().bytes,
        };
        assert_eq!(tallies[&id], tally);
    }
}

#[test]
fn restores_are_told_newest_first() {
    let place = Place::new();
    let store = place.write();
    store.append(at(0), 0, &instance(1), restore(1, 2)).unwrap();
    store.append(at(0), 0, &instance(2), restore(5, 6)).unwrap();
    let act = Operation::Restore {
        kind: RestoreKind::Undo,
        target: snapshot(2),
        emergency: snapshot(3),
        undoes: Some(1),
        only_changes_of: None,
        inside: false,
        plan: None,
        unlocked: false,
        changed: vec![crate::model::PathChange {
            composed: None,
            left: None,
            mount: "project".to_owned(),
            path: crate::model::RelPath::new(b"caf\xe9/\n").unwrap(),
            act: crate::model::PathAct::Deleted,
            overrode: true,
            inexact: false,
            counted_with: None,
        }],
        conflicts: 0,
        failed: 0,
        aside: Vec::new(),
    };
    store.append(at(0), 0, &instance(1), act).unwrap();
    let rows = store.catalog().restores(&instance(1)).unwrap();
    assert_eq!(
        rows.iter()
            .map(|row| (row.number, row.undoes))
            .collect::<Vec<_>>(),
        [(3, Some(1)), (1, None)]
    );
    assert_eq!(rows[0].changed[0].path.as_bytes(), b"caf\xe9/\n");
    assert_eq!((rows[1].conflicts, rows[1].failed), (2, 1));
}

#[test]
fn a_root_that_is_not_text_is_found() {
    let place = Place::new();
    let store = place.write();
    let root = b"/srv/caf\xe9".to_vec();
    let mut record = record(1);
    record.mounts[0].coverage.root = ByteString(root.clone());
    capture(&store, &record);
    for store in [&store, &place.read()] {
        assert_eq!(
            store.catalog().latest_snapshot_on_root(&root).unwrap(),
            Some(snapshot(1))
        );
        assert_eq!(store.record(&snapshot(1)).unwrap(), record);
    }
}

#[test]
fn a_store_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Store>();
    shared::<Draft>();
    shared::<LockGuard>();
}

#[test]
fn a_session_without_files_is_found_by_the_directories_of_its_receipt() {
    use std::os::unix::ffi::OsStrExt as _;

    use crate::model::{RelPath, WatchedMount};

    let place = Place::new();
    let store = place.write();
    let roots: [&[u8]; 3] = [b"/srv/\xff \"quoted\"", b"/srv/one", b"/srv/one/sub"];
    for (number, root) in roots.into_iter().enumerate() {
        let Operation::Begin {
            boot, command, title, ..
        } = begin("/")
        else {
            panic!()
        };
        let root = ByteString(root.to_vec());
        let act = Operation::Begin {
            workspace: None,
            mode: "metadata".to_owned(),
            mounts: Vec::new(),
            keeper: None,
            boot,
            command,
            cleanup_policy: None,
            container: None,
            watched: vec![WatchedMount {
                coverage: Coverage::new("mount", root),
                git: Vec::new(),
                more: 0,
                error: None,
            }],
            agent: None,
            scripts: Vec::new(),
            title,
        };
        let number = u8::try_from(number).unwrap();
        store
            .append(at(i64::from(number)), 0, &instance(number), act)
            .unwrap();
    }
    store
        .append(at(5), 0, &instance(5), begin("/srv/one/sub"))
        .unwrap();
    let around = |directory: &[u8]| {
        let directory = Path::new(std::ffi::OsStr::from_bytes(directory));
        store.catalog().instances_around(directory).unwrap()
    };
    assert_eq!(around(b"/srv"), []);
    assert_eq!(around(b"/srv/\xff \"quoted\"/below"), [instance(0)]);
    assert_eq!(around(b"/srv/one/other"), [instance(1)]);
    assert_eq!(around(b"/srv/one/sub"), [instance(5), instance(2), instance(1)]);

    let locations = Locations::default();
    let row = |number: u8| store.catalog().instance(&instance(number)).unwrap().unwrap();
    let [other, outer, inner, recorded] = [0, 1, 2, 5].map(row);
    assert!(outer.mounts.is_empty() && outer.writable().count() == 1);
    assert!(recorded.is_reached_from(&outer, &locations) && recorded.is_reached_from(&inner, &locations));
    assert!(!recorded.is_reached_from(&other, &locations));
    // It has nothing that another one could change.
    assert!(!outer.is_reached_from(&recorded, &locations));
    // What is tracked narrows what is captured, not what may be written, unless both sessions track other places.
    let narrowed = |mut row: InstanceRow, path: &str| {
        for mount in &mut row.mounts {
            mount.tracked = vec![RelPath::new(path.as_bytes()).unwrap()];
        }
        row
    };
    let [one, two] = ["one", "two"].map(|path| narrowed(recorded.clone(), path));
    assert!(one.is_reached_from(&recorded, &locations) && recorded.is_reached_from(&one, &locations));
    assert!(one.is_reached_from(&outer, &locations) && !one.is_reached_from(&two, &locations));
}

#[test]
fn what_was_captured_behind_the_end_is_late() {
    let place = Place::new();
    let store = place.write();
    store.append(at(1), 0, &instance(1), begin("/srv/one")).unwrap();
    let of_kind = |number, kind| SnapshotRecord {
        kind,
        ..record(number)
    };
    capture(&store, &of_kind(1, SnapshotKind::Baseline));
    capture(&store, &of_kind(2, SnapshotKind::Closing));
    store.append(at(3), 0, &instance(1), end()).unwrap();
    // As older programs did when two ends came at once.
    capture(&store, &of_kind(4, SnapshotKind::Checkpoint));
    capture(&store, &of_kind(5, SnapshotKind::Closing));
    store.append(at(6), 0, &instance(1), end()).unwrap();
    let rows = store.catalog().snapshots(&instance(1)).unwrap();
    let late: Vec<_> = rows.iter().map(|row| (row.kind, row.late)).collect();
    assert_eq!(
        late,
        [
            (SnapshotKind::Closing, true),
            (SnapshotKind::Checkpoint, true),
            (SnapshotKind::Closing, false),
            (SnapshotKind::Baseline, false),
        ]
    );
    assert_eq!(
        store.catalog().lifetime(&instance(1)).unwrap(),
        (Some(1), Some(4))
    );
}
