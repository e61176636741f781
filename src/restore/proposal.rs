//! Looks at the live mounts and proposes a plan for each.

use super::RestoreError;
use super::attribution::ChangeHistory;
use super::later_steps::name_later_steps;
use super::plan::Plan;
use super::planner::plan;
use super::scope::{Allow, Scope};
use super::stage::Location;
use crate::capture::{
    Earlier, Latest, LiveScan, Note, PrivateOverlay, ScannedTree, Show, Skipped, check_mount, look,
};
use crate::contract::PrivateFiles;
use crate::diff::{Change, NotCovered, Side, WithheldChange, WithheldKind, compare, compare_withheld};
use crate::model::{AsideStep, Coverage, Listing, Manifest, RelPath, SnapshotRecord, StepRef};
use crate::observer::Observer;
use crate::store::Store;

/// Purpose of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// `restore`.
    Restore,
    /// `restore` of this step alone.
    Step(StepRef),
    /// `undo` of the receipt with this number.
    Undo(u64),
}

/// Request for one mount of the target snapshot.
pub struct MountRequest {
    /// Its coverage, as the snapshot froze it.
    pub coverage: Coverage,
    /// Paths to restore.
    pub scope: Scope,
    /// Evidence about who changed each path.
    pub witness: ChangeHistory,
}

/// One mount with its plan and everything that the plan was made from.
pub struct ProposedMount {
    /// Request that the plan was made for.
    pub request: MountRequest,
    /// State to restore; `None` if the root did not exist.
    pub target: Option<Manifest>,
    /// Current state.
    pub now: ScannedTree,
    /// Changes to make.
    pub plan: Plan,
    /// Location of the staging directory.
    pub location: Location,
    /// Excluded paths that changed since the snapshot: they are not touched, and what they hold is not vouched for.
    pub not_checked: Vec<Skipped>,
    /// Excluded directories that go aside or come back.
    pub aside: Vec<AsideStep>,
    /// Paths that were not asked for and are the other side of a rename of which one was.
    pub also: Vec<RelPath>,
    /// Credentials that changed since the snapshot: no snapshot holds them, and none is touched.
    pub withheld: Vec<WithheldChange>,
    /// True if the snapshot stores its private files encrypted.
    pub is_sealed: bool,
    /// Secrets in settings files that do not come back, or go.
    pub notes: Vec<Note>,
    /// Content that is in no archive as it is put back.
    pub reveal: PrivateOverlay,
}

impl ProposedMount {
    /// Returns true if there is anything to do on this mount.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.plan.steps.is_empty() || !self.aside.is_empty()
    }

    /// Settings that stay although they are not what they were: they cannot be put together.
    pub fn left_alone(&self) -> impl Iterator<Item = &WithheldChange> {
        let whole = self
            .withheld
            .iter()
            .filter(|change| change.kind != WithheldKind::Secret);
        let goes = |path: &RelPath| self.aside.iter().any(|step| step.path == *path);
        let private = PrivateFiles::of(&self.request.coverage);
        whole.filter(move |change| private.is_by_key(&change.path) && !goes(&change.path))
    }

    /// The paths that the target snapshot knows and that cannot be looked at now: whether they changed cannot be told.
    pub fn hidden(&self) -> impl Iterator<Item = &NotCovered> {
        let known = |path| {
            let target = self.target.as_ref()?;
            let entry = target.entry(path)?;
            let listed = || {
                target
                    .directory(path)
                    .is_some_and(|dir| dir.listing == Listing::Proven)
            };
            (!entry.is_dir() || listed()).then_some(())
        };
        let gaps = self.plan.not_covered.iter();
        gaps.filter(move |gap| known(&gap.path).is_some())
    }
}

/// The proposal for all mounts.
pub struct Proposal {
    /// The snapshot whose state comes back.
    pub target: SnapshotRecord,
    /// Purpose of the restore.
    pub purpose: Purpose,
    /// Permissions that the operator gave.
    pub allow: Allow,
    /// The mounts.
    pub mounts: Vec<ProposedMount>,
}

impl Proposal {
    /// Returns true if there is nothing to do on any mount.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.mounts.iter().any(ProposedMount::is_busy)
    }

    /// Returns true if a path stays in any case: it has a later edit, or jackin cannot examine or restore it.
    #[must_use]
    pub fn is_in_part(&self) -> bool {
        let stays = |mount: &ProposedMount| !mount.plan.conflicts.is_empty() || self.untouched(mount) > 0;
        self.mounts.iter().any(stays)
    }

    /// Returns the number of paths that stay for another reason than a later edit.
    ///
    /// jackin cannot examine them or put them together, or the undo would need the key that the restore had.
    pub(super) fn untouched(&self, mount: &ProposedMount) -> u64 {
        let is_undo = matches!(self.purpose, Purpose::Undo(_));
        let whole = mount
            .withheld
            .iter()
            .filter(|change| change.kind != WithheldKind::Secret);
        let private = match is_undo {
            true => whole.count(),
            false => mount.left_alone().count(),
        };
        (mount.hidden().count() + private) as u64
    }
}

/// Makes the proposal. Nothing is changed.
///
/// # Errors
/// [`RestoreError`] when the store or a mount cannot be read.
pub fn propose(
    store: &Store,
    target: SnapshotRecord,
    purpose: Purpose,
    requests: Vec<MountRequest>,
    allow: Allow,
    check_content: bool,
    observer: &dyn Observer,
) -> Result<Proposal, RestoreError> {
    let mut mounts = Vec::new();
    for request in requests {
        let Some(record) = target
            .mounts
            .iter()
            .find(|m| m.coverage.label == request.coverage.label)
        else {
            continue;
        };
        // Below a mount point lies another tree than on the disk.
        check_mount(record)?;
        let mut reveal = PrivateOverlay::of(store, &request.coverage, Show::Whole)?;
        let plain = store.manifest(&target, record)?;
        let (manifest, notes) = reveal.shown(store, &target, record, plain.clone())?;
        // The latest snapshot knows most of what is there now; its digests are as good as this one's.
        let latest = Latest::find(store, &request.coverage);
        let reference = latest.as_ref().map(Latest::earlier).or_else(|| {
            // Nothing private: a look takes names from it.
            plain.as_ref().map(|manifest| Earlier {
                manifest,
                started_at: record.started_at,
                same_rules: record.coverage == request.coverage,
                written_back: record.written_back,
            })
        });
        let mut now = look(
            &LiveScan {
                coverage: &request.coverage,
                reference,
                check_content,
            },
            observer,
        )?;
        if let Some(now) = &mut now.manifest {
            reveal.now(now, record);
        }
        let side = Side {
            manifest: now.manifest.as_ref(),
            skipped: &now.skipped,
        };
        let asked = request.scope;
        let scope = match asked {
            Scope::Below(_) => asked.with_renames(&differing(manifest.as_ref(), &side)),
            Scope::All | Scope::Exactly(_) => asked.clone(),
        };
        let also = scope.beyond(&asked);
        let request = MountRequest { scope, ..request };
        let plan = plan(manifest.as_ref(), &side, &request.witness, &request.scope, allow);
        let root = request.coverage.root.to_path();
        let not_checked = changed_since(&root, &now.skipped, record.started_at);
        let mut withheld = compare_withheld(&record.withheld, reveal.facts());
        let sides = (manifest.as_ref(), now.manifest.as_ref());
        let holds = |change: &WithheldChange| request.scope.holds(&change.path) && !change.is_told_by(sides);
        withheld.retain(holds);
        let is_planned = |note: &Note| plan.steps.iter().any(|step| step.change.path == note.path);
        let notes = notes.into_iter().filter(is_planned).collect();
        mounts.push(ProposedMount {
            withheld,
            notes,
            is_sealed: record.sealed.is_some(),
            reveal,
            location: Location::choose(&root),
            request,
            target: manifest,
            now,
            plan,
            not_checked,
            aside: Vec::new(),
            also,
        });
    }
    if let Purpose::Step(step) = &purpose {
        name_later_steps(store, &target.instance, step, &mut mounts)?;
    }
    Ok(Proposal {
        target,
        purpose,
        allow,
        mounts,
    })
}

/// All that differs, whatever was asked for.
fn differing(target: Option<&Manifest>, now: &Side<'_>) -> Vec<Change> {
    let target = Side {
        manifest: target,
        skipped: &[],
    };
    compare(&target, now).changes
}

/// The excluded paths that hold anything newer than `since`. Looked at without end conditions but one: after so many
/// entries a tree counts as changed.
fn changed_since(root: &std::path::Path, skipped: &[Skipped], since: crate::model::Time) -> Vec<Skipped> {
    const ENOUGH: u32 = 20_000;
    let Ok(root) = crate::mount::Root::open(root) else {
        return Vec::new();
    };
    let newer = |path: &RelPath| -> std::io::Result<bool> {
        let Some((parent, name)) = path.split() else {
            return Ok(false);
        };
        let dir = root.dir(&parent)?;
        let Some(stat) = dir.look(name.as_os_str())? else {
            return Ok(false);
        };
        if stat.ctime > since {
            return Ok(true);
        }
        if stat.kind != crate::platform::NodeKind::Directory {
            return Ok(false);
        }
        let mut seen = 0;
        let mut stack = vec![path.clone()];
        while let Some(at) = stack.pop() {
            let dir = root.dir(&at)?;
            for name in dir.names()? {
                let Some(stat) = dir.look(name.as_os_str())? else {
                    return Ok(true);
                };
                seen += 1;
                if stat.ctime > since || seen > ENOUGH {
                    return Ok(true);
                }
                if stat.kind == crate::platform::NodeKind::Directory {
                    stack.push(at.join(&name));
                }
            }
        }
        Ok(false)
    };
    // What cannot be looked at cannot be vouched for.
    skipped
        .iter()
        .filter(|skipped| newer(&skipped.path).unwrap_or(true))
        .cloned()
        .collect()
}
