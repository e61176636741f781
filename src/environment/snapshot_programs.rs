//! Search for the operator's programs that make snapshots of file systems.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use handle_fs::NativeKind;
use processes::{find, path_outside};
use transports::VolumePlans;

/// Returns the recorded mounts. No program in them is ever started.
pub type RecordedMounts = Box<dyn Fn() -> io::Result<Vec<PathBuf>> + Send + Sync>;

/// Search for the programs that make snapshots of file systems, with what clusters answered so far.
///
/// Clones share both. The default value finds no program.
#[derive(Clone, Default)]
pub struct SnapshotPrograms(Option<Arc<Search>>);

struct Search {
    path: Option<OsString>,
    helper_image: Option<String>,
    recorded: RecordedMounts,
    /// Recorded mounts; `None` until they are needed.
    known: Mutex<Option<Vec<PathBuf>>>,
    plans: Arc<VolumePlans>,
}

impl std::fmt::Debug for SnapshotPrograms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.0.as_ref().map(|search| &search.path);
        f.debug_tuple("SnapshotPrograms").field(&path).finish()
    }
}

impl PartialEq for SnapshotPrograms {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Eq for SnapshotPrograms {}

/// A program that was found.
#[derive(Clone, Debug)]
pub struct SnapshotProgram {
    /// Its file.
    pub program: PathBuf,
    /// `PATH` in which it finds others.
    pub path: OsString,
    /// Image of helpers for claims; `None` for the default one.
    pub helper_image: Option<String>,
    /// Plans for snapshots of claims, which do not change as long as this process lives.
    pub plans: Arc<VolumePlans>,
}

impl SnapshotPrograms {
    /// Creates the search in the directories of `path`, the value of `PATH`.
    #[must_use]
    pub fn new(path: Option<&OsStr>, helper_image: Option<&str>, recorded: RecordedMounts) -> Self {
        Self(Some(Arc::new(Search {
            path: path.map(OsStr::to_owned),
            helper_image: helper_image.map(str::to_owned),
            recorded,
            known: Mutex::default(),
            plans: Arc::default(),
        })))
    }

    /// Finds the program for a kind of file system, outside of `mounts` and of the recorded mounts: an agent can write there. If
    /// the recorded mounts are unknown, none is found.
    #[must_use]
    pub fn find(&self, kind: NativeKind, mounts: &[PathBuf]) -> Option<SnapshotProgram> {
        let search = self.0.as_ref()?;
        let mounts = [mounts, &search.recorded_mounts()?].concat();
        let path = path_outside(search.path.as_deref(), &mounts);
        // Where Debian and others keep it, which an ordinary user's PATH need not name.
        let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
        let all = std::env::split_paths(&path).chain(more);
        let path = std::env::join_paths(all.filter(|directory| directory.is_absolute())).ok()?;
        Some(SnapshotProgram {
            program: find(kind.program().as_ref(), &path, &mounts)?,
            path,
            helper_image: search.helper_image.clone(),
            plans: Arc::clone(&search.plans),
        })
    }
}

impl Search {
    fn recorded_mounts(&self) -> Option<Vec<PathBuf>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            *known = (self.recorded)().ok();
        }
        known.clone()
    }
}
