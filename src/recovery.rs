//! The engine's face: records sessions, compares them and restores their files, for any program.
//!
//! A [`Recovery`] is one user's store with everything that its methods need from outside: variables, a clock, randomness, an
//! observer of the progress, and a listener to events. Each method is one job. What it returns holds the open store, and the locks
//! that the caller needs as long as it looks at the result.
//!
//! ```
//! use jackin_recovery::environment::Environment;
//! use jackin_recovery::recovery::{ContractRequest, DiffRequest, Recovery, RestoreRequest};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scratch = tempfile::tempdir()?;
//! let project = scratch.path().join("project");
//! std::fs::create_dir(&project)?;
//! std::fs::write(project.join("notes"), "one\n")?;
//! let environment = Environment {
//!     home: Some(scratch.path().join("home")),
//!     current: project.clone(),
//!     ..Environment::default()
//! };
//! let recovery = Recovery::open(&environment);
//!
//! let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
//! let session = recovery.begin(&(&contract).into())?.into_id();
//! std::fs::write(project.join("notes"), "two\n")?;
//! recovery.end(session.as_str())?;
//!
//! let found = recovery.diff(&DiffRequest::of(session.as_str()))?;
//! assert!(found.are_any());
//! let plan = recovery.plan(&RestoreRequest::of(session.as_str()))?;
//! recovery.restore(&plan)?;
//! assert_eq!(std::fs::read_to_string(project.join("notes"))?, "one\n");
//! # Ok(())
//! # }
//! ```

mod agents;
mod around_command;
mod begin;
mod blame;
mod browse;
mod candidate;
mod checkpoint;
mod choice;
mod chosen_paths;
mod comparison;
mod content_search;
mod contract;
mod contract_record;
mod differences;
mod doctor;
mod earlier_change;
mod end;
mod error;
mod event;
mod export;
mod find;
mod forget;
mod fork;
mod import;
mod interrupted;
mod known_path;
mod live_file;
mod log;
mod mount_point;
mod net_changes;
mod output;
mod path_history;
pub(crate) mod paths;
mod pin;
mod plan;
mod rebuild;
mod rename;
mod replica_import;
mod replication;
mod repositories;
mod restore;
mod retention;
mod session_changes;
mod sessions;
mod set_aside;
pub(crate) mod settings;
mod sides;
mod status;
mod stored_files;
mod stores;
mod undo;
mod verify;
mod watch;

pub use begin::{NewSession, StartedSession};
pub use blame::BlameRequest;
pub use browse::{
    BrowseError, BrowseRequest, Browser, NodeFacts, NodeType, OpenedDirectory, OpenedFile, TOP,
};
pub use candidate::Candidate;
pub use checkpoint::TakenCheckpoint;
pub use choice::{NamedSession, SessionChoice, Wanted};
pub use chosen_paths::ChosenPaths;
pub use comparison::{Compared, Since};
pub use content_search::{ContentMatch, ContentSearch, MatchedLine};
pub use contract::ContractRequest;
pub use differences::{DiffRequest, Differences, Question, SessionDiff, Until};
pub use earlier_change::{EarlierChange, EarlierSession};
pub use end::EndedSession;
pub(crate) use end::survivors;
pub use error::RecoveryError;
pub use event::{Event, Listener, Unheard};
pub use export::{ExportSubject, ExportedSnapshot};
pub use find::{FindRequest, FoundPath, FoundPaths, Moment, Presence};
pub use forget::{ForgetRequest, OutsideCopy, PlannedForget};
pub use fork::{ForkError, ForkRequest, Forked};
pub use interrupted::{HeldRestore, InterruptedRestore};
pub use log::Log;
pub use mount_point::{MountPoint, MountPointError};
pub(crate) use net_changes::{MOST_COMPARED, changed_between, net_changes};
pub(crate) use output::refuse_address;
pub use output::{
    EncryptedFile, IncompleteDatabase, MissingClaim, OutputError, OutputPlan, OutsideGit, UnwrittenSocket,
    WrittenMount, WrittenSnapshot,
};
pub use path_history::{BlamedLine, Origin, PathHistory, PathStep, PathStepKind, WholeReason};
pub use pin::Pinned;
use plan::restore_target;
pub use plan::{RestoreRequest, RestoreSubject};
pub use rebuild::Rebuilt;
pub use rename::{RenamedSession, Text};
pub use replica_import::{FoundReplica, ReplicaRequest};
pub use replication::{EarlierCopy, Replicated, ReplicationCare};
pub(crate) use repositories::emptied;
use restore::Locks;
pub use restore::{Caller, Keys, RestorePlan, no_keys};
pub use retention::{AppliedRetention, PlannedPrune};
pub use session_changes::SessionChanges;
pub(crate) use session_changes::of_session;
pub(crate) use sessions::{no_files, refuse_imported};
pub use status::{SessionStatus, Standing};
pub use stored_files::{FilesRequest, LiveFile, StoredFile, StoredFiles, holds_login};
pub use undo::{UndoRequest, UndoneRestore};
pub use verify::Verification;
pub use watch::{Watch, WatchedChange};

use crate::environment::Environment;
use crate::observer::Silent;

// Types of the layers below that requests and results hold.
pub use crate::capture::{CaptureError, Captured, Frozen};
pub use crate::contract::{Contract, PathGlob, TermChange};
pub use crate::diff::PatchOptions;
pub use crate::doctor::{Checkup, Finding, Severity, Step};
pub use crate::replica::{Copied, Stop, Waiting};
pub use crate::restore::{
    Allow, Cleared, Merging, Proposal, Purpose, RestoreError, TakenBack, Worker, Workers,
};
pub use crate::retention::{Chosen, ForgetError, ForgetProposal, PrunePlan};
pub use crate::session::{
    Adopted, Begun, CheckpointRequest, Closed, Services, SessionError, check_session_name,
};
pub use crate::store::{
    Anchor, Forgotten, InstanceRow, LockGuard, LostRecord, RestoreStage, Store, Verified,
};
pub use crate::transfer::Incoming;

/// The engine for one user: all sessions in the store below jackin's home.
#[derive(Clone, Copy)]
pub struct Recovery<'a> {
    environment: &'a Environment,
    services: Services<'a>,
    listener: &'a dyn Listener,
    /// True if opening the store for writing stores the baselines that dead processes left.
    stores_deferred: bool,
}

impl<'a> Recovery<'a> {
    /// Opens the engine. Nothing is read or written before the first method is called, and the store need not exist.
    #[must_use]
    pub fn open(environment: &'a Environment) -> Self {
        Self {
            environment,
            services: Services::system(&Silent),
            listener: &Unheard,
            stores_deferred: true,
        }
    }

    /// Returns the engine with another clock, source of randomness, observer or user.
    #[must_use]
    pub fn with_services(self, services: Services<'a>) -> Self {
        Self { services, ..self }
    }

    /// Returns the engine that reports its events to `listener`.
    #[must_use]
    pub fn reporting_to(self, listener: &'a dyn Listener) -> Self {
        Self { listener, ..self }
    }

    /// Returns the engine that leaves the baselines of dead processes to another call: storing one takes a while.
    #[must_use]
    pub fn leaving_deferred(self) -> Self {
        Self {
            stores_deferred: false,
            ..self
        }
    }

    fn report(&self, event: Event<'_>) {
        self.listener.on(event);
    }
}
