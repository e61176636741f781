//! A session in a simulated world, and what an operator does after it: restore, and after a crash `resume` or `abort`.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::done::Done;
use crate::capture::tests::coverage;
use crate::capture::{CaptureError, Captured, Request, take};
use crate::model::{Composition, Decision, InstanceId, RelPath, SnapshotKind, Time};
use crate::observer::Silent;
use crate::restore::{
    Allow, ChangeHistory, Composed, ComposedFiles, MountRequest, Outcome, Proposal, Purpose, Report,
    RestoreContext, RestoreError, Scope, abort, execute, of_restore, proposal as planned, propose, resume,
    settle,
};
use crate::store::{RestoreStage, Store};
use handle_fs::simulated::{Disk, Letters, Moment, Node, Shared, Tree};
pub(super) use handle_fs::simulated::{World, within};

/// The mount's root; what a restore stages lies beside it.
pub(super) const ROOT: &str = "/disk/project";
pub(super) const STORE: &str = "/data/recovery";

/// A session that is over.
#[derive(Clone)]
pub(super) struct Session {
    /// The world when it had ended, all of it on disk.
    pub(super) world: Moment,
    /// The tree before the session.
    pub(super) before: Tree,
    pub(super) old: Tree,
    baseline: Rc<Captured>,
    closing: Rc<Captured>,
    pub(super) exact_mtimes: bool,
    /// A file that gets a content of its own, as after a merge.
    composed: Option<(&'static str, &'static str)>,
}

/// Command that an operator gives after an interrupted restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Verb {
    Resume,
    Abort,
}

/// State that the tree must have afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Old,
    New,
    /// No restore waited: it had not begun, or was done.
    Either,
    /// Some paths could not be changed, and were named.
    Mixed,
}

fn now() -> Time {
    handle_fs::fine_clock()
}

fn instance() -> InstanceId {
    InstanceId::new([1; 8], "demo")
}

fn capture(store: &Store, kind: SnapshotKind) -> Result<Captured, CaptureError> {
    let coverages = [coverage(Path::new(ROOT), "project")];
    let instance = instance();
    let request = Request::of(&instance, kind, &coverages, (now(), 1000));
    take(store, &request, &Silent, &Letters)
}

impl Session {
    /// A session on the tree that `before` makes below the root, which `damage` changes.
    pub(super) fn of(before: impl FnOnce(&mut World), damage: impl FnOnce(&mut World)) -> Self {
        let mut world = World::new(&["/disk", "/data"]);
        world.put(ROOT, Node::Directory(std::collections::BTreeMap::new()), 0o755);
        before(&mut world);
        let tree = world.tree(ROOT);
        let shared = Shared::new(world);
        let inside = shared.enter();
        shared.lock().pass(1_000_000_000);
        let store = Store::open_write(Path::new(STORE)).unwrap();
        let baseline = capture(&store, SnapshotKind::Baseline).unwrap();
        shared.lock().pass(1_000_000_000);
        damage(&mut shared.lock());
        shared.lock().pass(1_000_000_000);
        let closing = capture(&store, SnapshotKind::Closing).unwrap();
        drop((store, inside));
        let mut world = shared.lock();
        world.settle();
        Self {
            world: world.moment(),
            before: tree,
            old: world.tree(ROOT),
            baseline: Rc::new(baseline),
            closing: Rc::new(closing),
            exact_mtimes: false,
            composed: None,
        }
    }

    /// The same with another content for a file that the session wrote to: neither the old one nor the new one.
    pub(super) fn composing(mut self, path: &'static str, text: &'static str) -> Self {
        let mut world = World::new(&["/disk"]);
        world.put_file("/disk/file", text);
        let what = world.tree("/disk").remove("file").unwrap().what;
        self.before.get_mut(path).unwrap().what = what;
        self.composed = Some((path, text));
        self
    }

    fn composed(&self) -> ComposedFiles {
        let each = self.composed.iter().map(|(path, text)| {
            let path = RelPath::new(path.as_bytes()).unwrap();
            let entry = |captured: &Captured| captured.manifests[0].as_ref().unwrap().entry(&path).cloned();
            let (then, now) = (entry(&self.baseline).unwrap(), entry(&self.closing).unwrap());
            let over = now.content().unwrap().digest;
            let by = Composition::Hunks {
                chosen: 1,
                all: 2,
                partial: 0,
            };
            (path, Composed::new(text.as_bytes().to_vec(), &then, over, by))
        });
        each.collect()
    }

    pub(super) fn exact(self) -> Self {
        Self {
            exact_mtimes: true,
            ..self
        }
    }

    /// The same on a file system that cannot exchange names.
    pub(super) fn in_steps(mut self) -> Self {
        self.world.exchanges = false;
        self
    }

    /// The same on macOS, where names that differ in case only are one name.
    pub(super) fn on_macos(mut self) -> Self {
        self.world.set_macos(true);
        self.folded()
    }

    /// The same on a file system that does not tell case apart.
    pub(super) fn folded(mut self) -> Self {
        self.world.fold_names();
        self
    }

    /// The same on an overlay with all of it in the lower layer.
    pub(super) fn layered(mut self) -> Self {
        self.world.lay_over();
        self
    }

    /// The same where a restore has to stage in the mount root.
    pub(super) fn crowded(mut self) -> Self {
        self.world.crowded = true;
        self
    }

    /// The world right after the session.
    pub(super) fn begin(&self) -> World {
        let disk = self.world.disk();
        World::after(&self.world, disk)
    }

    pub(super) fn acting(&self) -> RestoreContext<'static> {
        RestoreContext {
            observer: &Silent,
            entropy: &Letters,
            now: now(),
            uid: 1000,
            inside: false,
            exact_mtimes: self.exact_mtimes,
        }
    }

    fn proposal(&self, store: &Store) -> Result<Proposal, RestoreError> {
        let witness = ChangeHistory {
            last: self.closing.manifests[0].clone(),
            composed: self.composed(),
            ..ChangeHistory::default()
        };
        let request = MountRequest {
            coverage: coverage(Path::new(ROOT), "project"),
            scope: Scope::All,
            witness,
        };
        let (target, requests) = (self.baseline.record.clone(), vec![request]);
        propose(
            store,
            target,
            Purpose::Restore,
            requests,
            Allow::default(),
            false,
            &Silent,
        )
    }

    /// Returns the proposal of `undo`, which reverts the last restore.
    fn counter_proposal(&self, store: &Store) -> Result<Proposal, RestoreError> {
        let last = store.catalog().restores(&instance())?.remove(0);
        let coverage = coverage(Path::new(ROOT), "project");
        let request = MountRequest {
            witness: of_restore(store, &instance(), &coverage)?,
            coverage,
            scope: Scope::All,
        };
        let target = store.record(&last.emergency)?;
        let purpose = Purpose::Undo(last.number);
        propose(
            store,
            target,
            purpose,
            vec![request],
            Allow::default(),
            false,
            &Silent,
        )
    }

    /// Does what the command `restore` does.
    pub(super) fn restore(&self) -> Done {
        let restored = || -> Result<(Proposal, Report), RestoreError> {
            let store = Store::open_write(Path::new(STORE))?;
            let _locks = (store.lock_restore(&[PathBuf::from(ROOT)])?, store.share()?);
            let proposal = self.proposal(&store)?;
            let report = execute(&store, &proposal, &self.acting())?;
            Ok((proposal, report))
        };
        Done::of(restored())
    }

    /// Does what the command `undo` does after it.
    pub(super) fn undo(&self) -> Done {
        let undone = || -> Result<(Proposal, Report), RestoreError> {
            let store = Store::open_write(Path::new(STORE))?;
            let _locks = (store.lock_restore(&[PathBuf::from(ROOT)])?, store.share()?);
            let proposal = self.counter_proposal(&store)?;
            let report = execute(&store, &proposal, &self.acting())?;
            Ok((proposal, report))
        };
        Done::of(undone())
    }

    /// Does what the command `checkpoint` does: takes another snapshot, which must equal the closing one. A refused one leaves
    /// nothing, unless the error also kept it from being removed.
    pub(super) fn capture_again(&self) -> Done {
        let world = handle_fs::simulated::world().unwrap();
        let stored =
            || ["snapshots", "archives"].map(|place| world.lock().names_in(&format!("{STORE}/{place}")));
        let before = stored();
        let taken = || -> Result<Captured, RestoreError> {
            let store = Store::open_write(Path::new(STORE))?;
            let _shared = store.share()?;
            Ok(capture(&store, SnapshotKind::Closing)?)
        };
        match taken() {
            Err(error) => {
                let fault = world.lock().fault;
                if !fault.is_some_and(|fault| fault.stays) {
                    assert_eq!(
                        stored(),
                        before,
                        "{fault:?}: a refused capture left something: {error}"
                    );
                }
                Done::Refused(error.to_string())
            }
            Ok(taken) if taken.record.complete => {
                assert!(
                    taken.manifests[0] == self.closing.manifests[0],
                    "a snapshot that calls itself complete lacks something"
                );
                Done::Whole
            }
            Ok(taken) => {
                let gaps = taken.record.mounts[0].gaps.iter();
                Done::Partly(gaps.map(|gap| format!("{gap:?}")).collect())
            }
        }
    }

    /// [`Self::recover`], for who looks at how it went.
    pub(super) fn take_up(&self, verb: Verb) -> Done {
        match self.try_recover(verb) {
            Ok(Ended::Old) => Done::Refused("taken back".to_owned()),
            Ok(Ended::New) => Done::Whole,
            Ok(Ended::Either | Ended::Mixed) => Done::Waits("nothing waits".to_owned()),
            Err(Trouble::Restore(error)) => Done::Waits(error.to_string()),
            Err(Trouble::Left(what)) => Done::Partly(vec![what]),
        }
    }

    /// Does what the commands `resume` and `abort` do.
    pub(super) fn recover(&self, verb: Verb) -> Result<Ended, String> {
        self.try_recover(verb).map_err(|error| match error {
            Trouble::Restore(error) => format!("{error}\n{error:?}"),
            Trouble::Left(what) => what,
        })
    }

    fn try_recover(&self, verb: Verb) -> Result<Ended, Trouble> {
        let store = Store::open_write(Path::new(STORE)).map_err(RestoreError::from)?;
        let Some(found) = store
            .pending_restores()
            .map_err(RestoreError::from)?
            .into_iter()
            .next()
        else {
            return Ok(Ended::Either);
        };
        assert!(!found.alive, "nobody lives after a crash");
        let locks = store
            .lock_restore(&[PathBuf::from(ROOT)])
            .map_err(RestoreError::from)?;
        let _locks = (locks, store.share().map_err(RestoreError::from)?);
        let papers = store
            .take_up(&found.intent.id)
            .map_err(RestoreError::from)?
            .unwrap();
        let acting = self.acting();
        match (verb, found.stage) {
            (Verb::Resume, RestoreStage::Begun) => {
                let done = settle(&store, papers, &acting)?;
                nothing(&done.left)?;
                let proposal = match Purpose::of(&found.intent) {
                    Purpose::Restore | Purpose::Step(_) => self.proposal(&store)?,
                    Purpose::Undo(_) => self.counter_proposal(&store)?,
                };
                let report = execute(&store, &proposal, &acting)?;
                whole(&report)?;
                Ok(Ended::New)
            }
            (Verb::Resume, RestoreStage::Decided(Decision::Abort | Decision::Left)) => {
                let done = settle(&store, papers, &acting)?;
                nothing(&done.left)?;
                Ok(Ended::Old)
            }
            (Verb::Resume, _) if planned(&store, &found.intent)?.is_none() => {
                let done = settle(&store, papers, &acting)?;
                nothing(&done.left)?;
                Ok(Ended::New)
            }
            (Verb::Resume, _) => {
                let (_, report) = resume(&store, papers, &acting)?;
                whole(&report)?;
                Ok(Ended::New)
            }
            (Verb::Abort, RestoreStage::Decided(Decision::Commit) | RestoreStage::Recorded) => {
                let done = settle(&store, papers, &acting)?;
                nothing(&done.left)?;
                Ok(Ended::New)
            }
            (Verb::Abort, _) => {
                let back = abort(&store, papers, &acting)?;
                if back.is_partial {
                    return Err(Trouble::Left(format!("{back:?}")));
                }
                nothing(&back.left)?;
                Ok(Ended::Old)
            }
        }
    }
}

/// Reason why a recovery did not end well.
enum Trouble {
    Restore(RestoreError),
    Left(String),
}

impl From<RestoreError> for Trouble {
    fn from(error: RestoreError) -> Self {
        Self::Restore(error)
    }
}

fn nothing(left: &[String]) -> Result<(), Trouble> {
    if left.is_empty() {
        return Ok(());
    }
    Err(Trouble::Left(format!("stays: {left:?}")))
}

fn whole(report: &Report) -> Result<(), Trouble> {
    if report.outcome == Outcome::Partial {
        return Err(Trouble::Left(format!("{report:?}")));
    }
    Ok(())
}

/// A world after a crash.
pub(super) fn left(moment: &Moment, disk: &Disk) -> World {
    World::after(moment, disk.clone())
}
