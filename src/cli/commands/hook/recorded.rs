//! Facts of an agent's event that a receipt records: its text without secrets, and the files that a call names.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::agents::ToolCall;
use crate::config::Prompts;
use crate::model::{ByteString, CallRef};
use crate::terminal::HIDDEN;
use settings_redaction::{redact_lines, redact_text};

/// Maximum length of a first line, in characters.
const LINE: usize = 200;

/// Maximum length of a whole text, in characters.
const WHOLE: usize = 20_000;

/// Number of characters of a text that are searched for secrets, for each one that may be recorded. A pasted file has millions.
const SEARCHED: usize = 4;

/// Returns the beginning of a text, which ends between two words, if there is a place between two.
fn beginning(text: &str, most: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text;
    };
    let part = text.get(..end).unwrap_or_default();
    let word = part.rfind(char::is_whitespace);
    word.and_then(|end| part.get(..end)).unwrap_or(part)
}

/// Returns the part of a text that is recorded; `None` if nothing is.
pub(super) fn text(text: &str, wanted: Prompts) -> Option<String> {
    let mut lines = text.lines().map(str::trim_end);
    let (recorded, most) = match wanted {
        Prompts::Off => return None,
        Prompts::FirstLine => {
            let first = lines.find(|line| !line.is_empty())?;
            (redact_text(beginning(first, SEARCHED * LINE), HIDDEN), LINE)
        }
        Prompts::Full => {
            let text = beginning(text, SEARCHED * WHOLE);
            (redact_lines(text, HIDDEN), WHOLE)
        }
    };
    Some(recorded.chars().take(most).collect::<String>()).filter(|text| !text.trim().is_empty())
}

/// Returns the tool and the id of a call, as far as they are recorded.
pub(super) fn name(call: &ToolCall) -> (String, Option<String>) {
    let most = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    (most(&call.tool, 80), call.id.as_ref().map(|id| most(id, 120)))
}

/// Returns the facts of a call that are recorded. Its files are looked up from the agent's working directory.
pub(super) fn call(call: &ToolCall, directory: &Path, wanted: Prompts) -> CallRef {
    let (tool, id) = name(call);
    let resolve =
        |path: &PathBuf| resolved(&directory.join(path)).map(|path| ByteString::from(path.as_path()));
    let paths: Option<Vec<ByteString>> = call.paths.iter().map(resolve).collect();
    CallRef {
        tool,
        id,
        command: call.command.as_ref().and_then(|command| text(command, wanted)),
        // A file whose place is unknown may be any.
        paths: paths.unwrap_or_default(),
        background: call.background,
        subagent: call.subagent,
    }
}

/// Returns the path without links: a file that is written through a link lies elsewhere. `None` if that is unknown.
fn resolved(path: &Path) -> Option<PathBuf> {
    let is_odd = |part: Component<'_>| part == Component::Normal(OsStr::new("~"));
    if path.components().any(is_odd) {
        return None;
    }
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        match std::fs::canonicalize(there) {
            Ok(found) => {
                return Some(
                    missing
                        .into_iter()
                        .rev()
                        .fold(found, |path, name| path.join(name)),
                );
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // A link to nothing: writing through it makes its target.
                if std::fs::symlink_metadata(there).is_ok() {
                    return None;
                }
                missing.push(there.file_name()?.to_owned());
                there = there.parent()?;
            }
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{resolved, text};
    use crate::config::Prompts;

    #[test]
    fn text_is_recorded_as_the_configuration_wants() {
        let prompt = "\n fix the login test \nwith token ghp_0123456789abcdef\n";
        let of = |wanted| text(prompt, wanted);
        assert_eq!(of(Prompts::Off), None);
        assert_eq!(of(Prompts::FirstLine).unwrap(), "fix the login test");
        assert_eq!(
            of(Prompts::Full).unwrap(),
            "\nfix the login test\nwith token (hidden)"
        );
        assert_eq!(text(" \n\n", Prompts::FirstLine), None);
        // What is behind the part that is searched is not recorded, and no word is cut in two.
        let pasted = format!(
            "{}ghp_0123456789abcdef {}",
            "x".repeat(780),
            "word ".repeat(1_000_000)
        );
        let recorded = text(&pasted, Prompts::FirstLine).unwrap();
        assert!(
            recorded.chars().count() <= 200 && !recorded.contains("ghp"),
            "{recorded}"
        );
        let long = "word ".repeat(100);
        assert_eq!(text(&long, Prompts::FirstLine).unwrap().chars().count(), 200);
    }

    #[test]
    fn named_files_are_found_behind_links() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("real/file"), "").unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        let of = |path: &str| resolved(&root.join(path));
        assert_eq!(of("link/file"), Some(root.join("real/file")));
        assert_eq!(of("link/new/deep"), Some(root.join("real/new/deep")));
        assert_eq!(of("real/../link/new"), Some(root.join("real/new")));
        assert_eq!(of("dangling"), None);
        assert_eq!(of("real/file/below"), None);
        assert_eq!(of("~/file"), None);
    }
}
