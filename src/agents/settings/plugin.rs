//! The plugin that opencode loads: a complete file of jackin's that passes each event to jackin.

use super::command::Program;
use super::{After, Fault, Found};

/// First line of the file, by which jackin recognizes it.
const MARK: &str =
    "// jackin recovery: made by `jackin recovery hook install opencode`, gone with `hook uninstall`.";

/// Text before the words of the call, which are in JSON.
const CALL: &str = "const CALL = ";

const BODY: &str = include_str!("plugin.js");

/// Events that the plugin passes on.
pub(super) const EVENTS: [&str; 6] = [
    "session.created",
    "chat.message",
    "tool.execute.before",
    "tool.execute.after",
    "session.idle",
    "session.deleted",
];

/// Returns the whole file.
pub(super) fn write(program: &Program) -> String {
    let words: Vec<&str> = std::iter::once(program.path())
        .chain(program.prefix().iter().copied())
        .chain(["hook", "run", "opencode"])
        .collect();
    format!("{MARK}\n{CALL}{};\n{BODY}", serde_json::Value::from(words))
}

/// Returns the new file; refuses a file that jackin did not write.
pub(super) fn install(text: &str, program: &Program) -> Result<String, Fault> {
    if is_ours(text) {
        Ok(write(program))
    } else {
        Err(Fault::at(
            1,
            "this file was not written by jackin; move or rename it",
        ))
    }
}

pub(super) fn uninstall(text: &str) -> After {
    if is_ours(text) { After::Gone } else { After::Same }
}

pub(super) fn look(text: &str) -> Found {
    let mut found = Found::default();
    if is_ours(text) {
        let line = text.lines().find_map(|line| line.strip_prefix(CALL));
        let words =
            line.and_then(|line| serde_json::from_str::<Vec<String>>(line.trim_end_matches(';')).ok());
        found
            .programs
            .extend(words.and_then(|words| words.into_iter().next()));
        let (there, missing) = EVENTS.iter().partition(|event| text.contains(**event));
        (found.events, found.missing) = (owned(there), owned(missing));
    } else {
        found.missing = owned(EVENTS.to_vec());
    }
    found
}

fn owned(events: Vec<&str>) -> Vec<String> {
    events.into_iter().map(str::to_owned).collect()
}

fn is_ours(text: &str) -> bool {
    text.lines().next() == Some(MARK)
}
