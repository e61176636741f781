//! Stands in for the shell of another machine in a build that cannot work through one.

use std::convert::Infallible;
use std::io::{self, Read, Write};

use super::limitation::Limitation;
use super::protocol::{Answer, Call, Greeting};

/// Why no shell is asked.
const NOT_BUILT: &str = "handle-fs was built without the feature `remote-shell`";

/// A shell, of which no value exists.
#[derive(Debug)]
pub(super) struct Shell(Infallible);

impl Shell {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub(super) fn new(
        _from: Box<dyn Read + Send>,
        _to: Box<dyn Write + Send>,
        _mark: String,
    ) -> io::Result<(Self, Greeting)> {
        Err(io::Error::other(NOT_BUILT))
    }

    pub(super) fn lacks(&self) -> &[Limitation] {
        match self.0 {}
    }

    pub(super) fn is_broken(&self) -> bool {
        match self.0 {}
    }

    pub(super) fn leave(&self) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn ask(&self, _closed: &[u64], _call: Call) -> io::Result<Answer> {
        match self.0 {}
    }
}
