//! Place of a staging directory.

use serde::{Deserialize, Serialize};

use super::ByteString;

/// A staging directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagePlace {
    /// The directory that it lies in, on the host.
    pub directory: ByteString,
    /// Its name there, with random letters.
    pub name: String,
    /// True if it lies in the mount root itself.
    pub inside: bool,
}

impl StagePlace {
    /// Its host path.
    #[must_use]
    pub fn path(&self) -> std::path::PathBuf {
        self.directory.to_path().join(&self.name)
    }
}
