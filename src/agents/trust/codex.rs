//! Trust of Codex: the fingerprint of each hook in Codex's `config.toml`, below `hooks.state`. Recording it is left to Codex's own
//! program, which knows how the fingerprint is made.

mod grant;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::agents::settings::{FoundHook, Standing};
use crate::config::settle;
use crate::contract::agent_directory;
use crate::environment::Environment;

pub use grant::CodexProgram;

/// Maximum size of Codex's settings, in bytes.
const LARGEST: u64 = 4 << 20;

/// Seconds that a hook without a time limit has.
const DEFAULT_TIMEOUT: u64 = 600;

/// Seconds that Codex gives a hook at the end of a session, whatever it asks for.
const LONGEST_AT_END: u64 = 3;

/// Path of the file in which Codex keeps its trust; `None` if the home directory is unknown.
#[must_use]
pub fn trust_file(environment: &Environment) -> Option<PathBuf> {
    Some(agent_directory(environment, ".codex")?.join("config.toml"))
}

/// Returns the events whose hooks Codex does not run, because they are not trusted, have changed since, or are disabled. Empty: it
/// runs all hooks of jackin in the file.
pub(super) fn untrusted(environment: &Environment, standing: &Standing) -> Vec<String> {
    let states = trust_file(environment)
        .map(|file| states(&file))
        .unwrap_or_default();
    let file = settle(&standing.path);
    let mut events: Vec<String> = Vec::new();
    for hook in &standing.found.hooks {
        let is_trusted = states.iter().any(|(key, state)| {
            key.is_of(&file, hook) && state.is_enabled && trusts(state.hash.as_deref(), hook)
        });
        if !is_trusted && !events.contains(&hook.event) {
            events.push(hook.event.clone());
        }
    }
    events
}

fn trusts(hash: Option<&str>, hook: &FoundHook) -> bool {
    // What else a hook holds is part of its fingerprint in ways that differ between versions of Codex.
    hash.is_some_and(|hash| !hook.is_plain || hash == fingerprint(hook))
}

/// Name of a hook in Codex's state: `FILE:event_name:GROUP:INDEX`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    file: PathBuf,
    event: String,
    group: usize,
    index: usize,
}

impl Key {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(4, ':');
        let (index, group) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let (event, file) = (parts.next()?.to_owned(), settle(Path::new(parts.next()?)));
        Some(Self {
            file,
            event,
            group,
            index,
        })
    }

    fn is_of(&self, file: &Path, hook: &FoundHook) -> bool {
        (self.group, self.index) == (hook.group, hook.index)
            && self.event == label(&hook.event)
            && self.file == file
    }
}

/// State of a hook.
#[derive(Debug)]
struct TrustState {
    /// Fingerprint that the user trusts.
    hash: Option<String>,
    is_enabled: bool,
}

/// Reads all states. A file that cannot be read has none: Codex runs no hook then, either.
fn states(file: &Path) -> BTreeMap<Key, TrustState> {
    let bytes = handle_fs::read_small_file(&settle(file), LARGEST).ok().flatten();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let table: Option<toml::Table> = text.and_then(|text| text.parse().ok());
    let states = table
        .as_ref()
        .and_then(|table| table.get("hooks")?.get("state")?.as_table());
    let state = |(key, state): (&String, &toml::Value)| {
        let made = TrustState {
            hash: state
                .get("trusted_hash")
                .and_then(toml::Value::as_str)
                .map(str::to_owned),
            is_enabled: state.get("enabled").and_then(toml::Value::as_bool) != Some(false),
        };
        Some((Key::parse(key)?, made))
    };
    states.into_iter().flatten().filter_map(state).collect()
}

/// Returns Codex's name of an event in keys and fingerprints: `PreToolUse` is `pre_tool_use`.
fn label(event: &str) -> String {
    let mut label = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !label.is_empty() {
            label.push('_');
        }
        label.push(letter.to_ascii_lowercase());
    }
    label
}

/// Returns Codex's fingerprint of a hook with nothing but a command and a time limit: SHA-256 of its JSON with sorted keys and without
/// blanks (measured with Codex 0.169).
fn fingerprint(hook: &FoundHook) -> String {
    let label = label(&hook.event);
    let timeout = hook.timeout.unwrap_or(DEFAULT_TIMEOUT).max(1);
    let timeout = match label.as_str() {
        "session_end" => timeout.min(LONGEST_AT_END),
        _ => timeout,
    };
    let handler: BTreeMap<&str, Value> = [
        ("async", json!(false)),
        ("command", json!(hook.command)),
        ("timeout", json!(timeout)),
        ("type", json!("command")),
    ]
    .into();
    let mut identity: BTreeMap<&str, Value> = BTreeMap::new();
    // Codex ignores the pattern where there is no tool or source to match.
    let has_pattern = matches!(label.as_str(), "pre_tool_use" | "session_start");
    if let Some(matcher) = hook.matcher.as_ref().filter(|_| has_pattern) {
        identity.insert("matcher", json!(matcher));
    }
    identity.insert("event_name", json!(label));
    identity.insert("hooks", json!([handler]));
    let mut text = String::from("sha256:");
    let written = serde_json::to_vec(&identity).unwrap_or_default();
    for byte in Sha256::digest(written) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
