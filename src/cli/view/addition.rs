//! Lines that `init` adds to a file, as a diff. The lines around them may be secrets and are not shown.

use crate::report::InitDocument;
use crate::terminal::{Role, sanitize, style};

/// The added lines under the name of the file.
pub(in crate::cli) fn addition(edit: &InitDocument) -> String {
    let path = sanitize::path(&edit.file.exact);
    let old = if edit.creates { "/dev/null" } else { &path };
    let (mut text, mut line, mut whole) = edit.addition();
    // The old last line had no end: that comes first.
    if let Some(rest) = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n'))
        && !whole
    {
        (text, line, whole) = (rest, line + 1, true);
    }
    let added: Vec<&str> = text.lines().collect();
    let place = if edit.creates {
        format!("@@ -0,0 +1,{} @@", added.len())
    } else if whole {
        format!("@@ -{},0 +{line},{} @@", line - 1, added.len())
    } else {
        format!("@@ within line {line} @@")
    };
    let mut lines = vec![
        style::paint(Role::Heading, &format!("--- {old}")),
        style::paint(Role::Heading, &format!("+++ {path}")),
        style::paint(Role::Dim, &place),
    ];
    let new = |text: &&str| style::paint(Role::Added, &format!("+{}", sanitize::line(text.as_bytes())));
    lines.extend(added.iter().map(new));
    lines.join("\n")
}
