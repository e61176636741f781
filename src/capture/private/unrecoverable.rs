//! Secrets in settings that a restore can neither keep nor bring back.

use crate::model::RelPath;

/// Loss of a secret in a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The secret existed then, is missing now, and does not come back.
    Missing,
    /// The secret did not exist then, has no place any more, and is lost for good.
    Lost,
    /// The secret differs from the one then, and is lost for good; an attacker may have left it.
    Other,
}

/// A secret in a settings file that a restore cannot keep or bring back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file, below the mount root.
    pub path: RelPath,
    /// Keys that lead to the secret in the file.
    pub key: Vec<String>,
    /// Kind of the loss.
    pub loss: Loss,
}

impl Note {
    /// Returns the loss in words.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self.loss {
            Loss::Missing => "it was skipped (secret), so it is not restored",
            Loss::Lost => "the current one is deleted; no snapshot has it, and `undo` cannot restore it",
            Loss::Other => {
                "it has changed, so it is deleted; no snapshot has it, and `undo` cannot restore it"
            }
        }
    }
}
