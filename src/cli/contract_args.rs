//! Steps that `explain`, `launch` and `begin` share: from the flags to a contract.

use std::ffi::OsString;

use clap::ValueEnum as _;
use clap::builder::PossibleValue;

use super::args::Scope;
use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::suggested_command::Words;
use super::view;
use crate::config::{ConfigError, Flags, Mode};
use crate::contract::{Contract, ContractError};
use crate::model::InstanceId;
use crate::recovery::{ContractRequest, RecoveryError, Store};
use crate::terminal::{filter, sanitize};

/// Width of the text that is stored, in columns.
const STORED: usize = 80;

/// Command that asks for a contract, as an error suggests it again.
pub(super) struct Asking<'a> {
    pub(super) verb: &'static str,
    /// Command that `launch` is to run.
    pub(super) command: &'a [OsString],
    /// Mode that the command implies where nothing sets one.
    pub(super) implied: Option<Mode>,
    /// True if the contract is shown; only then jackin gathers facts that need a look at every file.
    pub(super) is_shown: bool,
}

/// Makes the contract. Nothing is written, and the store need not exist.
pub(super) fn contract(
    context: &Context<'_>,
    scope: &Scope,
    asking: &Asking<'_>,
) -> Result<Contract, CliError> {
    let word = |value: Option<PossibleValue>| value.map(|value| value.get_name().to_owned());
    let request = ContractRequest {
        target: scope.target.as_deref(),
        flags: Flags {
            snapshot: scope.snapshot.and_then(|mode| word(mode.to_possible_value())),
            exclude: scope.exclude.clone(),
            paths: scope.path.clone(),
            on_failure: scope
                .on_failure
                .and_then(|action| word(action.to_possible_value())),
            implied: asking.implied,
        },
        allow_broad: scope.allow_broad,
        checkpoint_every: scope.checkpoint_every,
        examines: asking.is_shown,
    };
    context.engine().contract(&request).map_err(|error| match error {
        RecoveryError::Contract(error) => explained(error, scope, asking),
        error => error.into(),
    })
}

/// A target that cannot be used comes with the command that was probably meant.
fn explained(error: ContractError, scope: &Scope, asking: &Asking<'_>) -> CliError {
    let words = |mode, target: Option<&str>| {
        let scope = Scope {
            target: target.map(OsString::from).or(scope.target.clone()),
            ..scope.clone()
        };
        let words = Words::new(asking.verb).scope(&scope, mode);
        words.launching(asking.command).text()
    };
    match &error {
        // That it does not exist is the nearer mistake: a mode would not help.
        ContractError::Config(ConfigError::NoMode { directory }) if !directory.exists() => {
            let shown = sanitize::path(directory);
            CliError::new(ErrorKind::Usage, format!("the directory {shown} does not exist"))
        }
        ContractError::Config(ConfigError::NoMode { .. }) => {
            let whole = words(Some("project"), None);
            let purpose = match asking.verb {
                "explain" => "to see the contract without configuration",
                _ => "to run without configuration",
            };
            CliError::from(error).command(purpose, whole)
        }
        ContractError::NoTarget { .. } => {
            CliError::from(error).command("to protect this directory", words(Some("project"), None))
        }
        ContractError::Config(ConfigError::UnknownWorkspace {
            nearest, directory, ..
        }) => {
            let nearest = nearest.first().map(|name| words(None, Some(name)));
            let here = directory.is_some();
            let made = CliError::from(error);
            match nearest {
                Some(nearest) => made.command("did you mean", nearest),
                None if here => made,
                None => made.hint("a directory is named with a slash, such as ./NAME or /path/to/NAME"),
            }
        }
        _ => error.into(),
    }
}

/// Stores the contract with the session that began, and whether the operator was shown it. The session is whole without it.
pub(super) fn save(
    context: &Context<'_>,
    store: &Store,
    instance: &InstanceId,
    (contract, shown): (&Contract, bool),
) {
    let text = filter::printable(&view::contract::contract(contract, STORED), false);
    let text = text.trim_end().to_owned();
    let saved = context
        .engine()
        .save_contract(store, instance, contract, (text, shown));
    if let Err(error) = saved {
        context
            .terminal
            .detail(&format!("the contract was not stored: {error}"));
    }
}
