//! Our hooks in an agent's own settings: what the text of the file becomes, and the file itself. Everything that is not ours
//! stays, byte for byte.

mod command;
mod edit;
mod file;
mod hooks;
mod json;
mod location;
mod plugin;

use super::Agent;

pub use command::Program;
pub use file::{Edit, SettingsError, Standing, standing};
pub use location::place;

/// What is wrong with a text, or with what shall be written into one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1, when it is about one.
    pub line: Option<usize>,
    /// What is wrong; a part of a sentence.
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

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing is to be done.
    Same,
    /// It holds this.
    Text(String),
    /// It goes: nothing but ours was in it.
    Gone,
}

/// What of ours a file has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The programs that are called, by their paths; more than one only when somebody wrote it so.
    pub programs: Vec<String>,
    /// The events that have a hook of ours, as the agent calls them.
    pub events: Vec<String>,
    /// Those that should have one.
    pub missing: Vec<String>,
}

/// What the agent's file becomes with our hooks; `text` is what it holds, none when there is no file.
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

/// What it becomes without them. The exact opposite of [`install`].
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

/// Which of our hooks a file has; `text` as for [`install`].
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

#[cfg(test)]
mod tests;
