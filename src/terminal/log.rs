//! The log file: everything that is said on stderr, and the details that are not, each line with the time and the process.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::clock::Clock;
use handle_fs::File;

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// A message beside the result.
    Note,
    /// A more detailed message.
    Detail,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
            Self::Detail => "detail",
        }
    }
}

/// A log file, open for appending. Several processes may share one: each line is written at once.
pub struct Log {
    path: PathBuf,
    file: File,
    clock: Box<dyn Clock>,
    process: u32,
    failure: Option<io::Error>,
}

impl Log {
    /// Opens `path` for appending, or makes it, readable by its owner only. A link is not followed, and nothing but a plain file
    /// with one name is written to: what an agent laid there may lead anywhere.
    ///
    /// # Errors
    /// When it cannot be opened, or is none of that.
    pub fn open(path: &Path, clock: Box<dyn Clock>) -> io::Result<Self> {
        Ok(Self {
            path: path.to_path_buf(),
            file: handle_fs::append_own(path)?,
            clock,
            process: std::process::id(),
            failure: None,
        })
    }

    /// Writes each line of `text`, which is clean.
    pub(super) fn write(&mut self, level: Level, text: &str) {
        if self.failure.is_some() {
            return;
        }
        let head = format!(
            "{} {} {:7}",
            self.clock.now().rfc3339(),
            self.process,
            level.word()
        );
        let mut bytes = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            bytes.extend_from_slice(format!("{head} {line}\n").as_bytes());
        }
        if let Err(error) = self.file.write_all(&bytes) {
            self.failure = Some(error);
        }
    }

    /// The first failure to write, with the file's path.
    pub(super) fn failure(&mut self) -> Option<(PathBuf, io::Error)> {
        self.failure.take().map(|error| (self.path.clone(), error))
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
