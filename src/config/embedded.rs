//! `[workspaces.<name>]` within `config.toml`, where older versions of jackin keep whole workspaces.

use toml::de::{DeTable, DeValue};

use super::ConfigError;
use super::document::{Document, quoted, type_of};

/// Returns the table `[workspaces]` of `config.toml`.
pub(super) fn embedded<'a>(
    document: &Document,
    root: &'a DeTable<'a>,
) -> Result<Option<&'a DeTable<'a>>, ConfigError> {
    as_table(document, root, "workspaces", "workspaces")
}

/// Returns the table `[workspaces.<name>]` of `config.toml`.
pub(super) fn embedded_workspace<'a>(
    document: &Document,
    root: &'a DeTable<'a>,
    name: &str,
) -> Result<Option<&'a DeTable<'a>>, ConfigError> {
    match embedded(document, root)? {
        Some(workspaces) => as_table(
            document,
            workspaces,
            name,
            &format!("workspaces.{}", quoted(name)),
        ),
        None => Ok(None),
    }
}

fn as_table<'a>(
    document: &Document,
    parent: &'a DeTable<'a>,
    name: &str,
    key: &str,
) -> Result<Option<&'a DeTable<'a>>, ConfigError> {
    match parent.get(name) {
        None => Ok(None),
        Some(value) => match value.get_ref() {
            DeValue::Table(table) => Ok(Some(table)),
            other => Err(ConfigError::WrongType {
                place: document.place(value.span().start, key.to_owned()),
                expected: "a table",
                found: type_of(other),
            }),
        },
    }
}
