//! One configuration file: its text, its TOML tree, and the line of any place in it.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Origin, Place};

/// Maximum size of a configuration file, in bytes. A larger one is a mistake (or worse) and is not read into memory.
const MAX_BYTES: u64 = 4 << 20;

/// A file's path and text.
#[derive(Clone, Debug)]
pub(super) struct Document {
    path: PathBuf,
    text: String,
}

impl Document {
    /// Reads a file; `None` if it does not exist.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        let failed = |source| ConfigError::Read {
            path: path.to_path_buf(),
            source,
        };
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        // Before it is opened: opening a FIFO would wait for a writer.
        if !metadata.is_file() {
            return Err(failed(io::Error::other("it is not a regular file")));
        }
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(failed)?;
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(failed(io::Error::other("it is larger than 4 MiB")));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(Self {
                path: path.to_path_buf(),
                text,
            })),
            Err(error) => {
                let good = error
                    .as_bytes()
                    .get(..error.utf8_error().valid_up_to())
                    .unwrap_or_default();
                Err(ConfigError::Toml {
                    path: path.to_path_buf(),
                    line: line_after(good),
                    message: "it is not UTF-8".to_owned(),
                })
            }
        }
    }

    /// Returns the same text as a document of the file at `path`.
    pub(super) fn at(self, path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            text: self.text,
        }
    }

    /// Creates a document of text that is to become the file at `path`.
    pub(super) fn of(path: &Path, text: String) -> Self {
        Self {
            path: path.to_path_buf(),
            text,
        }
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text of the file.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Parses the text into its tree.
    pub(super) fn root(&self) -> Result<DeTable<'_>, ConfigError> {
        DeTable::parse(&self.text)
            .map(Spanned::into_inner)
            .map_err(|error| ConfigError::Toml {
                path: self.path.clone(),
                line: self.line(error.span().map_or(0, |span| span.start)),
                message: format!(
                    "{}{}",
                    error.message().trim_end().replace('\n', ", "),
                    self.key_near(error.span().map_or(0, |span| span.start))
                ),
            })
    }

    /// Returns the key on the line of a byte offset, to be shown. Never the text after `=`: it may be a secret.
    fn key_near(&self, offset: usize) -> String {
        let start = self
            .text
            .get(..offset)
            .and_then(|before| before.rfind('\n'))
            .map_or(0, |at| at + 1);
        let line = self
            .text
            .get(start..)
            .and_then(|rest| rest.lines().next())
            .unwrap_or_default();
        match line.split_once('=') {
            Some((key, _)) if !key.trim().is_empty() && key.len() <= 80 => format!(", near `{}`", key.trim()),
            _ => String::new(),
        }
    }

    /// Returns a place in this file: the line of a byte offset, and a dotted key.
    pub(super) fn place(&self, offset: usize, key: String) -> Place {
        Place {
            origin: Origin::File {
                path: self.path.clone(),
                line: self.line(offset),
            },
            key,
        }
    }

    fn line(&self, offset: usize) -> usize {
        line_after(self.text.as_bytes().get(..offset).unwrap_or(self.text.as_bytes()))
    }
}

/// Returns the line, from 1, on which the text that follows `before` begins.
fn line_after(before: &[u8]) -> usize {
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Returns the type of a value, with its article.
pub(super) fn type_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Returns a key as it must be written in a dotted path.
pub(super) fn quoted(key: &str) -> String {
    let bare = !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if bare { key.to_owned() } else { format!("{key:?}") }
}
