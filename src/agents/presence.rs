//! Finds the agents on this machine: by their program in `PATH`, or by the directory of their settings. Nothing is run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{Agent, Scope, settings};
use crate::environment::Environment;

/// Evidence of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Its program.
    Program(PathBuf),
    /// The directory of its settings.
    Settings(PathBuf),
}

/// Returns the agents that are found, in the order of [`Agent::ALL`].
#[must_use]
pub fn present(environment: &Environment) -> Vec<(Agent, Presence)> {
    let found = |agent| Some((agent, presence(agent, environment)?));
    Agent::ALL.into_iter().filter_map(found).collect()
}

/// Returns the file of a program that hooks call: a path, or a name in `PATH`; `None` if it is not there.
#[must_use]
pub fn called_program(program: &str, environment: &Environment) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = environment.get("PATH").unwrap_or_default();
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    directories
        .map(|directory| directory.join(program))
        .find(|file| is_executable(file))
}

fn presence(agent: Agent, environment: &Environment) -> Option<Presence> {
    let path = environment.get("PATH").unwrap_or_default();
    // A relative directory of PATH may be one that an agent writes.
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    let program = directories
        .flat_map(|directory| programs(agent).iter().map(move |name| directory.join(name)))
        .find(|file| is_executable(file));
    if let Some(program) = program {
        return Some(Presence::Program(program));
    }
    let directory = settings_directory(agent, environment)?;
    directory.is_dir().then_some(Presence::Settings(directory))
}

fn programs(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &["claude"],
        Agent::Codex => &["codex"],
        Agent::Gemini => &["gemini"],
        Agent::Opencode => &["opencode"],
        Agent::Cursor => &["cursor-agent", "cursor"],
        Agent::Copilot => &["copilot"],
    }
}

fn settings_directory(agent: Agent, environment: &Environment) -> Option<PathBuf> {
    let file = settings::place(agent, Scope::User, environment).ok()?;
    // The files of opencode's plugin and of Copilot's hooks lie one directory deeper than the settings.
    let above = file.path().parent().map(Path::to_path_buf)?;
    match agent {
        Agent::Opencode | Agent::Copilot => above.parent().map(Path::to_path_buf),
        _ => Some(above),
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests;
