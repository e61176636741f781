//! Changes of a running session as they happen: the live files compared with the baseline again and again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::sides::live;
use super::{Recovery, RecoveryError, no_files, refuse_imported};
use crate::capture::{CaptureError, Earlier, LiveScan, PrivateOverlay, Show, check_mount, look};
use crate::diff::{Change, Side, compare, mark_secrets};
use crate::model::{Coverage, Entry, Manifest, MountRecord, RelPath, SnapshotKind, Time};
use crate::process::{cpu_time, is_alive};
use crate::session::{SessionError, find_snapshot, is_active};
use crate::store::{InstanceRow, Store};

/// Shortest interval between two looks.
const SHORTEST: Duration = Duration::from_secs(2);
/// Longest interval between two looks.
const LONGEST: Duration = Duration::from_secs(120);
/// Interval as a multiple of the processor time that a look takes: 4 % of one core.
const MULTIPLE: u32 = 25;

/// A running session whose files are compared with its baseline.
pub struct Watch {
    /// The session.
    pub row: InstanceRow,
    store: Store,
    mounts: Vec<WatchedTree>,
    hold: Hold,
    /// Processor time of the last look.
    cost: Duration,
}

/// Evidence that the session lives, which is cheap to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// Its launcher holds its lock.
    Lock,
    /// Its keeper lives.
    Keeper,
    /// Only its other processes, or the lack of an `end`.
    Other,
}

impl Hold {
    fn of(store: &Store, row: &InstanceRow) -> Self {
        if store.instance_locked(&row.id).unwrap_or_default() {
            Self::Lock
        } else if row.keeper.as_ref().is_some_and(is_alive) {
            Self::Keeper
        } else {
            Self::Other
        }
    }
}

/// One mount of it.
struct WatchedTree {
    mount: MountRecord,
    baseline: Option<Manifest>,
    /// The last look at the files, and the time when it began.
    last: Option<(Manifest, Time)>,
    /// Changes that the last look found.
    changes: BTreeMap<RelPath, Change>,
}

/// Change that a look found and the look before did not.
#[derive(Clone, Debug)]
pub struct WatchedChange {
    /// Coverage of the mount.
    pub coverage: Coverage,
    /// Path below the mount.
    pub path: RelPath,
    /// Difference to the baseline; `None` if the path is as in the baseline again.
    pub change: Option<Change>,
}

impl Recovery<'_> {
    /// Begins to watch an active session. Its baseline is read once.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if no session or several go by this name; [`RecoveryError::NotRunning`];
    /// [`RecoveryError::Imported`]; [`RecoveryError::NoFiles`]; [`RecoveryError::Store`].
    pub fn watch(&self, wanted: &str) -> Result<Watch, RecoveryError> {
        let (store, row) = self.recorded(wanted)?;
        refuse_imported(&row)?;
        if !is_active(&store, &row) {
            return Err(RecoveryError::NotRunning(row.id));
        }
        // Held only while it is read: a session may run for days, and archives are deleted meanwhile.
        let needed = store.share()?;
        let baseline = find_snapshot(&store, &row, SnapshotKind::Baseline.word());
        let record = store.record(&baseline.map_err(|error| no_files(&row, error))?.id)?;
        let mut mounts = Vec::new();
        for mount in &record.mounts {
            let plain = store.manifest(&record, mount)?;
            let mut reveal = PrivateOverlay::of(&store, &mount.coverage, Show::Stored)?;
            let (baseline, _) = reveal.shown(&store, &record, mount, plain)?;
            mounts.push(WatchedTree {
                mount: mount.clone(),
                baseline,
                last: None,
                changes: BTreeMap::new(),
            });
        }
        drop(needed);
        let hold = Hold::of(&store, &row);
        Ok(Watch {
            row,
            store,
            mounts,
            hold,
            cost: Duration::ZERO,
        })
    }

    /// Compares the files of a watched session with its baseline, and returns what is new since the look before, sorted by path. The
    /// first look returns every change.
    ///
    /// # Errors
    /// [`RecoveryError::Capture`]; [`RecoveryError::Store`].
    pub fn look(&self, watch: &mut Watch) -> Result<Vec<WatchedChange>, RecoveryError> {
        let mut found = Vec::new();
        let before = cpu_time();
        for tree in &mut watch.mounts {
            check_mount(watch.store.transports(), &tree.mount).map_err(CaptureError::from)?;
            let now = self.look_at(&watch.store, tree)?;
            let coverage = &tree.mount.coverage;
            let reverted = tree.changes.keys().filter(|path| !now.contains_key(*path));
            let mut new: Vec<WatchedChange> = reverted
                .map(|path| WatchedChange {
                    coverage: coverage.clone(),
                    path: path.clone(),
                    change: None,
                })
                .collect();
            let differs = |change: &&Change| {
                let before = tree.changes.get(&change.path);
                before.is_none_or(|before| before.kind != change.kind || !same(before, change))
            };
            new.extend(now.values().filter(differs).map(|change| WatchedChange {
                coverage: coverage.clone(),
                path: change.path.clone(),
                change: Some(change.clone()),
            }));
            new.sort_by(|a, b| a.path.cmp(&b.path));
            tree.changes = now;
            found.append(&mut new);
        }
        watch.cost = cpu_time().saturating_sub(before);
        Ok(found)
    }

    fn look_at(
        &self,
        store: &Store,
        tree: &mut WatchedTree,
    ) -> Result<BTreeMap<RelPath, Change>, RecoveryError> {
        let mount = &tree.mount;
        let began = self.services.clock.now();
        // Unchanged stat data since the last look prove unchanged content: only new changes are read.
        let last = tree.last.as_ref().map(|(manifest, started_at)| Earlier {
            manifest,
            started_at: *started_at,
            same_rules: true,
            written_back: false,
        });
        let scanned = match last {
            Some(last) => {
                let request = LiveScan {
                    coverage: &mount.coverage,
                    layout: store.layout(),
                    reference: Some(last),
                    check_content: false,
                };
                look(&request, self.services.observer)?
            }
            None => live(self.services.observer, store, &mount.coverage, None, false)?,
        };
        let mut after = scanned.manifest.clone();
        if let Some(after) = &mut after {
            let mut reveal = PrivateOverlay::of(store, &mount.coverage, Show::Stored)?;
            reveal.now(after, mount);
        }
        let from = Side {
            manifest: tree.baseline.as_ref(),
            skipped: &[],
        };
        let to = Side {
            manifest: after.as_ref(),
            skipped: &scanned.skipped,
        };
        let mut changes = compare(&from, &to).changes;
        let root = mount.coverage.root.to_path();
        mark_secrets(&root, [from.manifest, to.manifest], &mut changes);
        tree.last = scanned.manifest.map(|manifest| (manifest, began));
        Ok(changes
            .into_iter()
            .map(|change| (change.path.clone(), change))
            .collect())
    }
}

impl Watch {
    /// Returns false once the session ended.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if its record is gone.
    pub fn is_running(&mut self) -> Result<bool, RecoveryError> {
        let unknown = || SessionError::Unknown {
            wanted: self.row.id.to_string(),
            nearest: Vec::new(),
            some_recorded: true,
        };
        self.store.look_again()?;
        self.row = self.store.catalog().instance(&self.row.id)?.ok_or_else(unknown)?;
        self.hold = Hold::of(&self.store, &self.row);
        Ok(self.row.ended_at.is_none() && is_active(&self.store, &self.row))
    }

    /// Returns false if the launcher or the keeper that held the session at the last [`Self::is_running`] is gone. Costs one system call
    /// or two.
    #[must_use]
    pub fn is_held(&self) -> bool {
        match self.hold {
            Hold::Lock => self.store.instance_locked(&self.row.id).unwrap_or(true),
            Hold::Keeper => self.row.keeper.as_ref().is_some_and(is_alive),
            Hold::Other => true,
        }
    }

    /// Returns the time to wait before the next look, so that looking takes at most 4 % of one core.
    #[must_use]
    pub fn interval(&self) -> Duration {
        (self.cost * MULTIPLE).clamp(SHORTEST, LONGEST)
    }

    /// Returns the directories that are watched.
    pub fn roots(&self) -> impl Iterator<Item = PathBuf> {
        let mounts = self.mounts.iter();
        mounts.map(|tree| tree.mount.coverage.root.to_path())
    }

    /// Returns the number of paths that differ from the baseline by the last look.
    #[must_use]
    pub fn changed(&self) -> u64 {
        let changes = self.mounts.iter().map(|tree| tree.changes.len() as u64);
        changes.sum()
    }
}

/// Returns true if both changes lead to the same content.
fn same(one: &Change, other: &Change) -> bool {
    match (&one.to, &other.to) {
        (Some(one), Some(other)) => {
            let meta = |entry: &Entry| (entry.mode, entry.uid, entry.gid, entry.flags);
            one.kind == other.kind && meta(one) == meta(other) && one.xattrs == other.xattrs
        }
        (None, None) => true,
        _ => false,
    }
}
