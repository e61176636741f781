//! One output stream: buffered, cleaned at the door, and calm when its reader goes away.

use std::fmt;
use std::io::{self, BufWriter, Write};

use serde::Serialize;

use super::{filter, json};

/// Most lines kept of the output.
const KEPT: usize = 20;

/// A writer that remembers its first failure instead of returning it at every line.
pub(super) struct Sink {
    writer: BufWriter<Box<dyn Write + Send>>,
    color: bool,
    /// True if every line goes out at once, because the operator watches.
    eager: bool,
    closed: bool,
    failure: Option<io::Error>,
    /// The end of the text to be written, in case that fails.
    last: String,
}

impl Sink {
    pub(super) fn new(writer: Box<dyn Write + Send>, color: bool, eager: bool) -> Self {
        Self {
            writer: BufWriter::new(writer),
            color,
            eager,
            closed: false,
            failure: None,
            last: String::new(),
        }
    }

    /// The end of what was to be written.
    pub(super) fn lost(&self) -> Option<String> {
        (!self.last.is_empty()).then(|| self.last.clone())
    }

    /// `text`, cleaned, and a newline.
    pub(super) fn line(&mut self, text: &str) {
        let text = filter::printable(text, self.color);
        self.keep(&text);
        self.attempt(|writer| {
            writer.write_all(text.as_bytes())?;
            writer.write_all(b"\n")
        });
    }

    /// One JSON document and a newline. Encoded first, so that a failure leaves no half document.
    pub(super) fn document(&mut self, document: &impl Serialize) {
        match json::encode(document) {
            Ok(bytes) => {
                self.last = String::from_utf8_lossy(&bytes).into_owned();
                self.attempt(|writer| writer.write_all(&bytes));
            }
            Err(error) => self.fail(error),
        }
    }

    /// Keeps the last lines.
    fn keep(&mut self, text: &str) {
        self.last.push_str(text);
        self.last.push('\n');
        let excess = self.last.lines().count().saturating_sub(KEPT);
        if excess > 0 {
            let kept: Vec<&str> = self.last.lines().skip(excess).collect();
            self.last = kept.join("\n") + "\n";
        }
    }

    /// Lets `through` stand between this stream and its writer; it sees whole blocks from now on.
    pub(super) fn redirect(&mut self, through: impl FnOnce(Box<dyn Write + Send>) -> Box<dyn Write + Send>) {
        self.flush();
        let before = std::mem::replace(&mut self.writer, BufWriter::new(Box::new(io::sink())));
        let (writer, _) = before.into_parts();
        self.writer = BufWriter::new(through(writer));
        self.eager = false;
    }

    /// Releases the writer, which waits for its reader.
    pub(super) fn close(&mut self) {
        self.writer = BufWriter::new(Box::new(io::sink()));
    }

    /// Bytes as they are, at once.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.attempt(|writer| writer.write_all(bytes));
        self.flush();
    }

    pub(super) fn flush(&mut self) {
        if !self.is_dead()
            && let Err(error) = self.writer.flush()
        {
            self.fail(error);
        }
    }

    /// Returns true if the reader has gone away.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The first failure that was not a closed pipe.
    pub(super) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    fn attempt(&mut self, write: impl FnOnce(&mut BufWriter<Box<dyn Write + Send>>) -> io::Result<()>) {
        if self.is_dead() {
            return;
        }
        if let Err(error) = write(&mut self.writer) {
            self.fail(error);
        } else if self.eager {
            self.flush();
        }
    }

    /// Returns true if a write failed for any reason; nothing is written any more.
    pub(super) fn is_dead(&self) -> bool {
        self.closed || self.failure.is_some()
    }

    fn fail(&mut self, error: io::Error) {
        if error.kind() == io::ErrorKind::BrokenPipe {
            self.closed = true;
        } else {
            self.failure.get_or_insert(error);
        }
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("color", &self.color)
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
