//! Every call fails once, in every way that a call can: the next attempt goes on, and in the end everything is there once.

use super::bucket::{Fault, Memory};
use super::*;

const FAULTS: [Fault; 3] = [Fault::Refused, Fault::Unheard, Fault::WithoutTag];

#[test]
fn whatever_call_fails_nothing_is_lost() {
    // How many calls there are when none fails.
    let calls = {
        let (bench, bucket) = (Bench::new(), Memory::new());
        (1..=3).for_each(|n| drop(bench.add(n)));
        bench.push(&bucket).0.unwrap();
        bucket.calls()
    };
    assert!(calls > 15, "{calls}");
    for fault in FAULTS {
        for call in 1..=calls {
            let (bench, bucket) = (Bench::new(), Memory::new());
            (1..=3).for_each(|n| drop(bench.add(n)));
            bucket.fail_at(call, fault);
            let (ended, _) = bench.push(&bucket);
            let error = ended.unwrap_err();
            assert!(
                matches!(&error, ReplicaError::Bucket { source, .. } if source.kind == BucketErrorKind::Unreachable),
                "{fault:?} at {call}: {error}"
            );
            // Meanwhile more came, so that the next piece of receipts is another one.
            bench.add(4);
            let (ended, _) = bench.push(&bucket);
            ended.unwrap_or_else(|error| panic!("{fault:?} at {call}: {error}"));
            assert!(bench.waiting().is_nothing());
            is_whole(&bench, &bucket);
        }
    }
}

#[test]
fn lost_notes_are_found_out_without_sending_anything() {
    let (bench, bucket) = (Bench::new(), Memory::new());
    bench.add(1);
    bench.push(&bucket).0.unwrap();
    bench.add(2);
    bench.push(&bucket).0.unwrap();
    let names = bucket.names();
    bench.store.forget_replica_notes(&place()).unwrap();
    assert!(!bench.waiting().is_nothing());
    let (ended, copied) = bench.push(&bucket);
    ended.unwrap();
    assert_eq!(copied.bytes, 0);
    assert_eq!(bucket.names(), names);
    assert!(bench.waiting().is_nothing());
    is_whole(&bench, &bucket);
}

#[test]
fn half_a_note_is_none() {
    let (bench, bucket) = (Bench::new(), Memory::new());
    bench.add(1);
    bench.push(&bucket).0.unwrap();
    let path = bench.store.layout().replica_at(&place()).join("noted");
    let notes = std::fs::read(&path).unwrap();
    for length in 0..notes.len() {
        std::fs::write(&path, &notes[..length]).unwrap();
        bench
            .push(&bucket)
            .0
            .unwrap_or_else(|error| panic!("{length}: {error}"));
        assert!(bench.waiting().is_nothing(), "{length}");
    }
    is_whole(&bench, &bucket);
}

#[test]
fn removing_goes_on_where_it_was() {
    for fault in [Fault::Refused, Fault::Unheard] {
        for call in 1..=4 {
            let (bench, bucket) = (Bench::new(), Memory::new());
            (1..=2).for_each(|n| drop(bench.add(n)));
            bench.push(&bucket).0.unwrap();
            bench.prune(1);
            bench.push(&bucket).0.unwrap();
            bucket.fail_at(call, fault);
            bench
                .attempt(&bucket, |copying| copying.remove_given_up())
                .0
                .unwrap_err();
            bench
                .attempt(&bucket, |copying| copying.remove_given_up())
                .0
                .unwrap();
            let gone = snapshot(1).to_string().split_off(2);
            assert!(bucket.names().iter().all(|name| !name.contains(&gone)));
            is_whole(&bench, &bucket);
        }
    }
}

#[test]
fn two_machines_with_one_store_are_told() {
    let (bench, bucket) = (Bench::new(), Memory::new());
    bench.add(1);
    bench.push(&bucket).0.unwrap();
    // A copy of the whole home, which goes on by itself.
    let copy = tempfile::tempdir().unwrap();
    let from = bench.store.layout().root();
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(copy.path())
        .status();
    assert!(copied.unwrap().success());
    let other = Bench {
        store: Store::open_write(&copy.path().join("recovery")).unwrap(),
        _home: copy,
        entropy: Counting(AtomicU8::new(99)),
    };
    bench.add(2);
    other.add(3);
    bench.push(&bucket).0.unwrap();
    let before = bucket.all();
    let address = other.store.layout().replica_address(&place());
    std::fs::remove_file(&address).unwrap();
    let error = other.push(&bucket).0.unwrap_err();
    let ReplicaError::Foreign { store, name, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(*store, bench.identity().id);
    assert!(name.starts_with("receipts/"), "{name}");
    // Nothing that was there is another one now, and nothing came.
    assert_eq!(bucket.all(), before);
    assert!(!address.exists());
    // With a name of its own it goes.
    other.store.forget_replica_identity().unwrap();
    other.push(&bucket).0.unwrap();
    assert_ne!(other.identity(), bench.identity());
    is_whole(&other, &bucket);
    assert_eq!(stores(&bucket).unwrap().len(), 2);
    // What the copy forgets stays in the object store of the first, which goes on with it.
    let first = bench.identity().id;
    let stop: Stop = std::sync::Arc::new(|| false);
    let forgotten = |bench: &Bench| {
        let copies = bench.store.earlier_replicas(None).unwrap();
        let copy = copies.into_iter().find(|copy| copy.store == first).unwrap();
        let names = forgotten_in(&bench.store, &copy).unwrap().names;
        (copy, names)
    };
    other.prune(1);
    let (copy, names) = forgotten(&other);
    // The record and three parts.
    assert_eq!(names.len(), 4);
    let before = bucket.all();
    let refused = remove_earlier(&other.store, &bucket, &copy, names, &stop).unwrap_err();
    assert!(matches!(refused, ReplicaError::Foreign { .. }), "{refused}");
    assert_eq!(bucket.all(), before);
    // The first itself may delete there, also under another name.
    bench.store.forget_replica_identity().unwrap();
    bench.prune(1);
    let (copy, names) = forgotten(&bench);
    let removed = remove_earlier(&bench.store, &bucket, &copy, names, &stop);
    assert_eq!(removed.unwrap(), 4);
    // Then nothing is left there for the copy to delete.
    let (copy, names) = forgotten(&other);
    let removed = remove_earlier(&other.store, &bucket, &copy, names, &stop);
    assert_eq!(removed.unwrap(), 0);
    assert!(forgotten(&other).1.is_empty());
}

#[test]
fn a_service_that_writes_over_what_is_there_is_refused() {
    let (bench, bucket) = (Bench::new(), Memory::new());
    bucket.is_careless.set(true);
    bench.add(1);
    let error = bench.push(&bucket).0.unwrap_err();
    assert!(matches!(error, ReplicaError::Unconditional { .. }), "{error}");
    assert_eq!(bucket.names().len(), 1);
}

#[test]
fn a_service_that_is_busy_is_asked_again_and_is_no_other_machine() {
    let (bench, bucket) = (Bench::new(), Memory::new());
    bench.add(1);
    bucket.busy.set(1);
    bench.push(&bucket).0.unwrap();
    is_whole(&bench, &bucket);
    bench.add(2);
    bucket.busy.set(u32::MAX);
    let error = bench.push(&bucket).0.unwrap_err();
    assert!(
        matches!(&error, ReplicaError::Bucket { source, .. } if source.kind == BucketErrorKind::Unreachable),
        "{error}"
    );
    bucket.busy.set(0);
    bench.push(&bucket).0.unwrap();
    is_whole(&bench, &bucket);
}
