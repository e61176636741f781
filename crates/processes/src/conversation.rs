//! A conversation with a program in lines: each side writes one line at a time on the other's pipe.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::child_registry;

/// Bytes that are read from a program in all.
const MOST: u64 = 16 << 20;

/// Time that a program has to end by itself once its input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// Interval at which it is checked whether it has ended.
const NAP: Duration = Duration::from_millis(10);

/// A program that answers lines with lines. Dropping it closes its input, and kills the program if it then stays.
#[derive(Debug)]
pub struct Conversation {
    name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    patience: Duration,
}

impl Conversation {
    /// Starts `program` with `words`. It finds other programs in `path`; each answer may take `patience`.
    ///
    /// # Errors
    /// The reason, in words, if it cannot be started.
    pub fn start(
        name: &'static str,
        program: &Path,
        path: &OsStr,
        words: &[&str],
        patience: Duration,
    ) -> Result<Self, String> {
        let mut command = Command::new(program);
        command
            .args(words)
            .env("PATH", path)
            .current_dir("/")
            // Ctrl-C is meant for this program, which ends what it does first.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = child_registry::start_child(&mut command)
            .map_err(|error| format!("{name} cannot be started: {error}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (send, lines) = channel();
        thread::spawn(move || {
            let Some(output) = output else { return };
            for line in BufReader::new(output.take(MOST))
                .split(b'\n')
                .map_while(Result::ok)
            {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            name,
            child,
            input,
            lines,
            patience,
        })
    }

    /// Writes one line.
    ///
    /// # Errors
    /// The reason, in words, if the program has closed its input.
    pub fn say(&mut self, line: &str) -> Result<(), String> {
        let written = self.input.as_mut().map(|input| {
            input.write_all(line.as_bytes())?;
            input.write_all(b"\n")?;
            input.flush()
        });
        match written {
            Some(Ok(())) => Ok(()),
            _ => Err(format!("{} has ended", self.name)),
        }
    }

    /// Returns what `wanted` makes of the first line of which it makes anything.
    ///
    /// # Errors
    /// The reason, in words, if no such line comes in time.
    pub fn hear<T>(&self, mut wanted: impl FnMut(&[u8]) -> Option<T>) -> Result<T, String> {
        let mut left = self.patience;
        loop {
            match self.lines.recv_timeout(NAP) {
                Ok(line) => {
                    if let Some(found) = wanted(&line) {
                        return Ok(found);
                    }
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Err(format!("{} does not answer", self.name));
                }
                Err(RecvTimeoutError::Timeout) => left = left.saturating_sub(NAP),
                Err(RecvTimeoutError::Disconnected) => return Err(format!("{} has ended", self.name)),
            }
        }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.input = None;
        let mut left = GRACE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if left.is_zero() {
                let _ = self.child.kill();
                let _ = self.child.wait();
                break;
            }
            thread::sleep(NAP);
            left = left.saturating_sub(NAP);
        }
        child_registry::forget(self.child.id());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::Conversation;

    fn shell(script: &str, patience: Duration) -> Conversation {
        let path = "/usr/bin:/bin".as_ref();
        Conversation::start("sh", Path::new("/bin/sh"), path, &["-c", script], patience).unwrap()
    }

    #[test]
    fn lines_are_answered_and_silence_is_an_error() {
        let mut talk = shell(
            "while read -r line; do echo noise; echo \"<$line>\"; done",
            Duration::from_secs(30),
        );
        for word in ["one", "two"] {
            talk.say(word).unwrap();
            let heard = talk.hear(|line| line.starts_with(b"<").then(|| line.to_vec()));
            assert_eq!(heard.unwrap(), format!("<{word}>").into_bytes());
        }
        let silent = shell("sleep 60", Duration::from_millis(50));
        assert_eq!(silent.hear(|_| Some(())).unwrap_err(), "sh does not answer");
        let gone = shell("exit 1", Duration::from_secs(30));
        assert_eq!(gone.hear(|_| Some(())).unwrap_err(), "sh has ended");
    }
}
