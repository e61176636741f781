//! Secrets in settings that a restore can neither keep nor bring back.

use crate::model::RelPath;

/// What becomes of a secret in a settings file that does not simply stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It was there then, is not there now, and does not come back.
    Missing,
    /// It was not there then, has no place any more, and goes for good.
    Lost,
    /// It is another one than then, and goes for good: it may be what an attacker left there.
    Other,
}

/// A secret in a settings file that a restore cannot keep or bring back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file, below the mount root.
    pub path: RelPath,
    /// Where in it.
    pub key: Vec<String>,
    /// What becomes of it.
    pub loss: Loss,
}

impl Note {
    /// What becomes of it, in words.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self.loss {
            Loss::Missing => "it was withheld, so it does not come back",
            Loss::Lost => "what is there now goes, no snapshot holds it, and `undo` cannot bring it back",
            Loss::Other => {
                "it is another one than then, so it goes; no snapshot holds either, and `undo` cannot bring it back"
            }
        }
    }
}
