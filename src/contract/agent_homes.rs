//! Directories of agents, and the variables that move them. One table, for hooks, trust and credentials alike.

use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// A directory below a home that a variable moves.
struct Moved {
    /// Directory below a home.
    directory: &'static str,
    variable: &'static str,
    /// Path of the directory below the value of the variable; empty if it is the value.
    below: &'static str,
    /// Files of the home itself that lie in the directory then.
    files: &'static [&'static str],
}

impl Moved {
    const fn to(directory: &'static str, variable: &'static str) -> Self {
        Self {
            directory,
            variable,
            below: "",
            files: &[],
        }
    }

    /// Returns the directory, if the variable is set.
    fn place(&self, environment: &Environment) -> Option<PathBuf> {
        let named = environment.absolute(Path::new(environment.get(self.variable)?));
        Some(match self.below {
            "" => named,
            below => named.join(below),
        })
    }
}

/// The variables that make the agents themselves look elsewhere. The first one that is set counts.
const MOVED: [Moved; 8] = [
    Moved {
        files: &[".claude.json"],
        ..Moved::to(".claude", "CLAUDE_CONFIG_DIR")
    },
    Moved::to(".codex", "CODEX_HOME"),
    Moved::to(".copilot", "COPILOT_HOME"),
    Moved {
        below: ".gemini",
        ..Moved::to(".gemini", "GEMINI_CLI_HOME")
    },
    Moved::to(".kimi-code", "KIMI_CODE_HOME"),
    Moved::to(".config/gh", "GH_CONFIG_DIR"),
    Moved::to(".config", "XDG_CONFIG_HOME"),
    Moved::to(".local/share", "XDG_DATA_HOME"),
];

/// Returns where an agent has the directory that is `in_home` without variables; `None` if no variable moves it and no home is known.
#[must_use]
pub fn agent_directory(environment: &Environment, in_home: &str) -> Option<PathBuf> {
    agent_variable(environment, in_home).or_else(|| Some(environment.home.as_ref()?.join(in_home)))
}

/// Returns where a variable moves the directory that is `in_home` without it.
#[must_use]
pub fn agent_variable(environment: &Environment, in_home: &str) -> Option<PathBuf> {
    let mut moved = MOVED.iter().filter(|moved| moved.directory == in_home);
    moved.find_map(|moved| moved.place(environment))
}

/// Returns where variables move a file or directory below a home.
pub(super) fn moved_path(environment: &Environment, path: &str) -> Option<PathBuf> {
    MOVED.iter().find_map(|moved| {
        if moved.files.contains(&path) {
            return Some(moved.place(environment)?.join(path));
        }
        let rest = Path::new(path).strip_prefix(moved.directory).ok()?;
        let place = moved.place(environment)?;
        Some(match rest.as_os_str().is_empty() {
            true => place,
            false => place.join(rest),
        })
    })
}
