//! Proposal of a restore: reads the target, scans the live trees, plans each mount, and names the later steps that changed a kept path.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::RestoreError;
use super::composed::{amend, check};
use super::databases::Databases;
use super::encrypted::encrypted;
use super::folded_names::FoldedNames;
use super::git_index::RefreshedIndexes;
use super::git_links::{GitLinks, KnownStates};
use super::git_objects::DeletedObjects;
use super::head_move::head_moves;
use super::hidden;
use super::left_tree::left_since;
use super::lost_edits::{LostEdit, OperatorState, add_objects, lost_edits};
use super::merging::{MergeSource, stored};
use super::moved_away::session_moves;
use super::older::{Captured, older_objects};
use super::plan::{After, KeptPath, Plan, Step, Why};
use super::planner::plan;
use super::proposal::{MountRequest, Proposal, ProposedMount, Purpose};
use super::scope::{Allow, Merging, ResolvedScope, Scope};
use super::stage::Location;
use super::states::{differs, manifest};
use crate::capture::{
    Earlier, Latest, LiveScan, Note, PrivateOverlay, Show, Skipped, check_mount, look, shows_more,
};
use crate::diff::{Comparison, Side, WithheldChange, compare, compare_withheld, has_encrypted, mark_secrets};
use crate::git_directories::Repositories;
use crate::model::{
    InstanceId, Manifest, MountRecord, RelPath, SnapshotId, SnapshotKind, SnapshotRecord, StepRef,
};
use crate::observer::Observer;
use crate::store::{SnapshotRow, Store, StoredTree};
use git_reader::{Files, Live, Oid};
use handle_fs::remote::Transports;
use handle_fs::{FileSystem, Root, births_move};

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
    for mut request in requests {
        let Some(record) = target
            .mounts
            .iter()
            .find(|m| m.coverage.label == request.coverage.label)
        else {
            continue;
        };
        // Below a mount point lies another tree than on the disk.
        check_mount(store.transports(), record)?;
        if shows_more(store.transports(), record) {
            return Err(RestoreError::AttributesUnknown {
                path: record.coverage.root.to_path(),
            });
        }
        let mut reveal = PrivateOverlay::of(store, &request.coverage, Show::Whole)?;
        let plain = store.manifest(&target, record)?;
        let (mut manifest, notes) = reveal.shown(store, &target, record, plain.clone())?;
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
                layout: store.layout(),
                reference,
                check_content,
            },
            observer,
        )?;
        if let Some(now) = &mut now.manifest {
            reveal.now(now, record);
        }
        if let Some(now) = &now.manifest {
            let root = request.coverage.root.to_path();
            let from = (store, &target.instance);
            // Of an index that a restore did not change, its undo knows the state in its target.
            let before = plain.as_ref().filter(|_| request.witness.only_left);
            let known = |path: &RelPath| {
                let before = before.and_then(|before| before.entry(path)?.content());
                let known = request.witness.contents(path).into_iter().chain(before);
                known.collect()
            };
            let refreshed = RefreshedIndexes::find(from, &root, now, known);
            request.witness.refreshed = refreshed;
            // An older restore left another tree.
            let left = match purpose {
                Purpose::Undo(receipt) => Some(left_since(&request.witness.left, receipt)),
                Purpose::Restore | Purpose::Step(_) => None,
            };
            let known = KnownStates {
                store,
                target: (&target, plain.as_ref()),
                last: request.witness.last_seen(),
                left: left.as_ref(),
            };
            request.witness.links = GitLinks::find(&known, &root, now);
            if let Scope::Exactly(paths) = &mut request.scope {
                paths.extend(request.witness.links.packed_away().cloned());
                let sides: Vec<&Manifest> = manifest.iter().chain([now]).collect();
                Databases::of(sides.iter().copied()).complete(paths, &sides);
            }
        }
        let mut edits = match (&purpose, request.witness.only_left) {
            (Purpose::Restore, false) => request.witness.timeline.overwritten_edits(),
            _ => Vec::new(),
        };
        if !edits.is_empty()
            && let Some(now) = &now.manifest
            && let Ok(root) = Root::open(store.transports(), &request.coverage.root.to_path())
        {
            let read = |path: &RelPath| {
                let edit = edits.iter().find(|edit| edit.path == *path)?;
                let record = store.record(&edit.snapshot).ok()?;
                let text = stored(&store.contents(&record), edit.entry.content()?).ok()?;
                Oid::parse(text.trim_ascii())
            };
            let paths = edits.iter().map(|edit| &edit.path);
            let packed = request.witness.links.note_packed((&root, now), paths, &read);
            edits.retain(|edit| !packed.contains(&edit.path));
        }
        let side = Side {
            manifest: now.manifest.as_ref(),
            skipped: &now.skipped,
        };
        let differing = match request.scope {
            Scope::Below(_) | Scope::Asked(_) => differing(manifest.as_ref(), &side),
            Scope::All | Scope::Exactly(_) => Comparison::default(),
        };
        let sides = [manifest.as_ref(), now.manifest.as_ref()];
        let root = request.coverage.root.to_path();
        request.witness.folded = FoldedNames::find((store.transports(), &root), manifest.as_ref(), &side);
        let ResolvedScope {
            scope,
            mut also,
            parted,
        } = request.scope.resolved(&sides, &differing.changes, &|| {
            let last = request.witness.last_seen().map(|(last, _)| last);
            session_moves(&differing.changes, &|path| last?.entry(path))
        })?;
        let scope = match scope {
            // To create one of two names that are one takes that the other goes.
            Scope::Below(mut tops) => {
                for path in request.witness.folded.beside(|path| tops.holds(path)) {
                    tops.insert(path.clone());
                    also.push(path);
                }
                Scope::Below(tops)
            }
            other => other,
        };
        let asked = std::mem::replace(&mut request.scope, scope);
        // They are judged as what the operator was shown, before they are put in.
        let mut composed = std::mem::take(&mut request.witness.composed);
        let planned = |manifest: Option<&Manifest>, request: &MountRequest| {
            plan(manifest, &side, &request.witness, &request.scope, allow)
        };
        let mut plan = planned(manifest.as_ref(), &request);
        // Of one that lacks nothing, nothing moved while it was taken.
        if !target.complete
            && !matches!(purpose, Purpose::Undo(_))
            && let Some(now) = &now.manifest
            && let Ok(opened) = Root::open(store.transports(), &root)
        {
            let captured = || captured_with(store, &target, record);
            request.witness.older = older_objects(&opened, &captured, now, &plan);
            if !request.witness.older.is_empty() {
                plan = planned(manifest.as_ref(), &request);
            }
        }
        check(&mut composed, &plan, &request.coverage)?;
        let source = MergeSource {
            store,
            record: &target,
            coverage: &request.coverage,
            sides: [manifest.as_ref(), now.manifest.as_ref()],
        };
        let can_ask = allow.merging == Merging::Off && !matches!(purpose, Purpose::Undo(_));
        let may_merge = can_ask && source.may_merge(&plan, &request.witness, &composed);
        let mut merges = source.merge(&plan, &request.witness, allow.merging, &composed);
        let mut packed = source.packed_refs(&plan, &request.witness, &request.scope);
        composed.append(&mut packed.files);
        composed.append(&mut merges.files);
        if !composed.is_empty() {
            amend(manifest.as_mut(), &composed, &mut reveal);
            request.witness.composed = composed;
            plan = planned(manifest.as_ref(), &request);
        }
        packed.settle(&mut plan);
        merges.settle(&mut plan);
        link_hidden((store.transports(), &root), &mut plan);
        if let Scope::Asked(_) = asked {
            // The resolved scope has no path but changed ones. What cannot be examined is none, and is named all the same.
            let mut gaps = differing.not_covered;
            gaps.retain(|gap| asked.holds(&gap.path) || request.scope.concerns(&gap.path));
            plan.not_covered = gaps;
        }
        let root = request.coverage.root.to_path();
        if now.manifest.is_none() && !plan.steps.is_empty() {
            Location::check_parent(store.transports(), &root)?;
        }
        let sides = (plain.as_ref(), now.manifest.as_ref());
        let heads = head_moves((store, &target), &root, sides, &plan);
        let not_checked = changed_since(store.transports(), &root, &now.skipped, record.started_at);
        // Another store's key made the digests of what was imported.
        let is_comparable = !store.catalog().is_adopted(&target.instance)?;
        let mut withheld = compare_withheld(record, reveal.facts().filter(|_| is_comparable));
        // What is encrypted and did not change lacks nothing.
        let is_encrypted = has_encrypted(record, &withheld);
        plan.not_covered.retain(|gap| !is_encrypted(&gap.path));
        let sides = (manifest.as_ref(), now.manifest.as_ref());
        mark_secrets(&root, sides.into(), plan.changes_mut());
        let is_asked = |path: &RelPath| match asked {
            Scope::Asked(_) => asked.holds(path),
            _ => request.scope.holds(path),
        };
        // A secret that was encrypted comes back with the file.
        let is_told = |change: &WithheldChange| change.is_told_by(sides) || reveal.has_opened(&change.path);
        let holds = |change: &WithheldChange| is_asked(&change.path) && !is_told(change);
        withheld.retain(holds);
        let is_left_out = |path: &RelPath| plan.left_out.keys().any(|own| path.is_within(own));
        let lost_edits = match allow.overwrite_later || allow.delete_later {
            true => Vec::new(),
            false => {
                let is_asked = |path: &RelPath| is_asked(path) && !is_left_out(path);
                // Of a path that is asked for by name the operator chose the version.
                let is_chosen =
                    |path: &RelPath| target.kind != SnapshotKind::Baseline && asked.named().contains(path);
                edits.retain(|edit| !edit.is_doubtful || !is_chosen(&edit.path));
                lost_work((store, &target), &request, &edits, sides, &plan, &is_asked)
            }
        };
        let encrypted = encrypted(store, &target, record, &withheld)?;
        let is_planned = |note: &Note| plan.steps.iter().any(|step| step.change.path == note.path);
        let notes = notes.into_iter().filter(is_planned).collect();
        mounts.push(ProposedMount {
            withheld,
            notes,
            encrypted,
            named: asked.named().to_vec(),
            reveal,
            transports: store.transports().clone(),
            location: Location::choose(store.transports(), &root),
            is_recreated: is_recreated(store.transports(), &root, manifest.as_ref()),
            request,
            target: manifest,
            now,
            plan,
            not_checked,
            aside: Vec::new(),
            also,
            open_files: Vec::new(),
            lost_edits,
            parted,
            heads,
            may_merge,
            unmerged: merges.unmerged,
        });
    }
    if let Purpose::Step(step) = &purpose {
        name_later_steps(store, &target.instance, step, &mut mounts)?;
    }
    Ok(Proposal {
        target,
        purpose,
        allow,
        requires_key: false,
        mounts,
    })
}

/// Returns all mounts of a snapshot; `None` if one of them cannot be read.
fn captured_with(store: &Store, target: &SnapshotRecord, of: &MountRecord) -> Option<Captured> {
    let (mut mounts, mut own) = (Vec::new(), None);
    for record in &target.mounts {
        if let Some(manifest) = store.manifest(target, record).ok()? {
            if record.coverage.label == of.coverage.label {
                own = Some(mounts.len());
            }
            mounts.push(manifest);
        }
    }
    Some(Captured {
        mounts,
        own: own?,
        started_at: of.started_at,
    })
}

/// Returns the operator's work that is lost, with the objects that it needs.
fn lost_work(
    (store, record): (&Store, &SnapshotRecord),
    request: &MountRequest,
    edits: &[OperatorState],
    (target, now): (Option<&Manifest>, Option<&Manifest>),
    plan: &Plan,
    is_asked: &dyn Fn(&RelPath) -> bool,
) -> Vec<LostEdit> {
    let timeline = &request.witness.timeline;
    let snapshots: HashSet<&SnapshotId> = edits.iter().map(|edit| &edit.snapshot).collect();
    let shown = snapshots.into_iter().filter_map(|id| timeline.shown(id));
    let repositories = Repositories::of([target, now].into_iter().flatten().chain(shown));
    let mut lost = lost_edits(edits, (target, now), plan, &repositories, is_asked);
    let host = request.coverage.root.to_path();
    let holders = |deleted: &DeletedObjects<'_>| {
        let Ok(root) = Root::open(store.transports(), &host) else {
            return Vec::new();
        };
        let live = Live::new(&root);
        let blobs = store.contents(record);
        let stored = target.map(|target| StoredTree::new(target, &blobs, &host));
        let stored = stored.as_ref().map(|stored| stored as &dyn Files);
        let sides: Vec<&dyn Files> = stored.into_iter().chain([&live as &dyn Files]).collect();
        deleted.holders(&sides, &|id, read| {
            if let (Ok(record), Some(shown)) = (store.record(id), timeline.shown(id)) {
                let blobs = store.contents(&record);
                read(&StoredTree::new(shown, &blobs, &host));
            }
        })
    };
    add_objects(&mut lost, edits, plan, &repositories, &holders);
    lost
}

/// Removes from the plan the names that a file is not linked to again, where one of them lies below the root: there it is found and linked, with
/// all the others. Another machine is not searched for it, as that takes a call for each directory; then nothing is said.
fn link_hidden((transports, root): (&Transports, &Path), plan: &mut Plan) {
    let ino = |step: &Step| step.change.from.as_ref().map(|from| from.ino);
    let lost = plan.steps.iter().filter(|step| step.others.unlinked > 0);
    let wanted: HashSet<u64> = lost.filter_map(ino).collect();
    if wanted.is_empty() {
        return;
    }
    let root = Root::open(transports, root).ok().filter(|root| !root.is_far());
    let found = root.map(|root| hidden::find(&root, &wanted));
    for step in &mut plan.steps {
        let is_linked = |found: &HashMap<u64, RelPath>| ino(step).is_some_and(|ino| found.contains_key(&ino));
        if found.as_ref().is_none_or(is_linked) {
            step.others.unlinked = 0;
        }
    }
}

/// Returns true if the mount root was deleted and recreated since `target`. A file system that does not show this counts as unchanged, and so
/// does a root that an imported snapshot shows, which has the identity of no directory here.
fn is_recreated(transports: &Transports, root: &Path, target: Option<&Manifest>) -> bool {
    let target = target.filter(|target| target.root.ino != 0);
    let (Some(target), Ok(root)) = (target, Root::open(transports, root)) else {
        return false;
    };
    // A layered directory is born again with each copy to the upper layer. The others count births and changes in different units.
    let tells = |fs: FileSystem| fs.trusted_ctime && !fs.layered;
    let now = root.dir(&RelPath::root()).and_then(|dir| dir.stat());
    let (true, Ok(now)) = (root.file_system().is_ok_and(tells), now) else {
        return false;
    };
    // The inode number of a deleted directory is often used again at once. No change of a directory is older than its birth.
    match now.born.filter(|_| !births_move()) {
        Some(born) => target.root.ctime < born,
        None => target.root.ino != now.ino,
    }
}

/// All that differs, whatever was asked for.
fn differing(target: Option<&Manifest>, now: &Side<'_>) -> Comparison {
    let target = Side {
        manifest: target,
        skipped: &[],
    };
    compare(&target, now)
}

/// The excluded paths that hold anything newer than `since`. Looked at without end conditions but one: after so many
/// entries a tree counts as changed.
fn changed_since(
    transports: &Transports,
    root: &Path,
    skipped: &[Skipped],
    since: crate::model::Time,
) -> Vec<Skipped> {
    const ENOUGH: u32 = 20_000;
    let Ok(root) = Root::open(transports, root) else {
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

/// Says of each conflict that is later edits who did it, as far as the snapshots of the session show it. They are read only as long as
/// one is left of which that is not known.
///
/// # Errors
/// [`RestoreError::Store`] when the catalog cannot be read.
fn name_later_steps(
    store: &Store,
    instance: &InstanceId,
    step: &StepRef,
    mounts: &mut [ProposedMount],
) -> Result<(), RestoreError> {
    if !mounts
        .iter()
        .any(|mount| mount.plan.conflicts.iter().any(is_open))
    {
        return Ok(());
    }
    let rows = store.catalog().snapshots(instance)?;
    let number = rows
        .iter()
        .find(|row| row.id == step.snapshot)
        .and_then(|row| row.receipt);
    // Of what a late closing snapshot shows nobody knows whether the session did it.
    let counts = |row: &&SnapshotRow| row.kind != SnapshotKind::Emergency && !row.late;
    let ended = rows
        .iter()
        .filter(counts)
        .any(|row| row.kind == SnapshotKind::Closing);
    // The rows come newest first.
    let later: Vec<&SnapshotRow> = rows
        .iter()
        .rev()
        .filter(counts)
        .filter(|row| number.is_some() && row.receipt > number)
        .collect();
    for mount in mounts {
        let all_read = attribute(store, mount, &later)?;
        if ended && all_read {
            for kept in mount.plan.conflicts.iter_mut().filter(|kept| is_open(kept)) {
                set(kept, &After::Session);
            }
        }
    }
    Ok(())
}

/// Goes through the later snapshots of a mount, the oldest first. Gives whether all that was needed of them could be read.
fn attribute(store: &Store, mount: &mut ProposedMount, later: &[&SnapshotRow]) -> Result<bool, RestoreError> {
    if !mount.plan.conflicts.iter().any(is_open) {
        return Ok(true);
    }
    let coverage = &mount.request.coverage;
    let left = mount.request.witness.last.as_ref();
    let was = |path: &RelPath| left.and_then(|left| left.entry(path));
    let mut reveal = PrivateOverlay::of(store, coverage, Show::Whole)?;
    let mut all_read = true;
    for kept in &mut mount.plan.conflicts {
        // What the step made was there before anybody changed it.
        if kept.why == Why::LaterFile(After::Step) && was(&kept.change.path).is_some() {
            kept.why = Why::LaterEdit(After::Step);
        }
    }
    for row in later {
        let mut open: Vec<&mut KeptPath> = mount
            .plan
            .conflicts
            .iter_mut()
            .filter(|kept| is_open(kept))
            .collect();
        if open.is_empty() {
            break;
        }
        let read = store
            .record(&row.id)
            .map_err(RestoreError::from)
            .and_then(|record| manifest(store, &record, &coverage.label, &mut reveal));
        // What cannot be read keeps nobody from a restore: its step is not named.
        let Ok(Some(shows)) = read else {
            all_read = false;
            continue;
        };
        let by = StepRef {
            snapshot: row.id.clone(),
            kind: row.kind,
            name: row.name.clone(),
        };
        for kept in &mut open {
            if differs(&shows, &kept.change.path, was(&kept.change.path)) {
                set(kept, &After::LaterStep(by.clone()));
            }
        }
    }
    Ok(all_read)
}

fn is_open(kept: &KeptPath) -> bool {
    matches!(
        kept.why,
        Why::LaterEdit(After::Step) | Why::LaterFile(After::Step) | Why::LaterDeletion(After::Step)
    )
}

fn set(kept: &mut KeptPath, found: &After) {
    if let Why::LaterEdit(after) | Why::LaterFile(after) | Why::LaterDeletion(after) = &mut kept.why {
        *after = found.clone();
    }
}
