//! The contract's terms as plain values. `explain --json` prints them as they are, so fields are only ever added.
//! Sentences that hold for every contract (that side effects stay, say) belong to the rendering, not here.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::Foreign;
use crate::config::{
    AgentRestore, CommandDetail, Isolation, JackinTerms, Limits, Mode, OnFailure, Prompts, Retention, Room,
    Sensitive, Sourced, StateSecrets, Subject, Unread, ValueSource,
};
use crate::model::{ByteString, Coverage, ExcludeRule, RelPath, RepositoryState};
use handle_fs::remote::{Helper, Limitation, is_elsewhere};

/// What operator and tool agree on before a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Contract {
    /// Which workspace or directory.
    pub subject: Subject,
    /// The label for the instance's id.
    pub label: String,
    /// Whether a snapshot will be made.
    pub snapshot: SnapshotTerms,
    /// Every mount, in the order of the configuration.
    pub mounts: Vec<MountTerms>,
    /// Mounts whose files are not kept, but the state of their git repositories is: only in mode `metadata`.
    pub watched: Vec<Coverage>,
    /// Setting of jackin for a dirty work tree at the end of the session; absent if it is not set.
    pub cleanup_policy: Option<String>,
    /// What else jackin says of the session; none for a bare directory.
    pub jackin: Option<JackinTerms>,
    /// What of agents' state is covered; only in mode `project-and-state`.
    pub state: Option<StateTerms>,
    /// Where the metadata and the archives are stored; none when nothing is written (`off`).
    pub store: Option<ByteString>,
    /// How long snapshots are kept, and how large the store may be; none when there will be no snapshot.
    pub retention: Option<RetentionTerms>,
    /// Seconds between automatic checkpoints, which are taken if something changed; none if they are off.
    pub checkpoint_every: Option<u64>,
    /// Whether a restore will be possible.
    pub restore: RestoreTerms,
    /// How much a capture may take.
    pub limits: Limits,
    /// What happens to the operator's own secrets.
    pub sensitive: Sourced<Sensitive>,
    /// What a launch does without a baseline.
    pub on_failure: Sourced<OnFailure>,
    /// Whether excludes by detected stack apply.
    pub integrations: Sourced<bool>,
    /// True if a watcher of the files spares checkpoints a walk where nothing happened.
    pub watch: Sourced<bool>,
    /// Detail in which a launched command is recorded.
    pub command: Sourced<CommandDetail>,
    /// Extent to which hooks record prompts to an agent, and its commands.
    pub prompts: Sourced<Prompts>,
    /// Restores that an agent may make on its own, without a question.
    pub agent_restore: Sourced<AgentRestore>,
    /// Treatment of an agent's tool call if its checkpoint fails.
    pub agent_on_failure: Sourced<OnFailure>,
    /// Copy of the store in an object store; none if the store is not copied, or nothing is written.
    pub replica: Option<ReplicaTerms>,
}

/// Copy of the whole store in an object store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReplicaTerms {
    /// Bucket and prefix, as an address.
    pub place: String,
    /// Source of the setting of the copy.
    pub source: ValueSource,
    /// Public keys that everything in the copy is encrypted to.
    pub recipients: Vec<Sourced<String>>,
    /// True if what is deleted here is deleted there as well.
    pub prune: bool,
}

impl Contract {
    /// Returns the coverages of all captured mounts, in the order of the configuration, and that of agents' state.
    pub fn coverages(&self) -> impl Iterator<Item = &Coverage> {
        let mounts = self.mounts.iter().filter_map(|mount| mount.coverage.as_ref());
        mounts.chain(self.state.iter().filter_map(|state| state.coverage.as_ref()))
    }

    /// Returns the roots of the mounts on this machine in which a command can work, in the order of the configuration.
    #[must_use]
    pub fn workplaces(&self) -> Vec<PathBuf> {
        let mounts = self.mounts.iter();
        mounts
            .filter(|mount| !matches!(mount.state, MountState::Readonly))
            .map(|mount| mount.root.to_path())
            .filter(|root| !is_elsewhere(root))
            .collect()
    }

    /// Returns true if all coverages are frozen for a capture. A command can then begin before its baseline is stored.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        let mut coverages = self.coverages().peekable();
        coverages.peek().is_some() && coverages.all(|coverage| coverage.native.is_some())
    }
}

/// How long snapshots are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RetentionTerms {
    /// Of this workspace or directory.
    #[serde(flatten)]
    pub kept: Retention,
    /// Of the whole store.
    #[serde(flatten)]
    pub room: Room,
}

/// Whose state is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateSource {
    /// That of the container which the session is about.
    Container,
    /// That in the operator's own home.
    Home,
    /// None: no container is named, and `home` is off.
    None,
}

/// What of agents' state is covered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StateTerms {
    /// Whose.
    pub source: StateSource,
    /// Whether the operator's own home is meant when there is no container.
    pub home: Sourced<bool>,
    /// What happens to credentials.
    pub secrets: Sourced<StateSecrets>,
    /// Public keys that they may be encrypted to.
    pub recipients: Vec<Sourced<String>>,
    /// Agent by agent.
    pub agents: Vec<AgentTerms>,
    /// What a capture is asked to hold.
    pub coverage: Option<Coverage>,
    /// How captures freeze it, or why they do not.
    pub native: Option<NativeTerms>,
}

/// A snapshot of the file system itself, which captures read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NativeTerms {
    /// The file system: `btrfs`, `zfs` or `volume-snapshot`.
    pub kind: String,
    /// What the snapshot shows: a subvolume, or the dataset that is mounted there; none when there is none.
    pub source: Option<ByteString>,
    /// The directory in which it is seen.
    pub place: Option<ByteString>,
    /// The contents stay in it until it is pruned; else it goes when the archive is whole.
    pub keeps: bool,
    /// Of a claim: the `VolumeSnapshotClass`, where it is not the cluster that decides.
    pub class: Option<String>,
    /// Of a claim: what the operator has to be allowed to do for it, as `kubectl auth can-i` takes it.
    pub permissions: Vec<String>,
    /// Why there is none.
    pub why_not: Option<String>,
}

/// What of one agent's state is covered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentTerms {
    /// The agent, as jackin calls it.
    pub name: String,
    /// How jackin hands it credentials, in jackin's own word; none in the operator's own home.
    pub auth: Option<String>,
    /// What is captured, below the root.
    pub state: Vec<StatePath>,
    /// What of it enters no archive, or only an encrypted one: else that it is there, its metadata and a keyed digest are recorded.
    pub withheld: Vec<StatePath>,
    /// Settings that are captured without the secrets in them.
    pub settings: Vec<StatePath>,
    /// The same with an account in them: one that cannot be read by key is withheld whole.
    pub accounts: Vec<StatePath>,
}

/// A path below the root of agents' state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatePath {
    /// Below the root.
    pub path: RelPath,
    /// Whether anything lies there at the moment.
    pub there: bool,
    /// It is a settings file that cannot be taken apart by key as it is now, so it is withheld whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// It is a symbolic link, or lies behind one, which a capture never follows: what it leads to is not covered.
    pub link: bool,
}

/// Whether a snapshot will be made, and who said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SnapshotTerms {
    /// Files will be kept.
    pub created: bool,
    /// The mode, which is the reason.
    pub mode: Mode,
    /// Who chose the mode.
    pub source: ValueSource,
}

/// Whether a restore will be possible, and what it may touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RestoreTerms {
    /// It will be.
    pub available: bool,
    /// Why not.
    pub reason: Option<Unavailable>,
    /// Host paths at and below which a restore may create, replace and delete.
    pub overwrites: Vec<ByteString>,
}

/// Why there will be nothing to restore from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unavailable {
    /// The mode is `off`.
    Off,
    /// The mode is `metadata`.
    Metadata,
}

/// Reason that the shell and the tools of another machine serve instead of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShellReason {
    /// The operator asked for them; this program may be installed there.
    Asked,
    /// This program is not installed there, and no copy of it runs there.
    NotInstalled,
}

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MountTerms {
    /// Host path as configured, absolute.
    pub source: ByteString,
    /// Canonical host path.
    pub root: ByteString,
    /// Path in the container.
    pub dst: Option<String>,
    /// The agent cannot write there.
    pub readonly: bool,
    /// How jackin hands it to the container.
    pub isolation: Isolation,
    /// The container whose worktree or clone `root` is; none for a mount that is not isolated.
    pub container: Option<String>,
    /// Where it is configured.
    pub configured: ValueSource,
    /// Captured, or why not.
    #[serde(flatten)]
    pub state: MountState,
    /// What a capture is asked to hold; only when the state is `captured`.
    pub coverage: Option<Coverage>,
    /// Automatic excludes that the last baseline of the same root did not have. An agent can plant the file that makes
    /// one apply, so these deserve a look.
    pub new_excludes: Vec<ExcludeRule>,
    /// Whether there was a baseline to compare with.
    pub has_baseline: bool,
    /// Entries of `paths` that do not exist at the moment.
    pub absent_paths: Vec<RelPath>,
    /// Automatic excludes that do not apply, because git tracks files in what they would skip.
    pub kept_excludes: Vec<KeptExclude>,
    /// What the operator's own integrations warn of.
    pub stack_warnings: Vec<StackWarning>,
    /// Why this mount needed `--allow-broad`.
    pub broad: Vec<BroadReason>,
    /// What only another user can read or replace; none until [`super::count_foreign`] was asked.
    pub foreign: Option<Foreign>,
    /// Limitations on a machine whose shell and tools serve instead of this program.
    pub lacks: Vec<Limitation>,
    /// Reason that they serve; none where this program does.
    pub shell: Option<ShellReason>,
    /// What was started to reach it, and is removed again; none where nothing has to be.
    pub helper: Option<Helper>,
    /// Size of the copy of this program that is runs on the mount's machine (bytes); none where it is installed
    /// or a shell serves.
    pub copied_bytes: Option<u64>,
    /// How captures freeze it, or why they do not; none where its file system makes no snapshots of itself.
    pub native: Option<NativeTerms>,
    /// The git repository whose work tree the mount is, or is a part of; none if there is none, or it was not checked. Whether
    /// all of it is committed is told with the baseline, which looks at every file.
    pub git: Option<RepositoryState>,
}

/// What happens to a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum MountState {
    /// It has a coverage of its own.
    Captured,
    /// It lies within a captured mount, and is captured and restored there, once.
    CoveredBy {
        /// The label of that mount's coverage.
        label: String,
        /// That mount's canonical root.
        outer: ByteString,
    },
    /// The agent cannot write it: recorded here, never captured, never restored into.
    Readonly,
    /// Nothing of it is captured.
    NotCovered {
        /// Why.
        reason: NotCovered,
    },
}

/// An automatic exclude that does not apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KeptExclude {
    /// Paths that would be skipped.
    pub rule: ExcludeRule,
    /// A directory of it in which git tracks files.
    pub path: RelPath,
}

/// What one of the operator's own integrations warns of, now that its stack was detected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StackWarning {
    /// The stack.
    pub name: String,
    /// The warning.
    pub text: String,
    /// The file that it is in.
    pub defined: Option<ByteString>,
}

/// Why nothing of a mount is captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NotCovered {
    /// The mode captures no files.
    Mode,
    /// A single file is mounted, and only directories can be covered.
    SingleFile,
    /// A socket, a FIFO or a device is mounted.
    Special,
    /// The agent works in a worktree or clone of a container, and it is not certain that exactly one container has one.
    Isolated {
        /// Those that have one; which of them the session is about is unknown.
        containers: Vec<String>,
        /// Files of jackin's that could not be read, and may tell of another.
        unread: Vec<Unread>,
    },
    /// It lies within a captured mount, at a place which that mount skips.
    LeftOut {
        /// The label of that mount's coverage.
        label: String,
        /// The exclude; none when it is outside `paths` or withheld.
        pattern: Option<String>,
    },
}

/// Why a mount is refused without `--allow-broad`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BroadReason {
    /// It is `/`.
    FileSystemRoot,
    /// It is the operator's home directory, or contains it.
    Home,
    /// It contains the recovery store.
    Store,
    /// jackin's own configuration lies within it, so an agent could change what the next session agrees to.
    Configuration,
}

impl BroadReason {
    /// Returns the predicate of a sentence that begins with the mount.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::FileSystemRoot => "is the root of the file system",
            Self::Home => "is or contains your home directory",
            Self::Store => "contains the recovery store",
            Self::Configuration => "contains jackin's own configuration",
        }
    }
}
