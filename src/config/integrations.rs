//! Stack integrations that the operator defines: `integrations/NAME.toml` in jackin's configuration directory. They can only
//! exclude regenerable directories and warn. A repository cannot define one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::DeValue;

use super::document::{Document, quoted, type_of};
use super::error::{ConfigError, Place};
use super::pattern;
use super::schema::nearest;

/// Maximum size of a file, in bytes; a larger one holds something else.
const LARGEST: u64 = 64 << 10;
/// Maximum number of files, and of entries in a list.
const MOST: usize = 100;
/// Maximum length of an entry or a warning, in bytes.
const LONGEST: usize = 200;
const KEYS: [&str; 4] = ["markers", "exclude", "exclude_at_root", "warning"];

/// Excludes and warning for a detected stack.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Integration {
    /// The name of the stack.
    pub name: String,
    /// Regular files in a mount's root, each of which shows that the stack is present.
    pub markers: Vec<String>,
    /// Regenerable directories, in gitignore syntax.
    pub exclude: Vec<String>,
    /// Warning to print if the stack is present.
    pub warning: Option<String>,
    /// File that defines it; `None` if it is built in.
    pub defined: Option<PathBuf>,
}

/// A built-in stack.
#[derive(Debug)]
pub struct BuiltIn {
    name: &'static str,
    marker: &'static str,
    exclude: &'static [&'static str],
}

/// All built-in stacks.
pub const BUILT_IN_INTEGRATIONS: &[BuiltIn] = &[
    // Anchored: only the `target` beside the `Cargo.toml` is known to be cargo's.
    BuiltIn {
        name: "rust",
        marker: "Cargo.toml",
        exclude: &["/target/"],
    },
    BuiltIn {
        name: "node",
        marker: "package.json",
        exclude: &["node_modules/", ".next/", ".nuxt/", ".turbo/"],
    },
    BuiltIn {
        name: "python-uv",
        marker: "pyproject.toml",
        exclude: &[
            ".venv/",
            "__pycache__/",
            ".pytest_cache/",
            ".mypy_cache/",
            ".ruff_cache/",
        ],
    },
];

impl BuiltIn {
    /// Converts it to the form of all integrations.
    #[must_use]
    pub fn integration(&self) -> Integration {
        Integration {
            name: self.name.to_owned(),
            markers: vec![self.marker.to_owned()],
            exclude: self.exclude.iter().map(|pattern| (*pattern).to_owned()).collect(),
            warning: None,
            defined: None,
        }
    }
}

/// Reads all defined integrations, sorted by name.
pub(super) fn read(configuration: &Path) -> Result<Vec<Integration>, ConfigError> {
    let directory = configuration.join("integrations");
    let failed = |source| ConfigError::Read {
        path: directory.clone(),
        source,
    };
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    if paths.len() > MOST {
        return Err(failed(io::Error::other(format!(
            "it holds more than {MOST} integrations"
        ))));
    }
    paths.sort();
    paths.iter().map(|path| one(path)).collect()
}

fn one(path: &Path) -> Result<Integration, ConfigError> {
    let unfit = |problem: String| ConfigError::Read {
        path: path.to_path_buf(),
        source: io::Error::other(problem),
    };
    let name = path
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default();
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > 64 || name.starts_with('-') || !name.bytes().all(letter) {
        let problem = "its name must be made of a-z, 0-9 and `-`, at most 64, and end in .toml";
        return Err(unfit(problem.to_owned()));
    }
    if BUILT_IN_INTEGRATIONS.iter().any(|known| known.name == name) {
        return Err(unfit(format!(
            "there is a built-in integration {name:?}; give it another name"
        )));
    }
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() > LARGEST) {
        return Err(unfit("it is larger than 64 KiB".to_owned()));
    }
    let document = Document::read(path)?.ok_or_else(|| unfit("it is gone".to_owned()))?;
    let root = document.root()?;
    let mut keys: Vec<_> = root.iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    let mut found = Integration {
        name: name.to_owned(),
        markers: Vec::new(),
        exclude: Vec::new(),
        warning: None,
        defined: Some(path.to_path_buf()),
    };
    for (key, value) in keys {
        let text: &str = key.get_ref();
        let place = document.place(key.span().start, quoted(text));
        match text {
            "markers" => found.markers = list(&document, &place, value, marker)?,
            "exclude" => found
                .exclude
                .extend(list(&document, &place, value, directory_pattern)?),
            "exclude_at_root" => {
                let patterns = list(&document, &place, value, directory_pattern)?;
                found
                    .exclude
                    .extend(patterns.into_iter().map(|pattern| format!("/{pattern}")));
            }
            "warning" => found.warning = Some(warning(&place, value)?),
            _ => {
                let nearest = nearest(text, KEYS);
                return Err(ConfigError::UnknownKey { place, nearest });
            }
        }
    }
    if found.markers.is_empty() {
        return Err(unfit("it has no `markers`, so it would never apply".to_owned()));
    }
    if found.exclude.is_empty() && found.warning.is_none() {
        let problem = "it has neither `exclude` nor `exclude_at_root` nor `warning`, so it would do nothing";
        return Err(unfit(problem.to_owned()));
    }
    Ok(found)
}

fn list(
    document: &Document,
    place: &Place,
    value: &Spanned<DeValue<'_>>,
    check: fn(&str) -> Result<(), String>,
) -> Result<Vec<String>, ConfigError> {
    let wrong = |place: Place, value: &DeValue<'_>| ConfigError::WrongType {
        place,
        expected: "a list of strings",
        found: type_of(value),
    };
    let DeValue::Array(items) = value.get_ref() else {
        return Err(wrong(place.clone(), value.get_ref()));
    };
    let mut found = Vec::new();
    for item in items.iter() {
        let at = document.place(item.span().start, place.key.clone());
        let DeValue::String(text) = item.get_ref() else {
            return Err(wrong(at, item.get_ref()));
        };
        let too_many = (found.len() == MOST).then(|| format!("there are more than {MOST}"));
        let too_long = (text.len() > LONGEST).then(|| format!("it is longer than {LONGEST} bytes"));
        if let Some(problem) = too_many.or(too_long).or(check(text).err()) {
            let value = text.chars().take(LONGEST).collect();
            return Err(ConfigError::BadValue {
                place: at,
                value,
                problem,
            });
        }
        found.push(text.to_string());
    }
    Ok(found)
}

/// Checks that a marker is the name of a file and no path.
fn marker(text: &str) -> Result<(), String> {
    if text.is_empty() || text.contains(['/', '\0']) || matches!(text, "." | "..") {
        return Err("it must be the name of a file in the mount's root, and no path".to_owned());
    }
    Ok(())
}

/// Checks that a pattern can exclude only directories of a given name.
fn directory_pattern(text: &str) -> Result<(), String> {
    if text.starts_with('/') {
        return Err(
            "it is absolute; use `exclude_at_root` for a directory beside the marker, without `/`".to_owned(),
        );
    }
    if text.starts_with('!') {
        return Err("an integration can only exclude; `!` would include a path again".to_owned());
    }
    pattern::check(text)?;
    if !text.ends_with('/') {
        return Err("it must end in `/`: an integration excludes directories".to_owned());
    }
    let last = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if !last.bytes().any(|byte| byte.is_ascii_alphanumeric()) || last.contains('[') {
        return Err("it must end in the name of a directory, of which `*` can stand for a part".to_owned());
    }
    if pattern::leaves_out(text, ".git") {
        return Err("it would exclude .git".to_owned());
    }
    Ok(())
}

fn warning(place: &Place, value: &Spanned<DeValue<'_>>) -> Result<String, ConfigError> {
    let DeValue::String(text) = value.get_ref() else {
        return Err(ConfigError::WrongType {
            place: place.clone(),
            expected: "a string",
            found: type_of(value.get_ref()),
        });
    };
    if text.is_empty() || text.len() > LONGEST || text.contains(char::is_control) {
        return Err(ConfigError::BadValue {
            place: place.clone(),
            value: text.chars().take(LONGEST).collect(),
            problem: format!("it must be one line of at most {LONGEST} bytes"),
        });
    }
    Ok(text.to_string())
}
