//! Why something in a repository cannot be read, and the list of what was not understood.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;

use crate::model::RelPath;

/// Why something in a repository cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The system refuses.
    #[error("{path} cannot be read: {source}")]
    Io {
        /// What was read.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// A directory, a link, a pipe where a file belongs.
    #[error("{path} is not a regular file")]
    NotAFile {
        /// What was to be read.
        path: String,
    },
    /// More than this program is willing to read.
    #[error("{path} is too large: more than {most} bytes are not read")]
    TooLarge {
        /// What was to be read.
        path: String,
        /// The limit.
        most: u64,
    },
    /// The bytes make no sense.
    #[error("{path} is damaged: {why}")]
    Damaged {
        /// What was read.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The repository is not below the root that is read.
    #[error("its git directory lies elsewhere: {path}")]
    Elsewhere {
        /// Where.
        path: String,
    },
    /// A format that this program does not know.
    #[error("{what} is not understood")]
    NotUnderstood {
        /// What it is.
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

/// Bytes of the repository as they stand in messages: a hostile name shall not fill the screen.
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

/// What could not be read or is not understood, each once.
#[derive(Debug, Default)]
pub(super) struct Doubts(RefCell<BTreeSet<String>>);

/// A repository may hold more broken things than anybody reads.
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

    /// What came out, or nothing and a doubt.
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
