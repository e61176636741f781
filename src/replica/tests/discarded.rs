//! Deletion there of what was discarded here: all of it, and nothing that a record needs.

use super::*;

/// Adds a snapshot whose contents lie in the archive of another.
fn relying(bench: &Bench, n: u8, on: &SnapshotRecord) {
    let draft = bench.store.draft(snapshot(n)).unwrap();
    let record = SnapshotRecord {
        id: snapshot(n),
        ..on.clone()
    };
    let told = ToldOf::default();
    bench
        .store
        .publish(draft, &record, told, at(i64::from(n)), 0)
        .unwrap();
}

/// Names of the objects of a snapshot's archive, and of its record.
fn of(bucket: &Memory, n: u8) -> (Vec<String>, Vec<String>) {
    let id = snapshot(n).to_string().split_off(2);
    let all = bucket.names().into_iter().filter(|name| name.contains(&id));
    all.partition(|name| name.contains("archives/"))
}

fn remove(bench: &Bench, bucket: &Memory, looks: bool) -> Copied {
    let (ended, copied) = bench.attempt(bucket, |copying| {
        if looks {
            copying.look()?;
        }
        copying.run()?;
        copying.remove_given_up()
    });
    ended.unwrap();
    copied
}

#[test]
fn what_a_record_needs_and_lacks_here_stays_there() {
    for looks in [false, true] {
        let bench = Bench::new();
        let bucket = Memory::new();
        let first = bench.add(1);
        relying(&bench, 2, &first);
        bench.push(&bucket).0.unwrap();
        bench.prune(1);
        let archive = bench.store.layout().archive(&first.archives[0].id);
        std::fs::remove_file(&archive).unwrap();
        assert_eq!(of(&bucket, 1).0.len(), 3);
        let copied = remove(&bench, &bucket, looks);
        assert_eq!((copied.removed, copied.withheld), (1, 0), "its record");
        assert_eq!((of(&bucket, 1).0.len(), of(&bucket, 1).1.len()), (3, 0));
        // A record that cannot be read may need it.
        let record = bench.store.layout().record(&snapshot(2));
        std::fs::write(&record, "damaged").unwrap();
        let copied = remove(&bench, &bucket, looks);
        assert_eq!((copied.removed, copied.withheld), (0, 3));
        assert_eq!(of(&bucket, 1).0.len(), 3);
        // The same holds for a copy that nothing is uploaded to any more.
        bench.store.forget_replica_identity().unwrap();
        let earlier = bench.store.earlier_replicas(None).unwrap().remove(0);
        let found = forgotten_in(&bench.store, &earlier).unwrap();
        assert_eq!((found.names.len(), found.withheld), (0, 3));
    }
}

#[test]
fn what_arrived_there_and_was_not_noted_goes_as_well() {
    for looks in [false, true] {
        let bench = Bench::new();
        let bucket = Memory::new();
        bench.add(1);
        bench.add(2);
        bench.push(&bucket).0.unwrap();
        // As after a kill between the arrival and the note.
        let (archive, record) = of(&bucket, 1);
        for name in archive.iter().chain(&record) {
            let (_, name) = name.split_once('/').unwrap();
            bench.store.note_replica(&place(), &format!("-{name}")).unwrap();
        }
        bench.prune(1);
        let copied = remove(&bench, &bucket, looks);
        assert_eq!(copied.removed, if looks { 4 } else { 0 }, "known to be there");
        assert_eq!(of(&bucket, 1), (Vec::new(), Vec::new()));
        assert_eq!(of(&bucket, 2).0.len(), 3);
        let calls = bucket.calls();
        assert_eq!(remove(&bench, &bucket, false), Copied::default());
        assert_eq!(bucket.calls(), calls, "nothing is deleted twice");
        is_whole(&bench, &bucket);
    }
}

#[test]
fn a_bucket_that_was_emptied_gets_everything_again_with_the_next_snapshot() {
    let bench = Bench::new();
    let bucket = Memory::new();
    bench.add(1);
    bench.push(&bucket).0.unwrap();
    bucket.names().iter().for_each(|name| bucket.remove(name));
    bench.add(2);
    bench.push(&bucket).0.unwrap();
    is_whole(&bench, &bucket);
}

#[test]
fn a_store_that_lacks_receipts_of_its_copy_is_not_up_to_date() {
    let bench = Bench::new();
    let bucket = Memory::new();
    bench.add(1);
    bench.push(&bucket).0.unwrap();
    let log = bench.store.layout().receipts();
    let notes = bench.store.layout().replica_at(&place()).join("noted");
    let backup = [&log, &notes].map(|path| std::fs::read(path).unwrap());
    bench.add(2);
    bench.push(&bucket).0.unwrap();
    let (before, objects) = (bench.identity(), bucket.names());
    // The jackin home of an earlier day.
    let Bench {
        _home: home, store, ..
    } = bench;
    drop(store);
    std::fs::write(&log, &backup[0]).unwrap();
    std::fs::write(&notes, &backup[1]).unwrap();
    for name in ["catalog.sqlite3", "catalog.sqlite3-journal"] {
        let _ = std::fs::remove_file(home.path().join("data/recovery").join(name));
    }
    std::fs::remove_file(
        home.path()
            .join("data/recovery/snapshots")
            .join(format!("{}.json", snapshot(2))),
    )
    .unwrap();
    let bench = Bench {
        store: Store::open_write(&home.path().join("data/recovery")).unwrap(),
        _home: home,
        entropy: Counting(AtomicU8::new(1)),
    };
    assert_eq!(bench.identity(), before);
    let (ended, _) = bench.attempt(&bucket, |copying| {
        copying.look()?;
        copying.run()
    });
    assert!(matches!(ended, Err(ReplicaError::Foreign { .. })), "{ended:?}");
    assert_eq!(bucket.names(), objects);
}
