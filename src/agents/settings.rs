//! jackin's hooks in an agent's own settings: the new text of the file, and the file itself. Everything that is not jackin's
//! stays, byte for byte.

mod command;
mod edit;
mod error;
mod file;
mod hooks;
mod json;
mod location;
mod plugin;

use super::Agent;

pub use command::Program;
pub use error::SettingsError;
pub use file::{Edit, Standing, standing};
pub use location::place;

/// Fault in a text, or in a value to be written into one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line, from 1; `None` if the fault concerns no single line.
    pub line: Option<usize>,
    /// Problem, worded as a part of a sentence.
    pub problem: String,
}

impl Fault {
    fn at(line: usize, problem: &str) -> Self {
        Self {
            line: Some(line),
            problem: problem.to_owned(),
        }
    }

    fn whole(problem: &str) -> Self {
        Self {
            line: None,
            problem: problem.to_owned(),
        }
    }
}

/// State of a file after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    /// Unchanged.
    Same,
    /// Changed to this content.
    Text(String),
    /// Deleted; it held nothing but jackin's hooks.
    Gone,
}

/// Hooks of jackin that a file has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Paths of the programs that the hooks call; more than one only after an edit by hand.
    pub programs: Vec<String>,
    /// Events that have a hook of jackin, as the agent calls them.
    pub events: Vec<String>,
    /// Events that should have a hook and have none.
    pub missing: Vec<String>,
    /// Each hook; empty for opencode, which loads a plugin.
    pub hooks: Vec<FoundHook>,
}

/// A hook of jackin in a file of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundHook {
    /// Event, as the agent calls it.
    pub event: String,
    /// Index of its group in the list of the event.
    pub group: usize,
    /// Index in its group.
    pub index: usize,
    /// Command line.
    pub command: String,
    /// Pattern of the tools, if there is one.
    pub matcher: Option<String>,
    /// Maximum run time, in the agent's unit; `None` for the agent's own.
    pub timeout: Option<u64>,
    /// True if the hook has nothing but a type, a command and a timeout.
    pub is_plain: bool,
}

/// Returns the agent's file with jackin's hooks. `text` is its current content, `None` if there is no file.
///
/// # Errors
/// When the text is not what such a file holds.
pub fn install(agent: Agent, text: Option<&str>, program: &Program) -> Result<After, Fault> {
    let made = match (agent, text) {
        (Agent::Opencode, None) => plugin::write(program),
        (Agent::Opencode, Some(text)) => plugin::install(text, program)?,
        (_, None) => hooks::fresh(agent, program),
        (_, Some(text)) => hooks::install(agent, text, program)?,
    };
    Ok(if text == Some(&made) {
        After::Same
    } else {
        After::Text(made)
    })
}

/// Returns the agent's file without jackin's hooks. The exact opposite of [`install`].
///
/// # Errors
/// When the text is not what such a file holds.
pub fn uninstall(agent: Agent, text: Option<&str>) -> Result<After, Fault> {
    match (agent, text) {
        (_, None) => Ok(After::Same),
        (Agent::Opencode, Some(text)) => Ok(plugin::uninstall(text)),
        (_, Some(text)) => hooks::uninstall(agent, text),
    }
}

/// Returns jackin's hooks in a file; `text` as for [`install`].
///
/// # Errors
/// When the text is not what such a file holds.
pub fn look(agent: Agent, text: Option<&str>) -> Result<Found, Fault> {
    match (agent, text) {
        (Agent::Opencode, text) => Ok(plugin::look(text.unwrap_or_default())),
        (_, Some(text)) => hooks::look(agent, text),
        (_, None) => Ok(Found {
            missing: hooks::events(agent).map(str::to_owned).collect(),
            ..Found::default()
        }),
    }
}

/// Returns the hooks that jackin's plugin for an agent has: those of an installation, with the program that `PATH` has.
#[must_use]
pub fn shipped_hooks(agent: Agent) -> String {
    match agent {
        Agent::Opencode => plugin::write(&Program::in_path()),
        _ => hooks::fresh(agent, &Program::in_path()),
    }
}

/// Returns the strings in the list `key` of a text of JSON with comments; none if there is no such list.
pub(super) fn strings_of(text: &str, key: &str) -> Vec<String> {
    let Ok(root) = json::read(text) else {
        return Vec::new();
    };
    let list = root.get(key).map(json::Node::parts).unwrap_or_default();
    let texts = list.iter().filter_map(|part| part.value.text());
    texts.map(str::to_owned).collect()
}

/// Returns the truth value of the member `key` of a text of JSON with comments; `None` if there is none.
pub(super) fn flag_of(text: &str, key: &str) -> Option<bool> {
    let root = json::read(text).ok()?;
    let value = root.get(key)?;
    match text.get(value.span.clone())? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
