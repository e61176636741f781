//! Settings files without the secrets in them.
//!
//! [`Redactor::split`] splits a file into public text, with a placeholder for each secret, and the secrets. [`Redactor::merge`]
//! merges such a public text with the secrets of the current file. Both read untrusted files, so the work is bounded, and a file
//! that is not understood is `None`.
//!
//! ```
//! use settings_redaction::{Format, Redactor};
//!
//! let redactor = Redactor::new("(withheld)");
//! let file = br#"{"model": "large", "token": "ghp_0123456789"}"#;
//! let split = redactor.split(Format::Json, file).expect("a file that can be split");
//! assert_eq!(split.public, br#"{"model": "large", "token": "(withheld)"}"#);
//! assert_eq!(split.secrets[0].key, ["token"]);
//! assert_eq!(split.secrets[0].raw, br#""ghp_0123456789""#);
//! ```

mod bracket;
mod edit;
mod heuristics;
mod ini;
mod json;
mod judge;
mod leak_check;
mod merge;
mod names;
mod quotes;
mod rules;
mod text;
mod toml;
mod tree;
mod yaml;

#[cfg(test)]
mod tests;

pub use heuristics::{Strictness, is_secret_key, is_secret_user};
pub use ini::redact_ini;
pub use judge::{is_secret, is_secret_argument};
pub use text::{redact_arguments, redact_lines, redact_text};

use std::ops::Range;

use rules::{KeyContext, Verdict};
use tree::Node;

/// Maximum size of a file, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Length in bytes, with quotes, below which a value that is withheld only as a variable may be an ordinary word.
const ORDINARY: usize = 18;

/// Maximum number of bytes of all key paths of a file: deep paths under long names would multiply otherwise.
const MAX_PATH_BYTES: usize = 32 * 1024 * 1024;

/// Format of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON without comments.
    Json,
    /// TOML.
    Toml,
    /// The plain block style of YAML.
    Yaml,
}

impl Format {
    /// Returns the format of a file of this name; `None` if it is unknown.
    ///
    /// ```
    /// use settings_redaction::Format;
    ///
    /// assert_eq!(Format::of(b".config/hosts.yml"), Some(Format::Yaml));
    /// assert_eq!(Format::of(b"notes.txt"), None);
    /// ```
    #[must_use]
    pub fn of(name: &[u8]) -> Option<Self> {
        // What has comments is not read.
        if name.ends_with(b".json") || name.ends_with(b".jsonc") {
            Some(Self::Json)
        } else if name.ends_with(b".toml") {
            Some(Self::Toml)
        } else if name.ends_with(b".yml") || name.ends_with(b".yaml") {
            Some(Self::Yaml)
        } else {
            None
        }
    }
}

/// A value that is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The names that lead to it; elements of lists by decimal index.
    pub key: Vec<String>,
    /// The value as it is written in the file.
    pub raw: Vec<u8>,
}

/// A file, split into public text and secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitSettings {
    /// The file with a placeholder in the place of each secret, every other byte as it was.
    pub public: Vec<u8>,
    /// The secrets in the order of the file.
    pub secrets: Vec<Secret>,
}

/// A file, merged again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedSettings {
    /// The file.
    pub whole: Vec<u8>,
    /// Places of the public text that could not be filled and were removed; sorted.
    pub missing: Vec<Vec<String>>,
    /// Secrets of the live file that are not in `whole`; sorted.
    pub lost: Vec<Vec<String>>,
}

/// A secret with the data that a merge needs.
struct Found {
    secret: Secret,
    /// True if it stands at a credential place.
    credential: bool,
    /// True if it is withheld only because it is a variable.
    is_ordinary: bool,
    /// Its name as written; `None` for an element of a list.
    name: Option<String>,
}

/// A split file, not yet checked.
struct Taken {
    public: String,
    /// The public text with a zero byte for each placeholder.
    rest: Vec<u8>,
    found: Vec<Found>,
}

/// Splitter and merger of settings files, with one placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redactor<'a> {
    placeholder: &'a str,
}

impl<'a> Redactor<'a> {
    /// Creates a redactor that writes `placeholder` in the place of each secret.
    ///
    /// The placeholder is a plain text, such as `(withheld)`. With one that is empty, or that has quotes, backslashes or control
    /// characters, no file with a secret can be split.
    #[must_use]
    pub const fn new(placeholder: &'a str) -> Self {
        Self { placeholder }
    }

    /// Splits a file into public text and secrets.
    ///
    /// `None` if the file is not valid, too large or too deep, uses syntax that is not understood, does not merge back to the same
    /// bytes, or if a secret's text would still be found in the public part.
    #[must_use]
    pub fn split(&self, format: Format, whole: &[u8]) -> Option<SplitSettings> {
        let taken = self.checked(format, whole)?;
        Some(SplitSettings {
            public: taken.public.into_bytes(),
            secrets: taken.found.into_iter().map(|found| found.secret).collect(),
        })
    }

    /// Splits a settings file of this name. One that cannot be read by key is wholly public if it is blank, or, with
    /// `may_be_unread`, if it is text that holds nothing like a secret or the name of one.
    ///
    /// ```
    /// use settings_redaction::Redactor;
    ///
    /// let redactor = Redactor::new("(withheld)");
    /// let notes = b"Run the tests first.\n";
    /// assert_eq!(redactor.split_named(b"notes.txt", notes, true).map(|split| split.public), Some(notes.to_vec()));
    /// assert_eq!(redactor.split_named(b"notes.txt", notes, false), None);
    /// assert_eq!(redactor.split_named(b"notes.txt", b"The password is swordfish.", true), None);
    /// ```
    #[must_use]
    pub fn split_named(&self, name: &[u8], whole: &[u8], may_be_unread: bool) -> Option<SplitSettings> {
        let split = Format::of(name).and_then(|format| self.split(format, whole));
        split.or_else(|| {
            let text = str::from_utf8(whole)
                .ok()
                .filter(|text| text.len() <= MAX_BYTES)?;
            // Letters of UTF-16 are valid UTF-8 with zero bytes between them, and spell no name.
            let is_plain = |c: char| !c.is_control() || c.is_whitespace();
            let names_none = || rules::names_none(text) && !text.contains(self.placeholder);
            let is_public =
                text.trim().is_empty() || (may_be_unread && text.chars().all(is_plain) && names_none());
            is_public.then(|| SplitSettings {
                public: whole.to_vec(),
                secrets: Vec::new(),
            })
        })
    }

    /// Merges a public text with the secrets of the live file.
    ///
    /// `is_same` returns true if a secret of the live file is the one that was withheld. Values at credential places are kept even
    /// if they changed; any other changed value is removed, because an attacker may have left it there. `None` if `live` cannot be
    /// split or `public` is not valid.
    ///
    /// ```
    /// use settings_redaction::{Format, Redactor};
    ///
    /// let redactor = Redactor::new("(withheld)");
    /// let public = br#"{"model": "large", "token": "(withheld)"}"#;
    /// let live = br#"{"model": "small", "token": "ghp_0123456789"}"#;
    /// let merged = redactor.merge(Format::Json, public, Some(live), &|_| true).expect("valid files");
    /// assert_eq!(merged.whole, br#"{"model": "large", "token": "ghp_0123456789"}"#);
    /// ```
    #[must_use]
    pub fn merge(
        &self,
        format: Format,
        public: &[u8],
        live: Option<&[u8]>,
        is_same: &dyn Fn(&Secret) -> bool,
    ) -> Option<MergedSettings> {
        let found = match live {
            Some(live) => self.checked(format, live)?.found,
            None => Vec::new(),
        };
        merge::fill(*self, format, public, &found, is_same)
    }

    /// Returns the placeholder as a value of a format.
    fn written(&self, format: Format) -> String {
        match format {
            Format::Json | Format::Toml => format!("\"{}\"", self.placeholder),
            Format::Yaml => format!("'{}'", self.placeholder),
        }
    }

    /// Returns the text and its tree.
    fn read<'t>(&self, format: Format, bytes: &'t [u8]) -> Option<(&'t str, Node)> {
        if bytes.len() > MAX_BYTES || bytes.starts_with(b"\xef\xbb\xbf") {
            return None;
        }
        let text = str::from_utf8(bytes).ok()?;
        let mut root = match format {
            Format::Json => json::read(text),
            Format::Toml => toml::read(text),
            Format::Yaml => yaml::read(text),
        }?;
        root.mark(self.placeholder);
        Some((text, root))
    }

    /// Splits a file and checks that nothing is lost and nothing secret stays public.
    fn checked(&self, format: Format, whole: &[u8]) -> Option<Taken> {
        let taken = self.take(format, whole)?;
        // A variable's ordinary value may well stand elsewhere, too.
        let is_certain = |found: &&Found| !found.is_ordinary || found.secret.raw.len() >= ORDINARY;
        let certain = taken.found.iter().filter(is_certain);
        if leak_check::stays(&taken.rest, certain.map(|found| found.secret.raw.as_slice())) {
            return None;
        }
        let merged = merge::fill(*self, format, taken.public.as_bytes(), &taken.found, &|_| true)?;
        let exact = merged.whole == whole && merged.missing.is_empty() && merged.lost.is_empty();
        exact.then_some(taken)
    }

    /// Splits a file without a check of the result.
    fn take(&self, format: Format, whole: &[u8]) -> Option<Taken> {
        let (text, root) = self.read(format, whole)?;
        let mut taking = Taking {
            text,
            path: Vec::new(),
            path_bytes: MAX_PATH_BYTES,
            withheld: Vec::new(),
        };
        taking.walk(&root, KeyContext::default())?;
        let mut withheld = taking.withheld;
        // Tables of TOML may come in any order.
        withheld.sort_by_key(|value| value.span.start);
        let mut taken = Taken {
            public: String::with_capacity(text.len()),
            rest: Vec::new(),
            found: Vec::new(),
        };
        let mut at = 0;
        for Withheld {
            span,
            is_block,
            found,
        } in withheld
        {
            let before = text.get(at..span.start)?;
            taken.public.push_str(before);
            taken.rest.extend_from_slice(before.as_bytes());
            // A block of YAML begins right after the colon.
            if format == Format::Yaml && is_block {
                taken.public.push(' ');
            }
            taken.public.push_str(&self.written(format));
            taken.rest.push(0);
            taken.found.push(found);
            at = span.end;
        }
        let after = text.get(at..)?;
        taken.public.push_str(after);
        taken.rest.extend_from_slice(after.as_bytes());
        Some(taken)
    }
}

/// A secret and where it is written.
struct Withheld {
    span: Range<usize>,
    is_block: bool,
    found: Found,
}

/// Walk that collects the withheld values.
struct Taking<'a> {
    text: &'a str,
    path: Vec<String>,
    path_bytes: usize,
    withheld: Vec<Withheld>,
}

impl Taking<'_> {
    fn walk(&mut self, node: &Node, around: KeyContext) -> Option<()> {
        for child in rules::children(node, around) {
            let is_block = child.node.is_container();
            let verdict = child.verdict();
            if verdict == Verdict::Public && !is_block {
                continue;
            }
            self.path.push(child.name.clone().into_owned());
            if let Verdict::Secret { credential, ordinary } = verdict {
                let span = child.node.span.clone();
                let key = spell(&self.path, &mut self.path_bytes)?;
                let raw = self.text.get(span.clone())?.as_bytes().to_vec();
                let name = child
                    .key
                    .and_then(|key| self.text.get(key.clone()))
                    .map(str::to_owned);
                let found = Found {
                    secret: Secret { key, raw },
                    credential,
                    is_ordinary: ordinary,
                    name,
                };
                self.withheld.push(Withheld {
                    span,
                    is_block,
                    found,
                });
            } else {
                self.walk(child.node, child.around())?;
            }
            self.path.pop();
        }
        Some(())
    }
}

/// Returns a copy of a key path; `None` once the bytes for paths are used up.
fn spell(path: &[String], left: &mut usize) -> Option<Vec<String>> {
    let bytes: usize = path.iter().map(|name| name.len() + 1).sum();
    *left = left.checked_sub(bytes)?;
    Some(path.to_vec())
}
