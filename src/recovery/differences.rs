//! Differences between two sides, mount by mount.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::str::FromStr;

use super::paths::{Known, in_snapshots, scopes};
use super::repositories::{repositories, settings};
use super::sides::{Later, counterpart, ensure_same_mounts, keep_covered, live, stored};
use super::{Compared, Event, Keys, Recovery, RecoveryError, Since, no_files, no_keys, refuse_imported};
use crate::capture::{CaptureError, Earlier, PrivateOverlay, ScannedTree, Show, check_mount};
use crate::diff::{
    NotCovered, Side, WithheldChange, WithheldKind, compare, compare_withheld, count_unknown, has_encrypted,
    mark_secrets, moved, pair_renames, withheld_settings,
};
use crate::model::{
    Coverage, Entry, InstanceId, Manifest, MountRecord, RelPath, SnapshotKind, SnapshotRecord,
};
use crate::restore::{RefreshedIndexes, RestoreError};
use crate::session::{find_called, find_snapshot};
use crate::store::{Blobs, InstanceRow, LockGuard, Store};

/// The later end of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// The files as they are.
    Now,
    /// A snapshot: a kind, `latest`, a checkpoint's name or number, or an id or its prefix.
    Snapshot(String),
}

impl FromStr for Until {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "now" {
            Self::Now
        } else {
            Self::Snapshot(text.to_owned())
        })
    }
}

/// Request to compare snapshots of a session, or one with the live files.
#[derive(Clone)]
pub struct DiffRequest<'a> {
    /// The session.
    pub session: &'a str,
    /// The earlier snapshot; `None` for the baseline.
    pub from: Option<&'a str>,
    /// Session of the later snapshot, on the same directories; `None` for the same session.
    pub later_session: Option<&'a str>,
    /// The later side; `None` for the closing snapshot, or the live files if the session has none.
    pub to: Option<&'a Until>,
    /// With no later side named: the live files.
    pub now: bool,
    /// Only these paths and everything below them.
    pub paths: &'a [OsString],
    /// Globs in gitignore syntax, relative to the current directory: what they match is skipped.
    pub excluded: &'a [String],
    /// Reads every file, whatever its size and times say.
    pub check_content: bool,
    /// Shows secrets.
    pub show_secrets: bool,
    /// Shows a file that was moved as one change.
    pub pairs_renames: bool,
    /// Private keys for encrypted files.
    pub keys: Keys<'a>,
}

impl<'a> DiffRequest<'a> {
    /// Returns the request to compare the baseline of a session with its end, or with the live files while it is active.
    #[must_use]
    pub fn of(session: &'a str) -> Self {
        Self {
            session,
            from: None,
            later_session: None,
            to: None,
            now: false,
            paths: &[],
            excluded: &[],
            check_content: false,
            show_secrets: false,
            pairs_renames: true,
            keys: &no_keys,
        }
    }
}

/// Comparison of a session's snapshots, with its store.
pub struct SessionDiff {
    /// The store.
    pub store: Store,
    /// The session.
    pub row: InstanceRow,
    /// Differences between both sides.
    pub found: Differences,
    /// Keeps archives from being deleted while they are read.
    _needed: LockGuard,
}

impl std::ops::Deref for SessionDiff {
    type Target = Differences;

    fn deref(&self) -> &Differences {
        &self.found
    }
}

/// Parameters of a comparison.
pub struct Question<'a> {
    /// The earlier snapshot; without it the baseline.
    pub from: Option<&'a str>,
    /// Session of the later snapshot; `None` for the same one.
    pub later_row: Option<&'a InstanceRow>,
    /// The later side.
    pub to: &'a Until,
    /// Only these and what lies below them.
    pub paths: &'a [OsString],
    /// Globs of paths that are skipped.
    pub excluded: &'a [String],
    /// Every file is read, whatever its size and times say.
    pub check_content: bool,
    /// Secrets are told, too.
    pub show_secrets: bool,
    /// A file that was moved is one change.
    pub pairs_renames: bool,
    /// Look also at what became of each path after the later snapshot.
    pub marks_since: bool,
}

/// Differences between two sides.
pub struct Differences {
    /// The earlier snapshot.
    pub from: SnapshotRecord,
    /// By mount.
    pub mounts: Vec<Compared>,
    later: Later,
    blobs: Blobs,
    later_blobs: Option<Blobs>,
}

impl Differences {
    /// Returns true if any mount differs.
    #[must_use]
    pub fn are_any(&self) -> bool {
        let differs = |mount: &Compared| {
            !mount.comparison.changes.is_empty()
                || !mount.withheld.is_empty()
                || count_unknown(&mount.comparison.not_covered) > 0
        };
        self.mounts.iter().any(differs)
    }

    /// Returns true if a restore to the earlier side has something left to do, as far as that is known.
    #[must_use]
    pub fn left_to_undo(&self) -> bool {
        let is_left = |mount: &Compared| {
            let mut changes = mount.comparison.changes.iter();
            changes.any(|change| mount.since(change) != Some(Since::Reverted)) || !mount.withheld.is_empty()
        };
        self.mounts.iter().any(is_left)
    }

    /// Returns true if a change was edited after the later snapshot.
    #[must_use]
    pub fn edited(&self) -> bool {
        let edited = |mount: &Compared| {
            let mut changes = mount.comparison.changes.iter();
            changes.any(|change| mount.since(change) == Some(Since::Edited))
        };
        self.mounts.iter().any(edited)
    }

    /// Counts paths unchanged between both snapshots that differ from the later one now.
    #[must_use]
    pub fn edited_elsewhere(&self) -> u64 {
        let elsewhere = |mount: &Compared| {
            let changes = mount.comparison.changes.iter();
            let told: BTreeSet<&RelPath> = changes
                .flat_map(|change| [Some(&change.path), change.from_path.as_ref()])
                .flatten()
                .collect();
            mount.since.keys().filter(|path| !told.contains(path)).count() as u64
        };
        self.mounts.iter().map(elsewhere).sum()
    }

    /// The later side: the id of a snapshot, or `now`.
    #[must_use]
    pub fn to(&self) -> String {
        match &self.later {
            Later::Now => "now".to_owned(),
            Later::Snapshot(record) => record.id.to_string(),
        }
    }

    /// The later side, when it is a snapshot.
    #[must_use]
    pub fn later(&self) -> Option<&SnapshotRecord> {
        match &self.later {
            Later::Now => None,
            Later::Snapshot(record) => Some(record),
        }
    }

    /// Returns the contents of the earlier snapshot.
    #[must_use]
    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Returns the contents of the later snapshot; `None` if the later side is the live files.
    #[must_use]
    pub fn later_blobs(&self) -> Option<&Blobs> {
        self.later_blobs.as_ref()
    }
}

impl Recovery<'_> {
    /// Compares two snapshots of a session, or one with the live files. An orphaned session is closed first.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, DiffRequest, Recovery};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let environment = Environment { home: Some(scratch.path().join("home")), ..Environment::default() };
    /// # let project = scratch.path().join("project");
    /// # std::fs::create_dir(&project)?;
    /// # let recovery = Recovery::open(&environment);
    /// # let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// let session = recovery.begin(&(&contract).into())?.into_id();
    /// std::fs::write(project.join("new"), "")?;
    /// let found = recovery.diff(&DiffRequest::of(session.as_str()))?;
    /// let changes = &found.mounts[0].comparison.changes;
    /// assert_eq!(changes[0].path.as_bytes(), b"new");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Self::session`] and [`Self::compare`].
    pub fn diff(&self, request: &DiffRequest<'_>) -> Result<SessionDiff, RecoveryError> {
        let (store, row) = self.session(request.session)?;
        let (store, later_row) = match request.later_session {
            None => (store, None),
            Some(later) => {
                let later = find_called(&store, self.environment, later)?;
                let (store, later) = self.settled(store, later)?;
                ensure_same_mounts(&row, &later)?;
                (store, Some(later))
            }
        };
        let store = store.unlocked_by((request.keys)()?);
        let needed = store.share()?;
        let to = later_side(&store, &row, request)?;
        let question = Question {
            from: request.from,
            later_row: later_row.as_ref(),
            to: &to,
            paths: request.paths,
            excluded: request.excluded,
            check_content: request.check_content,
            show_secrets: request.show_secrets,
            pairs_renames: request.pairs_renames,
            marks_since: request.to.is_none(),
        };
        let found = self.compare(&store, &row, &question)?;
        Ok(SessionDiff {
            store,
            row,
            found,
            _needed: needed,
        })
    }

    /// Compares two sides in a store that is open. The caller holds the archives.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if a snapshot is not found; [`RecoveryError::Nowhere`] and its like for a path;
    /// [`RecoveryError::Store`]; [`RecoveryError::Capture`].
    pub fn compare(
        &self,
        store: &Store,
        row: &InstanceRow,
        question: &Question<'_>,
    ) -> Result<Differences, RecoveryError> {
        let from = find_snapshot(store, row, question.from.unwrap_or("baseline"));
        let from = store.record(&from.map_err(|error| no_files(row, error))?.id)?;
        let later = match question.to {
            Until::Now => {
                refuse_imported(row)?;
                Later::Now
            }
            Until::Snapshot(name) => {
                let snapshot = find_snapshot(store, question.later_row.unwrap_or(row), name)?;
                Later::Snapshot(Box::new(store.record(&snapshot.id)?))
            }
        };
        let coverages: Vec<Coverage> = from.mounts.iter().map(|mount| mount.coverage.clone()).collect();
        let later_id = match &later {
            Later::Now => None,
            Later::Snapshot(record) => Some(record.id.clone()),
        };
        let recorded = in_snapshots(store, [from.id.clone()].into_iter().chain(later_id).collect());
        let scopes = scopes(
            self.environment,
            &coverages,
            question.paths,
            question.excluded,
            &recorded,
        )?;
        let mut mounts = Vec::new();
        let mut blobs = store.contents(&from);
        let mut later_blobs = match &later {
            Later::Now => None,
            Later::Snapshot(record) => Some(store.contents(record)),
        };
        for (mount, scope) in from.mounts.iter().zip(&scopes) {
            if let Later::Now = later {
                check_mount(store.transports(), mount).map_err(CaptureError::from)?;
            }
            let mut reveal = PrivateOverlay::of(store, &mount.coverage, Show::Stored)?;
            let plain = store.manifest(&from, mount)?;
            let (before, _) = reveal.shown(store, &from, mount, plain.clone())?;
            let mut after = match &later {
                Later::Now => live(
                    self.services.observer,
                    store,
                    &mount.coverage,
                    // Nothing private: a look takes names from it.
                    plain.as_ref().map(|manifest| Earlier {
                        manifest,
                        started_at: mount.started_at,
                        same_rules: true,
                        written_back: mount.written_back,
                    }),
                    question.check_content,
                )?,
                Later::Snapshot(record) => stored(store, record, &mount.coverage, &row.id, &mut reveal)?,
            };
            if let (Later::Now, Some(now)) = (&later, &mut after.manifest) {
                reveal.now(now, mount);
            }
            blobs.lend(reveal.lent());
            if let Some(blobs) = &mut later_blobs {
                blobs.lend(reveal.lent());
            }
            let skipped: Vec<_> = after.skipped.iter().map(|skipped| &skipped.path).collect();
            let lacks: Vec<_> = [&before, &after.manifest]
                .into_iter()
                .flatten()
                .flat_map(|manifest| manifest.gaps().map(|(path, _)| path))
                .collect();
            let known = Known {
                sides: &[before.as_ref(), after.manifest.as_ref()],
                elsewhere: &skipped.into_iter().chain(&lacks).collect::<Vec<_>>(),
                described: &format!(
                    "is on neither side: not in the {} snapshot, nor later",
                    from.kind.word()
                ),
            };
            known.check(&mount.coverage, scope, &row.id)?;
            let from = Side {
                manifest: before.as_ref(),
                skipped: &[],
            };
            let to = Side {
                manifest: after.manifest.as_ref(),
                skipped: &after.skipped,
            };
            let mut comparison = compare(&from, &to);
            if let Later::Snapshot(record) = &later
                && let Some(other) = counterpart(record, &mount.coverage, &row.id)
            {
                let sides = [(&mount.coverage, &row.id), (&other.coverage, &record.instance)];
                keep_covered(&mut comparison, sides);
            }
            let asked = scope;
            let sides = [before.as_ref(), after.manifest.as_ref()];
            let changes = &comparison.changes;
            let resolved = scope.resolved(&sides, changes, &|| moved(changes));
            let scope = &resolved.map_err(RestoreError::from)?.scope;
            comparison.changes.retain(|change| scope.holds(&change.path));
            comparison
                .not_covered
                .retain(|gap| scope.holds(&gap.path) || asked.holds(&gap.path));
            mark_secrets(&mount.coverage.root.to_path(), sides, &mut comparison.changes);
            let repositories = repositories(
                &mount.coverage,
                (before.as_ref(), &blobs),
                (after.manifest.as_ref(), later_blobs.as_ref()),
                &comparison.changes,
                question.show_secrets,
            );
            let mut settings = settings(
                &mount.coverage,
                (before.as_ref(), &blobs),
                (after.manifest.as_ref(), later_blobs.as_ref()),
                &comparison.changes,
                (question.show_secrets, store.is_unlocked()),
            );
            let since = match &later {
                // An imported session's paths are those of another machine.
                Later::Snapshot(_) if question.marks_since && !row.is_imported() => {
                    let earlier = plain.as_ref().map(|manifest| Earlier {
                        manifest,
                        started_at: mount.started_at,
                        written_back: mount.written_back,
                        same_rules: true,
                    });
                    // Where nothing is mounted now everything would look deleted.
                    let live = check_mount(store.transports(), mount)
                        .map_err(|error| RecoveryError::from(CaptureError::from(error)))
                        .and_then(|()| {
                            live(
                                self.services.observer,
                                store,
                                &mount.coverage,
                                earlier,
                                question.check_content,
                            )
                        });
                    let mut found = match live {
                        Ok(now) => since(
                            (store, &row.id),
                            (before.as_ref(), after.manifest.as_ref()),
                            now,
                            &mut reveal,
                            mount,
                        ),
                        Err(error) => {
                            self.report(Event::EditsUnknown(error));
                            BTreeMap::new()
                        }
                    };
                    found.retain(|path, _| scope.holds(path) || asked.holds(path));
                    found
                }
                _ => BTreeMap::new(),
            };
            if question.pairs_renames {
                comparison.changes = pair_renames(comparison.changes);
            }
            let facts = later.withheld(&reveal, &mount.coverage, &row.id);
            // Another store's key made the digests of what was imported.
            let is_comparable =
                matches!(later, Later::Snapshot(_)) || !store.catalog().is_adopted(&row.id)?;
            let mut withheld = compare_withheld(mount, facts.filter(|_| is_comparable));
            let is_encrypted = has_encrypted(mount, &withheld);
            comparison.not_covered.retain(|gap| !is_encrypted(&gap.path));
            let sides = (before.as_ref(), after.manifest.as_ref());
            // With the key both sides show the secret itself.
            let is_opened = |change: &WithheldChange| {
                change.kind == WithheldKind::Secret && reveal.has_opened(&change.path)
            };
            withheld.retain(|change| {
                let is_told = change.is_told_by(sides) || is_opened(change);
                (scope.holds(&change.path) || asked.holds(&change.path)) && !is_told
            });
            settings.extend(withheld_settings(&withheld, &mount.coverage));
            settings.sort_by_cached_key(|setting| {
                let file = setting.key.is_empty().then(|| setting.path.clone());
                (!setting.grants, file.is_some(), file)
            });
            // What is said of it is said once.
            let is_told = |gap: &NotCovered| withheld.iter().any(|change| change.path == gap.path);
            comparison.not_covered.retain(|gap| !is_told(gap));
            mounts.push(Compared {
                coverage: mount.coverage.clone(),
                comparison,
                repositories,
                settings,
                withheld,
                since,
            });
        }
        Ok(Differences {
            from,
            mounts,
            later,
            blobs,
            later_blobs,
        })
    }
}

/// Returns the later side: what was asked for, else what the session left; the live files while it is active, or if files are to
/// be read anyway.
fn later_side(store: &Store, row: &InstanceRow, request: &DiffRequest<'_>) -> Result<Until, RecoveryError> {
    if let Some(to) = request.to {
        return Ok(to.clone());
    }
    let closing = SnapshotKind::Closing;
    let snapshots = store.catalog().snapshots(&row.id)?;
    let is_closed = row.ended_at.is_some() && snapshots.iter().any(|snapshot| snapshot.kind == closing);
    if request.now || !is_closed {
        return Ok(Until::Now);
    }
    // After the end there is only what came since.
    let from = request
        .from
        .map(|from| find_snapshot(store, row, from))
        .transpose();
    let from = from.map_err(|error| no_files(row, error))?;
    let is_after =
        from.is_some_and(|from| matches!(from.kind, SnapshotKind::Closing | SnapshotKind::Emergency));
    Ok(match is_after {
        true => Until::Now,
        false => Until::Snapshot(closing.word().to_owned()),
    })
}

/// Compares live files with the later snapshot. Paths that cannot be read now are not included, nor is an index that git only refreshed.
fn since(
    from: (&Store, &InstanceId),
    (before, after): (Option<&Manifest>, Option<&Manifest>),
    mut now: ScannedTree,
    reveal: &mut PrivateOverlay,
    mount: &MountRecord,
) -> BTreeMap<RelPath, Since> {
    if let Some(now) = &mut now.manifest {
        reveal.now(now, mount);
    }
    let live = Side {
        manifest: now.manifest.as_ref(),
        skipped: &now.skipped,
    };
    let differing = |manifest| {
        let stored = Side {
            manifest,
            skipped: &[],
        };
        let changes = compare(&stored, &live).changes.into_iter();
        changes.map(|change| change.path).collect::<BTreeSet<_>>()
    };
    let from_before = differing(before);
    let mut from_after = differing(after);
    if let (Some(after), Some(now)) = (after, &now.manifest) {
        let then = |path: &RelPath| after.entry(path);
        let known = |path: &RelPath| then(path).and_then(Entry::content).into_iter().collect();
        let refreshed = RefreshedIndexes::find(from, &mount.coverage.root.to_path(), now, known);
        from_after.retain(|path| match (then(path), now.entry(path)) {
            (Some(then), Some(now)) => !refreshed.holds(path, then, now),
            _ => true,
        });
    }
    let from_after = from_after.into_iter();
    from_after
        .map(|path| match from_before.contains(&path) {
            true => (path, Since::Edited),
            false => (path, Since::Reverted),
        })
        .collect()
}
