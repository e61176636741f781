//! Writes the call of jackin into an agent's settings, and recognizes it there.

use super::Fault;
use crate::agents::Agent;

/// Name under which the program takes its commands directly.
const DIRECT: &str = "jackin-recovery";

/// The program that a hook calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its absolute path, or its name in `PATH`.
    path: String,
    /// The same as a word of a shell.
    word: String,
}

impl Program {
    /// Creates the program from its absolute path, and from that path as a word of a POSIX shell.
    ///
    /// # Errors
    /// If no settings file can hold the path, or not every shell reads it back.
    pub fn new(path: &std::path::Path, word: &str) -> Result<Self, Fault> {
        let plain = |text: &&str| !text.chars().any(char::is_control);
        match path.to_str().filter(plain) {
            Some(text) if path.is_absolute() && !word.starts_with('$') => Ok(Self {
                path: text.to_owned(),
                word: word.to_owned(),
            }),
            _ => Err(Fault::whole(
                "the path of this program has characters that no settings file can hold; put the program elsewhere",
            )),
        }
    }

    /// Returns the program that `PATH` has, for settings that are the same on every machine.
    pub(super) fn in_path() -> Self {
        Self {
            path: DIRECT.to_owned(),
            word: DIRECT.to_owned(),
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the words between the program and its command.
    pub(super) fn prefix(&self) -> &'static [&'static str] {
        if is_direct(&self.path) { &[] } else { &["recovery"] }
    }

    /// Returns the shell command line that reports an event to jackin.
    pub(super) fn command(&self, agent: Agent, event: &str) -> String {
        let recovery = if is_direct(&self.path) { "" } else { " recovery" };
        format!("{}{recovery} hook run {agent} {event}", self.word)
    }
}

/// A call of jackin in the command line of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Path of the program.
    pub(super) program: String,
    /// True if the line has nothing else. The other lines are the operator's: another command stands before the call, or a variable is set.
    pub(super) is_whole: bool,
}

/// Returns the call in `command` that reports `event` to jackin, at any path. Behind it may stand what an operator adds, such as `|| true`.
/// `None`: another command.
pub(super) fn call_in(command: &str, agent: Agent, event: &str) -> Option<Call> {
    let end = format!(" hook run {agent} {event}");
    let (before, behind) = command.trim().rsplit_once(&end)?;
    if !behind.is_empty() && !behind.starts_with([' ', '\t', '\n', ';', '|', '&', '>', ')']) {
        return None;
    }
    let call = |line| {
        let (program, is_whole) = last_word(line)?;
        let is_whole = is_whole && behind.is_empty();
        Some(Call { program, is_whole })
    };
    if let Some(line) = before.strip_suffix(" recovery").filter(|line| !line.is_empty()) {
        return call(line);
    }
    // Other programs have a command `hook run` too.
    call(before).filter(|call| is_direct(&call.program))
}

fn is_direct(path: &str) -> bool {
    path.rsplit('/').next() == Some(DIRECT)
}

/// Returns the last word of a line as a shell reads it, without quotes and escapes, and whether it is all of the line. `None`: the line ends
/// within quotes or with something that is no word.
fn last_word(line: &str) -> Option<(String, bool)> {
    let (mut word, mut is_whole) = (String::new(), true);
    let mut open = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, open) {
            ('\'' | '"', None) => open = Some(letter),
            (letter, Some(quote)) if letter == quote => open = None,
            ('\\', None | Some('"')) => word.extend(letters.next()),
            (' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' | '{' | '}' | '!', None) => {
                word.clear();
                is_whole = false;
            }
            // What it becomes only the shell knows.
            ('$' | '`', None | Some('"')) => {
                word.push(letter);
                is_whole = false;
            }
            (letter, _) => word.push(letter),
        }
    }
    (open.is_none() && !word.is_empty()).then_some((word, is_whole))
}
