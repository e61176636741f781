//! Looks at the live mounts and proposes a plan for each.

use super::RestoreError;
use super::later_steps::name_later_steps;
use super::planner::plan;
use super::proposal::{MountRequest, Proposal, ProposedMount, Purpose};
use super::scope::{Allow, Scope};
use super::stage::Location;
use crate::capture::{Earlier, Latest, LiveScan, Note, PrivateOverlay, Show, Skipped, check_mount, look};
use crate::diff::{Change, Side, WithheldChange, compare, compare_withheld};
use crate::model::{Manifest, RelPath, SnapshotRecord};
use crate::observer::Observer;
use crate::store::Store;

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
    let Ok(root) = handle_fs::Root::open(root) else {
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
        if stat.kind != handle_fs::NodeKind::Directory {
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
                if stat.kind == handle_fs::NodeKind::Directory {
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
