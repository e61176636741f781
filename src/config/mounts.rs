//! jackin's own `[[mounts]]`. Only the keys that recovery needs are read.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{Document, type_of};
use super::error::ConfigError;
use super::parse::choose;
use super::{Isolation, ValueSource, host};
use crate::model::ByteString;
use handle_fs::remote::{ADDRESSES, has_path, is_elsewhere, scheme_of};

/// A mount as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MountConfig {
    /// Host path, absolute, `~` expanded, links not followed.
    #[serde(serialize_with = "path_bytes")]
    pub src: PathBuf,
    /// Path in the container; `None` for a bare directory.
    pub dst: Option<String>,
    /// True if the agent cannot write there.
    pub readonly: bool,
    /// Form in which jackin passes the mount to the container.
    pub isolation: Isolation,
    /// Source of the mount in the configuration.
    pub source: ValueSource,
}

fn path_bytes<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    ByteString::from(path).serialize(serializer)
}

/// Reads the mounts of the table at `prefix` (empty: the file itself); `None` if it has none.
pub(super) fn read(
    document: &Document,
    prefix: &str,
    table: &DeTable<'_>,
    home: Option<&Path>,
) -> Result<Option<Vec<MountConfig>>, ConfigError> {
    let key = if prefix.is_empty() {
        "mounts".to_owned()
    } else {
        format!("{prefix}.mounts")
    };
    let Some(value) = table.get("mounts") else {
        return Ok(None);
    };
    let wrong = |value: &Spanned<DeValue<'_>>| ConfigError::WrongType {
        place: document.place(value.span().start, key.clone()),
        expected: "a list of tables, written [[mounts]]",
        found: type_of(value.get_ref()),
    };
    let DeValue::Array(items) = value.get_ref() else {
        return Err(wrong(value));
    };
    let mut mounts = Vec::new();
    for item in items.iter() {
        let DeValue::Table(table) = item.get_ref() else {
            return Err(wrong(item));
        };
        let reader = Reader {
            document,
            key: &key,
            table,
        };
        mounts.push(reader.mount(item.span().start, home)?);
    }
    Ok(if mounts.is_empty() { None } else { Some(mounts) })
}

struct Reader<'a> {
    document: &'a Document,
    key: &'a str,
    table: &'a DeTable<'a>,
}

impl Reader<'_> {
    fn mount(&self, start: usize, home: Option<&Path>) -> Result<MountConfig, ConfigError> {
        let Some((at, written)) = self.text("src")? else {
            return Err(ConfigError::MissingKey {
                place: self.place(start, "src"),
            });
        };
        let place = self.place(at, "src");
        let Some(src) = host::expand(written, home) else {
            return Err(ConfigError::NoHome { place });
        };
        if is_elsewhere(&src) {
            if !has_path(&src) {
                let problem = format!("an address is written {ADDRESSES}");
                return Err(ConfigError::BadValue {
                    place,
                    value: scheme_of(&src),
                    problem,
                });
            }
        } else if !src.is_absolute() || written.contains('\0') {
            // Relative to what? jackin's own directory, the caller's, the file's: a guess would protect the wrong tree.
            let problem = "a host path must be absolute or begin with `~/`".to_owned();
            return Err(ConfigError::BadValue {
                place,
                value: written.to_owned(),
                problem,
            });
        }
        let isolation = match self.text("isolation")? {
            None => Isolation::Shared,
            Some((at, word)) => {
                let word = choose(
                    &self.place(at, "isolation"),
                    word,
                    &["shared", "worktree", "clone"],
                )?;
                Isolation::parse(word).unwrap_or(Isolation::Shared)
            }
        };
        Ok(MountConfig {
            src,
            dst: self.text("dst")?.map(|(_, dst)| dst.to_owned()),
            readonly: self.switch("readonly")?,
            isolation,
            source: (&place.origin).into(),
        })
    }

    fn place(&self, offset: usize, name: &str) -> super::Place {
        self.document.place(offset, format!("{}.{name}", self.key))
    }

    fn wrong(&self, name: &str, value: &Spanned<DeValue<'_>>, expected: &'static str) -> ConfigError {
        let place = self.place(value.span().start, name);
        ConfigError::WrongType {
            place,
            expected,
            found: type_of(value.get_ref()),
        }
    }

    fn text(&self, name: &str) -> Result<Option<(usize, &str)>, ConfigError> {
        match self.table.get(name) {
            None => Ok(None),
            Some(value) => match value.get_ref() {
                DeValue::String(text) => Ok(Some((value.span().start, text))),
                _ => Err(self.wrong(name, value, "a string")),
            },
        }
    }

    fn switch(&self, name: &str) -> Result<bool, ConfigError> {
        match self.table.get(name) {
            None => Ok(false),
            Some(value) => match value.get_ref() {
                DeValue::Boolean(on) => Ok(*on),
                _ => Err(self.wrong(name, value, "true or false")),
            },
        }
    }
}
