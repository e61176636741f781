//! A Kubernetes claim that is made before a snapshot is written into it.

use std::path::Path;

use super::OutputError;
use crate::environment::SnapshotPrograms;
use crate::model::SnapshotRecord;
use crate::process::{Freezer, NewClaim};
use handle_fs::NativeKind;
use handle_fs::remote::{Address, Spot};

/// Claim that is not there yet.
pub struct MissingClaim {
    /// Its class and size.
    pub claim: NewClaim,
    spot: Spot,
    freezer: Freezer,
}

impl MissingClaim {
    /// Returns the name of the claim.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.spot.name
    }

    /// Returns the claim that has to be made before `bytes` are written to `directory`; `None` if it is no claim, or is there.
    pub(super) fn find(
        programs: &SnapshotPrograms,
        target: &SnapshotRecord,
        directory: &Path,
        bytes: u64,
    ) -> Result<Option<Self>, OutputError> {
        let spot = match Address::split(directory) {
            Some((Address::Claim(spot), inner)) if spot.snapshot().is_none() && inner == Path::new("/") => {
                spot
            }
            _ => return Ok(None),
        };
        let freezer = Freezer::find(programs, NativeKind::Volume, &[])
            .ok_or_else(|| OutputError::NoProgram(NativeKind::Volume.missing()))?;
        let like = target.mounts.iter().find_map(|mount| {
            let (address, _) = Address::split(&mount.coverage.root.to_path())?;
            match address {
                Address::Claim(spot) => Some(spot),
                _ => None,
            }
        });
        let planned = freezer.claims().plan_claim(&spot, like.as_ref(), bytes);
        let planned = planned.map_err(|why| OutputError::NoClaim {
            path: directory.to_path_buf(),
            why,
        })?;
        Ok(planned.map(|claim| Self { claim, spot, freezer }))
    }

    /// Makes the claim.
    pub(super) fn make(&self, directory: &Path) -> Result<(), OutputError> {
        let made = self.freezer.claims().make_claim(&self.spot, &self.claim);
        made.map_err(|why| OutputError::ClaimFailed {
            path: directory.to_path_buf(),
            why,
        })
    }

    /// Returns the error of a check after the claim was made.
    pub(super) fn after(&self, error: OutputError) -> OutputError {
        OutputError::AfterClaim {
            error: Box::new(error),
            claim: self.spot.name.clone(),
        }
    }
}
