//! Directories that Copilot CLI trusts: `trustedFolders` in its own state, each with everything below it.

use std::path::{Path, PathBuf};

use crate::agents::settings::strings_of;
use crate::config::settle;
use crate::contract::agent_directory;
use crate::environment::Environment;

/// Maximum size of Copilot's state, in bytes.
const LARGEST: u64 = 4 << 20;

/// Returns true if Copilot trusts the current directory.
pub(super) fn is_trusted(environment: &Environment) -> bool {
    let Some(home) = agent_directory(environment, ".copilot") else {
        return false;
    };
    let current = settle(&environment.current);
    let trusts = |file: PathBuf| {
        let bytes = handle_fs::read_small_file(&settle(&file), LARGEST).ok().flatten();
        let text = bytes
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .unwrap_or_default();
        let mut folders = strings_of(&text, "trustedFolders").into_iter();
        folders.any(|folder| current.starts_with(settle(Path::new(&folder))))
    };
    ["config.json", "settings.json"]
        .into_iter()
        .any(|name| trusts(home.join(name)))
}
