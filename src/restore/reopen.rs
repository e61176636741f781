//! Opens what a restore that died was working on: roots and staging directories, known by identity.

use std::path::Path;

use super::RestoreError;
use super::file_identity::identity;
use super::holding_dir;
use super::mount_task::MountTask;
use super::proposal::Proposal;
use super::stage::Stage;
use super::staging_cleanup::OwnedInodes;
use crate::model::{Identity, Intent, Journal};
use handle_fs::{MountError, Root};

/// Treatment of a missing staging directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// An error: the objects to move are gone.
    Stops,
    /// A new, empty directory: a rollback moves the new objects into it.
    Made,
    /// A new, empty directory: the restore was decided and removed the old one.
    Settled,
}

/// The jobs of a restore that died, with their staging directories opened again.
pub(super) fn jobs<'a>(
    intent: &Intent,
    journal: &Journal,
    proposal: Option<&'a Proposal>,
    missing: Missing,
) -> Result<Vec<MountTask<'a>>, RestoreError> {
    let mut jobs = Vec::new();
    for mount in &journal.mounts {
        let mut meant = intent.mounts.iter().enumerate();
        let meant = meant.find(|(_, meant)| meant.coverage.label == mount.label);
        let Some((index, meant)) = meant else { continue };
        let Some(place) = &meant.stage else { continue };
        let host = meant.coverage.root.to_path();
        let root = match mount.root.as_ref().map(|then| root(&host, then)) {
            // Nothing is moved there any more, whatever it is now.
            Some(Err(RestoreError::OtherRoot { .. })) if missing == Missing::Settled => None,
            Some(root) => Some(root?),
            None => None,
        };
        let stage = match (Stage::reopen(place, Some(&mount.stage))?, missing) {
            (Some(stage), _) => stage,
            (None, Missing::Made | Missing::Settled) => Stage::create_anew(place)?,
            (None, Missing::Stops) => return Err(RestoreError::StageGone { path: place.path() }),
        };
        let berths = holding_dir::open_all(&meant.aside, missing == Missing::Stops)?;
        let before = proposal.and_then(|proposal| proposal.mounts.get(index));
        jobs.push(MountTask {
            index,
            before: before.and_then(|before| Some((before.now.manifest.as_ref()?, intent.at))),
            host,
            root,
            stage,
            berths,
            journal: mount.clone(),
            known: OwnedInodes::of(&mount.known),
            again: true,
            bound: meant.bound.clone(),
            in_steps: false,
            shared: 0,
            problems: Vec::new(),
        });
    }
    Ok(jobs)
}

/// The mount root, if it still is the directory that the restore began in.
fn root(host: &Path, then: &Identity) -> Result<Root, RestoreError> {
    let other = || RestoreError::OtherRoot {
        path: host.to_path_buf(),
    };
    let root = match Root::open(host) {
        Err(MountError::Missing { .. } | MountError::NotADirectory { .. }) => return Err(other()),
        opened => opened?,
    };
    // Another directory may have taken the path, and no move may be made in it. A freed inode number is used again, so the
    // birth time counts too wherever both are known.
    let now = identity(&root.stat());
    let born = then.born.zip(now.born);
    if then.ino == now.ino && born.is_none_or(|(then, now)| then == now) {
        Ok(root)
    } else {
        Err(other())
    }
}
