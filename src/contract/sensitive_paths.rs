//! Places on this host that no archive may hold: the operator's own secrets, agents' credentials, the store. Each one is
//! known by its plain path and by the path its links lead to, whether it exists or not.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use super::agent_homes::moved_path;
use super::secret_names::PLACES;
use super::{BroadReason, agent_paths};
use crate::config::{settle, settle_below};
use crate::environment::{Environment, SnapshotPrograms};
use crate::model::{ByteString, RelPath, WithheldPath, WithheldReason};
use handle_fs::Locations;
use handle_fs::remote::{Address, Transports};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

/// Most directories of one secret place that are compared with a root.
const MAX_INSIDE: usize = 1000;

/// Limit of entries in and below one secret directory that are examined for links.
const MAX_LINKED: usize = 5000;

/// Rights of the group and of all others.
const OTHERS: u32 = 0o077;

/// Sensitive places of the host, with all links followed.
#[derive(Clone, Debug)]
pub(super) struct Places {
    home: Option<PathBuf>,
    configuration: Option<PathBuf>,
    store: Option<PathBuf>,
    secrets: Vec<PathBuf>,
    /// Files elsewhere that a secret directory links to, as dotfile tools arrange it.
    linked: Vec<PathBuf>,
    credentials: Vec<PathBuf>,
    /// Directory of jackin's containers.
    data: Option<PathBuf>,
    identities: Identities,
    locations: Locations,
    transports: Transports,
    snapshot_programs: SnapshotPrograms,
}

impl Places {
    pub(super) fn of(environment: &Environment) -> Self {
        let mut secrets = Vec::new();
        let mut linked = Vec::new();
        let mut credentials = Vec::new();
        if let Some(home) = &environment.home {
            let real = settle(home);
            for name in PLACES {
                push(&mut secrets, real.join(name));
                let place = settle_below(&real, Path::new(name));
                links_in(&place, &real, &mut linked);
                push(&mut secrets, place);
            }
            // These are skipped even if the operator captures their own secrets.
            let is_own = |name: &&str| PLACES.iter().any(|secret| Path::new(name).starts_with(secret));
            for name in agent_paths::secrets().filter(|name| !is_own(name)) {
                push(&mut credentials, real.join(name));
                push(&mut credentials, settle_below(&real, Path::new(name)));
            }
        }
        // An agent may have its directory elsewhere, and what it left in the home is as good.
        for moved in agent_paths::secrets().filter_map(|name| moved_path(environment, name)) {
            push(&mut credentials, settle(&moved));
            push(&mut credentials, moved);
        }
        let data = environment.jackin_home().map(|home| settle(&home.join("data")));
        Self {
            home: environment.home.as_deref().map(settle),
            configuration: environment.jackin_config().as_deref().map(settle),
            store: environment.store_directory().as_deref().map(settle),
            secrets,
            linked,
            credentials,
            data,
            identities: Identities::default(),
            locations: Locations::default(),
            transports: environment.transports.clone(),
            snapshot_programs: environment.snapshot_programs.clone(),
        }
    }

    /// Returns the agents' credentials that lie at, above or below `root`.
    fn credentials_for(&self, root: &Path) -> Vec<PathBuf> {
        let mut all = self.credentials.clone();
        let Some(data) = &self.data else { return all };
        let container = root
            .strip_prefix(data)
            .ok()
            .and_then(|rest| rest.components().next());
        match container {
            Some(container) => {
                let own = data.join(container);
                all.extend(agent_paths::container_secrets().map(|path| own.join(path)));
            }
            // The state of every container, with its agent's credentials.
            None => all.push(data.clone()),
        }
        all
    }

    /// Returns the credential that `root` is, or lies within.
    pub(super) fn credential_around(&self, root: &Path) -> Option<PathBuf> {
        let all = self.credentials_for(root).into_iter();
        let mut all = all.filter(|place| Some(place) != self.data.as_ref());
        let above = Above::of(root, &self.identities);
        all.find(|place| root.starts_with(place) || above.lies_in(place))
    }

    /// Returns the directory of the store, which may not exist yet.
    pub(super) fn store(&self) -> Option<&Path> {
        self.store.as_deref()
    }

    /// Returns the store if `root` is it or lies in it, also under another path.
    pub(super) fn store_around(&self, root: &Path) -> Option<&Path> {
        self.store().filter(|store| self.lies_in(root, store))
    }

    /// Returns true if a path is `place` or lies in it, by name or by the mount that shows it.
    fn lies_in(&self, path: &Path, place: &Path) -> bool {
        path.starts_with(place) || self.locations.below(place, path).is_some()
    }

    /// Returns the connections to other machines.
    pub(super) fn transports(&self) -> &Transports {
        &self.transports
    }

    /// Returns the search for the programs that make snapshots of file systems.
    pub(super) fn snapshot_programs(&self) -> &SnapshotPrograms {
        &self.snapshot_programs
    }

    pub(super) fn knows_home(&self) -> bool {
        self.home.is_some()
    }

    /// Returns the secret that `root` is, or lies within.
    pub(super) fn secret_around(&self, root: &Path) -> Option<PathBuf> {
        let there = secrets_near(&self.transports, root);
        let all = || self.secrets.iter().chain(&self.linked).chain(&there);
        // The familiar path is reported, if there is one.
        let by_path = all().find(|place| root.starts_with(place));
        if by_path.is_some() {
            return by_path.cloned();
        }
        let above = Above::of(root, &self.identities);
        all().find(|place| above.lies_in(place)).cloned()
    }

    /// Returns the reasons that `root` is too broad; empty if it is not.
    pub(super) fn broad(&self, root: &Path) -> Vec<BroadReason> {
        let own = self.identities.of(root);
        let is_same = |at: &Path| own.is_some_and(|own| self.identities.of(at) == Some(own));
        let holds = |place: &Option<PathBuf>| {
            place
                .as_deref()
                .is_some_and(|place| self.lies_in(place, root) || place.ancestors().any(is_same))
        };
        let within =
            |place: &Option<PathBuf>| place.as_deref().is_some_and(|place| self.lies_in(root, place));
        let reasons = [
            (is_top(root), BroadReason::FileSystemRoot),
            (
                holds(&self.home) || holds(&self.transports.home_near(root)),
                BroadReason::Home,
            ),
            (holds(&self.store), BroadReason::Store),
            (
                holds(&self.configuration) || within(&self.configuration),
                BroadReason::Configuration,
            ),
        ];
        reasons
            .into_iter()
            .filter(|(applies, _)| *applies)
            .map(|(_, reason)| reason)
            .collect()
    }

    /// Returns the existing secret places, which are skipped under any name below a local root.
    pub(super) fn guarded(&self, root: &Path, keep_secrets: bool) -> Vec<ByteString> {
        if Address::split(root).is_some() {
            return Vec::new();
        }
        let secrets = self.secrets.iter().chain(&self.linked).filter(|_| !keep_secrets);
        let all = secrets.chain(&self.credentials);
        let mut there: Vec<_> = all
            .filter(|place| fs::symlink_metadata(place).is_ok())
            .map(|place| ByteString::from(place.as_path()))
            .collect();
        there.sort();
        there.dedup();
        there
    }

    /// Returns the paths strictly below `root` that must not enter an archive, sorted.
    pub(super) fn withheld(&self, root: &Path, keep_secrets: bool) -> Vec<WithheldPath> {
        let mut withheld: Vec<WithheldPath> = Vec::new();
        let store = self.store.iter().map(|place| (place, WithheldReason::Store));
        let there = secrets_near(&self.transports, root);
        let secrets = self.secrets.iter().chain(&self.linked).chain(&there);
        let secrets = secrets.filter(|_| !keep_secrets);
        let mut credentials = self.credentials_for(root);
        let home = self.transports.home_near(root);
        credentials.extend(
            home.iter()
                .flat_map(|home| agent_paths::secrets().map(|name| home.join(name))),
        );
        let sensitive = secrets
            .chain(&credentials)
            .map(|place| (place, WithheldReason::Sensitive));
        let shown = ShownBelow::of(root, &self.identities);
        let located = |place: &Path| relative(&self.locations.below(root, place)?);
        for (place, reason) in store.chain(sensitive) {
            let paths = below(root, place).into_iter().chain(shown.path(place));
            for path in paths.chain(located(place)) {
                if !withheld.iter().any(|known| known.path == path) {
                    withheld.push(WithheldPath { path, reason });
                }
            }
        }
        withheld.sort_by(|a, b| a.path.cmp(&b.path));
        withheld
    }
}

/// Device and inode number of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity(u64, u64);

impl Identity {
    /// Reads the identity of a local path; `None` if it is missing or remote.
    ///
    /// The volume of macOS that shows below `/` has that one's identity: `/Users` is a directory of it by another path (firmlink).
    fn of(path: &Path) -> Option<Self> {
        let is_macos = cfg!(any(test, feature = "portable", target_vendor = "apple"));
        let is_data = is_macos && path == Path::new("/System/Volumes/Data");
        let path = if is_data { Path::new("/") } else { path };
        let found = fs::metadata(path).ok().filter(|_| path.is_absolute())?;
        Some(Self(found.dev(), found.ino()))
    }
}

/// Identities of paths, each of which is looked at once: roots and secret places share most of their parents.
#[derive(Clone, Debug, Default)]
struct Identities(RefCell<HashMap<PathBuf, Option<Identity>>>);

impl Identities {
    fn of(&self, path: &Path) -> Option<Identity> {
        let mut known = self.0.borrow_mut();
        match known.get(path) {
            Some(found) => *found,
            None => *known.entry(path.to_path_buf()).or_insert(Identity::of(path)),
        }
    }
}

/// Identities of a root and of the directories above it, without the top of this machine, which holds everything.
struct Above<'i> {
    above: Vec<Identity>,
    identities: &'i Identities,
}

impl<'i> Above<'i> {
    fn of(root: &Path, identities: &'i Identities) -> Self {
        let mut above: Vec<Identity> = root.ancestors().filter_map(|at| identities.of(at)).collect();
        let top = identities.of(Path::new("/"));
        above.retain(|above| Some(*above) != top);
        Self { above, identities }
    }

    /// Returns true if the root is in `place` under another path (a bind mount of it or of a directory in it).
    fn lies_in(&self, place: &Path) -> bool {
        if self.above.is_empty() {
            return false;
        }
        let mut waiting = vec![place.to_path_buf()];
        let mut left = MAX_INSIDE;
        while let (Some(at), Some(fewer)) = (waiting.pop(), left.checked_sub(1)) {
            left = fewer;
            // What is not there holds nothing.
            let Some(identity) = self.identities.of(&at) else {
                continue;
            };
            if self.above.contains(&identity) {
                return true;
            }
            let entries = fs::read_dir(&at).into_iter().flatten().flatten();
            let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            waiting.extend(inner.map(|entry| entry.path()));
        }
        false
    }
}

/// Search for places below a root that is a bind mount of one of their parents.
struct ShownBelow<'i> {
    root: Option<Identity>,
    identities: &'i Identities,
}

impl<'i> ShownBelow<'i> {
    fn of(root: &Path, identities: &'i Identities) -> Self {
        Self {
            root: identities.of(root),
            identities,
        }
    }

    /// Returns the path of `place` below the root.
    fn path(&self, place: &Path) -> Option<RelPath> {
        let root = self.root?;
        let mut above = place.ancestors().skip(1);
        let above = above.find(|above| self.identities.of(above) == Some(root))?;
        below(above, place)
    }
}

/// Returns the secret places of the acting user on the other machine that `root` lies on.
fn secrets_near(transports: &Transports, root: &Path) -> Vec<PathBuf> {
    let home = transports.home_near(root);
    home.iter()
        .flat_map(|home| PLACES.iter().map(|name| home.join(name)))
        .collect()
}

/// Returns true for the root of a machine's file system.
fn is_top(root: &Path) -> bool {
    match Address::split(root) {
        // A volume is no machine.
        Some((address, path)) => !address.is_volume() && path == Path::new("/"),
        None => root == Path::new("/"),
    }
}

/// Returns the path of `place` below `root`; `None` if it is not strictly below.
pub(super) fn below(root: &Path, place: &Path) -> Option<RelPath> {
    relative(place.strip_prefix(root).ok()?)
}

fn relative(rest: &Path) -> Option<RelPath> {
    RelPath::new(rest.as_os_str().as_bytes())
        .ok()
        .filter(|path| !path.is_root())
}

/// Adds the files that links in a secret place lead to, at any depth. A directory that a link leads to may be a project: of that, the files
/// that only their owner may read, unless it holds the home.
fn links_in(place: &Path, home: &Path, linked: &mut Vec<PathBuf>) {
    let mut waiting = VecDeque::from([(place.to_path_buf(), false)]);
    let mut seen = HashSet::new();
    let mut left = MAX_LINKED;
    while let Some((directory, is_elsewhere)) = waiting.pop_front() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Some(fewer) = left.checked_sub(1) else { return };
            left = fewer;
            let Ok(kind) = entry.file_type() else { continue };
            let is_link = kind.is_symlink();
            if !is_link && !is_elsewhere && !kind.is_dir() {
                continue;
            }
            let target = if is_link {
                settle(&entry.path())
            } else {
                entry.path()
            };
            let Ok(found) = fs::metadata(&target) else {
                continue;
            };
            let is_elsewhere = is_elsewhere || is_link;
            if found.is_dir() {
                let is_known = is_link && (home.starts_with(&target) || target.starts_with(place));
                if !is_known && seen.insert(target.clone()) {
                    waiting.push_back((target, is_elsewhere));
                }
            } else if found.is_file() && (is_link || is_elsewhere && found.mode() & OTHERS == 0) {
                push(linked, target);
            }
        }
    }
}

fn push(places: &mut Vec<PathBuf>, place: PathBuf) {
    if !places.contains(&place) {
        places.push(place);
    }
}
