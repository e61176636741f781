//! Reads the whole configuration and continues after a file with a fault. Nothing is written.

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
