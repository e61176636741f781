//! The beginning of a session.

use super::{Event, Recovery, RecoveryError};
use crate::capture::Limits;
use crate::config::{Mode, OnFailure};
use crate::contract::Contract;
use crate::model::{AgentRef, ContainerRef, InstanceId, ProcessRef, SessionTitle};
use crate::session::{Allowed, BeginRequest, Begun, begin, ensure_outside_session};
use crate::store::Store;

/// Session to begin.
pub struct NewSession<'a> {
    /// Its contract.
    pub contract: &'a Contract,
    /// End the session when this process exits; `None` if the caller ends it.
    pub keeper: Option<ProcessRef>,
    /// Shells that run a script, below the keeper: one of them may be the agent, as its next event shows.
    pub scripts: Vec<ProcessRef>,
    /// Program name and number of arguments, for a launcher. It stores a deferred baseline itself.
    pub command: Option<(String, u32)>,
    /// The agent whose hook begins it.
    pub agent: Option<AgentRef>,
    /// Name, message and recorded arguments.
    pub title: SessionTitle,
    /// Begin also if the baseline fails, whatever the contract says.
    pub without_baseline: bool,
}

impl<'a> From<&'a Contract> for NewSession<'a> {
    fn from(contract: &'a Contract) -> Self {
        Self {
            contract,
            keeper: None,
            scripts: Vec::new(),
            command: None,
            agent: None,
            title: SessionTitle::default(),
            without_baseline: false,
        }
    }
}

/// Session that began, with the store that it is recorded in.
pub struct StartedSession {
    /// The store, open for writing.
    pub store: Store,
    /// Its id, its baseline, and the lock of a launcher: [`Recovery::end`] refuses while the lock is held.
    pub begun: Begun,
}

impl StartedSession {
    /// Returns the id of the session, and releases its lock.
    #[must_use]
    pub fn into_id(self) -> InstanceId {
        self.begun.instance
    }
}

impl Recovery<'_> {
    /// Begins a session: records it and takes its baseline.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, NewSession, Recovery};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let environment = Environment { home: Some(scratch.path().join("home")), ..Environment::default() };
    /// # let project = scratch.path().join("project");
    /// # std::fs::create_dir(&project)?;
    /// let recovery = Recovery::open(&environment);
    /// let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// let started = recovery.begin(&NewSession::from(&contract))?;
    /// assert!(started.begun.baseline.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::ModeOff`]; [`RecoveryError::Session`] if the caller runs in a session, or the baseline fails and the contract
    /// wants one.
    pub fn begin(&self, session: &NewSession<'_>) -> Result<StartedSession, RecoveryError> {
        if session.contract.snapshot.mode == Mode::Off {
            return Err(RecoveryError::ModeOff);
        }
        let store = self.store_for_writing()?;
        ensure_outside_session(&store, self.environment, Allowed::Nothing)?;
        self.report(Event::Begins(session.contract));
        let begun = self.begin_in(&store, session)?;
        Ok(StartedSession { store, begun })
    }

    /// Begins a session in a store that is open. The caller may run in a session.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if the baseline fails and the contract wants one.
    pub fn begin_in(&self, store: &Store, session: &NewSession<'_>) -> Result<Begun, RecoveryError> {
        let contract = session.contract;
        let request = BeginRequest {
            label: &contract.label,
            workspace: contract.subject.workspace(),
            mode: contract.snapshot.mode.word(),
            coverages: contract.coverages().cloned().collect(),
            limits: Limits {
                max_entries: contract.limits.max_entries.value,
                max_bytes: contract.limits.max_bytes.value,
            },
            keeper: session.keeper.clone(),
            scripts: session.scripts.clone(),
            command: session.command.clone(),
            cleanup_policy: contract.cleanup_policy.clone(),
            container: contract.jackin.as_ref().and_then(|jackin| {
                Some(ContainerRef {
                    name: jackin.container.clone()?,
                    id: jackin.instance_id.clone(),
                })
            }),
            watched: contract.watched.clone(),
            agent: session.agent.clone(),
            title: session.title.clone(),
            run_without_baseline: session.without_baseline || contract.on_failure.value == OnFailure::Run,
            behind: session.command.is_some(),
            // An agent waits for its first tool call otherwise.
            waits: self.stores_deferred,
        };
        Ok(begin(store, self.services, request)?)
    }
}
