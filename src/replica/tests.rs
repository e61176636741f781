//! A store is copied to a bucket in memory that fails on request, and read back from it.

mod bucket;
mod discarded;
mod failing;
mod hostile;
mod names;

use std::sync::atomic::{AtomicU8, Ordering};

use bucket::Memory;

use super::*;
use crate::clock::Entropy;
use crate::model::{
    ArchiveRef, ByteString, Coverage, Digest, InstanceId, MountRecord, Operation, PruneReason,
    PrunedSnapshot, SnapshotId, SnapshotKind, SnapshotRecord, Time,
};
use crate::observer::Silent;
use crate::store::encryption::{Identities, Recipients};
use crate::store::{Patience, ReplicaIdentity, Store, Told as ToldOf};

const RECIPIENT: &str = "age1pv3t7xy42wx35l0gvyn29t475hgukr2cut2e9dtmcwe5ggrk7s2sjs9uq3";
const IDENTITY: &str = "AGE-SECRET-KEY-174T4CAM2X72K9H0JMEQL6WMZ8NUTHTSRGMHC0WXY4SH57LUH6EJQGSL99U";
const OTHER: &str = "AGE-SECRET-KEY-1NWWM0EL4X9NNZYMX6QE5X9YPE6S9CWCQCCAFA3NT560J07X4HS6QYPUN8K";
/// Small, so that every archive has several.
const PART: usize = 64;

/// Numbers that count up.
struct Counting(AtomicU8);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        let start = self.0.fetch_add(1, Ordering::Relaxed);
        for (byte, at) in bytes.iter_mut().zip(0_u8..) {
            *byte = start.wrapping_mul(37).wrapping_add(at.wrapping_mul(11));
        }
    }
}

/// A store in a directory of its own.
struct Bench {
    _home: tempfile::TempDir,
    store: Store,
    entropy: Counting,
}

fn at(sec: i64) -> Time {
    Time {
        sec: 1_790_000_000 + sec,
        nsec: 5,
    }
}

fn instance() -> InstanceId {
    InstanceId::new([7; 8], "secret-workspace")
}

fn snapshot(n: u8) -> SnapshotId {
    SnapshotId::new([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, n / 32, n % 32])
}

fn place() -> Digest {
    Digest::of(b"s3://bucket/prefix")
}

fn identities(text: &str) -> Identities {
    Identities::parse(text.as_bytes(), &|| None).unwrap()
}

impl Bench {
    fn new() -> Self {
        let home = crate::workplace::scratch();
        let store = Store::open_write(&home.path().join("data/recovery")).unwrap();
        let bench = Self {
            _home: home,
            store,
            entropy: Counting(AtomicU8::new(1)),
        };
        let begin = Operation::Begin {
            workspace: Some("secret-workspace".to_owned()),
            mode: "project".to_owned(),
            mounts: vec![coverage()],
            keeper: None,
            scripts: Vec::new(),
            boot: String::new(),
            command: None,
            cleanup_policy: None,
            container: None,
            watched: Vec::new(),
            agent: None,
            title: crate::model::SessionTitle::default(),
        };
        bench.store.append(at(0), 0, &instance(), begin).unwrap();
        bench
    }

    /// Adds a snapshot with an archive of its own, which only this test could read.
    fn add(&self, n: u8) -> SnapshotRecord {
        let id = snapshot(n);
        let draft = self.store.draft(id.clone()).unwrap();
        let bytes: Vec<u8> = (0..PART * 2 + usize::from(n))
            .map(|at| u8::try_from(at % 251).unwrap() ^ n)
            .collect();
        let file = draft.archive_file(&id.archive()).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        draft.publish_archive(&id.archive()).unwrap();
        let record = SnapshotRecord {
            format: 1,
            id: id.clone(),
            instance: instance(),
            workspace: Some("secret-workspace".to_owned()),
            kind: SnapshotKind::Checkpoint,
            late: false,
            name: Some(format!("step-{n}")),
            message: None,
            taken_at: at(i64::from(n)),
            complete: true,
            mounts: vec![MountRecord {
                coverage: coverage(),
                mounted: false,
                written_back: true,
                changed_meanwhile: Vec::new(),
                changed_meanwhile_count: 0,
                file_system: None,
                attributes_unknown: false,
                started_at: at(i64::from(n)),
                manifest: Some(Digest::of(&[n])),
                entries: 7,
                bytes: 7000,
                gap_count: 0,
                gaps: Vec::new(),
                git: None,
                withheld: Vec::new(),
                sealed: None,
                native: None,
            }],
            archives: vec![ArchiveRef {
                id: id.archive(),
                size: bytes.len() as u64,
                digest: Digest::of(&bytes),
                index: Digest::of(b"index"),
            }],
            written_by: "test".to_owned(),
        };
        self.store
            .publish(draft, &record, ToldOf::default(), at(i64::from(n)), 0)
            .unwrap();
        record
    }

    fn identity(&self) -> ReplicaIdentity {
        self.store.make_replica_identity(&self.entropy).unwrap()
    }

    /// One attempt of one process.
    fn push(&self, bucket: &dyn Bucket) -> (Result<(), ReplicaError>, Copied) {
        self.attempt(bucket, |copying| copying.run())
    }

    fn attempt(
        &self,
        bucket: &dyn Bucket,
        work: impl FnOnce(&mut Copying<'_>) -> Result<(), ReplicaError>,
    ) -> (Result<(), ReplicaError>, Copied) {
        let names = [RECIPIENT.to_owned()];
        let recipients = Recipients::parse(&names).unwrap();
        let copying = Copying::new(
            &self.store,
            bucket,
            self.identity(),
            (&recipients, &names),
            place(),
            &Silent,
        );
        let mut copying = copying.unwrap().in_parts_of(PART);
        let ended = work(&mut copying);
        (ended, copying.copied)
    }

    /// Deletes a snapshot as `prune` does.
    fn prune(&self, n: u8) {
        let sole = self.store.exclusive(Patience::Long).unwrap();
        let pruned = PrunedSnapshot {
            id: snapshot(n),
            instance: instance(),
            kind: SnapshotKind::Checkpoint,
            name: None,
            reason: PruneReason::Checkpoints,
        };
        sole.give_up((at(100), 0), false, vec![pruned], 0).unwrap();
        sole.forget(&Silent).unwrap();
        sole.sweep(&Silent).unwrap();
    }

    fn waiting(&self) -> Waiting {
        waiting(&self.store, &place()).unwrap()
    }
}

fn coverage() -> Coverage {
    Coverage::new("project", ByteString(b"/srv/secret-path".to_vec()))
}

/// Everything in a bucket, read back and compared with what the store holds.
#[track_caller]
fn is_whole(bench: &Bench, bucket: &Memory) {
    let keys = identities(IDENTITY);
    let store = bench.identity().id;
    let remote = Remote::open(bucket, store, &keys, &Silent).unwrap();
    let (index, troubles) = remote.index().unwrap();
    assert!(troubles.is_empty(), "{troubles:?}");
    assert_eq!(Remote::strange(&index), None);
    let chain = remote.chain(&index).unwrap();
    assert!(chain.troubles.is_empty(), "{:?}", chain.troubles);
    let (receipts, head) = bench.store.chain().unwrap();
    assert_eq!(chain.receipts, receipts);
    assert_eq!(chain.head, Some(head));
    assert!(chain.continues(&head));
    let found = remote.records(&index, &chain).unwrap();
    let (records, troubles) = (found.records, found.troubles);
    assert!(troubles.is_empty(), "{troubles:?}");
    let here = bench.store.record_ids().unwrap();
    let there: Vec<SnapshotId> = {
        let mut ids: Vec<SnapshotId> = records.iter().map(|record| record.id.clone()).collect();
        ids.sort();
        ids
    };
    for id in &here {
        assert!(there.contains(id), "{id}");
    }
    for record in records {
        for archive in &record.archives {
            let archive = remote.resolve(&index, archive).unwrap();
            let mut bytes = Vec::new();
            let read = remote.archive(&index, &archive, &mut |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            });
            assert_eq!(read.unwrap(), Ok(()));
            assert_eq!(Digest::of(&bytes), archive.digest);
        }
    }
}

#[test]
fn what_is_copied_comes_back() {
    let bench = Bench::new();
    let bucket = Memory::new();
    for n in 1..=5 {
        bench.add(n);
    }
    assert_eq!(
        bench.waiting(),
        Waiting {
            snapshots: 5,
            receipts: 6
        }
    );
    let (ended, copied) = bench.push(&bucket);
    ended.unwrap();
    assert_eq!(copied.snapshots, (1..=5).map(snapshot).collect::<Vec<_>>());
    assert_eq!(copied.receipts, 6);
    assert!(bench.waiting().is_nothing());
    is_whole(&bench, &bucket);
    // A second attempt asks nothing and puts nothing; what is new goes.
    let calls = bucket.calls();
    let (ended, copied) = bench.push(&bucket);
    ended.unwrap();
    assert_eq!(copied, Copied::default());
    assert_eq!(bucket.calls(), calls);
    bench.add(6);
    let (ended, copied) = bench.push(&bucket);
    ended.unwrap();
    assert_eq!(copied.snapshots, [snapshot(6)]);
    is_whole(&bench, &bucket);
}

#[test]
fn nothing_there_can_be_read() {
    let bench = Bench::new();
    let bucket = Memory::new();
    bench.add(1);
    bench.push(&bucket).0.unwrap();
    for (name, bytes, tag) in bucket.all() {
        let text = String::from_utf8_lossy(&bytes);
        for canary in ["secret", "step-1", "project", "/srv", "checkpoint", "1790000"] {
            assert!(!text.contains(canary), "{name}: {canary}");
            assert!(!name.contains(canary), "{name}");
        }
        assert!(bytes.starts_with(b"age-encryption.org/v1"), "{name}");
        assert!(!tag.unwrap().mac.hex().is_empty());
    }
}

#[test]
fn what_was_given_up_stays_there_until_it_is_asked_for() {
    let bench = Bench::new();
    let bucket = Memory::new();
    for n in 1..=3 {
        bench.add(n);
    }
    bench.push(&bucket).0.unwrap();
    bench.prune(2);
    let before = bucket.names();
    bench.push(&bucket).0.unwrap();
    for name in before {
        assert!(bucket.names().contains(&name), "{name}");
    }
    let (ended, copied) = bench.attempt(&bucket, |copying| {
        copying.run()?;
        copying.remove_given_up()
    });
    ended.unwrap();
    // The record and three parts.
    assert_eq!(copied.removed, 4);
    let gone = snapshot(2).to_string().split_off(2);
    assert!(bucket.names().iter().all(|name| !name.contains(&gone)));
    is_whole(&bench, &bucket);
}

#[test]
fn what_was_removed_there_is_put_again_when_somebody_looks() {
    let bench = Bench::new();
    let bucket = Memory::new();
    bench.add(1);
    bench.push(&bucket).0.unwrap();
    let lost: Vec<String> = bucket
        .names()
        .into_iter()
        .filter(|name| name.contains("archives") || name.contains("receipts"))
        .collect();
    assert!(lost.len() > 2);
    lost.iter().for_each(|name| bucket.remove(name));
    let (ended, copied) = bench.attempt(&bucket, |copying| {
        copying.look()?;
        copying.run()
    });
    ended.unwrap();
    assert_eq!(copied.objects, lost.len() as u64);
    is_whole(&bench, &bucket);
}

#[test]
fn an_object_of_no_snapshot_that_was_cut_is_named_and_the_rest_is_copied() {
    let bench = Bench::new();
    let bucket = Memory::new();
    for n in 1..=2 {
        bench.add(n);
        bench.push(&bucket).0.unwrap();
    }
    let is_piece = |name: &String| name.contains("receipts/");
    let first = bucket.names().into_iter().find(is_piece).unwrap();
    bucket.change(&first, |bytes| bytes.truncate(10));
    bench.add(3);
    let attempt = || {
        bench.attempt(&bucket, |copying| {
            copying.look()?;
            copying.run()
        })
    };
    let (ended, copied) = attempt();
    ended.unwrap();
    assert_eq!(copied.snapshots, [snapshot(3)]);
    assert_eq!(copied.cut.len(), 1);
    let (_, name) = first.split_once('/').unwrap();
    assert!(
        copied.cut[0].starts_with(&format!("{name} has 10 bytes instead of ")),
        "{}",
        copied.cut[0]
    );
    // As the finding says; the pieces behind it stay.
    bucket.remove(&first);
    let (ended, copied) = attempt();
    ended.unwrap();
    assert!(copied.cut.is_empty());
    assert_eq!(copied.objects, 1);
    is_whole(&bench, &bucket);
}

#[test]
fn an_archive_that_is_hurt_here_is_not_copied() {
    let bench = Bench::new();
    let bucket = Memory::new();
    let damaged = bench.add(1);
    bench.add(2);
    let path = bench.store.layout().archive(&damaged.archives[0].id);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[3] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let (ended, copied) = bench.push(&bucket);
    ended.unwrap();
    assert_eq!(copied.snapshots, [snapshot(2)]);
    assert_eq!(copied.damaged.len(), 1);
    assert_eq!(copied.damaged[0].0, snapshot(1));
    assert!(copied.damaged[0].1.contains("digest"), "{}", copied.damaged[0].1);
    assert_eq!(bench.waiting().snapshots, 1);
}
