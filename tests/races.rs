//! A restore while somebody else writes to the same files, at exact moments: the observer that is told of each phase and
//! asked before each move is who writes. Whatever is written must be found again.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test shall stop with a message where it meets the unexpected"
)]

use std::cell::RefCell;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use jackin_recovery::capture::Limits;
use jackin_recovery::clock::{Clock, Entropy};
use jackin_recovery::model::{ByteString, Coverage, Ending, InstanceId, SessionTitle, Time};
use jackin_recovery::observer::{Observer, Phase, Silent};
use jackin_recovery::restore::{
    Allow, MountRequest, Outcome, Proposal, Purpose, Report, RestoreContext, RestoreError, Scope, execute,
    of_instance, propose,
};
use jackin_recovery::session::{BeginRequest, EndRequest, Services, SessionError, begin, end};
use jackin_recovery::store::{Store, StoreError};
use tempfile::TempDir;

struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn now(&self) -> Time {
        let sec = self.0.fetch_add(1, Ordering::Relaxed);
        Time {
            sec: i64::try_from(sec).unwrap() + 1_800_000_000,
            nsec: 0,
        }
    }
}

impl Entropy for Ticking {
    fn fill(&self, bytes: &mut [u8]) {
        let number = self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        for (byte, value) in bytes.iter_mut().zip(number.iter().cycle()) {
            *byte = *value;
        }
    }
}

/// What happened last, as the restore tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// So many moves are done.
    Moved(u32),
    /// Everything is in place, and that is decided.
    Decided,
}

type Deed = Box<dyn FnMut(Moment) -> bool + Send>;

/// Acts at each moment; what it gives is whether the operator stops the restore.
struct Intruder {
    phase: Mutex<(bool, u32)>,
    deed: Mutex<Deed>,
}

impl Intruder {
    fn new(deed: impl FnMut(Moment) -> bool + Send + 'static) -> Self {
        Self {
            phase: Mutex::new((false, 0)),
            deed: Mutex::new(Box::new(deed)),
        }
    }
}

impl Observer for Intruder {
    fn expect(&self, _: u64, _: u64) {}

    fn begin(&self, phase: Phase) {
        let mut state = self.phase.lock().unwrap();
        if phase == Phase::Apply {
            state.0 = true;
        }
    }

    fn advance(&self, _: u64, _: u64) {}

    fn reached(&self, point: &'static str) {
        if point == "decided" {
            (self.deed.lock().unwrap())(Moment::Decided);
        }
    }

    fn end(&self) {
        self.phase.lock().unwrap().0 = false;
    }

    fn cancelled(&self) -> bool {
        let mut state = self.phase.lock().unwrap();
        if !state.0 {
            // After the moves a wish to stop comes too late.
            return state.1 > 0;
        }
        let moved = state.1;
        state.1 += 1;
        (self.deed.lock().unwrap())(Moment::Moved(moved))
    }
}

struct Place {
    top: TempDir,
    store: Store,
    ticking: Ticking,
    proposal: RefCell<Option<Proposal>>,
}

impl Place {
    /// A session that replaced `a`, made `m` and replaced `z`; the plan to take it back is made.
    fn new() -> Self {
        let top = TempDir::with_prefix("jr-races-").unwrap();
        let store = Store::open_write(&top.path().join("store")).unwrap();
        let place = Self {
            top,
            store,
            ticking: Ticking(AtomicU64::new(1)),
            proposal: RefCell::new(None),
        };
        fs::create_dir(place.project()).unwrap();
        place.write("a", "before\n");
        place.write("z", "before\n");
        let coverage = place.coverage();
        let request = place.begin_request(vec![coverage.clone()]);
        let begun = begin(&place.store, place.world(), request).unwrap();
        for name in ["a", "m", "z"] {
            place.write(name, "agent\n");
        }
        let row = place.store.catalog().instance(&begun.instance).unwrap().unwrap();
        let ending = EndRequest {
            row: &row,
            ending: Ending::Status(0),
            survivors: Vec::new(),
            lock: Some(&begun.lock),
        };
        end(&place.store, place.world(), ending).unwrap();
        drop(begun.lock);
        let row = place.store.catalog().instance(&begun.instance).unwrap().unwrap();
        let witness = of_instance(
            &place.store,
            &row,
            &coverage,
            &begun.baseline.as_ref().unwrap().record.id,
        )
        .unwrap();
        let mount = MountRequest {
            coverage,
            scope: Scope::All,
            witness,
        };
        let proposal = propose(
            &place.store,
            begun.baseline.unwrap().record,
            Purpose::Restore,
            vec![mount],
            Allow::default(),
            false,
            &Silent,
        );
        *place.proposal.borrow_mut() = Some(proposal.unwrap());
        place
    }

    fn project(&self) -> PathBuf {
        self.top.path().join("project")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.project().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project().join(name)).unwrap()
    }

    fn coverage(&self) -> Coverage {
        Coverage::new(
            "project",
            ByteString(self.project().into_os_string().into_encoded_bytes()),
        )
    }

    fn begin_request(&self, coverages: Vec<Coverage>) -> BeginRequest<'_> {
        BeginRequest {
            label: "project",
            workspace: None,
            mode: "project",
            coverages,
            limits: Limits::NONE,
            keeper: None,
            scripts: Vec::new(),
            command: Some(("agent".to_owned(), 0)),
            cleanup_policy: None,
            container: None,
            watched: Vec::new(),
            agent: None,
            title: SessionTitle::default(),
            run_without_baseline: false,
            behind: false,
            waits: true,
        }
    }

    fn world(&self) -> Services<'_> {
        Services {
            observer: &Silent,
            clock: &self.ticking,
            entropy: &self.ticking,
            uid: 0,
        }
    }

    fn restore(&self, deed: impl FnMut(Moment) -> bool + Send + 'static) -> Result<Report, RestoreError> {
        let acting = RestoreContext {
            observer: &Intruder::new(deed),
            entropy: &self.ticking,
            now: self.ticking.now(),
            uid: 0,
            inside: false,
            exact_mtimes: false,
        };
        let proposal = self.proposal.borrow();
        execute(&self.store, proposal.as_ref().unwrap(), &acting)
    }

    fn staging(&self) -> Option<PathBuf> {
        let mut found = fs::read_dir(self.top.path()).unwrap().map(|e| e.unwrap().path());
        found.find(|path| {
            path.file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b".jackin-recovery-"))
        })
    }

    /// Whether a file below `directory` holds exactly `text`.
    fn is_below(directory: &Path, text: &str) -> bool {
        walkdir::WalkDir::new(directory)
            .into_iter()
            .map(Result::unwrap)
            .any(|entry| entry.file_type().is_file() && fs::read(entry.path()).unwrap() == text.as_bytes())
    }
}

fn save(path: &Path, text: &str) {
    let beside = path.with_extension("saving");
    fs::write(&beside, text).unwrap();
    fs::rename(&beside, path).unwrap();
}

#[test]
fn without_an_intruder_it_is_restored() {
    let place = Place::new();
    let report = place.restore(|_| false).unwrap();
    assert_eq!(report.outcome, Outcome::Done);
    assert_eq!(
        (place.read("a"), place.read("z")),
        ("before\n".into(), "before\n".into())
    );
    assert!(!place.project().join("m").exists());
    assert_eq!(place.staging(), None);
}

#[test]
fn a_file_saved_over_a_restored_one_survives_when_the_restore_is_taken_back() {
    let place = Place::new();
    let project = place.project();
    let error = place
        .restore(move |moment| {
            if moment == Moment::Moved(2) {
                save(&project.join("a"), "saved meanwhile\n");
                fs::write(project.join("z"), "drifted\n").unwrap();
            }
            false
        })
        .unwrap_err();
    assert_eq!(
        (place.read("a"), place.read("m")),
        ("agent\n".into(), "agent\n".into())
    );
    assert_eq!(place.read("z"), "drifted\n");
    let staging = place.staging().expect("what was saved lies in it");
    assert!(Place::is_below(&staging, "saved meanwhile\n"), "{error}");
    assert!(error.to_string().contains(staging.to_str().unwrap()), "{error}");
}

#[test]
fn what_is_written_to_an_open_file_after_it_was_moved_aside_is_kept_and_named() {
    let place = Place::new();
    let mut open = OpenOptions::new()
        .append(true)
        .open(place.project().join("a"))
        .unwrap();
    let report = place
        .restore(move |moment| {
            if moment == Moment::Decided {
                open.write_all(b"written meanwhile\n").unwrap();
            }
            false
        })
        .unwrap();
    assert_eq!(place.read("a"), "before\n");
    assert_eq!(report.outcome, Outcome::Partial);
    let staging = place.staging().expect("what was written lies in it");
    assert!(Place::is_below(&staging, "agent\nwritten meanwhile\n"));
    assert!(
        report
            .left
            .iter()
            .any(|left| left.contains(staging.to_str().unwrap())),
        "{report:?}"
    );
}

#[test]
fn stopping_comes_too_late_once_everything_is_in_place() {
    let place = Place::new();
    let report = place.restore(|_| false).unwrap();
    assert!(report.receipt.is_some(), "without a receipt no undo knows of it");
    assert_eq!(report.outcome, Outcome::Done);
    assert_eq!(place.staging(), None);
}

#[test]
fn what_took_a_free_name_meanwhile_goes_aside_and_is_named() {
    let place = Place::new();
    let project = place.project();
    let error = place
        .restore(move |moment| {
            // `a` was swapped and `m` moved out; somebody takes the free name before `z` fails.
            if moment == Moment::Moved(2) {
                fs::write(project.join("m"), "new here\n").unwrap();
                fs::write(project.join("z"), "drifted\n").unwrap();
            }
            false
        })
        .unwrap_err();
    assert!(matches!(error, RestoreError::Left { .. }), "{error}");
    assert_eq!(
        (place.read("a"), place.read("m")),
        ("agent\n".into(), "agent\n".into())
    );
    let staging = place.staging().expect("the new `m` lies in it");
    assert!(Place::is_below(&staging, "new here\n"));
    assert!(error.to_string().contains(staging.to_str().unwrap()), "{error}");
}

#[test]
fn no_session_begins_in_the_middle_of_a_restore() {
    let place = Place::new();
    let restoring = place.store.lock_restore(&[place.project()]).unwrap();
    let request = || place.begin_request(vec![place.coverage()]);
    let refused = begin(&place.store, place.world(), request());
    assert!(
        matches!(&refused, Err(SessionError::Store(StoreError::Locked { .. }))),
        "{:?}",
        refused.err()
    );
    let known: Vec<InstanceId> = place
        .store
        .catalog()
        .instances()
        .unwrap()
        .into_iter()
        .map(|row| row.id)
        .collect();
    assert_eq!(known.len(), 1, "nothing of it is recorded");
    drop(restoring);
    let first = begin(&place.store, place.world(), request()).unwrap();
    let second = begin(&place.store, place.world(), request()).unwrap();
    assert_ne!(
        first.instance, second.instance,
        "sessions do not exclude each other"
    );
}
