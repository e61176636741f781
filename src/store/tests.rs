//! The store does what `docs/format.md` says, also when it is killed, shared, damaged or handed something
//! hostile.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::model::{
    ArchiveId, ArchiveRef, ByteString, Coverage, Digest, Ending, MountRecord, ProcessRef, RestoreKind,
    SnapshotKind,
};
use crate::model::{Operation, Receipt, Time};

mod catalog_file;
mod children;
mod crashes;
mod directories;
mod drafts;
mod locks;
mod moved;
mod open_archives;
mod papers;
mod queries;
mod receipts;
mod reconcile;
mod records;
mod survey;

/// A directory that goes with the test, and the store directory in it, which is not made yet.
pub(in crate::store) struct Place {
    _home: tempfile::TempDir,
    pub(in crate::store) root: PathBuf,
}

impl Place {
    pub(in crate::store) fn new() -> Self {
        let home = crate::workplace::scratch();
        let root = home.path().join("data/recovery");
        Self { _home: home, root }
    }

    pub(in crate::store) fn write(&self) -> Store {
        Store::open_write(&self.root).unwrap()
    }

    pub(in crate::store) fn read(&self) -> Store {
        Store::open_read(&self.root).unwrap().unwrap()
    }

    pub(in crate::store) fn layout(&self) -> Layout {
        Layout::new(self.root.clone())
    }
}

pub(in crate::store) fn at(sec: i64) -> Time {
    Time {
        sec: 1_790_000_000 + sec,
        nsec: 5,
    }
}

pub(in crate::store) fn instance(n: u8) -> InstanceId {
    InstanceId::new([n; 8], "demo")
}

pub(in crate::store) fn snapshot(n: u8) -> SnapshotId {
    SnapshotId::new([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, n / 32, n % 32])
}

pub(in crate::store) fn coverage(root: &str) -> Coverage {
    Coverage::new("project", ByteString(root.as_bytes().to_vec()))
}

/// A checkpoint of instance 1 on `/srv/one`, without archives.
pub(in crate::store) fn record(n: u8) -> SnapshotRecord {
    SnapshotRecord {
        format: 1,
        id: snapshot(n),
        instance: instance(1),
        workspace: Some("demo".to_owned()),
        kind: SnapshotKind::Checkpoint,
        late: false,
        name: Some(format!("step-{n}")),
        message: None,
        taken_at: at(i64::from(n)),
        complete: true,
        mounts: vec![MountRecord {
            coverage: coverage("/srv/one"),
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
        archives: Vec::new(),
        written_by: "test".to_owned(),
    }
}

pub(in crate::store) fn archive_ref(id: ArchiveId) -> ArchiveRef {
    ArchiveRef {
        id,
        size: 3,
        digest: Digest::of(b"abc"),
        index: Digest::of(b"c"),
    }
}

pub(in crate::store) fn begin(root: &str) -> Operation {
    Operation::Begin {
        workspace: Some("demo".to_owned()),
        mode: "project".to_owned(),
        mounts: vec![coverage(root)],
        keeper: Some(ProcessRef {
            pid: 4,
            start: 99,
            boot: "b".to_owned(),
        }),
        scripts: Vec::new(),
        boot: "b".to_owned(),
        command: Some(("agent".to_owned(), 3)),
        cleanup_policy: None,
        container: None,
        watched: Vec::new(),
        agent: None,
        title: crate::model::SessionTitle::default(),
    }
}

pub(in crate::store) fn end() -> Operation {
    Operation::End {
        ending: Ending::Status(0),
        survivors: Vec::new(),
    }
}

/// Publishes `record` and appends its receipt.
pub(in crate::store) fn capture(store: &Store, record: &SnapshotRecord) -> Receipt {
    let digest = store.draft(record.id.clone()).unwrap().publish(record).unwrap();
    let act = Operation::Capture {
        snapshot: record.id.clone(),
        kind: record.kind,
        record: digest,
        name: record.name.clone(),
        withheld: 0,
        sealed_to: Vec::new(),
        step: None,
        call: None,
        since: None,
    };
    store
        .append(record.taken_at, 1000, &record.instance, act)
        .unwrap()
}

pub(in crate::store) fn restore(target: u8, emergency: u8) -> Operation {
    Operation::Restore {
        kind: RestoreKind::Restore,
        target: snapshot(target),
        emergency: snapshot(emergency),
        undoes: None,
        only_changes_of: None,
        inside: false,
        plan: None,
        unlocked: false,
        changed: Vec::new(),
        conflicts: 2,
        failed: 1,
        aside: Vec::new(),
    }
}

/// Every path below `root` with its mode and bytes.
pub(in crate::store) fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    use std::os::unix::fs::MetadataExt as _;
    walkdir::WalkDir::new(root)
        .into_iter()
        .map(|entry| {
            let entry = entry.unwrap();
            let meta = entry.metadata().unwrap();
            let bytes = if meta.is_file() {
                fs::read(entry.path()).unwrap()
            } else {
                Vec::new()
            };
            (entry.into_path(), (meta.mode() & 0o7777, bytes))
        })
        .collect()
}

/// Changes one byte in place: cheaper than to write the file again, thousands of times.
pub(in crate::store) fn change(path: &Path, position: usize, byte: u8) {
    use std::os::unix::fs::FileExt as _;
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[byte], position as u64).unwrap();
}

/// Everything that the catalog answers, to compare two of them.
pub(in crate::store) fn answers(catalog: &Catalog) -> String {
    let mut all = String::new();
    for row in catalog.instances().unwrap() {
        let snapshots = catalog.snapshots(&row.id).unwrap();
        let restores = catalog.restores(&row.id).unwrap();
        let receipts = catalog.receipts_of(&row.id).unwrap();
        all += &format!("{row:#?}{snapshots:#?}{restores:#?}{receipts:#?}");
    }
    for root in ["/srv/one", "/srv/two"] {
        let on_root = catalog.instances_on_root(root.as_bytes()).unwrap();
        let latest = catalog.latest_snapshot_on_root(root.as_bytes()).unwrap();
        let baseline = catalog.latest_baseline_on_root(root.as_bytes()).unwrap();
        all += &format!("{on_root:#?}{latest:?}{baseline:?}");
    }
    all + &format!("{:?}", catalog.latest_instance().unwrap().map(|row| row.id))
}
