//! Runs a program for its output, with a time limit.

use std::ffi::OsStr;
use std::io::{Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::child_registry;

/// Interval at which it is checked whether it has ended.
const NAP: Duration = Duration::from_millis(1);
/// Output of this size is refused (bytes).
const MOST: u64 = 16 << 20;

/// A program to run, with its environment and time limit.
pub struct CommandRequest<'a> {
    /// Name of the program in messages.
    pub name: &'static str,
    /// File of the program.
    pub program: &'a Path,
    /// `PATH` in which the program finds others.
    pub path: &'a OsStr,
    /// Time limit: the operator waits, and a program that hangs never answers.
    pub patience: Duration,
    /// True if the program gets none of this process's environment, and the locale `C`.
    pub bare: bool,
}

/// Output of a program that has ended.
pub struct CommandOutput {
    /// True if it succeeded.
    pub fine: bool,
    /// Its standard output.
    pub out: String,
    /// Reason from its standard error: the line with its error, or else the first line that is meant for people.
    pub complaint: Option<String>,
}

impl CommandRequest<'_> {
    /// Runs the program with `words` and `input`, and returns its output.
    ///
    /// # Errors
    /// The reason, in words, if the program failed.
    pub fn ask(&self, words: &[impl AsRef<OsStr>], input: Option<Vec<u8>>) -> Result<String, String> {
        let told = self.run(words, input)?;
        match told.fine {
            true => Ok(told.out),
            false => {
                let why = told.complaint.as_deref().unwrap_or("it does not say why");
                Err(format!("{} failed: {why}", self.name))
            }
        }
    }

    /// Runs the program like [`Self::ask`], but returns its output even if it failed.
    ///
    /// # Errors
    /// The reason, in words, if there is no output: it could not be started, or did not answer in time.
    pub fn run(&self, words: &[impl AsRef<OsStr>], input: Option<Vec<u8>>) -> Result<CommandOutput, String> {
        let name = self.name;
        let mut command = Command::new(self.program);
        if self.bare {
            command.env_clear().env("LC_ALL", "C");
        }
        command
            .args(words)
            .env("PATH", self.path)
            .current_dir("/")
            // Ctrl-C is meant for this program, which ends what it does first.
            .process_group(0)
            .stdin(if input.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = child_registry::start_child(&mut command)
            .map_err(|error| format!("{name} cannot be started: {error}"))?;
        if let (Some(input), Some(mut to)) = (input, child.stdin.take()) {
            // One that does not take it says why.
            thread::spawn(move || to.write_all(&input));
        }
        let (answer, complaint) = (collect(child.stdout.take()), collect(child.stderr.take()));
        let mut left = self.patience;
        let ended = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if !left.is_zero() => {
                    thread::sleep(NAP);
                    left = left.saturating_sub(NAP);
                }
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break Err(format!("{name} does not answer"));
                }
                Err(error) => break Err(format!("{name} cannot be waited for: {error}")),
            }
        };
        child_registry::forget(child.id());
        let status = ended?;
        // What it left behind may keep the pipes open.
        let left = left.max(NAP);
        let wrote = |from: &mpsc::Receiver<Vec<u8>>| from.recv_timeout(left).ok();
        let fine = status.success();
        let out = wrote(&answer);
        if fine && out.is_none() {
            return Err(format!("{name} does not answer"));
        }
        let text = |bytes: Option<Vec<u8>>| String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        Ok(CommandOutput {
            fine,
            out: text(out),
            complaint: reason(&text(wrote(&complaint))),
        })
    }
}

/// Beginnings of a line that says why a program failed.
const ERRORS: [&str; 3] = ["Error from server", "error:", "Error:"];
/// Beginnings of a line that says nothing about a failure.
const WARNINGS: [&str; 2] = ["Warning:", "warning:"];

/// Returns the line with the error. Before it may stand warnings, what a plugin for signing in wrote, and the log of kubectl's libraries
/// (`E1123 07:25:10.7 …`): they are the reason only if nothing else is there.
fn reason(complaint: &str) -> Option<String> {
    let is_log = |line: &str| {
        let mut letters = line.chars();
        let severity = letters.next().is_some_and(|first| "IWEF".contains(first));
        severity && letters.by_ref().take(4).filter(char::is_ascii_digit).count() == 4
    };
    let begins = |line: &str, words: &[&str]| words.iter().any(|word| line.starts_with(word));
    let lines: Vec<&str> = complaint.lines().filter(|line| !line.trim().is_empty()).collect();
    let find = |fits: &dyn Fn(&str) -> bool| lines.iter().position(|line| fits(line));
    let at = find(&|line| begins(line, &ERRORS))
        .or_else(|| find(&|line| !is_log(line) && !begins(line, &WARNINGS)))
        .or_else(|| find(&|line| !is_log(line)))
        .unwrap_or(0);
    let first = lines.get(at)?;
    let mut behind = lines.iter().skip(at + 1).filter(|line| !is_log(line));
    // One that announces the reason alone says nothing.
    Some(match behind.next().filter(|_| first.trim_end().ends_with(':')) {
        Some(second) => format!("{} {}", first.trim_end(), second.trim()),
        None => (*first).to_owned(),
    })
}

/// Reads all of it in the background.
fn collect(from: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    if let Some(from) = from {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // A list that breaks off would hide something: it is no answer then.
            let whole = from
                .take(MOST)
                .read_to_end(&mut bytes)
                .is_ok_and(|read| (read as u64) < MOST);
            if whole {
                let _ = send.send(bytes);
            }
        });
    }
    receive
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_reason_is_not_the_log_of_a_library() {
        let told = "E1123 07:25:10.728849 6754 memcache.go:265] \"Unhandled Error\"\n\nThe connection was refused\nmore\n";
        assert_eq!(reason(told).as_deref(), Some("The connection was refused"));
        assert_eq!(
            reason("Error: No such object\n").as_deref(),
            Some("Error: No such object")
        );
        assert_eq!(reason("W0102 only a log\n").as_deref(), Some("W0102 only a log"));
        assert_eq!(reason("\n"), None);
        let warned = "Warning: would violate PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false\n\
            Signing in with the plugin\nError from server (Forbidden): pods \"p\" is forbidden: exceeded quota: q\n";
        assert_eq!(
            reason(warned).as_deref(),
            Some("Error from server (Forbidden): pods \"p\" is forbidden: exceeded quota: q")
        );
        assert_eq!(
            reason("Warning: old\nThe Pod \"p\" is invalid: spec\n").as_deref(),
            Some("The Pod \"p\" is invalid: spec")
        );
        assert_eq!(reason("Warning: old\n").as_deref(), Some("Warning: old"));
        // Some announce it on a line of its own.
        let denied = "Error from server: admission webhook \"a\" denied the request:\n\n  no root\nmore\n";
        assert_eq!(
            reason(denied).as_deref(),
            Some("Error from server: admission webhook \"a\" denied the request: no root")
        );
    }
}
