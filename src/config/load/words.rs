//! jackin's own words in a workspace's files, which are shown and never acted on.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use super::Config;
use crate::config::ConfigError;
use crate::config::document::Document;
use crate::config::embedded::embedded_workspace;

impl Config {
    /// Returns the `auth_forward` of each agent; the workspace's setting overrides the global one.
    pub(super) fn auth_modes(
        &self,
        name: &str,
        file: Option<&Document>,
    ) -> Result<BTreeMap<String, String>, ConfigError> {
        let mut found = BTreeMap::new();
        let mut read = |table: &DeTable<'_>| {
            for (agent, value) in table.iter() {
                let DeValue::Table(own) = value.get_ref() else {
                    continue;
                };
                // An invalid word becomes empty, which is not the same as the default.
                if own.contains_key("auth_forward") {
                    let word = own_word(own, "auth_forward").unwrap_or_default();
                    found.insert(agent.get_ref().to_string(), word);
                }
            }
        };
        if let Some(document) = &self.global {
            let root = document.root()?;
            read(&root);
            if let Some(table) = embedded_workspace(document, &root, name)? {
                read(table);
            }
        }
        if let Some(document) = file {
            read(&document.root()?);
        }
        Ok(found)
    }

    /// Returns jackin's own word under a key of a workspace. An invalid word is ignored here: refusing it is up to jackin.
    pub(super) fn own_word(
        &self,
        name: &str,
        file: Option<&Document>,
        key: &str,
    ) -> Result<Option<String>, ConfigError> {
        if let Some(document) = file
            && let Some(word) = own_word(&document.root()?, key)
        {
            return Ok(Some(word));
        }
        let Some(document) = &self.global else {
            return Ok(None);
        };
        Ok(embedded_workspace(document, &document.root()?, name)?.and_then(|table| own_word(table, key)))
    }
}

/// Returns a short word under one of jackin's own keys.
fn own_word(table: &DeTable<'_>, key: &str) -> Option<String> {
    const LONGEST: usize = 64;
    let word = table.get(key)?.get_ref().as_str()?.to_owned();
    let mut bytes = word.bytes();
    let fits = bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_-./@:".contains(&byte));
    (fits && (1..=LONGEST).contains(&word.len())).then_some(word)
}
