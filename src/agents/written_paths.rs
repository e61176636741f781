//! Files that a tool call names as the only ones that it writes.

use std::path::PathBuf;

use serde_json::Value;

/// Tools that write the one file which they name, and nothing else.
const WRITERS: [&str; 18] = [
    "write",
    "edit",
    "multiedit",
    "notebookedit",
    "writefile",
    "editfile",
    "createfile",
    "create",
    "replace",
    "strreplace",
    "strreplaceeditor",
    "strreplacebasededittool",
    "searchreplace",
    "insert",
    "deletefile",
    "delete",
    "patch",
    "applypatch",
];

/// Those of them that take a patch.
const PATCHERS: [&str; 2] = ["patch", "applypatch"];

/// Members that name the file.
const MEMBERS: [&str; 8] = [
    "file_path",
    "filePath",
    "notebook_path",
    "target_file",
    "absolute_path",
    "path",
    "file",
    "filename",
];

/// Lines of a patch that name a file.
const HEADS: [&str; 4] = [
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
    "*** Move to: ",
];

/// Other lines of a patch that begin like these.
const MARKS: [&str; 3] = ["*** Begin Patch", "*** End Patch", "*** End of File"];

/// Maximum number of files; a call that names more counts as one that may write any.
const MOST: usize = 64;

/// Returns the files that a call of `tool` names as all that it writes, as they are written; empty if it may write any. `tool` has only
/// lower-case letters and digits.
pub(super) fn written_paths(tool: &str, input: &Value) -> Vec<PathBuf> {
    if !WRITERS.contains(&tool) {
        return Vec::new();
    }
    let member = MEMBERS.iter().find_map(|name| input.get(*name)?.as_str());
    // The text that another tool writes may be a patch, too.
    let patch = Some(input)
        .filter(|_| PATCHERS.contains(&tool))
        .and_then(patch_of);
    let named: Vec<PathBuf> = match (member, patch) {
        // The member may be the directory that the patch counts from.
        (Some(_), Some(_)) => Vec::new(),
        (_, Some(patch)) => of_patch(patch).unwrap_or_default(),
        (member, None) => member.into_iter().map(PathBuf::from).collect(),
    };
    let is_usable = named.len() <= MOST && named.iter().all(|path| !path.as_os_str().is_empty());
    named.into_iter().filter(|_| is_usable).collect()
}

fn patch_of(input: &Value) -> Option<&str> {
    let texts = match input {
        Value::String(text) => vec![text.as_str()],
        Value::Object(members) => members.values().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    texts
        .into_iter()
        .find(|text| text.trim_start().starts_with("*** Begin Patch"))
}

/// Returns the files that a patch names; `None` if a line may be one that is not understood.
fn of_patch(patch: &str) -> Option<Vec<PathBuf>> {
    let mut named = Vec::new();
    // Some readers of patches ignore blanks around such a line.
    for line in patch
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("***"))
    {
        match HEADS.iter().find_map(|head| line.strip_prefix(head)) {
            Some(name) => named.push(PathBuf::from(name.trim())),
            None if MARKS.contains(&line) => {}
            None => return None,
        }
    }
    Some(named)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::written_paths;

    #[test]
    fn only_tools_that_write_nothing_else_name_their_files() {
        let patch = "*** Begin Patch\n*** Update File: a/b.rs\n*** Move to: c.rs\n@@\n-x\n+*** Add File: no\n*** Delete File: d\n*** End Patch";
        let cases: [(&str, Value, &[&str]); 13] = [
            (
                "write",
                json!({"file_path": "/w/a", "content": "path"}),
                &["/w/a"],
            ),
            ("edit", json!({"filePath": "b"}), &["b"]),
            (
                "write",
                json!({"file_path": "fix.patch", "content": patch}),
                &["fix.patch"],
            ),
            ("write", json!({"content": patch}), &[]),
            ("patch", json!({"path": "/w", "patch": patch}), &[]),
            ("applypatch", json!({"command": patch}), &["a/b.rs", "c.rs", "d"]),
            ("applypatch", json!(patch), &["a/b.rs", "c.rs", "d"]),
            (
                "applypatch",
                json!("*** Begin Patch\n*** Add File: a\n+x\n  *** Add File: b\n+y\n*** End Patch"),
                &["a", "b"],
            ),
            (
                "applypatch",
                json!("*** Begin Patch\n*** Update File: a\n*** Copy to: b\n*** End Patch"),
                &[],
            ),
            ("applypatch", json!({"command": "another form"}), &[]),
            ("bash", json!({"path": "a", "command": "rm b"}), &[]),
            ("mcpxwrite", json!({"path": "a"}), &[]),
            ("write", json!({"file_path": ""}), &[]),
        ];
        for (tool, input, expected) in cases {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(written_paths(tool, &input), expected, "{tool} {input}");
        }
    }
}
