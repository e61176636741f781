//! What `explain`, `launch` and `begin` have in common: from the flags to a contract.

use crate::cli::args::Scope;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::config::{Config, Flags};
use crate::contract::{Contract, Identity, MAX_VISITED, Options, Target, count_foreign, resolve};
use crate::snapshot::Coverage;
use crate::store::Store;

/// Makes the contract. Nothing is written, and the store need not exist.
pub(super) fn contract(context: &Context<'_>, scope: &Scope) -> Result<Contract, CliError> {
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
    let resolved = target.settings(&config, context.environment, &flags)?;
    let options = Options {
        allow_broad: scope.allow_broad,
    };
    // Which automatic excludes are new is seen against the last baselines of the same roots.
    let first = resolve(context.environment, &resolved, options, &[])?;
    // A store that cannot be read is the business of whoever writes to it; here it only costs the marks.
    let previous = match context.store_for_reading() {
        Ok(Some(store)) => baselines(&store, first.coverages())?,
        Ok(None) | Err(_) => Vec::new(),
    };
    let mut contract = match previous.as_slice() {
        [] => first,
        some => resolve(context.environment, &resolved, options, some)?,
    };
    let identity = Identity::current();
    for mount in &mut contract.mounts {
        if let Some(coverage) = &mount.coverage {
            let foreign = count_foreign(coverage, &identity, MAX_VISITED);
            mount.foreign = Some(foreign.map_err(crate::contract::ContractError::from)?);
        }
    }
    Ok(contract)
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
        let same = |mount: &&crate::snapshot::MountRecord| mount.coverage.root == coverage.root;
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
