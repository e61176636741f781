//! Command words of a connection, and the helpers that it needs.

use std::ffi::OsString;
use std::path::PathBuf;

use handle_fs::remote::{Backing, Helper, Storage};

use super::cleanup::Lifeline;

/// Image of helpers if none is named.
pub(crate) const HELPER: &str = "busybox";

/// Command words up to the script, and the helpers that the transport needs.
pub(crate) struct Reach {
    pub(crate) words: Vec<OsString>,
    /// The only directories that can be reached; empty if all can.
    pub(crate) only: Vec<PathBuf>,
    /// Storage of the paths there, as far as it is known.
    pub(crate) backings: Vec<Backing>,
    /// Location of the paths that other containers may show, too.
    pub(crate) storages: Vec<Storage>,
    /// Helper that was started only for this.
    pub(crate) helper: Option<Helper>,
    /// Process that ends the transport after this program is gone, where a closed pipe may go unnoticed.
    pub(crate) lifeline: Option<Lifeline>,
    /// Process that ends after `lifeline`.
    pub(crate) after: Option<Lifeline>,
}

impl Reach {
    pub(crate) fn of(words: Vec<OsString>) -> Self {
        Self {
            words,
            only: Vec::new(),
            backings: Vec::new(),
            storages: Vec::new(),
            helper: None,
            lifeline: None,
            after: None,
        }
    }
}

pub(crate) fn words<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}

/// Returns the image that the operator names for helpers. What could be an option is none.
pub(crate) fn chosen(image: Option<&str>) -> Option<String> {
    image
        .filter(|image| !image.is_empty() && !image.starts_with('-'))
        .map(str::to_owned)
}
