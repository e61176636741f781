//! The contract of a session: what would be captured, excluded and skipped.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use super::{Recovery, RecoveryError};
use crate::capture::{repository_around, repository_summary, tracked_by_git};
use crate::config::{Config, Flags, StateSecrets};
use crate::contract::{
    Contract, ContractError, Identity, MAX_VISITED, Options, Target, count_foreign, mark_new, resolve,
};
use crate::model::{Coverage, GitCoverage, MountRecord, RepositoryState};
use crate::store::Store;
use crate::store::encryption::Recipients;
use handle_fs::remote::Transports;

/// Request for a contract.
#[derive(Clone, Debug, Default)]
pub struct ContractRequest<'a> {
    /// Workspace, directory or address; `None` for the workspace of the current directory.
    pub target: Option<&'a OsStr>,
    /// Settings that override the configuration.
    pub flags: Flags,
    /// Allows `/`, the home directory, or a mount that holds the store.
    pub allow_broad: bool,
    /// Interval of automatic checkpoints; `None` for none.
    pub checkpoint_every: Option<Duration>,
    /// True to gather facts for a reader that need a look at every file: files of other users, and git repositories.
    pub examines: bool,
}

impl<'a> ContractRequest<'a> {
    /// Returns the request to protect one directory without any configuration. The path holds a `/`.
    #[must_use]
    pub fn of_directory(directory: &'a Path) -> Self {
        Self {
            target: Some(directory.as_os_str()),
            flags: Flags {
                snapshot: Some("project".to_owned()),
                ..Flags::default()
            },
            ..Self::default()
        }
    }
}

impl Recovery<'_> {
    /// Makes a contract. Nothing is written, and the store need not exist.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, Recovery};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let environment = Environment { home: Some(scratch.path().join("home")), ..Environment::default() };
    /// let project = scratch.path().join("project");
    /// std::fs::create_dir(&project)?;
    /// let recovery = Recovery::open(&environment);
    /// let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// assert_eq!(contract.coverages().count(), 1);
    /// assert!(!recovery.has_store()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Config`]; [`RecoveryError::Contract`]; [`RecoveryError::Recipients`].
    pub fn contract(&self, request: &ContractRequest<'_>) -> Result<Contract, RecoveryError> {
        let config = Config::load(self.environment)?;
        let target = Target::parse(request.target);
        let resolved = target.settings(&config, self.environment, &request.flags)?;
        let options = Options {
            allow_broad: request.allow_broad,
            in_git: Some(tracked_by_git),
            checkpoint_every: request.checkpoint_every.map(|every| every.as_secs()),
        };
        let mut contract = resolve(self.environment, &resolved, options)?;
        check_recipients(&contract)?;
        contract.replica = contract.replica.take().filter(|_| self.replication().is_some());
        // Which automatic excludes are new is seen against the last baselines of the same roots. A store that cannot be
        // read is the business of whoever writes to it; here it only costs the marks.
        if let Ok(Some(store)) = self.store_for_reading() {
            let previous = baselines(&store, contract.coverages())?;
            mark_new(&mut contract, &previous);
        }
        if request.examines {
            examine(&self.environment.transports, &mut contract)?;
        }
        Ok(contract)
    }
}

/// Gathers the facts of each mount that need a look at every file.
fn examine(transports: &Transports, contract: &mut Contract) -> Result<(), RecoveryError> {
    for mount in &mut contract.mounts {
        if let Some(coverage) = &mount.coverage {
            let identity = Identity::at(transports, &coverage.root.to_path());
            let foreign = count_foreign(transports, coverage, &identity, MAX_VISITED);
            mount.foreign = Some(foreign.map_err(ContractError::from)?);
            mount.git =
                repository_summary(transports, coverage).or_else(|| repository_around(transports, coverage));
        } else if let Some(watched) = contract.watched.iter().find(|watched| watched.root == mount.root) {
            // No file is kept of it.
            mount.git = repository_summary(transports, watched).map(|git| RepositoryState {
                covered: GitCoverage::Off,
                ..git
            });
        }
    }
    Ok(())
}

/// Checks that the configured recipients can encrypt credentials.
fn check_recipients(contract: &Contract) -> Result<(), RecoveryError> {
    let Some(state) = &contract.state else {
        return Ok(());
    };
    if state.secrets.value != StateSecrets::Encrypt {
        return Ok(());
    }
    if state.recipients.is_empty() {
        return Err(RecoveryError::Recipients {
            place: state.secrets.source.to_string(),
            why: "secrets = \"encrypt\" needs recipients, and there are none".to_owned(),
        });
    }
    for recipient in &state.recipients {
        if let Err(error) = Recipients::parse(std::slice::from_ref(&recipient.value)) {
            return Err(RecoveryError::Recipients {
                place: recipient.source.to_string(),
                why: error.to_string(),
            });
        }
    }
    Ok(())
}

/// Returns the coverages of the last baselines on the roots of `coverages`.
fn baselines<'a>(
    store: &Store,
    coverages: impl Iterator<Item = &'a Coverage>,
) -> Result<Vec<Coverage>, RecoveryError> {
    let mut found = Vec::new();
    for coverage in coverages {
        let Some(id) = store.catalog().latest_baseline_on_root(&coverage.root.0)? else {
            continue;
        };
        // A record that cannot be read only costs the marks.
        let Ok(record) = store.record(&id) else { continue };
        let same = |mount: &&MountRecord| mount.coverage.root == coverage.root;
        found.extend(
            record
                .mounts
                .iter()
                .find(same)
                .map(|mount| mount.coverage.clone()),
        );
    }
    Ok(found)
}
