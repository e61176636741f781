//! Changes of agents' settings as text. Changes that start programs or grant rights stand first.

use super::Reader;
use crate::report::SettingDocument;
use crate::terminal::{Role, sanitize, style, width};

/// Under the file.
const INDENT: &str = "    ";
/// So many of either kind are shown; JSON has more.
const SHOWN: usize = 20;

/// The section of one mount.
pub(in crate::cli) fn settings(settings: &[SettingDocument], columns: usize, reader: Reader) -> String {
    let mut lines = Vec::new();
    for (grants, title) in [
        (
            true,
            style::paint(Role::Warning, "Agent hooks or permissions changed:"),
        ),
        (false, "Other settings:".to_owned()),
    ] {
        let all: Vec<&SettingDocument> = settings
            .iter()
            .filter(|setting| setting.grants == grants)
            .collect();
        if all.is_empty() {
            continue;
        }
        lines.push(title);
        let mut last = None;
        for setting in all.iter().take(SHOWN) {
            let file = &setting.at.on_host;
            if last != Some(file) {
                lines.push(format!("  {}", sanitize::path(file)));
                last = Some(file);
            }
            let text = width::wrap(&line(setting, reader), columns.saturating_sub(INDENT.len()));
            lines.extend(text.into_iter().map(|line| format!("{INDENT}{line}")));
        }
        if all.len() > SHOWN {
            lines.push(format!("  … {}", reader.and_more(all.len() - SHOWN)));
        }
    }
    lines.join("\n")
}

fn line(setting: &SettingDocument, reader: Reader) -> String {
    let value = |value: &String| reader.value(value);
    let what = match (&setting.was, &setting.now) {
        (Some(was), Some(now)) => format!("{} -> {}", value(was), value(now)),
        (Some(was), None) => format!("gone: {}", value(was)),
        (None, Some(now)) => format!("new: {}", value(now)),
        (None, None) => String::new(),
    };
    match setting.key.as_str() {
        "" => what,
        key => format!("{}: {what}", sanitize::text(key)),
    }
}
