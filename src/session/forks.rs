//! Forks and sessions: which session began in a fork, and what a branch may be called.

use super::SessionError;
use super::select::name_fault;
use crate::store::{ForkRow, InstanceRow, Store};

/// The fork that a session began in: of `forks`, which are newest first, the last one that was made before it and holds one of its
/// mounts.
///
/// # Errors
/// [`SessionError::Store`].
pub fn forked_from<'f>(
    store: &Store,
    forks: &'f [ForkRow],
    row: &InstanceRow,
) -> Result<Option<&'f ForkRow>, SessionError> {
    let holds = |fork: &&ForkRow| {
        let roots = row.mounts.iter().map(|mount| mount.root.to_path());
        roots.into_iter().any(|root| root.starts_with(&fork.directory))
    };
    let mut holding = forks.iter().filter(holds).peekable();
    if holding.peek().is_none() {
        return Ok(None);
    }
    let (begun, _) = store.catalog().lifetime(&row.id)?;
    Ok(holding.find(|fork| begun.is_none_or(|begun| fork.number < begun)))
}

/// Checks the name of a branch, which is as that of a checkpoint.
///
/// # Errors
/// [`SessionError::BranchName`] with what is wrong.
pub fn check_branch(name: &str) -> Result<(), SessionError> {
    match name_fault(name) {
        None => Ok(()),
        Some(why) => Err(SessionError::BranchName {
            name: name.to_owned(),
            why,
        }),
    }
}
