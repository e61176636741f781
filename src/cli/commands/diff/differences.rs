//! Differences between two sides, mount by mount.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use super::sides::{Later, live, stored};
use crate::capture::{CaptureError, Earlier, PrivateOverlay, ScannedTree, Show, check_mount};
use crate::cli::args::Until;
use crate::cli::context::Context;
use crate::cli::document::{
    ChangeDocument, DiffDocument, Head, ReasonDocument, RepositoryDocument, SettingDocument,
};
use crate::cli::error::CliError;
use crate::cli::named_session::{nothing, refuse_imported};
use crate::cli::paths;
use crate::cli::report::{Compared, Since};
use crate::cli::repositories::{repositories, settings};
use crate::cli::view;
use crate::diff::{NotCovered, Side, compare, compare_withheld, pair_renames, withheld_settings};
use crate::model::{Coverage, Manifest, MountRecord, RelPath, SnapshotRecord};
use crate::restore::Scope;
use crate::session::find_snapshot;
use crate::store::{Blobs, InstanceRow, Store};

/// Parameters of a comparison.
pub(in crate::cli) struct Question<'a> {
    /// The earlier snapshot; without it the baseline.
    pub(in crate::cli) from: Option<&'a str>,
    /// The later side.
    pub(in crate::cli) to: &'a Until,
    /// Only these and what lies below them.
    pub(in crate::cli) paths: &'a [OsString],
    /// Every file is read, whatever its size and times say.
    pub(in crate::cli) check_content: bool,
    /// Secrets are told, too.
    pub(in crate::cli) show_secrets: bool,
    /// A file that was moved is one change.
    pub(in crate::cli) pairs_renames: bool,
    /// Look also at what became of each path after the later snapshot.
    pub(in crate::cli) marks_since: bool,
}

/// Differences between two sides.
pub(in crate::cli) struct Differences {
    /// The earlier snapshot.
    pub(in crate::cli) from: SnapshotRecord,
    /// By mount.
    pub(in crate::cli) mounts: Vec<Compared>,
    pub(super) later: Later,
    blobs: Blobs,
    later_blobs: Option<Blobs>,
}

impl Differences {
    /// Returns true if any mount differs.
    pub(in crate::cli) fn are_any(&self) -> bool {
        let differs = |mount: &Compared| !mount.comparison.changes.is_empty() || !mount.withheld.is_empty();
        self.mounts.iter().any(differs)
    }

    /// Returns true if a restore to the earlier side has something left to do, as far as that is known.
    pub(super) fn left_to_undo(&self) -> bool {
        let is_left = |mount: &Compared| {
            let mut changes = mount.comparison.changes.iter();
            changes.any(|change| mount.since(change) != Some(Since::Reverted)) || !mount.withheld.is_empty()
        };
        self.mounts.iter().any(is_left)
    }

    /// Returns true if a change was edited after the later snapshot.
    pub(super) fn edited(&self) -> bool {
        let edited = |mount: &Compared| {
            let mut changes = mount.comparison.changes.iter();
            changes.any(|change| mount.since(change) == Some(Since::Edited))
        };
        self.mounts.iter().any(edited)
    }

    /// Counts paths unchanged between both snapshots that differ from the later one now.
    pub(super) fn edited_elsewhere(&self) -> u64 {
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
    pub(in crate::cli) fn to(&self) -> String {
        match &self.later {
            Later::Now => "now".to_owned(),
            Later::Snapshot(record) => record.id.to_string(),
        }
    }

    /// The later side, when it is a snapshot.
    pub(in crate::cli) fn later(&self) -> Option<&SnapshotRecord> {
        match &self.later {
            Later::Now => None,
            Later::Snapshot(record) => Some(record),
        }
    }

    /// Returns the contents that the lines of a patch are read from.
    pub(in crate::cli) fn sources(&self, hides_private: bool) -> view::patch::Sources<'_> {
        view::patch::Sources {
            from: &self.blobs,
            to: self.later_blobs.as_ref(),
            hides_private,
        }
    }
}

/// Compares two sides. The caller holds the archives.
pub(in crate::cli) fn differences(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
    question: &Question<'_>,
) -> Result<Differences, CliError> {
    let from = find_snapshot(store, row, question.from.unwrap_or("baseline"));
    let from = store.record(&from.map_err(|error| nothing(row, error))?.id)?;
    let later = match question.to {
        Until::Now => {
            refuse_imported(row)?;
            Later::Now
        }
        Until::Snapshot(name) => {
            let snapshot = find_snapshot(store, row, name)?;
            Later::Snapshot(Box::new(store.record(&snapshot.id)?))
        }
    };
    let coverages: Vec<Coverage> = from.mounts.iter().map(|mount| mount.coverage.clone()).collect();
    let scopes = paths::scopes(context.environment, &coverages, question.paths)?;
    let mut mounts = Vec::new();
    let mut blobs = store.contents(&from);
    let mut later_blobs = match &later {
        Later::Now => None,
        Later::Snapshot(record) => Some(store.contents(record)),
    };
    for (mount, scope) in from.mounts.iter().zip(&scopes) {
        if let Later::Now = later {
            check_mount(mount).map_err(CaptureError::from)?;
        }
        let mut reveal = PrivateOverlay::of(store, &mount.coverage, Show::Stored)?;
        let plain = store.manifest(&from, mount)?;
        let (before, _) = reveal.shown(store, &from, mount, plain.clone())?;
        let mut after = match &later {
            Later::Now => live(
                context,
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
            Later::Snapshot(record) => stored(store, record, &mount.coverage, &mut reveal)?,
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
        let known = paths::Known {
            sides: &[before.as_ref(), after.manifest.as_ref()],
            elsewhere: &skipped.into_iter().chain(&lacks).collect::<Vec<_>>(),
            described: &format!(
                "is on neither side: not in the {} snapshot, nor later",
                from.kind.word()
            ),
        };
        known.check(&mount.coverage, scope, row.id.as_str())?;
        let from = Side {
            manifest: before.as_ref(),
            skipped: &[],
        };
        let to = Side {
            manifest: after.manifest.as_ref(),
            skipped: &after.skipped,
        };
        let mut comparison = compare(&from, &to);
        let scope = &scope.with_renames(&comparison.changes);
        comparison.changes.retain(|change| scope.holds(&change.path));
        comparison
            .not_covered
            .retain(|gap| scope.holds(&gap.path) || *scope == Scope::All);
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
            Later::Snapshot(_) if question.marks_since => {
                let earlier = plain.as_ref().map(|manifest| Earlier {
                    manifest,
                    started_at: mount.started_at,
                    written_back: mount.written_back,
                    same_rules: true,
                });
                // Where nothing is mounted now everything would look deleted.
                let live = check_mount(mount)
                    .map_err(|error| CliError::from(CaptureError::from(error)))
                    .and_then(|()| live(context, store, &mount.coverage, earlier, question.check_content));
                let mut found = match live {
                    Ok(now) => since(
                        (before.as_ref(), after.manifest.as_ref()),
                        now,
                        &mut reveal,
                        mount,
                    ),
                    Err(error) => {
                        context
                            .terminal
                            .warn(&format!("what was edited since cannot be told: {error}"));
                        BTreeMap::new()
                    }
                };
                found.retain(|path, _| scope.holds(path));
                found
            }
            _ => BTreeMap::new(),
        };
        if question.pairs_renames {
            comparison.changes = pair_renames(comparison.changes);
        }
        let mut withheld = compare_withheld(&mount.withheld, later.withheld(&reveal, &mount.coverage));
        let sides = (before.as_ref(), after.manifest.as_ref());
        withheld.retain(|change| scope.holds(&change.path) && !change.is_told_by(sides));
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

/// Compares live files with the later snapshot. Paths that cannot be read now are not included.
fn since(
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
    let from_after = differing(after).into_iter();
    from_after
        .map(|path| match from_before.contains(&path) {
            true => (path, Since::Edited),
            false => (path, Since::Reverted),
        })
        .collect()
}

/// Returns the differences as a JSON document.
pub(in crate::cli) fn document(row: &InstanceRow, found: &Differences) -> DiffDocument {
    let compared = &found.mounts;
    let changes = compared.iter().flat_map(|mount| {
        mount
            .comparison
            .changes
            .iter()
            .map(|change| ChangeDocument::new(&mount.coverage, change).since(mount.since(change)))
    });
    let gaps = compared.iter().flat_map(|mount| {
        mount
            .comparison
            .not_covered
            .iter()
            .map(|gap| ReasonDocument::gap(&mount.coverage, gap))
    });
    let git = compared.iter().flat_map(|mount| {
        let changed = mount.repositories.iter();
        changed.map(|change| RepositoryDocument::new(&mount.coverage, change))
    });
    let withheld = compared.iter().flat_map(|mount| {
        let changed = mount.withheld.iter();
        changed
            .map(|change| ReasonDocument::new(&mount.coverage, &change.path, change.kind.words().to_owned()))
    });
    DiffDocument {
        git: git.collect(),
        withheld: withheld.collect(),
        state: compared
            .iter()
            .flat_map(|mount| {
                let settings = mount.settings.iter();
                settings.map(|setting| SettingDocument::new(&mount.coverage, setting))
            })
            .collect(),
        head: Head::default(),
        instance: row.id.to_string(),
        from: found.from.id.to_string(),
        to: found.to(),
        changes: changes.collect(),
        not_covered: gaps.collect(),
    }
}
