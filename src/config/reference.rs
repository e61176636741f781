//! The table of keys for readers: as a file with every key, and as plain values for the manual.

use super::schema::{Key, RECOVERY, Shape};

/// Maximum length of a comment line, with its `# `.
const COLUMNS: usize = 118;

const HEAD: &str = "\
# Every key of [recovery] with its default value.
#
# The table may be in three files; a later file wins, and lists are appended:
#   1. config.toml             [recovery]                     for every workspace and every bare directory
#   2. config.toml             [workspaces.<name>.recovery]   for one workspace
#   3. workspaces/<name>.toml  [recovery]                     for one workspace
# Command-line flags override all of them. The files are in $JACKIN_CONFIG_DIR or ~/.config/jackin.
";

/// Description of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableReference {
    /// Its name, e.g. `recovery.limits`.
    pub name: String,
    /// Purpose, which may say what holds for all keys; empty for `recovery`.
    pub about: &'static str,
    /// Its keys that are no tables.
    pub keys: Vec<KeyReference>,
}

/// Description of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyReference {
    /// Its name in its table.
    pub name: &'static str,
    /// Valid values in words, e.g. `true or false`.
    pub values: String,
    /// Default value, as TOML.
    pub default: &'static str,
    /// Purpose, in paragraphs; a line that begins with a blank is laid out already.
    pub about: &'static str,
}

/// Returns every table with its keys, in the order of the file.
#[must_use]
pub fn reference() -> Vec<TableReference> {
    let described = |key: &Key| KeyReference {
        name: key.name,
        values: values(key),
        default: key.default,
        about: key.about,
    };
    let all = tables().into_iter().map(|(name, about, keys)| TableReference {
        name,
        about,
        keys: keys.into_iter().map(described).collect(),
    });
    all.collect()
}

/// Returns the text of `config/default.toml`.
#[must_use]
pub fn default_file() -> String {
    let mut text = HEAD.to_owned();
    for (table, about, keys) in tables() {
        text.push('\n');
        comment(&mut text, about);
        text.push_str(&format!("[{table}]\n"));
        for (at, key) in keys.iter().enumerate() {
            // The top table's keys have long texts; the others read better closely.
            if at > 0 && table == "recovery" {
                text.push('\n');
            }
            comment(&mut text, key.about);
            text.push_str(&format!("{} = {}\n", key.name, key.default));
        }
    }
    text
}

/// Returns each table: its name, its purpose, and its keys that are no tables.
fn tables() -> Vec<(String, &'static str, Vec<&'static Key>)> {
    let plain = |keys: &'static [Key]| {
        let no_table = |key: &&Key| !matches!(key.shape, Shape::Table(_));
        keys.iter().filter(no_table).collect::<Vec<_>>()
    };
    let mut all = vec![("recovery".to_owned(), "", plain(RECOVERY))];
    for key in RECOVERY {
        if let Shape::Table(keys) = key.shape {
            all.push((format!("recovery.{}", key.name), key.about, plain(keys)));
        }
    }
    all
}

fn values(key: &Key) -> String {
    match key.shape {
        Shape::Words(words) => quoted(words),
        Shape::Switch => "true or false".to_owned(),
        Shape::List => "a list of strings".to_owned(),
        Shape::Text => "a string".to_owned(),
        Shape::Count(0) => "a whole number; 0 means no limit".to_owned(),
        Shape::Count(least) => format!("a whole number, at least {least}"),
        Shape::Size(0) => "a number of bytes, or a size such as \"20GiB\"; 0 means no limit".to_owned(),
        Shape::Size(_) => "a number of bytes, or a size such as \"20GiB\"".to_owned(),
        Shape::Table(_) => "a table".to_owned(),
    }
}

fn quoted(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    quoted.join(", ")
}

/// Adds `about` as comments, filled.
fn comment(text: &mut String, about: &str) {
    for paragraph in about.split('\n').filter(|paragraph| !paragraph.is_empty()) {
        if paragraph.starts_with(' ') {
            text.push_str(&format!("# {paragraph}\n"));
            continue;
        }
        let mut line = "#".to_owned();
        for word in paragraph.split(' ') {
            if line.len() + 1 + word.len() > COLUMNS {
                text.push_str(&line);
                text.push('\n');
                line.replace_range(.., "#");
            }
            line.push(' ');
            line.push_str(word);
        }
        text.push_str(&line);
        text.push('\n');
    }
}
