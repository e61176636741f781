//! One serde model of every answer, made of the engine's results. JSON is the model itself; text, pages, the tools of MCP and the screen
//! render it. Fields of the JSON are only ever added (DESIGN section 7). A fact that only people see is a field that serde skips.

mod blame;
mod change;
mod conversation;
mod diff;
mod find;
mod fold;
mod forget;
mod forks;
mod head;
mod hook_change;
mod hooks;
mod installation;
mod json_lines;
mod lifecycle;
mod line_numbers;
mod log;
mod origin;
mod patch;
mod path;
mod replica;
mod repository;
mod restore;
mod restore_points;
mod session;
mod sessions;
mod status;
mod steps;
mod store;
mod transfer;
mod turns;
mod watch;

pub(crate) use crate::diff::HIDDEN;
pub(crate) use crate::doctor::{Group, Severity};
pub(crate) use crate::recovery::UndoneRestore;
pub(crate) use crate::restore::Action;
pub(crate) use crate::retention::Held;
pub(crate) use blame::{
    BlameDocument, PathLogDocument, PathStepDocument, StepAuthor, StepKind, WorkerDocument,
};
pub(crate) use change::{ChangeDocument, why_words};
pub(crate) use conversation::ConversationDocument;
pub(crate) use diff::{DiffDocument, MountDiff, SettingDocument, diff_document};
pub(crate) use find::{FindDocument, FindSummary, FoundDocument, MomentDocument, PresenceWord};
pub(crate) use fold::{Extent, Fold, FoldedLine, fold_changes, is_notable};
pub(crate) use forget::{
    EarlierReplicaDocument, ForgetDocument, ForgetOutcome, ForgottenPathDocument, KeptCopyDocument,
    OutsideKind,
};
pub(crate) use forks::{
    ForkDocument, ForkOutcome, ForkedDocument, OutsideGitDocument, not_opened, not_sockets, problems,
};
pub(crate) use head::Head;
pub(crate) use hooks::{
    HookEditDocument, HookOutcome, HookProgramDocument, HookStandingDocument, HookState, HookStatusDocument,
    HookSwitchDocument, HookTrust,
};
pub(crate) use installation::{
    CompletionFileDocument, CompletionState, CompletionsInstallDocument, DoctorDocument, FileDocument,
    FindingDocument, InitDocument, InitOutcome, InstallOutcome,
};
pub(crate) use json_lines::{KIND, SCHEMA, SUMMARY, VALUE, json_line, json_lines};
pub(crate) use lifecycle::{
    BeginDocument, CheckpointDocument, EndDocument, ExplainDocument, RenameDocument, ReportDocument,
    SessionContractDocument,
};
pub(crate) use line_numbers::{LineNumbers, line_numbers};
pub(crate) use log::{AnchorDocument, LogDocument, ReceiptDocument};
pub(crate) use origin::ImportedDocument;
pub(crate) use patch::{
    Body, Change, ChangeKind, ChangedLine, Contents, Line, MAX_TEXT, PatchOptions, Sources, contents,
    count_changes, made, masked, patch_of, word_marks,
};
pub(crate) use path::{HostPathDocument, PathDocument, ReasonDocument};
pub(crate) use replica::{AdoptDocument, AdoptOutcome, ReplicateDocument, ReplicateOutcome};
pub(crate) use repository::{
    CommitDocument, ExecutionDocument, HeadDocument, RefDocument, RepositoryDocument, RepositoryState,
    RepositoryStateDocument,
};
pub(crate) use restore::{
    LeftOut, MountPlan, MovedHead, NewClaimDocument, RestoreDocument, RestoreOutcome, RestoreToDocument,
    presented, restore_document,
};
pub(crate) use restore_points::RestorePoint;
pub(crate) use session::{ChangedMeanwhileDocument, RestoredDocument, SessionReport};
pub(crate) use sessions::{
    InstanceDocument, JackinDocument, ListDocument, SnapshotDocument, Status, sessions, unsettled,
};
pub(crate) use status::{StatusDocument, StatusState};
pub(crate) use steps::steps;
pub(crate) use store::{
    DamageDocument, PinDocument, PruneDocument, PruneOutcome, PrunedDocument, RebuildDocument,
    ShortageDocument, VerifyDocument, VerifyOutcome,
};
pub(crate) use transfer::{DroppedDocument, ExportDocument, ImportDocument};
pub(crate) use turns::TurnDocument;
pub(crate) use watch::{WatchDocument, WatchLine, WatchedLine, WatchedState, watched_lines};
