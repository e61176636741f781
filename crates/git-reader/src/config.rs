//! Values of a configuration, as git understands them.

use std::sync::Arc;

use handle_fs::RelPath;

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

/// File in the tree that a configuration includes.
pub(super) struct IncludedConfig {
    /// Place in the tree.
    pub(super) path: RelPath,
    /// Its content; empty if it does not exist.
    pub(super) config: Config,
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

    /// Returns true if the last line of a key without a subsection switches it on.
    pub(super) fn says(&self, section: &str, key: &str) -> bool {
        let lines = self.section(section);
        let last = lines
            .filter(|entry| entry.subsection.is_none() && entry.key == key.as_bytes())
            .last();
        last.is_some_and(|entry| entry.truth() == Some(true))
    }
}
