//! The papers of an interrupted restore, right in their digests and saying anything: what they name outside the mount is refused
//! before anything is done; and whoever takes them up touches nothing that they do not name.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jackin_recovery::model::{Digest, Intent, Journal, MoveKind, RelPath, RestoreId, StagePlace, Time};
use jackin_recovery::observer::Silent;
use jackin_recovery::restore::{RestoreContext, abort, clear_up, leave, pending, proposal, resume, settle};
use jackin_recovery::store::StoreError;
use serde_json::Value;

use super::feed::Feed;
use super::names::{is_host, is_name};
use super::world::World;

/// The directory that the papers lie in.
pub const ID: &str = "rt-111111111111";

thread_local! {
    /// Made anew when something in it changed, and now and then.
    static WORLD: RefCell<Option<(World, u32)>> = const { RefCell::new(None) };
}

/// How they are taken up; then, a line each, the intent, the journal, the decision, each without what a file has around it.
pub fn papers(bytes: &[u8]) -> bool {
    WORLD.with_borrow_mut(|kept| {
        let (world, used) = kept.get_or_insert_with(|| (World::new(), 0));
        *used += 1;
        let (taken_up, as_it_was) = of(world, bytes);
        if !as_it_was || *used == 100 {
            *kept = None;
        }
        taken_up
    })
}

/// Whether they were taken up to their end, and whether the world is as it was.
fn of(world: &World, bytes: &[u8]) -> (bool, bool) {
    let mut feed = Feed(bytes);
    let how = feed.byte();
    let directory = world.home.store.layout().root().join("restores").join(ID);
    fs::create_dir_all(&directory).expect("a directory");
    let lines = feed.0.splitn(3, |byte| *byte == b'\n');
    for (name, line) in ["intent", "journal", "decision"].into_iter().zip(lines) {
        put(world, &directory.join(name), line);
    }
    let named = act(world, how);
    let now = world.now();
    for (path, object) in &world.made {
        if path.starts_with(world.home.base.join("outside")) {
            assert_eq!(now.get(path), Some(object), "{path:?} is outside");
        }
    }
    let ours = ["project", "outside"].map(|name| world.home.base.join(name));
    for path in now
        .keys()
        .filter(|path| !ours.iter().any(|dir| path.starts_with(dir)))
    {
        let top = path.strip_prefix(&world.home.base).expect("it is below");
        assert!(
            top.as_os_str().to_string_lossy().starts_with(".jackin-recovery-"),
            "{path:?} came"
        );
    }
    match &named {
        None => assert_eq!(
            now, world.made,
            "something was done with papers that were refused"
        ),
        Some((named, _)) => {
            for (path, object) in world.made.iter().filter(|(path, _)| !touched(world, named, path)) {
                assert_eq!(now.get(path), Some(object), "{path:?} was named nowhere");
            }
        }
    }
    world.home.store.receipts().expect("the chain is whole");
    if directory.exists() {
        fs::remove_dir_all(&directory).expect("a directory");
    }
    let done = named.as_ref().is_some_and(|(_, done)| *done);
    (done, now == world.made)
}

/// A file as it is written: its digest first. An empty line is no file.
fn put(world: &World, path: &Path, line: &[u8]) {
    if line.is_empty() {
        return;
    }
    let json = match serde_json::from_slice::<Value>(line) {
        Ok(mut content) => {
            world.fill(&mut content);
            serde_json::json!({ "format": 1, "content": content })
                .to_string()
                .into_bytes()
        }
        Err(_) => line.to_vec(),
    };
    let head = format!("{}\n", Digest::of(&json));
    fs::write(path, [head.as_bytes(), &json].concat()).expect("a file");
}

/// Takes the papers up. Gives the paths that they name, when they were not refused, and whether it went to its end.
fn act(world: &World, how: u8) -> Option<(BTreeSet<RelPath>, bool)> {
    let (store, id) = (&world.home.store, RestoreId::parse(ID).expect("an id"));
    let project = world.home.base.join("project");
    let read = |error: &StoreError| {
        assert!(
            matches!(
                error,
                StoreError::Damaged { .. } | StoreError::DamagedJournal { .. } | StoreError::Newer { .. }
            ),
            "{error}"
        )
    };
    let found = store.pending_restores().map_err(|error| read(&error)).ok()?;
    let intent = &found.first()?.intent;
    check(intent);
    let again: Intent =
        serde_json::from_str(&serde_json::to_string(intent).expect("a form")).expect("our own form");
    assert_eq!(again, *intent);
    let journal = store.journal_of(&id).map_err(|error| read(&error));
    if let Ok(Some(journal)) = &journal {
        check_journal(journal, intent);
        let again = serde_json::from_str::<Journal>(&serde_json::to_string(journal).expect("a form"));
        assert_eq!(again.expect("our own form"), *journal);
    }
    // Another root than the world's is somebody else's, whatever the papers say of it.
    if intent
        .mounts
        .iter()
        .any(|mount| mount.coverage.root.to_path() != project)
    {
        return None;
    }
    let acting = RestoreContext {
        observer: &Silent,
        entropy: &world.entropy,
        now: Time::default(),
        uid: 0,
        inside: false,
        exact_mtimes: how & 8 != 0,
    };
    let mut named = named(intent);
    if let Ok(Some(journal)) = &journal {
        named.extend(of_journal(journal));
    }
    let mounts = intent.mounts.iter();
    let coverages: Vec<_> = mounts.map(|mount| mount.coverage.clone()).collect();
    let before = world.now();
    let _ = proposal(store, intent).is_ok();
    let _ = pending(store, &coverages).is_ok();
    assert_eq!(world.now(), before, "a look changed something");
    let papers = || {
        store
            .take_up(&id)
            .expect("they were read")
            .expect("nobody has them")
    };
    let done = match how % 5 {
        0 => abort(store, papers(), &acting).map(drop),
        1 => resume(store, papers(), &acting).map(drop),
        2 => settle(store, papers(), &acting).map(drop),
        3 => leave(store, papers(), &acting).map(drop),
        _ => clear_up(store, &coverages, &acting).map(drop),
    };
    if how % 5 == 3 {
        assert_eq!(world.now(), before, "what was to be left was changed");
    }
    if let Err(error) = &done {
        assert!(!error.to_string().is_empty());
    } else if how % 5 < 4 {
        assert_eq!(
            store.pending_restores().expect("they can be read"),
            [],
            "it waits still"
        );
    }
    Some((named, done.is_ok()))
}

/// What is moved or removed lies in the mount, or in a directory of a restore into it.
fn check(intent: &Intent) {
    assert_eq!(intent.id.as_str(), ID);
    for mount in &intent.mounts {
        let root = &mount.coverage.root;
        assert!(is_host(&root.0), "{root:?}");
        let aside = mount.aside.iter().map(|step| &step.place);
        for place in mount.stage.iter().chain(aside) {
            is_ours(place, &root.to_path());
        }
    }
}

fn is_ours(place: &StagePlace, root: &Path) {
    let beside = root.parent().unwrap_or(root);
    let directory: PathBuf = place.directory.to_path();
    assert!(directory == root || directory == beside, "{place:?}");
    assert!(
        is_name(place.name.as_bytes()) && place.name.starts_with(".jackin-recovery-"),
        "{place:?}"
    );
}

fn check_journal(journal: &Journal, intent: &Intent) {
    for mount in &journal.mounts {
        let meant = intent
            .mounts
            .iter()
            .find(|meant| meant.coverage.label == mount.label);
        let meant = meant.expect("it was confirmed");
        for step in &mount.moves {
            match &step.deed {
                MoveKind::Install(place) | MoveKind::Exchange(place) | MoveKind::StageOut(place) => {
                    assert!(is_name(&place.0), "{place:?}")
                }
                MoveKind::SetAside(place) | MoveKind::PutBack(place) | MoveKind::SwapAside(place) => {
                    is_ours(place, &meant.coverage.root.to_path());
                }
                MoveKind::RemoveDir(_) | MoveKind::Metadata { .. } => {}
            }
        }
        for parent in &mount.parents {
            assert!(
                parent.mode <= 0o7777 && parent.mtime.1 < 1_000_000_000,
                "{parent:?}"
            );
        }
    }
}

fn named(intent: &Intent) -> BTreeSet<RelPath> {
    let mut named = BTreeSet::new();
    for mount in &intent.mounts {
        named.extend(mount.bound.iter().map(|bound| bound.path.clone()));
        named.extend(mount.aside.iter().map(|step| step.path.clone()));
    }
    named
}

fn of_journal(journal: &Journal) -> BTreeSet<RelPath> {
    let mut named = BTreeSet::new();
    for mount in &journal.mounts {
        named.extend(mount.moves.iter().map(|step| step.path.clone()));
        named.extend(mount.steps.iter().map(|step| step.path.clone()));
        named.extend(mount.parents.iter().map(|parent| parent.path.clone()));
    }
    named
}

/// Whether a path of the project, or what is above or below it, is among those that are named. Staging directories are not the
/// project's.
fn touched(world: &World, named: &BTreeSet<RelPath>, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(world.home.base.join("project")) else {
        return !path.starts_with(world.home.base.join("outside"));
    };
    use std::os::unix::ffi::OsStrExt as _;
    let below = RelPath::new(below.as_os_str().as_bytes()).expect("a path");
    named
        .iter()
        .any(|named| named.is_within(&below) || below.is_within(named))
}
