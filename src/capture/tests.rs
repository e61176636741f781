//! Captures of real directories into a real store: what is read, what is kept, what is said to be missing.

mod archives;
mod commits;
mod elsewhere;
#[path = "../../crates/git-reader/src/tests/git_command.rs"]
mod git_command;
mod hints;
mod limits;
mod links;
mod moving;
mod names;
mod reuse;
mod sparse;
mod stopped;
mod twins;
mod walk;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::{CaptureError, Captured, Earlier, Limits, LiveScan, Request, ScannedTree, look, take};
use crate::clock::{Clock, Entropy};
use crate::environment::Environment;
use crate::model::{
    Coverage, Entry, ExcludeRule, ExcludeSource, InstanceId, Manifest, RelPath, SnapshotKind, Time,
};
use crate::observer::{Observer, Phase, Silent};
use crate::store::{Layout, Store};

/// Entropy that differs with each call, and is the same in every run.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Entropy for Counter {
    fn fill(&self, bytes: &mut [u8]) {
        let mut number = self.0.fetch_add(1, Ordering::Relaxed);
        for byte in bytes.iter_mut().rev() {
            *byte = (number % 32) as u8;
            number /= 32;
        }
    }
}

/// Clock that advances by a second with each reading.
pub(crate) struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Time {
        Time {
            sec: self.0.fetch_add(1, Ordering::Relaxed),
            nsec: 0,
        }
    }
}

/// Call that an observer receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// A phase begins.
    Begin(Phase),
    /// A directory was listed.
    Listed,
    /// Bytes of a file were read.
    Read,
    /// Question whether to stop.
    Asked,
    /// A restore came to a point.
    Reached(&'static str),
}

/// Observer that acts in the middle of the work; its result counts only as the answer to [`Moment::Asked`].
pub(crate) struct Meddler<A>(pub(crate) A);

impl<A: Fn(Moment) -> bool + Send + Sync> Observer for Meddler<A> {
    fn expect(&self, _: u64, _: u64) {}

    fn begin(&self, phase: Phase) {
        (self.0)(Moment::Begin(phase));
    }
    fn advance(&self, _: u64, bytes: u64) {
        (self.0)(if bytes > 0 { Moment::Read } else { Moment::Listed });
    }
    fn end(&self) {}
    fn cancelled(&self) -> bool {
        (self.0)(Moment::Asked)
    }
    fn reached(&self, point: &'static str) {
        (self.0)(Moment::Reached(point));
    }
}

/// Returns an observer that acts whenever this happens, and never stops the work.
pub(crate) fn at<A: Fn() + Send + Sync>(
    wanted: Moment,
    act: A,
) -> Meddler<impl Fn(Moment) -> bool + Send + Sync> {
    Meddler(move |moment| {
        if moment == wanted {
            act();
        }
        false
    })
}

/// Directory to capture and a store, which are removed with the test.
pub(crate) struct Place {
    _home: tempfile::TempDir,
    pub(crate) base: PathBuf,
    pub(crate) root: PathBuf,
    pub(crate) store: Store,
    pub(crate) clock: Ticking,
    pub(crate) entropy: Counter,
    pub(crate) instance: InstanceId,
}

/// Returns true if the file system of a place reports holes rightly.
pub(crate) fn shows_holes(place: &Place) -> bool {
    let facts = handle_fs::open_root(&place.base).and_then(handle_fs::file_system);
    facts.unwrap().shows_holes
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::within(crate::workplace::scratch())
    }

    /// Does the same on a disk; `None` if its file system does not write back.
    pub(super) fn on_disk() -> Option<Self> {
        let place = Self::within(tempfile::tempdir_in("/var/tmp").unwrap());
        let facts = handle_fs::open_root(&place.base).and_then(handle_fs::file_system);
        facts.unwrap().writes_back.then_some(place)
    }

    fn within(home: tempfile::TempDir) -> Self {
        let base = home.path().canonicalize().unwrap();
        let root = base.join("project");
        fs::create_dir(&root).unwrap();
        let store = Store::open_write(&base.join("data/recovery")).unwrap();
        Self {
            _home: home,
            base,
            root,
            store,
            clock: Ticking(AtomicI64::new(1_790_000_000)),
            entropy: Counter::default(),
            instance: InstanceId::new([1; 8], "demo"),
        }
    }

    /// Does the same as [`Place::new`], with these files; a path that ends in `/` is a directory.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let place = Self::new();
        for (path, content) in files {
            match path.strip_suffix('/') {
                Some(directory) => fs::create_dir_all(place.at(directory)).unwrap(),
                None => place.write(path, content),
            }
        }
        place
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Waits until the stat data of written files are old enough to be trusted.
    pub(crate) fn rest(&self) {
        std::thread::sleep(Duration::from_millis(35));
    }

    pub(crate) fn coverage(&self) -> Coverage {
        coverage(&self.root, "project")
    }

    pub(crate) fn take(&self, kind: SnapshotKind) -> Captured {
        self.try_take(kind, &[self.coverage()], Limits::NONE, &Silent)
            .unwrap()
    }

    pub(crate) fn try_take(
        &self,
        kind: SnapshotKind,
        coverages: &[Coverage],
        limits: Limits,
        observer: &dyn Observer,
    ) -> Result<Captured, CaptureError> {
        let request = Request {
            limits,
            ..Request::of(&self.instance, kind, coverages, (self.clock.now(), 1000))
        };
        take(&self.store, &request, observer, &self.entropy)
    }

    pub(crate) fn look(&self, reference: Option<(&Manifest, Time)>) -> Manifest {
        self.look_by(&self.coverage(), reference, &Silent)
            .manifest
            .unwrap()
    }

    pub(super) fn look_by(
        &self,
        coverage: &Coverage,
        reference: Option<(&Manifest, Time)>,
        observer: &dyn Observer,
    ) -> ScannedTree {
        let environment = Environment {
            transports: handle_fs::remote::loopback::transports(),
            ..Environment::default()
        };
        let request = LiveScan {
            layout: &Layout::of(self.store.layout().root().to_path_buf(), &environment),
            coverage,
            reference: reference.map(earlier),
            check_content: false,
        };
        look(&request, observer).unwrap()
    }

    /// Returns the names in a directory of the store, sorted.
    pub(crate) fn stored(&self, directory: &str) -> Vec<String> {
        let directory = self.store.layout().root().join(directory);
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Returns every path of the mount with its mode, and its bytes or target.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        use std::os::unix::ffi::OsStrExt as _;
        walkdir::WalkDir::new(&self.root)
            .into_iter()
            .map(|entry| {
                let entry = entry.unwrap();
                let meta = entry.path().symlink_metadata().unwrap();
                let bytes = if meta.is_symlink() {
                    fs::read_link(entry.path())
                        .unwrap()
                        .as_os_str()
                        .as_bytes()
                        .to_vec()
                } else if meta.is_file() {
                    fs::read(entry.path()).unwrap()
                } else {
                    Vec::new()
                };
                (entry.into_path(), (meta.mode(), bytes))
            })
            .collect()
    }
}

/// Returns a time at which all that is there has been as it is for long enough to be trusted.
pub(super) fn long_after() -> Time {
    handle_fs::file_clock().plus_nanos(super::walk::FAULT_NANOS)
}

/// Returns an earlier scan with the same coverage.
pub(super) fn earlier((manifest, started_at): (&Manifest, Time)) -> Earlier<'_> {
    Earlier {
        manifest,
        started_at,
        same_rules: true,
        written_back: true,
    }
}

pub(crate) fn coverage(root: &Path, label: &str) -> Coverage {
    Coverage::new(label, root)
}

pub(crate) fn excluding(mut coverage: Coverage, patterns: &[&str]) -> Coverage {
    coverage.excludes = patterns
        .iter()
        .map(|pattern| ExcludeRule {
            pattern: (*pattern).to_owned(),
            source: ExcludeSource::Flag,
            private: None,
        })
        .collect();
    coverage
}

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::new(text.as_bytes()).unwrap()
}

/// Returns the manifest of the only mount.
pub(crate) fn only(captured: &Captured) -> &Manifest {
    captured.manifests[0].as_ref().unwrap()
}

pub(super) fn entry<'a>(manifest: &'a Manifest, at: &str) -> &'a Entry {
    manifest
        .entry(&path(at))
        .unwrap_or_else(|| panic!("{at} is missing"))
}

pub(super) fn names<'a>(paths: impl Iterator<Item = &'a RelPath>) -> Vec<String> {
    let mut names: Vec<String> = paths
        .map(|path| String::from_utf8(path.as_bytes().to_vec()).unwrap())
        .collect();
    names.sort();
    names
}
