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

/// Returns the program's path if `command` calls jackin for `event`, at any path. `None`: another command.
pub(super) fn program_in(command: &str, agent: Agent, event: &str) -> Option<String> {
    let call = format!(" hook run {agent} {event}");
    let before = command.trim().strip_suffix(&call)?;
    if let Some(word) = before.strip_suffix(" recovery").filter(|word| !word.is_empty()) {
        return Some(unquoted(word));
    }
    let path = unquoted(before);
    // Other programs have a command `hook run` too.
    is_direct(&path).then_some(path)
}

fn is_direct(path: &str) -> bool {
    path.rsplit('/').next() == Some(DIRECT)
}

/// Returns the word as a shell reads it, without quotes and escapes.
fn unquoted(word: &str) -> String {
    let mut path = String::new();
    let mut open = None;
    let mut letters = word.chars();
    while let Some(letter) = letters.next() {
        match (letter, open) {
            ('\'' | '"', None) => open = Some(letter),
            (letter, Some(quote)) if letter == quote => open = None,
            ('\\', None | Some('"')) => path.extend(letters.next()),
            (letter, _) => path.push(letter),
        }
    }
    path
}
