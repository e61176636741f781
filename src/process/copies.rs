//! Requests to the copy of this program on another machine, about its own file.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use transports::RunningCopy;

/// First byte of a question about the copy.
const COPY: u8 = b'c';

/// Request about the copy that answers.
#[derive(Debug, Serialize, Deserialize)]
pub enum CopyQuestion {
    /// It is kept in a directory of this name, unless that would lie in one of the mounts.
    Keep {
        /// Name of the directory.
        name: String,
        /// Mounts on its machine.
        roots: Vec<Vec<u8>>,
    },
    /// The directory of this name is removed, also if another connection made it.
    Forget {
        /// Name of the directory.
        name: String,
    },
}

impl CopyQuestion {
    /// Returns the question as it is sent.
    #[must_use]
    pub fn encode(&self) -> Option<Vec<u8>> {
        postcard::to_extend(self, vec![COPY]).ok()
    }
}

/// Answers questions about the copy that runs here.
#[derive(Debug)]
pub struct Copies(Option<RunningCopy>);

impl Copies {
    /// Creates the value; `None` for an installed program.
    #[must_use]
    pub fn new(running: Option<RunningCopy>) -> Self {
        Self(running)
    }

    /// Answers a question; `None` if it is none of these, or was not carried out.
    #[must_use]
    pub fn answer(&self, question: &[u8]) -> Option<Vec<u8>> {
        let question = question.strip_prefix(&[COPY])?;
        let running = self.0.as_ref()?;
        let done = match postcard::from_bytes(question).ok()? {
            CopyQuestion::Keep { name, roots } => {
                let roots = roots
                    .into_iter()
                    .map(|root| PathBuf::from(OsString::from_vec(root)));
                running.keep(&name, &roots.collect::<Vec<_>>())
            }
            CopyQuestion::Forget { name } => running.forget(&name),
        };
        done.ok().map(|()| Vec::new())
    }
}
