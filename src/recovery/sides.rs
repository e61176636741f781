//! The two sides of a `diff`: a snapshot, and a later one or the files as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::RecoveryError;
use crate::capture::{Earlier, Latest, LiveScan, PrivateOverlay, ScannedTree, look};
use crate::contract::{Matcher, Verdict};
use crate::diff::{Comparison, NotCovered};
use crate::model::{Coverage, InstanceId, MountRecord, SnapshotRecord, WithheldFact};
use crate::model::{Entry, RelPath};
use crate::observer::Observer;
use crate::store::{InstanceRow, Store};

/// The later side.
pub(super) enum Later {
    Now,
    Snapshot(Box<SnapshotRecord>),
}

impl Later {
    /// Returns the facts about private files on this side; `None` if they are unknown.
    pub(super) fn withheld<'a>(
        &'a self,
        reveal: &'a PrivateOverlay,
        coverage: &Coverage,
        session: &InstanceId,
    ) -> Option<&'a [WithheldFact]> {
        let Self::Snapshot(record) = self else {
            return reveal.facts();
        };
        let same = counterpart(record, coverage, session);
        Some(same.map(|mount| mount.withheld.as_slice()).unwrap_or_default())
    }
}

/// The files as they are.
pub(super) fn live(
    observer: &dyn Observer,
    store: &Store,
    coverage: &Coverage,
    before: Option<Earlier<'_>>,
    check_content: bool,
) -> Result<ScannedTree, RecoveryError> {
    let latest = Latest::find(store, coverage);
    let reference = latest.as_ref().map(Latest::earlier).or(before);
    Ok(look(
        &LiveScan {
            coverage,
            layout: store.layout(),
            reference,
            check_content,
        },
        observer,
    )?)
}

/// Returns the mount of a snapshot that a mount of `session` is compared with: of another session the one on the same directory.
pub(super) fn counterpart<'r>(
    record: &'r SnapshotRecord,
    coverage: &Coverage,
    session: &InstanceId,
) -> Option<&'r MountRecord> {
    let is_same = |other: &Coverage| match record.instance == *session {
        true => other.label == coverage.label,
        false => (&other.root, other.state) == (&coverage.root, coverage.state),
    };
    let mut mounts = record.mounts.iter();
    mounts.find(|mount| is_same(&mount.coverage))
}

/// Reads the manifest that a snapshot has for the mount with this coverage.
pub(super) fn stored(
    store: &Store,
    record: &SnapshotRecord,
    coverage: &Coverage,
    session: &InstanceId,
    reveal: &mut PrivateOverlay,
) -> Result<ScannedTree, RecoveryError> {
    let manifest = match counterpart(record, coverage, session) {
        Some(mount) => reveal.stored_manifest(store, record, mount)?.0,
        None => None,
    };
    Ok(ScannedTree {
        manifest,
        skipped: Vec::new(),
        layered: false,
    })
}

/// Fails unless two sessions cover the same directories. Agents' state is compared where both have it.
pub(super) fn ensure_same_mounts(earlier: &InstanceRow, later: &InstanceRow) -> Result<(), RecoveryError> {
    let roots = |row: &InstanceRow| -> BTreeSet<PathBuf> {
        let projects = row.mounts.iter().filter(|mount| !mount.state);
        projects.map(|mount| mount.root.to_path()).collect()
    };
    let (one, other) = (roots(earlier), roots(later));
    match one == other {
        true => Ok(()),
        false => Err(RecoveryError::OtherMounts {
            earlier: (earlier.id.clone(), one.into_iter().collect()),
            later: (later.id.clone(), other.into_iter().collect()),
        }),
    }
}

/// Moves changes that only one side covers to the paths that cannot be compared: an exclude that one session has and the other has not
/// adds and deletes nothing.
pub(super) fn keep_covered(comparison: &mut Comparison, sides: [(&Coverage, &InstanceId); 2]) {
    let [(one, _), (other, _)] = sides;
    let same =
        (&one.excludes, &one.tracked, &one.withheld) == (&other.excludes, &other.tracked, &other.withheld);
    let matchers = sides.map(|(coverage, session)| (Matcher::new(coverage).ok(), session));
    let [(Some(earlier), first), (Some(later), second)] = matchers else {
        return;
    };
    if same {
        return;
    }
    let mut uncovered: BTreeMap<RelPath, String> = BTreeMap::new();
    comparison.changes.retain(|change| {
        let (matcher, session) = match (&change.from, &change.to) {
            (None, _) => (&earlier, first),
            (_, None) => (&later, second),
            _ => return true,
        };
        let is_dir = [&change.from, &change.to]
            .into_iter()
            .flatten()
            .any(Entry::is_dir);
        match uncovered_top(matcher, &change.path, is_dir) {
            None => true,
            Some((top, why)) => {
                uncovered.entry(top).or_insert_with(|| format!("{session} {why}"));
                false
            }
        }
    });
    let gaps = uncovered.into_iter();
    comparison
        .not_covered
        .extend(gaps.map(|(path, reason)| NotCovered {
            path,
            reason,
            is_one_sided: false,
        }));
    comparison.not_covered.sort_by(|a, b| a.path.cmp(&b.path));
}

/// Returns the highest path on the way to `path` that a coverage does not hold, and the reason.
fn uncovered_top(matcher: &Matcher, path: &RelPath, is_dir: bool) -> Option<(RelPath, String)> {
    let above = path.ancestors().filter(|above| !above.is_root());
    let on_the_way = above.map(|above| (above, true)).chain([(path.clone(), is_dir)]);
    for (at, is_dir) in on_the_way {
        match matcher.verdict(&at, is_dir) {
            Verdict::Covered => {}
            Verdict::OutsideTracked if matcher.is_on_the_way(&at) => {}
            Verdict::Excluded(rule) => return Some((at, format!("excludes it with {}", rule.pattern))),
            Verdict::Withheld(_) | Verdict::OutsideTracked => {
                return Some((at, "does not cover it".to_owned()));
            }
        }
    }
    None
}
