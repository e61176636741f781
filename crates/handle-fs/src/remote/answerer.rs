//! Another way to reach a machine than an agent there: whatever answers the calls of the protocol.

use std::fmt;
use std::io::{self, Read, Write};

use super::limitation::Limitation;
use super::protocol::{Answer, Call, Greeting};

/// Answers the calls of the protocol for a machine on which no agent runs.
pub trait Answerer: fmt::Debug + Send + Sync {
    /// Returns what cannot be done there.
    fn lacks(&self) -> &[Limitation];

    /// Returns true if the connection was lost, so that no further call is answered.
    fn is_broken(&self) -> bool;

    /// Ends the other side. No call follows.
    ///
    /// # Errors
    /// The system's error.
    fn leave(&self) -> io::Result<()>;

    /// Makes a call and waits for its answer. The handles in `closed` are not used any more. After an error no call follows.
    ///
    /// # Errors
    /// The connection broke. An error of the call itself is [`Answer::Failed`].
    fn ask(&self, closed: &[u64], call: Call) -> io::Result<Answer>;
}

/// Asks who is there, over the output and the input of the other side.
pub type Introduce = Box<
    dyn FnOnce(Box<dyn Read + Send>, Box<dyn Write + Send>) -> io::Result<(Box<dyn Answerer>, Greeting)>
        + Send,
>;
