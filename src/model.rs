//! The nouns: ids, paths, entries, manifests, coverage, snapshot records, receipts. They hold data and know how to
//! encode it; they open no file and start nothing.

mod agent_event;
mod aside;
mod change_counts;
mod chunk;
mod codec;
mod coverage;
mod digest;
mod directories_above;
mod entry;
mod export;
mod forgotten;
mod fork;
mod fs_snapshot;
mod id;
mod identity;
mod journal;
mod manifest;
mod placeholder;
mod pruned;
mod receipt;
mod record;
mod recorded;
mod repository;
mod rules;
mod snapshot_kind;
mod stage_place;

pub use agent_event::{AgentEvent, AgentRef, CallRef};
pub use aside::{AsideAct, AsideChange, AsideStep};
pub use change_counts::{ChangeCounts, PathCounts};
pub use chunk::{Chunk, ManifestList, Part, Run, runs};
pub use codec::DecodeError;
pub use coverage::{Coverage, ExcludeRule, ExcludeSource, NativeUse, WithheldPath, WithheldReason, ground};
pub use digest::{Content, Digest, DigestMethod, Hasher};
pub use directories_above::directories_above;
pub use entry::{Entry, EntryKind};
pub use export::ExportNote;
pub use forgotten::{AmendedManifest, AmendedMount, AmendedSnapshot, Amendment, ForgottenContent, without};
pub use fork::{ForkMount, ForkReference};
pub use fs_snapshot::{FrozenMount, FsSnapshotIntent, NativePlace, NativeRef};
pub use handle_fs::{ByteString, FileSystemId, InodeFlags, Name, PathError, RelPath, Time, Xattr};
pub use id::{ArchiveId, ForkId, IdError, InstanceId, RestoreId, SnapshotId, StoreId, label_from};
pub use identity::{Identity, Stamp};
pub use journal::{
    BoundObject, ComposedFile, Composition, Decision, Intent, IntentMount, IntentScope, Journal,
    JournalMount, JournalMove, JournalParent, JournalParts, JournalStep, KnownObject, KnownState, MoveKind,
};
pub use manifest::{Directory, Gap, GapReason, Listing, MIXED, Manifest, add_sizes};
pub use placeholder::{REDACTOR, WITHHELD};
pub use processes::ProcessRef;
pub use pruned::{PruneReason, PrunedSnapshot};
pub use receipt::{
    ContainerRef, Ending, Operation, PathAct, PathChange, Receipt, RestoreKind, SessionTitle, StepRef,
    WatchedMount, count_paths,
};
pub use record::{
    ArchiveRef, MountRecord, RecordedGap, SealedRef, SecretFact, SettingsFact, SnapshotRecord, WithheldFact,
};
pub use recorded::Recorded;
pub use repository::{
    Differs, DirtyPath, GitCoverage, RemoteFacts, RepositoryClass, RepositoryFacts, RepositoryState,
    UnpushedBranch,
};
pub use snapshot_kind::SnapshotKind;
pub use stage_place::StagePlace;

#[cfg(test)]
mod tests;
