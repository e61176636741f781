//! Reads the whole configuration and continues after a file with a fault. Nothing is written.

use std::fs;
use std::path::PathBuf;

use super::{Config, ConfigError, Flags, Resolved, Sourced};
use crate::environment::Environment;

/// The usable workspaces and the faults of the configuration.
#[derive(Debug, Default)]
pub struct Survey {
    /// jackin's configuration directory; `None` if the home directory is unknown.
    pub directory: Option<PathBuf>,
    /// The workspaces that can be used, by name.
    pub workspaces: Vec<Resolved>,
    /// Public keys that secrets are encrypted to, of all files; each once.
    pub recipients: Vec<Sourced<String>>,
    /// Files of an unknown version, with that version.
    pub unknown_versions: Vec<(PathBuf, String)>,
    /// Faults; only the first one of each file, because the text after it may mean something else.
    pub faults: Vec<ConfigError>,
}

/// Loads `config.toml` and every workspace. A fault in one file does not stop the others from being read.
#[must_use]
pub fn survey(environment: &Environment) -> Survey {
    let mut found = Survey {
        directory: environment.jackin_config(),
        ..Survey::default()
    };
    let (config, whole) = match Config::load(environment) {
        Ok(config) => (config, true),
        Err(error) => {
            found.faults.push(error);
            (Config::without_global(environment), false)
        }
    };
    found.recipients = config.recipients().to_vec();
    if let (Ok(Some(version)), Some(directory)) = (config.unknown_version(), &found.directory) {
        let path = directory.join("config.toml");
        found.unknown_versions.push((path, version));
    }
    let names = config.workspace_names().unwrap_or_else(|error| {
        found.faults.push(error);
        Vec::new()
    });
    for name in names {
        match config.for_workspace(&name, &Flags::default()) {
            Ok(resolved) => {
                let known = |recipient: &&Sourced<String>| !found.recipients.contains(recipient);
                let own: Vec<_> = resolved.recipients.iter().filter(known).cloned().collect();
                found.recipients.extend(own);
                let terms = resolved.jackin.as_ref();
                let version = terms.and_then(|terms| terms.unknown_version.clone());
                if let (Some(version), Some(path)) = (version, config.workspace_path(&name)) {
                    found.unknown_versions.push((path, version));
                }
                found.workspaces.push(resolved);
            }
            // Its mounts may stand in the file that has the fault.
            Err(ConfigError::NoMounts { .. }) if !whole => {}
            Err(error) => found.faults.push(error),
        }
    }
    found
}

/// Returns true if a file of the configuration asks for tool calls to be blocked when their checkpoint fails. For a configuration with
/// a fault: its files are searched line by line, and one that asks for it speaks for all.
#[must_use]
pub fn may_block_calls(environment: &Environment) -> bool {
    let Some(directory) = environment.jackin_config() else {
        return false;
    };
    let listed = fs::read_dir(directory.join("workspaces"));
    let listed = listed.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let mut files = listed.filter(is_toml).chain([directory.join("config.toml")]);
    files.any(|file| fs::read(file).is_ok_and(|text| asks_to_block_calls(&String::from_utf8_lossy(&text))))
}

/// Returns true if the table `agent` of a `recovery` table has `on_failure = "block"`, or seems to.
fn asks_to_block_calls(text: &str) -> bool {
    let mut table = "";
    text.lines().map(str::trim).any(|line| {
        if line.starts_with('[') {
            table = line;
            return false;
        }
        let Some((key, value)) = line.split_once("on_failure") else {
            return false;
        };
        let value = value
            .trim_start()
            .strip_prefix('=')
            .unwrap_or_default()
            .trim_start();
        let is_block = ["\"block", "'block"].iter().any(|word| value.starts_with(word));
        is_block && !key.starts_with('#') && (table.contains("agent") || key.contains("agent"))
    })
}

#[cfg(test)]
mod tests {
    use super::asks_to_block_calls;

    #[test]
    fn a_file_with_a_fault_still_tells_whether_calls_are_blocked() {
        for text in [
            "[recovery.agnt]\n[recovery.agent]\non_failure = \"block\"\n",
            "[recovery]\nagent.on_failure='block'\nsnapshot = ",
            "[recovery]\nagent = { restore = \"deny\", on_failure = \"block\" }",
            "[workspaces.shop.recovery.agent] # mine\n  on_failure   =   \"block\" # always",
        ] {
            assert!(asks_to_block_calls(text), "{text}");
        }
        for text in [
            "",
            "[recovery]\non_failure = \"block\"\n[recovery.agent]\nprompts = \"off\"",
            "[recovery.agent]\non_failure = \"run\"",
            "[recovery.agent]\n# on_failure = \"block\"",
            "[recovery.agent]\non_failure\nblock",
        ] {
            assert!(!asks_to_block_calls(text), "{text}");
        }
    }
}
