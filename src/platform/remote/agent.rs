//! What an agent is asked, one call after the other, over the channel to it.

use std::fmt;
use std::io;

use super::connection::Channel;
use super::protocol::{Answer, Call, Request, receive, send};

/// The channel to an agent.
pub(super) struct Wire {
    channel: Channel,
    /// Nothing is said to it any more.
    broken: bool,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire")
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

impl Wire {
    pub(super) fn new(channel: Channel) -> Self {
        let broken = false;
        Self { channel, broken }
    }

    /// Makes a call and waits for the answer. After an error the two sides may be at different calls, so there is no next one.
    pub(super) fn ask(&mut self, closed: Vec<u64>, call: Call) -> io::Result<Answer> {
        if self.broken {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let said = send(&mut self.channel.to, &Request { closed, call });
        let answer = said.and_then(|()| receive(&mut self.channel.from)?.ok_or_else(end));
        self.broken = answer.is_err();
        answer
    }

    /// The error, or what the program that carried the call says of its end.
    pub(super) fn reason(&mut self, error: &io::Error) -> io::Error {
        match (self.channel.why)() {
            Some(why) => io::Error::other(why),
            None => io::Error::new(error.kind(), error.to_string()),
        }
    }
}

fn end() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended")
}
