//! The seeds of each target's corpus, made by the program's own code: the same bytes every time and everywhere.

mod git;
mod papers;

use std::path::Path;

use jackin_recovery::model::{
    ArchiveRef, AsideChange, ByteString, ChangeCounts, Chunk, Digest, Directory, Ending, Entry, EntryKind,
    ExcludeRule, ExcludeSource, ForkId, Gap, GapReason, InodeFlags, InstanceId, Listing, Manifest,
    ManifestList, MountRecord, Name, Operation, PathAct, PathChange, PathCounts, ProcessRef, PruneReason,
    PrunedSnapshot, Receipt, RecordedGap, RelPath, RestoreKind, SnapshotId, SnapshotKind, SnapshotRecord,
    StepRef, Time, WatchedMount, WithheldPath, WithheldReason, runs,
};
use jackin_recovery::store::archive::BlobKind;

use super::archive::good;
use super::feed::piece;
use super::record;
use super::tree::{entry, file, plain};
use super::world::{adopted, coverage};

/// Which target it is for, its name, its bytes.
pub type Seed = (&'static str, &'static str, Vec<u8>);

/// All of them.
#[must_use]
pub fn seeds() -> Vec<Seed> {
    let mut seeds = vec![
        ("manifest", "small", manifest(2)),
        ("manifest", "several-chunks", manifest(40)),
        ("archive", "good", [&[0], good().bytes.as_slice()].concat()),
        ("archive", "one-byte", vec![1, 0, 0, 0x28]),
        ("stream", "good", stream()),
        ("record", "full", to_json(&full_record())),
        (
            "receipts",
            "chained",
            [&[3, 9, 0], receipts().as_slice()].concat(),
        ),
        ("config", "files", config()),
        (
            "text",
            "patterns",
            b"target/\n!*.rs\n/a/**/b\n[a-z]*\nsrc/main.rs".to_vec(),
        ),
        (
            "text",
            "steering",
            "na\u{ef}ve \"quoted\" \u{1b}[31m\u{202e}\\\n\u{300}'"
                .as_bytes()
                .to_vec(),
        ),
        ("text", "time", b"2026-11-20T23:03:21.000000000Z".to_vec()),
        ("text", "id", b"rc-01234567-demo".to_vec()),
        ("patch", "lines", patch()),
        (
            "patch",
            "returns",
            [&[1], piece(b"a\r\nb\rc").as_slice(), b"a\nb\r\n"].concat(),
        ),
    ];
    seeds.extend(papers::seeds());
    seeds.extend(git::seeds());
    seeds
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

fn path(text: &str) -> RelPath {
    RelPath::new(text.as_bytes()).expect("a path")
}

fn to_json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("it has a form")
}

/// A manifest of so many directories, with all that an entry can have.
fn manifest(directories: usize) -> Vec<u8> {
    let names: Vec<String> = (0..directories)
        .map(|number| format!("dir-{number:03}"))
        .collect();
    let mut top: Vec<Entry> = names
        .iter()
        .map(|name| entry(name, EntryKind::Directory))
        .collect();
    top.extend(
        plain()
            .into_iter()
            .map(|(_, entry)| entry)
            .filter(|entry| !entry.is_dir()),
    );
    top.extend([("one", "content"), ("two", "")].map(|(name, content)| file(name, content.as_bytes()).1));
    top.push(Entry {
        link: Some(path("one")),
        nlink: 2,
        ..file("three", b"content").1
    });
    top.push(Entry {
        flags: InodeFlags::IMMUTABLE,
        unstable: true,
        ..file("still", b"x").1
    });
    top.sort_by(|a, b| a.name.cmp(&b.name));
    let root = Directory {
        path: RelPath::root(),
        listing: Listing::Proven,
        all_named: true,
        entries: top,
        gaps: vec![
            Gap {
                name: name("busy"),
                reason: GapReason::Moving,
            },
            Gap {
                name: name("secret"),
                reason: GapReason::Unreadable("Permission denied".to_owned()),
            },
        ],
    };
    let below = names.iter().enumerate().map(|(number, name)| Directory {
        path: path(name),
        listing: [Listing::Proven, Listing::Unsettled, Listing::Partial][number % 3],
        all_named: number % 2 == 0,
        entries: vec![file("a", b"a").1, file("b", b"b").1],
        gaps: Vec::new(),
    });
    let manifest = Manifest {
        root: entry("root", EntryKind::Directory),
        directories: std::iter::once(root).chain(below).map(Into::into).collect(),
    };
    let chunks: Vec<Chunk> = runs(&manifest).iter().map(|run| run.encode(&manifest)).collect();
    let list = ManifestList {
        root: manifest.root,
        chunks: chunks.iter().map(|chunk| chunk.digest).collect(),
    };
    let chunks = chunks.iter().map(|chunk| piece(&chunk.bytes));
    std::iter::once(piece(&list.encode()))
        .chain(chunks)
        .flatten()
        .collect()
}

/// The tar stream of the good archive, with the places of two blobs, cut once.
fn stream() -> Vec<u8> {
    let mut out = vec![3];
    for blob in good().blobs().iter().take(3) {
        out.extend_from_slice(&[u8::from(blob.kind == BlobKind::Sparse), 0]);
        out.extend_from_slice(&blob.offset.to_le_bytes()[..3]);
        out.extend_from_slice(&blob.stored.to_le_bytes()[..4]);
        out.extend_from_slice(&blob.logical.to_le_bytes());
    }
    out.extend_from_slice(&u16::MAX.to_le_bytes());
    out.extend(good().stream());
    out
}

fn full_record() -> SnapshotRecord {
    let mut project = coverage(Path::new("/srv/project"));
    project.excludes = vec![
        ExcludeRule {
            pattern: "target/".to_owned(),
            private: None,
            source: ExcludeSource::Integration {
                name: "rust".to_owned(),
                because: "Cargo.toml".to_owned(),
                defined: Some(ByteString::from(Path::new("/etc/x.toml"))),
            },
        },
        ExcludeRule {
            pattern: "*.log".to_owned(),
            private: None,
            source: ExcludeSource::Config(ByteString(b"/etc/config\xff.toml".to_vec())),
        },
    ];
    project.tracked = vec![path("src")];
    project.withheld = vec![WithheldPath {
        path: path(".ssh"),
        reason: WithheldReason::Sensitive,
    }];
    let id = SnapshotId::new(record::ID);
    SnapshotRecord {
        format: SnapshotRecord::FORMAT,
        id: id.clone(),
        instance: InstanceId::new([1; 8], "demo"),
        workspace: Some("demo".to_owned()),
        kind: SnapshotKind::Checkpoint,
        late: false,
        name: Some("step-1".to_owned()),
        message: Some("a message\n".to_owned()),
        taken_at: time(),
        complete: false,
        mounts: vec![MountRecord {
            coverage: project,
            started_at: time(),
            mounted: false,
            written_back: true,
            file_system: None,
            attributes_unknown: false,
            changed_meanwhile: Vec::new(),
            changed_meanwhile_count: 0,
            manifest: Some(Digest::of(b"list")),
            entries: 3,
            bytes: 700,
            gap_count: 1,
            git: None,
            withheld: Vec::new(),
            sealed: None,
            native: None,
            gaps: vec![RecordedGap {
                path: path("secret"),
                reason: "cannot be read: Permission denied".to_owned(),
            }],
        }],
        archives: vec![ArchiveRef {
            id: id.archive(),
            size: 1000,
            digest: Digest::of(b"file"),
            index: Digest::of(b"index"),
        }],
        written_by: "jackin-recovery 0.1.0".to_owned(),
    }
}

fn time() -> Time {
    Time {
        sec: 1_790_000_000,
        nsec: 7,
    }
}

/// Every act once, a line each; what chains them is put in later.
fn receipts() -> Vec<u8> {
    let process = ProcessRef {
        pid: 7,
        start: 8,
        boot: "boot".to_owned(),
    };
    let (target, emergency) = (SnapshotId::new([1; 12]), SnapshotId::new([2; 12]));
    let title = || jackin_recovery::model::SessionTitle {
        name: Some("fix-login".to_owned()),
        message: Some("second try".to_owned()),
        arguments: vec!["-j".to_owned()],
    };
    let acts = [
        Operation::Rename { title: title() },
        Operation::Begin {
            workspace: None,
            mode: "project".to_owned(),
            mounts: vec![coverage(Path::new("/srv/project"))],
            keeper: Some(process.clone()),
            scripts: Vec::new(),
            boot: "boot".to_owned(),
            command: Some(("make".to_owned(), 2)),
            cleanup_policy: Some("keep".to_owned()),
            container: Some(jackin_recovery::model::ContainerRef {
                name: "jk-1".to_owned(),
                id: None,
            }),
            watched: vec![WatchedMount {
                coverage: coverage(Path::new("/srv/watched")),
                git: Vec::new(),
                more: 3,
                error: Some("no room".to_owned()),
            }],
            agent: Some(jackin_recovery::model::AgentRef {
                name: "claude".to_owned(),
                session: "s-1".to_owned(),
            }),
            title: title(),
        },
        Operation::Capture {
            snapshot: target.clone(),
            kind: SnapshotKind::Baseline,
            record: Digest::of(b"record"),
            name: None,
            withheld: 2,
            sealed_to: vec!["age1".to_owned()],
            step: Some(ChangeCounts {
                since: target.clone(),
                counts: PathCounts {
                    renamed: 0,
                    unknown: 2,
                    added: 1,
                    changed: 2,
                    deleted: 3,
                },
            }),
            call: Some(jackin_recovery::model::CallRef {
                tool: "Bash".to_owned(),
                id: Some("toolu_1".to_owned()),
                command: Some("rm -rf data".to_owned()),
                ..Default::default()
            }),
            since: Some(3),
        },
        Operation::AgentEvent {
            agent: jackin_recovery::model::AgentRef {
                name: "claude".to_owned(),
                session: "s-1".to_owned(),
            },
            event: jackin_recovery::model::AgentEvent::Prompt {
                turn: 2,
                text: Some("fix the login test".to_owned()),
            },
            since: 4,
            snapshot: Some(target.clone()),
            keeper: None,
        },
        Operation::CaptureFailed {
            kind: SnapshotKind::Closing,
            error: "no room".to_owned(),
        },
        Operation::End {
            ending: Ending::Signal(9),
            survivors: vec![process],
        },
        Operation::Restore {
            kind: RestoreKind::Restore,
            target: target.clone(),
            emergency: emergency.clone(),
            undoes: None,
            only_changes_of: Some(StepRef {
                snapshot: target.clone(),
                kind: SnapshotKind::Checkpoint,
                name: Some("one".to_owned()),
            }),
            inside: true,
            plan: Some(Digest::of(b"plan")),
            unlocked: true,
            changed: vec![PathChange {
                mount: "project".to_owned(),
                path: path("a/b"),
                act: PathAct::Replaced,
                overrode: true,
                inexact: false,
                counted_with: None,
                composed: None,
                left: None,
            }],
            conflicts: 1,
            failed: 0,
            aside: vec![AsideChange::of("project", &papers::aside_step())],
        },
        Operation::Abort {
            kind: RestoreKind::Undo,
            target: target.clone(),
            emergency: Some(emergency),
            as_is: true,
            inside: true,
        },
        Operation::Prune {
            automatic: true,
            snapshots: vec![PrunedSnapshot {
                id: target.clone(),
                instance: InstanceId::new([1; 8], "demo"),
                kind: SnapshotKind::Checkpoint,
                name: Some("one".to_owned()),
                reason: PruneReason::Checkpoints,
            }],
            bytes: 7,
        },
        Operation::Repack {
            from: vec![target.archive()],
            into: ArchiveRef {
                id: target.state_archive(),
                size: 9,
                digest: Digest::of(b"archive"),
                index: Digest::of(b"index"),
            },
            bytes: 8,
        },
        Operation::Pin {
            snapshot: Some(target.clone()),
        },
        Operation::Unpin { snapshot: None },
        Operation::Fork {
            snapshot: target.clone(),
            fork: ForkId::new([2; 12]),
            directory: ByteString(b"/srv/fork".to_vec()),
            branch: Some("a".to_owned()),
            paths: 3,
            failed: 0,
        },
        Operation::Export {
            snapshot: target.clone(),
            file: ByteString(b"/srv/out.tar.zst".to_vec()),
            digest: Digest::of(b"file"),
            size: 5,
        },
        Operation::Import {
            file: ByteString(b"/srv/out.tar.zst".to_vec()),
            digest: Digest::of(b"file"),
            origin: (target.clone(), InstanceId::new([3; 8], "there")),
            trusted: false,
            dropped: 1,
        },
        adopted(),
        Operation::AcceptLoss {
            snapshots: vec![target.clone()],
            records: vec![target],
        },
    ];
    let lines = acts.map(|act| {
        let receipt = Receipt {
            number: 0,
            previous: Digest([0; 32]),
            at: time(),
            uid: 1000,
            instance: Some(InstanceId::new([1; 8], "demo")),
            act,
        };
        to_json(&receipt)
    });
    lines.join(&b'\n')
}

fn config() -> Vec<u8> {
    let global: &[u8] = b"# All of it\r\n[recovery]\nexclude = [\"*.log\"]\n[recovery.limits]\nmax_bytes = \"20GiB\"\n\
        [workspaces.old]\nworkdir = \"/srv/old\"\n[[workspaces.old.mounts]]\nsrc = \"~/old\"\ndst = \"/srv/old\"\nreadonly = true\n";
    let own: &[u8] = b"workdir = \"/srv/w\"\nmounts = [{ src = \"/srv/w\", dst = \"/srv/w\" }]\n# the end";
    [global, &[0xff], own].concat()
}

fn patch() -> Vec<u8> {
    let old: String = (0..40).map(|number| format!("line {number}\n")).collect();
    let new = old
        .replace("line 7\n", "line seven\nand\n")
        .replace("line 30\n", "");
    [&[3], piece(old.as_bytes()).as_slice(), new.as_bytes()].concat()
}
