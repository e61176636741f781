//! Excluded directories that a restore sets aside, as part of its proposal.

use std::ffi::OsString;
use std::path::Path;

use super::{Recovery, RecoveryError, paths};
use crate::model::{Coverage, Intent};
use crate::restore::{AsideError, Proposal, Purpose, bring_back, set_aside};
use crate::store::Store;

impl Recovery<'_> {
    /// Adds the named directories to a proposal.
    pub(super) fn set_aside(&self, proposal: &mut Proposal, named: &[OsString]) -> Result<(), RecoveryError> {
        let mounts = proposal.mounts.iter();
        let coverages: Vec<Coverage> = mounts.map(|mount| mount.request.coverage.clone()).collect();
        // No snapshot has an excluded directory.
        for argument in named {
            let (mount, path) =
                paths::place(self.environment, &coverages, Path::new(argument), &|_, _| false)?;
            set_aside(proposal, mount, &path, self.services.entropy)
                .map_err(|error| refused(error, proposal))?;
        }
        Ok(())
    }

    /// Adds the set-aside moves of an interrupted restore's intent to a new proposal.
    pub(super) fn set_aside_again(
        &self,
        store: &Store,
        proposal: &mut Proposal,
        intent: &Intent,
    ) -> Result<(), RecoveryError> {
        let entropy = self.services.entropy;
        if let Purpose::Undo(number) = Purpose::of(intent) {
            let restores = store.catalog().restores(&intent.instance)?;
            let undone = restores.iter().find(|restore| restore.number == number);
            let changes = undone.map_or(&[] as &[_], |restore| &restore.aside);
            bring_back(proposal, changes, entropy);
            return Ok(());
        }
        for mount in &intent.mounts {
            let label = &mount.coverage.label;
            let mut mounts = proposal.mounts.iter();
            let at = mounts.position(|proposed| proposed.request.coverage.label == *label);
            for (at, step) in at
                .into_iter()
                .flat_map(|at| mount.aside.iter().map(move |step| (at, step)))
            {
                set_aside(proposal, at, &step.path, entropy).map_err(|error| refused(error, proposal))?;
            }
        }
        Ok(())
    }
}

fn refused(refused: AsideError, proposal: &Proposal) -> RecoveryError {
    let mut there = Vec::new();
    for mount in &proposal.mounts {
        let root = mount.request.coverage.root.to_path();
        let left = mount.now.skipped.iter().filter(|left| left.is_dir);
        there.extend(left.map(|left| left.path.on_host(&root)));
    }
    RecoveryError::Aside { refused, there }
}
