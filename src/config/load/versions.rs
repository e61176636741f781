//! Versions of jackin's configuration files: one that is unknown may give its keys another meaning.

use crate::config::ConfigError;
use crate::config::document::Document;
use crate::display::sanitize;

/// Word before the number of a version.
const STAGE: &str = "v1alpha";
/// Newest known version of `config.toml`, and of a workspace's file.
pub(super) const GLOBAL_VERSION: u32 = 9;
pub(super) const WORKSPACE_VERSION: u32 = 8;

/// Returns the version of a file as it is to be shown, unless it is missing, or is `newest` or an older one.
///
/// # Errors
/// When the file is not TOML.
pub(super) fn unknown_version(file: Option<&Document>, newest: u32) -> Result<Option<String>, ConfigError> {
    const LONGEST: usize = 32;
    let Some(document) = file else { return Ok(None) };
    let root = document.root()?;
    let Some(version) = root.get("version") else {
        return Ok(None);
    };
    let Some(word) = version.get_ref().as_str() else {
        return Ok(Some("no text".to_owned()));
    };
    let number = word
        .strip_prefix(STAGE)
        .and_then(|number| number.parse::<u32>().ok());
    let is_known = number.is_some_and(|number| number <= newest);
    let shown = || sanitize::text(&word.chars().take(LONGEST).collect::<String>());
    Ok((!is_known).then(shown))
}
