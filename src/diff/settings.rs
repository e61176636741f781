//! Changes of agents' settings: JSON and TOML compared key by key. Settings that start programs or grant rights come first, and
//! values that look like secrets are hidden.

mod secrets;

use std::collections::BTreeMap;

use serde_json::Value;

use self::secrets::{is_secret_flag, redacted};
use super::{Change, ChangeKind, HIDDEN, WithheldChange, WithheldKind};
use crate::contract::PrivateFiles;
use crate::model::{Coverage, Entry, RelPath, WITHHELD};
use git_reader::{Files, whole};
use settings_redaction::{is_secret_argument, is_secret_key};

/// Maximum bytes of a settings file.
const LARGEST: u64 = 4 << 20;
/// Maximum number of reported settings of one file, and of one mount.
const MOST_OF_FILE: usize = 200;
const MOST: usize = 5000;
/// Maximum number of values of one file, and maximum bytes of their keys.
const MOST_LEAVES: usize = 50_000;
const MOST_KEYS: usize = 8 << 20;
/// Maximum number of characters of a shown value.
const LONGEST: usize = 160;
/// Words between the key of a list and the flag that a value of it follows.
const AFTER: &str = " after ";
/// Text that replaces the value of a file or side that cannot be parsed.
const UNREAD: &str = "(it cannot be read by key)";

/// Parts of keys that start programs, or set what an agent may do.
const GRANTING: &[&str] = &[
    "hook",
    "mcp",
    "plugin",
    "permission",
    "allow",
    "deny",
    "command",
    "exec",
    "shell",
    "sandbox",
    "approval",
    "trust",
    "helper",
    "notify",
    "statusline",
    "env",
    "marketplace",
    "skill",
    "bypass",
    "danger",
    "args",
];
/// Directories whose files are run, or read as instructions.
const PLACES: &[&str] = &[
    "hooks",
    "plugins",
    "skills",
    "commands",
    "agents",
    "bin",
    "extensions",
    "rules",
    "prompts",
];
/// Files that are read as instructions.
const ORDERS: &[&str] = &["CLAUDE.md", "AGENTS.md", "GEMINI.md", "opencode.jsonc"];

/// One changed setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The file, below the mount root.
    pub path: RelPath,
    /// The key in it, dotted; empty for the file itself.
    pub key: String,
    /// True if the setting starts programs, or grants or takes rights.
    pub grants: bool,
    /// Earlier value; `None` if the setting is new.
    pub was: Option<String>,
    /// Current value; `None` if the setting is gone.
    pub now: Option<String>,
}

/// Returns the changed settings among `changes`, those that grant rights first. `show_secrets` shows values that look secret, and
/// those of files that only their owner may read.
#[must_use]
pub fn compare_settings(
    changes: &[Change],
    before: Option<&dyn Files>,
    after: Option<&dyn Files>,
    show_secrets: bool,
    is_private: &dyn Fn(&Change) -> bool,
) -> Vec<Setting> {
    let mut found = Vec::new();
    for change in changes {
        let files = [&change.from, &change.to].into_iter().flatten();
        if files.clone().any(Entry::is_dir) {
            continue;
        }
        let show = match (show_secrets, is_private(change)) {
            (true, _) => Show::All,
            (false, true) => Show::Nothing,
            (false, false) => Show::Harmless,
        };
        match keys(change, before, after) {
            Some((was, is)) => {
                let mut all = differing(&change.path, was, is, show);
                // One file must not push out another one.
                all.sort_by_key(|setting| !setting.grants);
                let more = all.len().saturating_sub(MOST_OF_FILE);
                all.truncate(MOST_OF_FILE);
                found.extend(all);
                found.extend((more > 0).then(|| Setting {
                    path: change.path.clone(),
                    key: String::new(),
                    grants: true,
                    was: None,
                    now: Some(format!("(and {more} more keys that differ)")),
                }));
            }
            None => found.extend(by_place(change)),
        }
    }
    // Keys before files that are run: of these there may be any number.
    let order = |setting: &Setting| {
        let is_file = setting.key.is_empty();
        (
            !setting.grants,
            is_file,
            setting.path.clone(),
            setting.key.clone(),
        )
    };
    found.sort_by_cached_key(order);
    if let Some(last) = found.get(MOST).cloned() {
        let more = found.len() - MOST;
        found.truncate(MOST);
        found.push(Setting {
            key: String::new(),
            grants: true,
            was: None,
            now: Some(format!("(and {more} more, from here on)")),
            ..last
        });
    }
    found
}

#[derive(Clone, Copy, PartialEq)]
enum Show {
    All,
    Harmless,
    Nothing,
}

type Leaves = Vec<(String, Value)>;

/// Returns the keys of a settings file on both sides; `None` if it is not one.
fn keys(change: &Change, before: Option<&dyn Files>, after: Option<&dyn Files>) -> Option<(Leaves, Leaves)> {
    let (_, name) = change.path.split()?;
    let parse: fn(&[u8]) -> Option<Value> = match name.as_bytes().rsplit(|byte| *byte == b'.').next()? {
        b"json" => |bytes| serde_json::from_slice(bytes).ok(),
        b"toml" => |bytes| toml::from_str(std::str::from_utf8(bytes).ok()?).ok(),
        _ => return None,
    };
    let side = |entry: &Option<Entry>, files: Option<&dyn Files>| -> Leaves {
        if entry.is_none() {
            return Vec::new();
        }
        let read = files.and_then(|files| whole(files, &change.path, LARGEST).ok()?);
        let mut leaves = Vec::new();
        let value = read.as_deref().and_then(parse);
        if !value.is_some_and(|value| take_apart(String::new(), value, &mut leaves, &mut 0)) {
            leaves = vec![(String::new(), Value::from(UNREAD))];
        }
        leaves
    };
    Some((side(&change.from, before), side(&change.to, after)))
}

/// Collects every value that holds no other one by key. Elements of a list have no position: each was added or removed. Returns
/// false if there are too many values.
fn take_apart(key: String, value: Value, leaves: &mut Leaves, keys: &mut usize) -> bool {
    *keys += key.len();
    if leaves.len() >= MOST_LEAVES || *keys > MOST_KEYS {
        return false;
    }
    match value {
        Value::Object(map) if !map.is_empty() => map.into_iter().all(|(name, value)| {
            let key = if key.is_empty() {
                name
            } else {
                format!("{key}.{name}")
            };
            take_apart(key, value, leaves, keys)
        }),
        Value::Array(list) if !list.is_empty() => {
            let key = format!("{key}[]");
            *keys += key.len() * list.len();
            if *keys > MOST_KEYS || leaves.len() + list.len() > MOST_LEAVES {
                return false;
            }
            let mut flag = None;
            leaves.extend(list.into_iter().map(|value| {
                // What follows a flag is told as its value, and hidden when the flag says so.
                let key = match flag.take() {
                    Some(flag) => format!("{key}{AFTER}{flag}"),
                    None => key.clone(),
                };
                flag = value
                    .as_str()
                    .filter(|text| is_secret_flag(text))
                    .map(str::to_owned);
                (key, value)
            }));
            true
        }
        other => {
            leaves.push((key, other));
            true
        }
    }
}

fn differing(path: &RelPath, was: Leaves, is: Leaves, show: Show) -> Vec<Setting> {
    // How often a value stands under a key more than before.
    let mut counts: BTreeMap<(String, String), (i64, Value)> = BTreeMap::new();
    for (leaves, step) in [(was, -1), (is, 1)] {
        for (key, value) in leaves {
            let at = counts.entry((key, value.to_string())).or_insert((0, value));
            at.0 += step;
        }
    }
    let mut by_key: BTreeMap<String, [Vec<Value>; 2]> = BTreeMap::new();
    for ((key, _), (count, value)) in counts {
        let sides = by_key.entry(key).or_default();
        let [gone, come] = sides;
        let side = if count < 0 { gone } else { come };
        side.extend((0..count.unsigned_abs().min(MOST as u64)).map(|_| value.clone()));
    }
    let mut found = Vec::new();
    for (key, [gone, come]) in by_key {
        let text = |value: &Value| shown(&key, value, show);
        let setting = |was: Option<&Value>, now: Option<&Value>| Setting {
            path: path.clone(),
            grants: grants(&key) || [was, now].into_iter().flatten().any(holds_grant),
            key: key.clone(),
            was: was.map(text),
            now: now.map(text),
        };
        if let ([was], [now]) = (gone.as_slice(), come.as_slice()) {
            found.push(setting(Some(was), Some(now)));
            continue;
        }
        found.extend(gone.iter().map(|was| setting(Some(was), None)));
        found.extend(come.iter().map(|now| setting(None, Some(now))));
    }
    found
}

fn grants(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    GRANTING.iter().any(|part| key.contains(part))
}

/// Returns true if something within a value of a list has a key that grants rights; an unreadable value may.
fn holds_grant(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| grants(key) || holds_grant(value)),
        Value::Array(list) => list.iter().any(holds_grant),
        Value::String(text) => text == UNREAD,
        _ => false,
    }
}

/// Returns true for a value that follows a flag in a list, and is a secret by it.
fn is_argument(key: &str, value: &Value) -> bool {
    let flag = key.rsplit_once(AFTER).map(|(_, flag)| flag);
    flag.is_some_and(|flag| is_secret_argument(flag, value.as_str().unwrap_or_default()))
}

fn shown(key: &str, value: &Value, show: Show) -> String {
    if let Some(text @ (UNREAD | WITHHELD)) = value.as_str() {
        return text.to_owned();
    }
    let text = match show {
        Show::All => value.to_string(),
        Show::Nothing => return HIDDEN.to_owned(),
        Show::Harmless if is_secret_key(key) || is_argument(key, value) => return HIDDEN.to_owned(),
        Show::Harmless => match redacted(value) {
            Value::String(text) if text == HIDDEN => return text,
            other => other.to_string(),
        },
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Returns the changes of settings that only their secrets show: changed secrets, and files that can no longer be read by key.
#[must_use]
pub fn withheld_settings(withheld: &[WithheldChange], coverage: &Coverage) -> Vec<Setting> {
    let mut found = Vec::new();
    let private = PrivateFiles::of(coverage);
    for change in withheld.iter().filter(|change| private.is_by_key(&change.path)) {
        let setting = |key: String, now: &str| Setting {
            path: change.path.clone(),
            grants: key.is_empty() || grants(&key),
            key,
            was: Some(WITHHELD.to_owned()),
            now: Some(now.to_owned()),
        };
        let keys = change.keys.iter().map(|key| key.join("."));
        found.extend(keys.map(|key| setting(key, "(skipped; changed)")));
        if change.kind == WithheldKind::Modified {
            found.push(setting(String::new(), UNREAD));
        }
        if change.is_unread {
            found.push(Setting {
                was: None,
                ..setting(String::new(), UNREAD)
            });
        }
    }
    found
}

/// Returns the setting for a file that is run or read as instructions, judged by its place, mode or name.
fn by_place(change: &Change) -> Option<Setting> {
    let executes = |entry: &Entry| entry.mode & 0o111 != 0 && entry.content().is_some();
    let is_run = [&change.from, &change.to].into_iter().flatten().any(executes);
    let dirs = change.path.split().map(|(dir, _)| dir);
    let is_placed = dirs.is_some_and(|dir| {
        dir.parts()
            .any(|part| PLACES.iter().any(|place| place.as_bytes() == part))
    });
    let name = change.path.parts().last();
    let is_order = ORDERS.iter().any(|order| name == Some(order.as_bytes()));
    let is_script = is_order || change.path.as_bytes().ends_with(b".sh");
    if !is_run && !is_placed && !is_script {
        return None;
    }
    let words = |entry: &Option<Entry>, changed: bool| {
        let entry = entry.as_ref()?;
        Some(match (change.kind, changed) {
            (ChangeKind::Mode | ChangeKind::Metadata, _) => format!("mode {:o}", entry.mode & 0o7777),
            (ChangeKind::Modified, true) => "other content".to_owned(),
            _ => "there".to_owned(),
        })
    };
    Some(Setting {
        path: change.path.clone(),
        key: String::new(),
        grants: true,
        was: words(&change.from, false),
        now: words(&change.to, true),
    })
}
