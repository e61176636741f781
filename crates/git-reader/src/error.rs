//! Errors about unreadable parts of a repository, and the list of doubts.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;

use handle_fs::RelPath;

/// Reason why a part of a repository cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The system reports an error.
    #[error("{path} cannot be read: {source}")]
    Io {
        /// Path of the file or directory.
        path: String,
        /// Error from the system.
        source: io::Error,
    },
    /// A regular file is expected, and something else is there.
    #[error("{path} is not a regular file")]
    NotAFile {
        /// Path of the file.
        path: String,
    },
    /// The file is larger than this crate reads.
    #[error("{path} is too large: more than {most} bytes are not read")]
    TooLarge {
        /// Path of the file.
        path: String,
        /// Maximum bytes that are read.
        most: u64,
    },
    /// The bytes are invalid.
    #[error("{path} is damaged: {why}")]
    Damaged {
        /// Path of the file, or name of the object.
        path: String,
        /// Reason, in words.
        why: String,
    },
    /// The repository is not below the root that is read.
    #[error("its git directory is elsewhere: {path}")]
    Elsewhere {
        /// Path as the repository names it.
        path: String,
    },
    /// The objects of the tree take more work than this crate does.
    #[error("reading its objects takes too much work: no more of them are read")]
    TooMuchWork,
    /// A format that this program does not know.
    #[error("{what} is not understood")]
    NotUnderstood {
        /// Name of the format or feature.
        what: String,
    },
}

impl GitError {
    pub(super) fn damaged(path: &RelPath, why: impl Into<String>) -> Self {
        Self::Damaged {
            path: shown(path.as_bytes()),
            why: why.into(),
        }
    }

    pub(super) fn io(path: &RelPath, source: io::Error) -> Self {
        Self::Io {
            path: shown(path.as_bytes()),
            source,
        }
    }

    pub(super) fn too_large(path: &RelPath, most: u64) -> Self {
        Self::TooLarge {
            path: shown(path.as_bytes()),
            most,
        }
    }
}

/// Formats bytes of the repository for messages. They are cut, so that a hostile name cannot fill the screen.
pub(super) fn shown(bytes: &[u8]) -> String {
    const LONGEST: usize = 200;
    let (head, rest) = bytes.split_at_checked(LONGEST).unwrap_or((bytes, &[]));
    let mut text = String::new();
    for char in String::from_utf8_lossy(head).chars() {
        if char.is_control() {
            text.extend(char.escape_default());
        } else {
            text.push(char);
        }
    }
    if !rest.is_empty() {
        text.push('…');
    }
    text
}

/// Messages about unreadable or unknown parts, each once.
#[derive(Debug, Default)]
pub(super) struct Doubts(RefCell<BTreeSet<String>>);

/// Maximum number of doubts.
const MOST_DOUBTS: usize = 1000;

impl Doubts {
    pub(super) fn add(&self, doubt: impl ToString) {
        let mut list = self.0.borrow_mut();
        if list.len() < MOST_DOUBTS {
            list.insert(doubt.to_string());
        } else if list.len() == MOST_DOUBTS {
            list.insert("…and there is more that cannot be read".to_owned());
        }
    }

    /// Returns the value, or the default after adding the error to the doubts.
    pub(super) fn settle<T: Default>(&self, result: Result<T, GitError>) -> T {
        result.unwrap_or_else(|error| {
            self.add(error);
            T::default()
        })
    }

    pub(super) fn list(&self) -> Vec<String> {
        self.0.borrow().iter().cloned().collect()
    }
}
