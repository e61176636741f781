//! Directories that take only objects made in a directory of their kind: with a project id that is passed on, or encrypted. What is staged
//! beside them cannot be moved in, while what lies in them can be moved out. So they are found before anything is moved.

use std::collections::BTreeSet;

use super::RestoreError;
use super::plan::{Action, Step};
use super::stage::Stage;
use crate::model::RelPath;
use handle_fs::{Inheritance, Root};

/// Refuses a restore that would move something from the staging directory into a directory that does not take it. On another machine each
/// look takes a call, so the first move tells there, and is rolled back.
///
/// # Errors
/// [`RestoreError::Foreign`]
pub(super) fn refuse_foreign(root: &Root, stage: &Stage, steps: &[Step]) -> Result<(), RestoreError> {
    if root.is_far() {
        return Ok(());
    }
    let staged = Inheritance::of(stage.dir());
    let is_made = |step: &&Step| matches!(step.action, Action::Create | Action::Replace);
    let made: BTreeSet<&RelPath> = steps
        .iter()
        .filter(is_made)
        .map(|step| &step.change.path)
        .collect();
    let parents: BTreeSet<RelPath> = made
        .iter()
        .filter_map(|path| path.split())
        .map(|(parent, _)| parent)
        // Made together with what lies in it.
        .filter(|parent| !made.contains(parent))
        .collect();
    // One that is missing or closed is reported by the move.
    let takes = |parent: &RelPath| {
        root.dir(parent)
            .map_or(true, |dir| staged.covers(Inheritance::of(&dir)))
    };
    match parents.iter().find(|parent| !takes(parent)) {
        Some(parent) => Err(RestoreError::Foreign {
            directory: parent.on_host(root.path()),
            staging: stage.path().to_path_buf(),
        }),
        None => Ok(()),
    }
}
