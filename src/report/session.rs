//! `show`: a session with details.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::origin::{ImportedDocument, begun, imported};
use super::sessions::{ForgottenAtDocument, natives, waiting_instances};
use super::steps::steps;
use super::turns::{TurnDocument, turns};
use super::{
    ConversationDocument, ForkedDocument, Head, InstanceDocument, PathDocument, ReasonDocument,
    RepositoryStateDocument, SnapshotDocument,
};
use crate::display::size;
use crate::model::{
    AgentRef, AsideChange, CallRef, ContainerRef, Coverage, ForkId, GapReason, MountRecord, PathCounts,
    RelPath, RestoreKind, SnapshotId, SnapshotKind, SnapshotRecord, StepRef, Time, WatchedMount,
    WithheldReason,
};
use crate::recovery::net_changes;
use crate::session::{SessionError, forked_from, state};
use crate::store::{InstanceRow, RestoreRow, Store};

/// Number of the newest snapshots that are read in full.
const LOOKED_AT: usize = 20;

/// `show --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ShowDocument")]
pub(crate) struct SessionReport {
    #[serde(flatten)]
    head: Head,
    /// As in `list`.
    pub(crate) instance: InstanceDocument,
    /// Changes of the newest steps, by the id of the snapshot that ends the step.
    pub(crate) steps: BTreeMap<String, PathCounts>,
    /// The tool calls that snapshots were taken before, by the snapshot's id.
    pub(crate) calls: BTreeMap<String, CallRef>,
    /// Turns of agents in the session, newest first.
    pub(crate) turns: Vec<TurnDocument>,
    /// Other sessions of the same conversation, newest first.
    pub(crate) conversation_sessions: Vec<String>,
    /// The agent whose hook began it.
    pub(crate) agent: Option<AgentRef>,
    /// The ids of its snapshots that are pinned; `null` among them: all of the session is.
    pinned: Vec<Option<String>>,
    /// Number of its snapshots that were pruned.
    pub(crate) pruned: u64,
    /// The program that was launched and the number of its arguments; the arguments are not kept.
    pub(crate) command: Option<(String, u32)>,
    /// Coverage of the snapshots, one entry for each mount.
    pub(crate) coverage: Vec<Coverage>,
    /// Paths that the baseline lacks.
    lacks: Vec<ReasonDocument>,
    /// Of the newest twenty snapshots and the baseline: those during which files changed after they were read.
    pub(crate) changed_meanwhile: Vec<ChangedMeanwhileDocument>,
    /// Setting of jackin for a dirty work tree at the end of the session; absent if it is not set.
    pub(crate) cleanup_policy: Option<String>,
    /// jackin's container that it began for.
    pub(crate) container: Option<ContainerRef>,
    /// Mounts whose files are not kept, in mode `metadata`.
    pub(crate) watched: Vec<WatchedDocument>,
    /// The git repositories in the mounts, as they were found at the beginning.
    pub(crate) git: Vec<RepositoryStateDocument>,
    /// Restores of the session, newest first.
    pub(crate) restores: Vec<RestoredDocument>,
    /// Forks of the session, newest first.
    pub(crate) forks: Vec<ForkedDocument>,
    /// The fork whose reference was given instead of a session.
    fork: Option<String>,
    /// The file that it came from.
    pub(crate) imported: Option<ImportedDocument>,
    /// It has a baseline.
    #[serde(skip)]
    pub(crate) has_baseline: bool,
    /// For each mount of an incomplete baseline: how many of `lacks` are its own, and how many more there are.
    #[serde(skip)]
    gaps: Vec<(usize, u64)>,
    /// The snapshot that each step began with, by the one that it led to.
    #[serde(skip)]
    pub(crate) before: HashMap<String, String>,
}

impl SessionReport {
    /// Reads all that is known of a session; `fork` is the one that was named instead of it.
    pub(crate) fn of(store: &Store, row: &InstanceRow, fork: Option<&ForkId>) -> Result<Self, SessionError> {
        let catalog = store.catalog();
        let all_forks = catalog.forks()?;
        let snapshots = catalog.snapshots(&row.id)?;
        let pins = catalog.pins()?.into_iter().filter(|(of, _)| *of == row.id);
        let baseline = snapshots.iter().find(|row| row.kind == SnapshotKind::Baseline);
        let baseline = match baseline {
            Some(row) => Some(store.record(&row.id)?),
            None => None,
        };
        let newest = snapshots.iter().take(LOOKED_AT);
        let records = newest.filter_map(|row| store.record(&row.id).ok());
        let older = baseline.clone().filter(|_| snapshots.len() > LOOKED_AT);
        let changed_meanwhile = records.chain(older);
        let changed_meanwhile = changed_meanwhile.filter_map(|record| ChangedMeanwhileDocument::of(&record));
        let waits = waiting_instances(store).contains(&row.id);
        let origin = forked_from(store, &all_forks, row)?;
        let mut instance = InstanceDocument::new(row, &state(store, row), &snapshots, origin, waits);
        let forgotten = catalog.forgotten()?.remove(&row.id);
        instance.forgotten = forgotten.map(ForgottenAtDocument::from);
        instance.native = natives(store).remove(&row.id).unwrap_or_default();
        instance.closing_error = catalog.missing_closings()?.remove(&row.id);
        if let Some(name) = &row.title.name {
            let owner = catalog.instances_named(name)?.into_iter().next();
            let owner = owner.map(|owner| owner.id).filter(|owner| *owner != row.id);
            instance.name_taken_by = owner.map(|owner| owner.to_string());
        }
        instance.prompt = catalog.last_prompts()?.remove(&row.id);
        let conversation = catalog.conversation(&row.id)?;
        let others = match &conversation {
            Some(conversation) => catalog
                .conversations()?
                .into_iter()
                .filter_map(|(id, other)| (id != row.id && other == *conversation).then(|| id.to_string()))
                .collect(),
            None => Vec::new(),
        };
        instance.conversation = conversation.map(ConversationDocument::from);
        if row.ended_at.is_some() {
            instance.changed = net_changes(store, row, &mut 0)?;
        }
        let known = steps(store, row, &snapshots)?;
        let events = catalog.agent_events(&row.id)?;
        let turns = turns(store, events, &snapshots, &known);
        let begun = begun(store, &row.id)?;
        let (lacks, gaps) = baseline.as_ref().map(lacks).unwrap_or_default();
        let kept = baseline.iter().flat_map(SnapshotRecord::repositories);
        let seen = begun.watched.iter().flat_map(WatchedMount::repositories);
        let git = kept.chain(seen);
        let named = |(id, before): (SnapshotId, SnapshotId)| (id.to_string(), before.to_string());
        Ok(Self {
            head: Head::default(),
            turns,
            instance,
            conversation_sessions: others,
            steps: known
                .counts
                .iter()
                .map(|(id, counts)| (id.to_string(), *counts))
                .collect(),
            calls: known
                .calls
                .into_iter()
                .map(|(id, call)| (id.to_string(), call))
                .collect(),
            before: known.before.into_iter().map(named).collect(),
            pinned: pins
                .map(|(_, snapshot)| snapshot.map(|id| id.to_string()))
                .collect(),
            pruned: catalog.pruned_of(&row.id)?.len() as u64,
            command: row.command.clone(),
            coverage: row.mounts.clone(),
            changed_meanwhile: changed_meanwhile.collect(),
            git: git
                .map(|(coverage, facts)| RepositoryStateDocument::new(coverage, facts))
                .collect(),
            watched: begun.watched.iter().map(WatchedDocument::from).collect(),
            agent: begun.agent,
            cleanup_policy: begun.cleanup_policy,
            container: begun.container,
            restores: RestoredDocument::all(&catalog.restores(&row.id)?),
            forks: all_forks
                .iter()
                .filter(|fork| fork.instance == row.id)
                .map(ForkedDocument::new)
                .collect(),
            fork: fork.map(ToString::to_string),
            imported: imported(store, row)?,
            has_baseline: baseline.is_some(),
            lacks,
            gaps,
        })
    }

    /// Returns true if the snapshot or the whole session is pinned.
    pub(crate) fn is_pinned(&self, snapshot: &SnapshotDocument) -> bool {
        let mut pins = self.pinned.iter();
        pins.any(|pin| pin.as_ref().is_none_or(|id| *id == snapshot.id))
    }

    /// Returns the fork that was named instead of the session.
    pub(crate) fn named_fork(&self) -> Option<&ForkedDocument> {
        let id = self.fork.as_ref()?;
        self.forks.iter().find(|fork| fork.id == *id)
    }

    /// Returns for each mount of an incomplete baseline what it lacks, and how much more that is not listed. Of a complete one nothing.
    pub(crate) fn lacking(&self) -> impl Iterator<Item = (&[ReasonDocument], u64)> {
        let mut rest = self.lacks.as_slice();
        self.gaps.iter().map(move |(own, more)| {
            let (these, others) = rest.split_at(rest.len().min(*own));
            rest = others;
            (these, *more)
        })
    }
}

/// Returns what a baseline lacks, and for each of its mounts how many of that are its own, and how many are not listed.
fn lacks(record: &SnapshotRecord) -> (Vec<ReasonDocument>, Vec<(usize, u64)>) {
    let is_whole = record.complete && record.mounts.iter().flat_map(forgotten_settings).next().is_none();
    let mut all = Vec::new();
    let mut counts = Vec::new();
    for mount in &record.mounts {
        let gaps = mount.gaps.iter();
        let gaps = gaps.map(|gap| ReasonDocument::new(&mount.coverage, &gap.path, gap.reason.clone()));
        let settings = forgotten_settings(mount);
        let settings =
            settings.map(|path| ReasonDocument::new(&mount.coverage, path, GapReason::Forgotten.words()));
        let before = all.len();
        all.extend(gaps.chain(settings));
        let own = all.len().saturating_sub(before);
        let more = mount.gap_count.saturating_sub(mount.gaps.len() as u64);
        if !is_whole {
            counts.push((own, more));
        }
    }
    (all, counts)
}

/// Returns the forgotten settings files of an agent, which are no gaps of the manifest, because it never had them.
fn forgotten_settings(mount: &MountRecord) -> impl Iterator<Item = &RelPath> {
    let withheld = mount.coverage.withheld.iter();
    let forgotten = withheld.filter(|path| mount.coverage.state && path.reason == WithheldReason::Forgotten);
    let is_gap = |path: &RelPath| mount.gaps.iter().any(|gap| gap.path == *path);
    forgotten.map(|path| &path.path).filter(move |path| !is_gap(path))
}

/// Files that changed after they were read, while the rest of the snapshot was taken. Each is one version, but those of several files
/// may not fit together.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangedMeanwhileDocument {
    /// The snapshot's id.
    pub(crate) snapshot: String,
    /// Number of files.
    pub(crate) count: u64,
    /// The first hundred of each mount.
    pub(crate) files: Vec<PathDocument>,
}

impl ChangedMeanwhileDocument {
    /// Lists the files of a snapshot; `None` when none changed.
    pub(crate) fn of(record: &SnapshotRecord) -> Option<Self> {
        let mounts = record.mounts.iter();
        let files = mounts.clone().flat_map(|mount| {
            let paths = mount.changed_meanwhile.iter();
            paths.map(|path| PathDocument::new(&mount.coverage, path))
        });
        let count: u64 = mounts.map(|mount| mount.changed_meanwhile_count).sum();
        (count > 0).then(|| Self {
            snapshot: record.id.to_string(),
            count,
            files: files.collect(),
        })
    }

    /// Returns a line for people: how many files, and the first of them.
    pub(crate) fn line(&self) -> String {
        const SHOWN: usize = 5;
        let count = size::counted(self.count, "file", "files");
        let named: Vec<String> = self.files.iter().take(SHOWN).map(PathDocument::host).collect();
        let more = if self.count > named.len() as u64 {
            ", …"
        } else {
            ""
        };
        format!(
            "{count} changed while {} was taken and may not fit together: {}{more}",
            self.snapshot,
            named.join(", ")
        )
    }
}

/// A mount of which no file is kept.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WatchedDocument {
    /// Location, and the paths in it that do not count.
    pub(crate) coverage: Coverage,
    /// Number of git repositories beyond those listed.
    pub(crate) more: u64,
    /// Reason that its git repositories are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl From<&WatchedMount> for WatchedDocument {
    fn from(mount: &WatchedMount) -> Self {
        Self {
            coverage: mount.coverage.clone(),
            more: mount.more,
            error: mount.error.clone(),
        }
    }
}

/// One restore or undo that was carried out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RestoredDocument {
    /// Its number in `log`.
    pub(crate) receipt: u64,
    pub(crate) act: RestoreKind,
    pub(crate) at: Time,
    /// The snapshot that files were restored from.
    pub(crate) target: String,
    /// The snapshot of what was there before.
    pub(crate) emergency: String,
    /// For an undo: the receipt that it undid.
    pub(crate) undoes: Option<u64>,
    /// The receipt that took it back.
    pub(crate) taken_back_by: Option<u64>,
    /// The step of the session that alone was undone.
    pub(crate) only_changes_of: Option<StepRef>,
    /// The session itself asked for it, from within.
    pub(crate) inside: bool,
    /// Numeric user that asked for it.
    pub(crate) uid: u32,
    /// Number of paths changed.
    pub(crate) changed: u64,
    /// Number of paths kept because of later edits.
    pub(crate) conflicts: u64,
    /// Number of paths that could not be changed.
    pub(crate) failed: u64,
    /// Excluded directories that went aside or came back; `place` is a host path.
    pub(crate) aside: Vec<AsideChange>,
}

impl RestoredDocument {
    /// All restores of a session.
    pub(crate) fn all(rows: &[RestoreRow]) -> Vec<Self> {
        rows.iter()
            .map(|row| Self::new(row, row.taken_back_by(rows)))
            .collect()
    }

    fn new(row: &RestoreRow, taken_back_by: Option<u64>) -> Self {
        Self {
            receipt: row.number,
            act: row.kind,
            at: row.at,
            target: row.target.to_string(),
            emergency: row.emergency.to_string(),
            undoes: row.undoes,
            taken_back_by,
            only_changes_of: row.only_changes_of.clone(),
            inside: row.inside,
            uid: row.uid,
            changed: row.paths(),
            conflicts: row.conflicts,
            failed: row.failed,
            aside: row.aside.clone(),
        }
    }
}
