//! Papers of a restore in the small world: of all moves that a journal can have, at every point where they are taken up.

use std::path::Path;

use jackin_recovery::model::{
    AsideAct, AsideStep, BoundObject, ByteString, Digest, Entry, EntryKind, Identity, InodeFlags, InstanceId,
    Intent, IntentMount, IntentScope, Journal, JournalMount, JournalMove, JournalParent, JournalStep,
    KnownObject, KnownState, MoveKind, PathAct, Recorded, RelPath, RestoreId, RestoreKind, SnapshotId,
    StagePlace, Stamp,
};

use super::super::papers::ID;
use super::super::tree::entry;
use super::super::world::{BASE, EMERGENCY, LETTERS, TARGET, coverage};
use super::{Seed, path, time, to_json};

pub(super) fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (name, how) in ["abort", "resume", "settle", "leave", "clear-up"]
        .into_iter()
        .zip(0..)
    {
        let decision = ["", "", "\"commit\"", "", "\"abort\""][usize::from(how)];
        seeds.push(("papers", name, papers_of(how, &moved(), decision)));
    }
    seeds.push(("papers", "abort-aside", papers_of(0, &aside(), "")));
    seeds.push(("papers", "resume-aside", papers_of(1, &aside(), "")));
    // In its world something was moved already: then there was a journal.
    seeds.push(("papers", "refused-begun", papers_of(4, "", "")));
    // What leads out of the mount.
    let elsewhere = |input: Vec<u8>, ours: &str, theirs: &str| {
        let text = String::from_utf8(input).expect("text");
        assert!(text.contains(ours), "{ours} is in {text}");
        text.replace(ours, theirs).into_bytes()
    };
    let stage = place("").name;
    let begun = elsewhere(papers_of(4, "", ""), &stage, "outside");
    seeds.push(("papers", "refused-stage", begun));
    let out = elsewhere(papers_of(0, &moved(), ""), "old-1", "../outside/old-1");
    seeds.push(("papers", "refused-place", out));
    let away = elsewhere(papers_of(1, &aside(), ""), &place("-aside").name, "outside");
    seeds.push(("papers", "refused-aside", away));
    seeds
}

fn place(end: &str) -> StagePlace {
    StagePlace {
        directory: ByteString(BASE.into()),
        name: format!("{LETTERS}-0011223344556677{end}"),
        inside: false,
    }
}

pub(super) fn aside_step() -> AsideStep {
    AsideStep {
        path: path("built"),
        act: AsideAct::Away,
        place: place("-aside"),
        live: Some(object(7)),
        aside: None,
    }
}

/// Stands for what has this number in the world.
fn object(number: u64) -> Identity {
    Identity {
        ino: number,
        born: None,
        size: 0,
        mtime: Stamp(0, 0),
    }
}

fn papers_of(how: u8, journal: &str, decision: &str) -> Vec<u8> {
    let intent = Intent {
        id: RestoreId::parse(ID).expect("an id"),
        at: time(),
        uid: 0,
        instance: InstanceId::new([1; 8], "demo"),
        kind: RestoreKind::Restore,
        undoes: None,
        only_changes_of: None,
        inside: false,
        target: SnapshotId::parse(TARGET).expect("an id"),
        overwrite_later: false,
        delete_later: false,
        files_only: false,
        unlocked: false,
        plan: Some(Digest::of(b"plan")),
        exact_mtimes: false,
        mounts: vec![IntentMount {
            coverage: coverage(&Path::new(BASE).join("project")),
            scope: IntentScope::Below(vec![RelPath::root()]),
            stage: Some(place("")),
            conflicts: 0,
            hidden: 0,
            root_mtime: None,
            composed: Vec::new(),
            bound: vec![BoundObject {
                path: path("edited"),
                ino: 99,
                flags: InodeFlags::APPEND,
            }],
            aside: if journal.contains("away") {
                vec![aside_step()]
            } else {
                Vec::new()
            },
        }],
    };
    let lines = [&to_json(&intent), journal.as_bytes(), decision.as_bytes()];
    [vec![how], lines.join(&b'\n')].concat()
}

fn step(at: &str, deed: MoveKind, old: Option<u64>, new: Option<u64>) -> JournalMove {
    JournalMove {
        path: path(at),
        deed,
        old: old.map(object),
        new: new.map(object),
        old_mode: None,
        new_mode: None,
    }
}

/// A journal of these moves; what may be removed in the end is all that can be.
fn journal(moves: Vec<JournalMove>) -> String {
    let steps = moves.iter().map(|step| JournalStep {
        path: step.path.clone(),
        act: PathAct::Replaced,
        overrode: false,
    });
    let journal = Journal {
        emergency: SnapshotId::parse(EMERGENCY).expect("an id"),
        mounts: vec![JournalMount {
            label: "project".to_owned(),
            root: Some(object(1)),
            stage: object(14),
            steps: steps.collect(),
            moves,
            parents: vec![JournalParent {
                path: RelPath::root(),
                mode: 0o755,
                mtime: time().into(),
            }],
            known: [2, 3, 7, 8, 11, 12, 13]
                .map(|ino| KnownObject(ino, KnownState::Directory))
                .to_vec(),
        }],
    };
    // Its state stands for the one that is there.
    String::from_utf8(to_json(&journal))
        .expect("text")
        .replace(",\"d\"]", ",\"*\"]")
}

fn moved() -> String {
    let at = |name: &str| ByteString(name.into());
    let mut built = entry("dir", EntryKind::Directory);
    built.mode = 0o755;
    built.ino = 4;
    let mut other = built.clone();
    other.mode = 0o700;
    let recorded = |entry: Entry| Recorded(Box::new(entry));
    journal(vec![
        step("edited", MoveKind::Exchange(at("new-0")), Some(2), Some(11)),
        step("gone", MoveKind::StageOut(at("old-1")), Some(3), None),
        step("new", MoveKind::Install(at("new-1")), None, Some(12)),
        step(
            "dir",
            MoveKind::Metadata {
                was: recorded(built.clone()),
                will: recorded(other),
            },
            Some(4),
            None,
        ),
        step("made", MoveKind::RemoveDir(recorded(built)), None, None),
    ])
}

fn aside() -> String {
    journal(vec![step(
        "built",
        MoveKind::SetAside(place("-aside")),
        Some(7),
        None,
    )])
}
