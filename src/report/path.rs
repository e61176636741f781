//! Paths in a report: text, and the exact bytes beside it where they are no text.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use schemars::JsonSchema;
use serde::Serialize;

use crate::diff::NotCovered;
use crate::model::{Coverage, GapReason, RelPath};

/// A path below a mount: text, and the exact bytes beside it when they are no text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct PathDocument {
    /// Host path of the mount.
    pub(crate) mount: String,
    /// Below the mount; `.` is the mount itself.
    pub(crate) path: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path_bytes: Option<String>,
    /// The whole host path, exactly.
    #[serde(skip)]
    pub(crate) on_host: PathBuf,
    /// The path below the mount, exactly.
    #[serde(skip)]
    pub(crate) below: RelPath,
}

impl PathDocument {
    pub(crate) fn new(coverage: &Coverage, path: &RelPath) -> Self {
        let (text, path_bytes) = lossy(path);
        let mount = String::from_utf8_lossy(&coverage.root.0).into_owned();
        Self {
            mount,
            path: text,
            path_bytes,
            on_host: path.on_host(&coverage.root.to_path()),
            below: path.clone(),
        }
    }

    /// Returns the whole host path as text.
    pub(crate) fn host(&self) -> String {
        self.on_host.to_string_lossy().into_owned()
    }
}

/// A path of the host: text, and the exact bytes beside it when they are no text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct HostPathDocument {
    /// Absolute.
    pub(crate) path: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path_bytes: Option<String>,
    /// The path, exactly.
    #[serde(skip)]
    pub(crate) exact: PathBuf,
}

impl HostPathDocument {
    pub(crate) fn new(path: &Path) -> Self {
        let bytes = path.as_os_str().as_encoded_bytes();
        Self {
            path: path.to_string_lossy().into_owned(),
            path_bytes: path.to_str().is_none().then(|| encoded(bytes)),
            exact: path.to_path_buf(),
        }
    }
}

/// The root itself is `.`.
pub(super) fn lossy(path: &RelPath) -> (String, Option<String>) {
    if path.is_root() {
        return (".".to_owned(), None);
    }
    match std::str::from_utf8(path.as_bytes()) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => {
            let bytes = encoded(path.as_bytes());
            (String::from_utf8_lossy(path.as_bytes()).into_owned(), Some(bytes))
        }
    }
}

fn encoded(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// A path with a reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ReasonDocument {
    #[serde(flatten)]
    pub(crate) at: PathDocument,
    /// In words.
    pub(crate) reason: String,
}

impl ReasonDocument {
    pub(crate) fn new(coverage: &Coverage, path: &RelPath, reason: impl Into<String>) -> Self {
        Self {
            at: PathDocument::new(coverage, path),
            reason: reason.into(),
        }
    }

    /// The host path, and the reason.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.at.host(), self.reason)
    }

    pub(crate) fn gap(coverage: &Coverage, gap: &NotCovered) -> Self {
        let reason = match coverage.has_forgotten(&gap.path) {
            true => GapReason::Forgotten.words(),
            false => gap.reason.clone(),
        };
        Self::new(coverage, &gap.path, reason)
    }
}
