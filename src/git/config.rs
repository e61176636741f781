//! Configuration of a repository, read as git reads it. Included files are listed, but never read.

use std::sync::Arc;

use super::error::shown;
use super::reading::{below, whole};
use super::repository::Repository;
use super::{GitError, config_text};
use crate::model::RelPath;

/// Maximum bytes of a configuration file; a larger one is hostile.
const MOST_CONFIG: u64 = 4 << 20;

/// One line of a configuration: `section.subsection.key = value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    /// In lower case.
    pub section: Arc<[u8]>,
    /// Exactly as written; `None` if there is none.
    pub subsection: Option<Arc<[u8]>>,
    /// In lower case.
    pub key: Vec<u8>,
    /// `None` when the line is a key alone, which means true.
    pub value: Option<Vec<u8>>,
}

/// A configuration, in the order of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Everything that is set, including what a later line sets again.
    pub entries: Vec<ConfigEntry>,
}

impl ConfigEntry {
    /// Returns section, subsection and key with dots between them, as git takes them on its command line.
    #[must_use]
    pub fn name(&self) -> Vec<u8> {
        let mut name = self.section.to_vec();
        if let Some(subsection) = &self.subsection {
            name.push(b'.');
            name.extend_from_slice(subsection);
        }
        name.push(b'.');
        name.extend_from_slice(&self.key);
        name
    }

    /// Returns the value as git reads a boolean; `None` if it is none.
    #[must_use]
    pub fn truth(&self) -> Option<bool> {
        let Some(value) = &self.value else {
            return Some(true);
        };
        match value.to_ascii_lowercase().as_slice() {
            b"true" | b"yes" | b"on" => Some(true),
            b"" | b"false" | b"no" | b"off" => Some(false),
            number => {
                let number: i64 = std::str::from_utf8(number).ok()?.parse().ok()?;
                Some(number != 0)
            }
        }
    }
}

impl Config {
    /// Reads the text of a configuration file.
    ///
    /// # Errors
    /// Returns the number of the first invalid line, and the entries before it. Git refuses the whole file.
    pub fn parse(text: &[u8]) -> Result<Self, (Self, usize)> {
        config_text::parse(text)
    }

    /// Returns the lines of a section, with any subsection.
    pub fn section(&self, section: &str) -> impl Iterator<Item = &ConfigEntry> {
        let entries = self.entries.iter();
        entries.filter(move |entry| *entry.section == *section.as_bytes())
    }

    /// Returns all values of a key. Section and key are in lower case; `None` stands for a line with the key alone.
    pub fn all(
        &self,
        section: &str,
        subsection: Option<&[u8]>,
        key: &str,
    ) -> impl Iterator<Item = Option<&[u8]>> {
        self.section(section)
            .filter(move |entry| entry.subsection.as_deref() == subsection && entry.key == key.as_bytes())
            .map(|entry| entry.value.as_deref())
    }

    /// Returns the value of a key: the last line wins.
    #[must_use]
    pub fn last(&self, section: &str, subsection: Option<&[u8]>, key: &str) -> Option<Option<&[u8]>> {
        self.all(section, subsection, key).last()
    }

    /// Returns the entries that include other files, with or without a condition.
    pub fn includes(&self) -> impl Iterator<Item = &ConfigEntry> {
        let entries = self.entries.iter();
        entries.filter(|entry| matches!(&*entry.section, b"include" | b"includeif") && entry.key == b"path")
    }

    fn says(&self, section: &str, key: &str) -> bool {
        let lines = self.section(section);
        let last = lines
            .filter(|entry| entry.subsection.is_none() && entry.key == key.as_bytes())
            .last();
        last.is_some_and(|entry| entry.truth() == Some(true))
    }
}

impl Repository<'_> {
    /// Returns the configuration, with that of the work tree if it has its own. Invalid lines are a doubt.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn read_config(&self) -> Config {
        let Some(common) = self.shared_git_dir() else {
            return Config::default();
        };
        let mut config = self.config_at(&below(common, "config"));
        if config.says("extensions", "worktreeconfig")
            && let Some(own) = self.git_dir()
        {
            let more = self.config_at(&below(own, "config.worktree"));
            config.entries.extend(more.entries);
        }
        for include in config.includes() {
            let path = shown(include.value.as_deref().unwrap_or_default());
            self.doubts
                .add(format!("the configuration includes {path}, which is not read"));
        }
        config
    }

    /// Reads a file in the syntax of configurations; empty if it does not exist.
    pub(super) fn config_at(&self, path: &RelPath) -> Config {
        let text = whole(self.files, path, MOST_CONFIG);
        let text = self.doubts.settle(text).unwrap_or_default();
        Config::parse(&text).unwrap_or_else(|(before, line)| {
            let why = format!("line {line} makes no sense, and what follows is not read");
            self.doubts.add(GitError::damaged(path, why));
            before
        })
    }
}
