//! `list`: sessions with their snapshots, and beside them jackin's own instances.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ConversationDocument, ForkedDocument, Head};
use crate::config::{Unread, jackin_instances};
use crate::display::sanitize;
use crate::environment::Environment;
use crate::model::{AgentRef, Ending, InstanceId, PathCounts, SnapshotKind, Time};
use crate::recovery::net_changes;
use crate::session::{
    Docker, LivenessProbe, Reason, SessionError, State, distinct, forked_from, is_imported_again,
    is_interrupted_import, lacks_end, state_by,
};
use crate::store::{
    ForgottenRow, ForkRow, IMPORTED, InstanceRow, PendingRestore, RestoreStage, SnapshotRow, Store,
    StoreError, Tally,
};

/// `list --json`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ListDocument {
    #[serde(flatten)]
    head: Head,
    /// Newest first.
    pub(crate) instances: Vec<InstanceDocument>,
    /// Snapshots that were written into directories of their own, newest first.
    pub(crate) forks: Vec<ForkedDocument>,
    /// jackin's own instances, by container.
    pub(crate) jackin: Vec<JackinDocument>,
    /// Files of jackin's that may tell of another, and could not be read.
    pub(crate) jackin_unread: Vec<Unread>,
}

/// An instance of jackin's, in its own words.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JackinDocument {
    /// Its container.
    pub(crate) container: String,
    /// jackin's id of it.
    pub(crate) instance_id: Option<String>,
    /// Its workspace.
    pub(crate) workspace: Option<String>,
    /// Its role.
    pub(crate) role: Option<String>,
    /// Its agent.
    pub(crate) agent: Option<String>,
    /// Its status.
    pub(crate) status: Option<String>,
    /// Time at which that was written.
    pub(crate) updated_at: Option<String>,
    /// True if an agent may be running in it: neither its status nor docker says that it ended.
    pub(crate) active: bool,
    /// Its files have this newer form, of which the rest is what was understood.
    pub(crate) newer: Option<u64>,
    /// The last session that began for it.
    pub(crate) session: Option<String>,
}

impl ListDocument {
    /// Lists what the store has, and jackin's instances. Single snapshots are listed only `in_full`.
    pub(crate) fn of(
        store: Option<&Store>,
        environment: &Environment,
        in_full: bool,
    ) -> Result<Self, SessionError> {
        let mut made = Self::default();
        if let Some(store) = store {
            let forks = store.catalog().forks()?;
            made.instances = sessions(store, &forks, in_full)?;
            made.forks = forks.iter().map(ForkedDocument::new).collect();
        }
        let Some(home) = environment.jackin_home() else {
            return Ok(made);
        };
        let found = jackin_instances(&home);
        let roots = made.instances.iter().flat_map(|session| &session.roots);
        let mut docker = Docker::new(environment, roots.cloned().collect());
        for instance in found.all {
            let sessions = match store {
                Some(store) => store.catalog().instances_of_container(&instance.container)?,
                None => Vec::new(),
            };
            made.jackin.push(JackinDocument {
                active: instance.may_live() && docker.may_run(&instance).is_some(),
                session: sessions.first().map(|row| row.id.to_string()),
                container: instance.container,
                instance_id: instance.id,
                workspace: instance.workspace,
                role: instance.role,
                agent: instance.agent,
                status: instance.status,
                updated_at: instance.updated_at,
                newer: instance.newer,
            });
        }
        made.jackin_unread = found.unread;
        Ok(made)
    }
}

/// Lists the sessions of a store, newest first. Single snapshots are listed only `in_full`; else they are counted.
pub(crate) fn sessions(
    store: &Store,
    forks: &[ForkRow],
    in_full: bool,
) -> Result<Vec<InstanceDocument>, SessionError> {
    let catalog = store.catalog();
    let waiting = waiting_instances(store);
    let sight = LivenessProbe::now(store);
    let tallies = catalog.tallies()?;
    let (mut snapshots_of, mut natives) = match in_full {
        true => (catalog.snapshots_by_instance()?, natives(store)),
        false => (HashMap::new(), HashMap::new()),
    };
    let pruned = catalog.pruned_counts()?;
    let mut missing = catalog.missing_closings()?;
    let mut forgotten = catalog.forgotten()?;
    let mut prompts = catalog.last_prompts()?;
    let mut conversations: HashMap<InstanceId, AgentRef> = catalog.conversations()?.into_iter().collect();
    let mut all = Vec::new();
    let mut looked = 0;
    // A name means the newest session that has it.
    let mut named: HashMap<String, InstanceId> = HashMap::new();
    let rows = catalog.instances()?;
    for row in &rows {
        let snapshots = snapshots_of.remove(&row.id).unwrap_or_default();
        let state = state_by(&sight, store, row);
        let origin = forked_from(store, forks, row)?;
        let waits = waiting.contains(&row.id);
        let mut made = InstanceDocument::new(row, &state, &snapshots, origin, waits);
        made.tally = tallies.get(&row.id).copied().unwrap_or_default();
        let has_snapshots = made.tally.snapshots > 0 || !made.snapshots.is_empty();
        made.is_gone = !state.is_active() && !has_snapshots && pruned.contains_key(&row.id);
        made.is_repeated = !has_snapshots
            && !forgotten.contains_key(&row.id)
            && is_interrupted_import(row)
            && is_imported_again(row, &rows);
        made.is_gone |= made.is_repeated;
        made.forgotten = forgotten.remove(&row.id).map(ForgottenAtDocument::from);
        made.native = natives.remove(&row.id).unwrap_or_default();
        made.closing_error = missing.remove(&row.id);
        if let Some(name) = &row.title.name {
            let owner = named.entry(name.clone()).or_insert_with(|| row.id.clone());
            made.name_taken_by = (*owner != row.id).then(|| owner.to_string());
        }
        made.prompt = prompts.remove(&row.id);
        made.conversation = conversations.remove(&row.id).map(ConversationDocument::from);
        if row.ended_at.is_some() {
            made.changed = net_changes(store, row, &mut looked)?;
        }
        all.push(made);
    }
    Ok(all)
}

/// Returns the restores that wait for `resume` or `abort`.
pub(crate) fn waiting(store: &Store) -> Result<Vec<PendingRestore>, StoreError> {
    let mut found = unsettled(store)?;
    found.retain(|found| found.stage == RestoreStage::Moving);
    Ok(found)
}

/// Returns the same, and those that are done but not recorded yet.
pub(crate) fn unsettled(store: &Store) -> Result<Vec<PendingRestore>, StoreError> {
    let mut found = store.pending_restores()?;
    found.retain(|found| found.stage.is_unsettled() && !found.alive);
    Ok(found)
}

/// Returns the sessions whose restores wait. Journals that cannot be read are reported elsewhere.
pub(super) fn waiting_instances(store: &Store) -> BTreeSet<InstanceId> {
    let found = waiting(store).unwrap_or_default();
    found.into_iter().map(|found| found.intent.instance).collect()
}

/// Returns the file-system snapshots that belong to each session.
pub(super) fn natives(store: &Store) -> HashMap<InstanceId, Vec<NativeDocument>> {
    let mut all: HashMap<InstanceId, Vec<NativeDocument>> = HashMap::new();
    for state in store.natives().unwrap_or_default() {
        let Ok(paper) = state.paper else { continue };
        let id = state.id;
        let is_there = store.record_ids().is_ok_and(|ids| ids.contains(&id));
        let kept = is_there && store.keeps_natives(&id);
        let own = paper.natives.into_iter().map(|native| NativeDocument {
            snapshot: id.to_string(),
            place: native.directory().to_string_lossy().into_owned(),
            kept,
        });
        all.entry(paper.instance).or_default().extend(own);
    }
    all
}

/// State of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// One of its processes lives.
    Active,
    /// Its end was seen.
    Ended,
    /// It is dead and has no closing snapshot.
    Lost,
    /// It never began.
    Failed,
}

impl From<&State> for Status {
    fn from(state: &State) -> Self {
        match state {
            State::Active(_) => Self::Active,
            State::Ended => Self::Ended,
            State::Lost => Self::Lost,
            State::Failed => Self::Failed,
        }
    }
}

impl Status {
    /// Returns the word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Ended => "ended",
            Self::Lost => "lost",
            Self::Failed => "failed",
        }
    }
}

/// One instance.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InstanceDocument {
    /// e.g. `rc-dpqx7gcr-shop`.
    pub(crate) id: String,
    /// Name that the operator gave it; several sessions may have the same.
    pub(crate) name: Option<String>,
    /// Description that the operator gave it.
    pub(crate) message: Option<String>,
    /// Text of the newest prompt to an agent, as far as it was recorded.
    pub(crate) prompt: Option<String>,
    /// Conversation of the agent that it is a part of; absent if no agent reported one.
    pub(crate) conversation: Option<ConversationDocument>,
    /// Name of the launched program; absent if the session was not launched.
    pub(crate) program: Option<String>,
    /// Arguments of the program, where the configuration asks for them; what looks like a secret is hidden.
    pub(crate) arguments: Vec<String>,
    /// Number of paths that differ between the baseline and the closing snapshot; absent if one of the two is missing.
    pub(crate) changed: Option<PathCounts>,
    /// The configured workspace; none for a bare directory.
    pub(crate) workspace: Option<String>,
    pub(crate) status: Status,
    /// The recovery mode: `metadata` or `project`.
    pub(crate) mode: String,
    pub(crate) started_at: Time,
    pub(crate) ended_at: Option<Time>,
    /// The host path of every mount that is covered.
    mounts: Vec<String>,
    /// The fork in whose directory it began.
    forked_from: Option<String>,
    /// A restore was interrupted and waits for `resume` or `abort`.
    pub(crate) restore_waits: bool,
    /// Newest first.
    pub(crate) snapshots: Vec<SnapshotDocument>,
    /// Snapshots of file systems that are there for it.
    pub(crate) native: Vec<NativeDocument>,
    /// Reason that it ended without a closing snapshot; absent if there is one, or none is due.
    pub(crate) closing_error: Option<String>,
    /// Reasons why it is active, in words.
    #[serde(skip)]
    pub(crate) reasons: Vec<String>,
    /// Exact paths of `mounts`.
    #[serde(skip)]
    pub(crate) roots: Vec<PathBuf>,
    /// Way in which it ended, if known.
    #[serde(skip)]
    pub(crate) ending: Option<Ending>,
    /// The fork of `forked_from`.
    #[serde(skip)]
    pub(crate) origin: Option<ForkedDocument>,
    /// Number of its snapshots, where they are not listed.
    #[serde(skip)]
    pub(crate) tally: Tally,
    /// Nothing is left of it, because every snapshot was pruned or forgotten.
    #[serde(skip)]
    pub(crate) is_gone: bool,
    /// It is an import that was interrupted without a snapshot, and was repeated.
    #[serde(skip)]
    pub(crate) is_repeated: bool,
    /// Number of arguments of the program that were not recorded.
    #[serde(skip)]
    pub(crate) unrecorded: u32,
    /// The newer session that `name` means now.
    #[serde(skip)]
    pub(crate) name_taken_by: Option<String>,
    /// Deletion by `forget`; absent if it was not forgotten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) forgotten: Option<ForgottenAtDocument>,
}

/// Deletion of a session by `forget`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct ForgottenAtDocument {
    /// Number in `log`.
    pub(crate) receipt: u64,
    /// RFC 3339, UTC.
    pub(crate) at: Time,
}

impl From<ForgottenRow> for ForgottenAtDocument {
    fn from(row: ForgottenRow) -> Self {
        Self {
            receipt: row.receipt,
            at: row.at,
        }
    }
}

/// A snapshot of a file system.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NativeDocument {
    /// The snapshot that reads it, or is to become of it.
    pub(crate) snapshot: String,
    /// Path of its directory.
    pub(crate) place: String,
    /// The snapshot keeps its contents in it; else it goes when that is stored.
    pub(crate) kept: bool,
}

impl InstanceDocument {
    /// Returns the facts of a catalog row alone, for a line about the session. Its status is not looked up.
    pub(crate) fn brief(row: &InstanceRow) -> Self {
        Self::new(row, &State::Ended, &[], None, false)
    }

    /// Returns true if it came from an export, so that its paths are those of another machine.
    pub(crate) fn is_imported(&self) -> bool {
        self.mode == IMPORTED
    }

    /// Returns true if its import was interrupted: it may have no snapshot.
    pub(crate) fn is_interrupted_import(&self) -> bool {
        let is_over = matches!(self.status, Status::Lost | Status::Failed);
        self.is_imported() && is_over && lacks_end(self.ending.as_ref())
    }

    pub(super) fn new(
        row: &InstanceRow,
        state: &State,
        snapshots: &[SnapshotRow],
        origin: Option<&ForkRow>,
        restore_waits: bool,
    ) -> Self {
        let roots: Vec<PathBuf> = row.writable().map(|mount| mount.root.to_path()).collect();
        Self {
            id: row.id.to_string(),
            name: row.title.name.clone(),
            message: row.title.message.clone(),
            prompt: None,
            conversation: None,
            program: row.command.as_ref().map(|(program, _)| program.clone()),
            arguments: row.title.arguments.clone(),
            changed: None,
            workspace: row.workspace.clone(),
            status: state.into(),
            mode: row.mode.clone(),
            started_at: row.started_at,
            ended_at: row.ended_at,
            mounts: roots
                .iter()
                .map(|root| root.to_string_lossy().into_owned())
                .collect(),
            forked_from: origin.map(|fork| fork.id.to_string()),
            restore_waits,
            snapshots: snapshots.iter().map(SnapshotDocument::from).collect(),
            native: Vec::new(),
            closing_error: None,
            reasons: match state {
                State::Active(reasons) => distinct(reasons).into_iter().map(reason_words).collect(),
                State::Ended | State::Lost | State::Failed => Vec::new(),
            },
            roots,
            ending: row.ending.clone(),
            origin: origin.map(ForkedDocument::new),
            tally: Tally::default(),
            is_gone: false,
            is_repeated: false,
            unrecorded: match (&row.command, row.title.arguments.is_empty()) {
                (Some((_, arguments)), true) => *arguments,
                _ => 0,
            },
            name_taken_by: None,
            forgotten: None,
        }
    }
}

fn reason_words(reason: &Reason) -> String {
    match reason {
        Reason::Launcher(Some(process)) => format!("launcher {}", process.pid),
        Reason::Launcher(None) => "launcher".to_owned(),
        Reason::OtherCommand => "another command".to_owned(),
        Reason::Process(member) => format!("{} {}", sanitize::name(member.name.as_bytes()), member.pid),
        Reason::UntilEnd => "until end".to_owned(),
        Reason::Unknown(_) => "unknown".to_owned(),
    }
}

/// One snapshot.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SnapshotDocument {
    pub(crate) id: String,
    pub(crate) kind: SnapshotKind,
    /// The checkpoint's name.
    pub(crate) name: Option<String>,
    /// Description of the checkpoint: the prompt or tool call that it was taken before.
    pub(crate) message: Option<String>,
    /// A closing snapshot that a later command took.
    pub(crate) late: bool,
    pub(crate) taken_at: Time,
    /// It lacks nothing of what it covers.
    pub(crate) complete: bool,
    /// Files, directories and everything else below the mounts.
    pub(crate) entries: u64,
    /// Sum of the files' sizes.
    pub(crate) bytes: u64,
}

impl From<&SnapshotRow> for SnapshotDocument {
    fn from(row: &SnapshotRow) -> Self {
        Self {
            id: row.id.to_string(),
            kind: row.kind,
            name: row.name.clone(),
            message: row.message.clone(),
            late: row.late,
            taken_at: row.taken_at,
            complete: row.complete,
            entries: row.entries,
            bytes: row.bytes,
        }
    }
}
