//! Steps that `explain`, `launch` and `begin` share: from the flags to a contract.

use std::ffi::OsString;

use super::suggested_command::Words;
use crate::capture::{repository_summary, tracked_by_git};
use crate::cli::args::Scope;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::config::{Config, ConfigError, Flags, StateSecrets};
use crate::contract::{
    Contract, ContractError, Identity, MAX_VISITED, Options, Target, count_foreign, mark_new, resolve,
};
use crate::model::{Coverage, GitCoverage, RepositoryState};
use crate::store::Store;
use crate::store::archive::Recipients;
use crate::terminal::sanitize;

/// Command that asks for a contract, as an error suggests it again.
pub(super) struct Asking<'a> {
    pub(super) verb: &'static str,
    /// Command that `launch` is to run.
    pub(super) command: &'a [OsString],
    /// True if the contract is shown; only then jackin gathers facts that need a look at every file.
    pub(super) is_shown: bool,
}

/// Makes the contract. Nothing is written, and the store need not exist.
pub(super) fn contract(
    context: &Context<'_>,
    scope: &Scope,
    asking: &Asking<'_>,
) -> Result<Contract, CliError> {
    use clap::ValueEnum as _;
    let word = |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
    let flags = Flags {
        snapshot: scope.snapshot.and_then(|mode| word(mode.to_possible_value())),
        exclude: scope.exclude.clone(),
        paths: scope.path.clone(),
        on_failure: scope
            .on_failure
            .and_then(|action| word(action.to_possible_value())),
    };
    let config = Config::load(context.environment)?;
    let target = Target::parse(scope.target.as_deref());
    let resolved = target
        .settings(&config, context.environment, &flags)
        .map_err(|error| explained(error, &config, scope, asking))?;
    let options = Options {
        allow_broad: scope.allow_broad,
        in_git: Some(tracked_by_git),
        checkpoint_every: scope.checkpoint_every.map(|every| every.as_secs()),
    };
    let mut contract = resolve(context.environment, &resolved, options)?;
    check_recipients(&contract)?;
    // Which automatic excludes are new is seen against the last baselines of the same roots. A store that cannot be
    // read is the business of whoever writes to it; here it only costs the marks.
    if let Ok(Some(store)) = context.store_for_reading() {
        let previous = baselines(&store, contract.coverages())?;
        mark_new(&mut contract, &previous);
    }
    let mounts = contract.mounts.iter_mut().filter(|_| asking.is_shown);
    for mount in mounts {
        if let Some(coverage) = &mount.coverage {
            let identity = Identity::at(&coverage.root.to_path());
            let foreign = count_foreign(coverage, &identity, MAX_VISITED);
            mount.foreign = Some(foreign.map_err(ContractError::from)?);
            mount.git = repository_summary(coverage);
        } else if let Some(watched) = contract.watched.iter().find(|watched| watched.root == mount.root) {
            // No file is kept of it.
            mount.git = repository_summary(watched).map(|git| RepositoryState {
                covered: GitCoverage::Off,
                ..git
            });
        }
    }
    Ok(contract)
}

/// Checks that the configured recipients can encrypt credentials.
fn check_recipients(contract: &Contract) -> Result<(), CliError> {
    let Some(state) = &contract.state else {
        return Ok(());
    };
    if state.secrets.value != StateSecrets::Encrypt {
        return Ok(());
    }
    let with_steps = |error: CliError| {
        error
            .hint("name one or more public keys, of age or of ssh, in [recovery.state]:\n  recipients = [\"ssh-ed25519 AAAA…\"]")
            .hint("yours may be the line in ~/.ssh/id_ed25519.pub; its private key opens what is encrypted with --identity")
    };
    if state.recipients.is_empty() {
        let what = format!(
            "{}: secrets = \"encrypt\" needs recipients, and there are none",
            state.secrets.source
        );
        return Err(with_steps(CliError::new(ErrorKind::Config, what)));
    }
    for recipient in &state.recipients {
        if let Err(error) = Recipients::parse(std::slice::from_ref(&recipient.value)) {
            let what = format!("{}: {error}", recipient.source);
            return Err(with_steps(CliError::new(ErrorKind::Config, what)));
        }
    }
    Ok(())
}

/// A target that cannot be used comes with the command that was probably meant.
fn explained(error: ContractError, config: &Config, scope: &Scope, asking: &Asking<'_>) -> CliError {
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
        ContractError::Config(ConfigError::NoMode { directory }) => {
            let workspace = config.workspace_for_directory(directory).ok().flatten();
            let whole = words(Some("project"), None);
            let made = CliError::from(error);
            let made = match workspace {
                Some(name) => made.command(
                    format!("it belongs to the workspace {name}, which has a configuration"),
                    words(None, Some(&name)),
                ),
                None => made,
            };
            made.command("without a configuration", whole)
        }
        ContractError::NoTarget { .. } => {
            CliError::from(error).command("protect this directory", words(Some("project"), Some(".")))
        }
        ContractError::Config(ConfigError::UnknownWorkspace {
            nearest, directory, ..
        }) => {
            let nearest = nearest.first().map(|name| words(None, Some(name)));
            let here = directory.is_some();
            let made = CliError::from(error);
            match nearest {
                Some(nearest) => made.command("perhaps you mean", nearest),
                None if here => made,
                None => made.hint("a directory is named with a slash, such as ./NAME or /path/to/NAME"),
            }
        }
        _ => error.into(),
    }
}

fn baselines<'a>(
    store: &Store,
    coverages: impl Iterator<Item = &'a Coverage>,
) -> Result<Vec<Coverage>, CliError> {
    let mut found = Vec::new();
    for coverage in coverages {
        let Some(id) = store.catalog().latest_baseline_on_root(&coverage.root.0)? else {
            continue;
        };
        // A record that cannot be read only costs the marks.
        let Ok(record) = store.record(&id) else { continue };
        let same = |mount: &&crate::model::MountRecord| mount.coverage.root == coverage.root;
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
