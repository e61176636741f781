//! Files of a restore that came from elsewhere: paths outside the mount are refused before anything acts on them.

use std::path::Path;

use super::*;
use crate::contract::staging_prefix;
use crate::model::{
    AsideAct, AsideStep, ComposedFile, Composition, Content, DigestMethod, Entry, EntryKind, Identity,
    InodeFlags, Intent, IntentMount, IntentScope, Journal, JournalMount, JournalMove, JournalParent,
    MoveKind, Name, Recorded, RelPath, RestoreId, StagePlace, Stamp,
};

/// Name of a case, and the change that it makes to valid files.
type Case<T> = (&'static str, fn(&mut T));

const ROOT: &str = "/srv/one";

fn id() -> RestoreId {
    RestoreId::new([7; 12])
}

fn place(end: &str) -> StagePlace {
    StagePlace {
        directory: ByteString(b"/srv".to_vec()),
        name: format!("{}0123456789abcdef{end}", staging_prefix(Path::new(ROOT))),
        inside: false,
    }
}

fn intent() -> Intent {
    Intent {
        id: id(),
        at: at(0),
        uid: 7,
        instance: instance(1),
        kind: RestoreKind::Restore,
        undoes: None,
        only_changes_of: None,
        inside: false,
        target: snapshot(1),
        overwrite_later: false,
        delete_later: false,
        files_only: false,
        unlocked: false,
        plan: None,
        exact_mtimes: false,
        mounts: vec![IntentMount {
            coverage: coverage(ROOT),
            scope: IntentScope::All,
            stage: Some(place("")),
            conflicts: 0,
            hidden: 0,
            root_mtime: None,
            composed: Vec::new(),
            bound: Vec::new(),
            aside: vec![AsideStep {
                path: RelPath::new(b"built").unwrap(),
                act: AsideAct::Away,
                place: place("-aside"),
                live: None,
                aside: None,
            }],
        }],
    }
}

fn object() -> Identity {
    Identity {
        ino: 1,
        born: None,
        size: 0,
        mtime: Stamp(0, 0),
    }
}

fn step(path: &str, deed: MoveKind) -> JournalMove {
    JournalMove {
        path: RelPath::new(path.as_bytes()).unwrap(),
        deed,
        old: None,
        new: Some(object()),
        old_mode: Some(0o555),
        new_mode: None,
    }
}

fn journal() -> Journal {
    Journal {
        emergency: snapshot(2),
        mounts: vec![JournalMount {
            label: "project".to_owned(),
            root: Some(object()),
            stage: object(),
            steps: Vec::new(),
            moves: vec![
                step("file", MoveKind::Install(ByteString(b"new-0".to_vec()))),
                step("built", MoveKind::SetAside(place("-aside"))),
            ],
            parents: vec![JournalParent {
                path: RelPath::root(),
                mode: 0o1755,
                mtime: Stamp(-5, 999_999_999),
            }],
            known: Vec::new(),
        }],
    }
}

/// Writes files into a store as an earlier process or an attacker would have left them. The digests are right.
fn left(store: &Store, intent: &Intent, journal: Option<&Journal>) {
    let directory = store.layout().restore(&id());
    fs::create_dir_all(&directory).unwrap();
    let put = |name: &str, content: serde_json::Value| {
        let json = serde_json::json!({ "format": 1, "content": content }).to_string();
        let text = format!("{}\n{json}", Digest::of(json.as_bytes()));
        fs::write(directory.join(name), text).unwrap();
    };
    put("intent", serde_json::to_value(intent).unwrap());
    if let Some(journal) = journal {
        put("journal", serde_json::to_value(journal).unwrap());
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>, about: &str) {
    assert!(
        matches!(result, Err(StoreError::DamagedJournal { .. })),
        "{about}: {result:?}"
    );
}

#[test]
fn papers_as_we_write_them_are_read() {
    let home = Place::new();
    let store = home.write();
    left(&store, &intent(), Some(&journal()));
    let pending = store.pending_restores().unwrap();
    assert_eq!((&pending[0].intent, pending[0].alive), (&intent(), false));
    assert_eq!(store.journal_of(&id()).unwrap(), Some(journal()));
    let papers = store.take_up(&id()).unwrap().unwrap();
    assert_eq!(papers.journal().unwrap(), Some(journal()));
}

/// Returns an intent with a file that gets a content of its own.
fn composing(content: &str) -> Intent {
    let shown = Content {
        size: 8,
        digest: Digest::of(b"composed"),
        method: DigestMethod::Plain,
    };
    let entry = Entry {
        name: Name::new(b"file").unwrap(),
        kind: EntryKind::File(shown),
        mode: 0o644,
        uid: 7,
        gid: 7,
        mtime: at(0),
        ctime: at(0),
        ino: 1,
        flags: InodeFlags::default(),
        xattrs: Vec::new(),
        link: None,
        nlink: 1,
        unstable: false,
    };
    let mut intent = intent();
    intent.mounts[0].composed = vec![ComposedFile {
        path: RelPath::new(b"file").unwrap(),
        entry: Recorded(Box::new(entry)),
        over: Digest::of(b"live"),
        by: Composition::Hunks {
            chosen: 1,
            all: 2,
            partial: 0,
        },
        typed: false,
        content: ByteString(content.as_bytes().to_vec()),
    }];
    intent
}

#[test]
fn only_an_intent_with_composed_files_has_the_second_version() {
    for (intent, format) in [(intent(), 1), (composing("composed"), 2)] {
        let home = Place::new();
        let store = home.write();
        drop(store.run_transaction(intent.clone()).unwrap());
        for name in ["intent", "intent.copy"] {
            let text = fs::read_to_string(store.layout().restore(&id()).join(name)).unwrap();
            let json: serde_json::Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
            assert_eq!(json["format"], format, "{name}");
        }
        assert_eq!(store.pending_restores().unwrap()[0].intent, intent);
    }
}

#[test]
fn an_intent_with_another_content_than_it_says_is_refused() {
    let home = Place::new();
    let store = home.write();
    left(&store, &composing("another"), None);
    refused(store.pending_restores(), "another content");
}

#[test]
fn an_intent_that_leads_out_of_its_mount_is_refused() {
    let home = Place::new();
    let store = home.write();
    let cases: [Case<Intent>; 12] = [
        ("another restore", |intent| intent.id = RestoreId::new([8; 12])),
        ("a root with ..", |intent| {
            intent.mounts[0].coverage.root.0 = b"/srv/one/../two".to_vec()
        }),
        ("a root that is relative", |intent| {
            intent.mounts[0].coverage.root.0 = b"one".to_vec()
        }),
        ("a label that leads away", |intent| {
            intent.mounts[0].coverage.label = "../x".to_owned()
        }),
        ("a mount twice", |intent| {
            intent.mounts.extend(intent.mounts.clone())
        }),
        ("any directory for staging", |intent| {
            let stage = intent.mounts[0].stage.as_mut().unwrap();
            (stage.directory.0, stage.name) = (b"/home/me".to_vec(), "documents".to_owned());
        }),
        ("a name that leads away", |intent| {
            intent.mounts[0]
                .stage
                .as_mut()
                .unwrap()
                .name
                .push_str("/../../home");
        }),
        ("a staging directory elsewhere", |intent| {
            intent.mounts[0].stage.as_mut().unwrap().directory.0 = b"/home".to_vec();
        }),
        ("beside, and said to be inside", |intent| {
            intent.mounts[0].stage.as_mut().unwrap().inside = true;
        }),
        ("what was set aside, for staging", |intent| {
            intent.mounts[0].stage = Some(place("-aside"))
        }),
        ("another root's", |intent| {
            intent.mounts[0].coverage.root.0 = b"/srv/two".to_vec()
        }),
        ("aside anywhere", |intent| {
            intent.mounts[0].aside[0].place.directory.0 = b"/home".to_vec();
        }),
    ];
    for (about, change) in cases {
        let mut changed = intent();
        change(&mut changed);
        left(&store, &changed, None);
        refused(store.pending_restores(), about);
        refused(store.take_up(&id()), about);
    }
    left(&store, &intent(), None);
    assert_eq!(store.pending_restores().unwrap().len(), 1);
}

#[test]
fn a_journal_that_moves_things_elsewhere_is_refused() {
    let home = Place::new();
    let store = home.write();
    let cases: [Case<JournalMount>; 10] = [
        ("out to anywhere", |mount| {
            mount.moves[0].deed = MoveKind::StageOut(ByteString(b"../../home/me/.profile".to_vec()));
        }),
        ("in from anywhere", |mount| {
            mount.moves[0].deed = MoveKind::Install(ByteString(b"/etc/shadow".to_vec()))
        }),
        ("the staging directory itself", |mount| {
            mount.moves[0].deed = MoveKind::Exchange(ByteString(b".".to_vec()))
        }),
        ("a NUL", |mount| {
            mount.moves[0].deed = MoveKind::Exchange(ByteString(b"a\0".to_vec()))
        }),
        ("the mount root", |mount| {
            mount.moves[0] = step("", MoveKind::StageOut(ByteString(b"old-0".to_vec())));
        }),
        ("into a root that is there", |mount| {
            mount.moves[0] = step("", MoveKind::Install(ByteString(b"new-0".to_vec())));
        }),
        ("aside where it was not said", |mount| {
            mount.moves[1].path = RelPath::new(b"file").unwrap()
        }),
        ("more than a mode", |mount| mount.parents[0].mode = 0o20_755),
        // To the kernel these are no times: now, and as it is.
        ("no time", |mount| mount.parents[0].mtime.1 = (1 << 30) - 1),
        ("another mount", |mount| mount.label = "other".to_owned()),
    ];
    for (about, change) in cases {
        let mut changed = journal();
        change(&mut changed.mounts[0]);
        left(&store, &intent(), Some(&changed));
        refused(store.journal_of(&id()), about);
        refused(store.take_up(&id()).unwrap().unwrap().journal(), about);
    }
    let mut twice = journal();
    twice.mounts.extend(twice.mounts.clone());
    left(&store, &intent(), Some(&twice));
    refused(store.journal_of(&id()), "a mount twice");
    // A root that comes back as a whole is the one that is moved.
    let mut whole = journal();
    whole.mounts[0].root = None;
    whole.mounts[0].moves = vec![step("", MoveKind::Install(ByteString(b"new-0".to_vec())))];
    left(&store, &intent(), Some(&whole));
    assert_eq!(store.journal_of(&id()).unwrap(), Some(whole));
}

/// Flips a byte, or removes the file.
fn damaged(store: &Store, name: &str, gone: bool) {
    let path = store.layout().restore(&id()).join(name);
    if gone {
        return fs::remove_file(path).unwrap();
    }
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 9;
    bytes[last] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn an_intent_that_is_hurt_is_known_by_its_copy() {
    for (moving, gone) in [(false, false), (true, false), (true, true)] {
        let home = Place::new();
        let store = home.write();
        let papers = store.run_transaction(intent()).unwrap();
        if moving {
            left(&store, &intent(), Some(&journal()));
        }
        drop(papers);
        damaged(&store, "intent", gone);
        // A store that is opened sweeps what no restore needs.
        drop(store);
        let store = home.write();
        let pending = store.pending_restores().unwrap();
        assert_eq!(&pending[0].intent, &intent(), "moving {moving}, gone {gone}");
        let papers = store.take_up(&id()).unwrap().unwrap();
        assert_eq!(papers.journal().unwrap().is_some(), moving);
        papers.close(&crate::observer::Silent).unwrap();
        assert!(!store.layout().restore(&id()).exists());
    }
}

#[test]
fn an_intent_of_which_both_are_hurt_is_named() {
    let home = Place::new();
    let store = home.write();
    drop(store.run_transaction(intent()).unwrap());
    damaged(&store, "intent.copy", false);
    assert_eq!(store.pending_restores().unwrap().len(), 1);
    damaged(&store, "intent", false);
    refused(store.pending_restores(), "both");
}

#[test]
fn an_intent_of_which_both_are_gone_is_named() {
    let home = Place::new();
    let store = home.write();
    drop(store.run_transaction(intent()).unwrap());
    left(&store, &intent(), Some(&journal()));
    damaged(&store, "intent", true);
    damaged(&store, "intent.copy", true);
    // A restore with a journal may have moved anything: it is neither swept nor forgotten.
    drop(store);
    let store = home.write();
    refused(store.pending_restores(), "both");
    refused(store.take_up(&id()), "both");
    assert_eq!(store.damaged_journals().unwrap().len(), 1);
    // Without one the papers were thrown away, or never made.
    damaged(&store, "journal", true);
    assert!(store.pending_restores().unwrap().is_empty());
}
