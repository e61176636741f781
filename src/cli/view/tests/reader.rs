//! Texts without hints that only the operator can follow.

use std::path::Path;

use crate::cli::view::Reader;
use crate::cli::view::settings::settings;
use crate::diff::Setting;
use crate::model::{Coverage, RelPath};
use crate::report::{HIDDEN, SettingDocument};

#[test]
fn a_model_reads_no_hint_wherever_lines_break() {
    let coverage = Coverage::new("home", Path::new("/home/ann"));
    // Any number of columns before the hidden value.
    let all: Vec<SettingDocument> = (1..100)
        .map(|length| {
            let setting = Setting {
                path: RelPath::new(b".claude/settings.json").unwrap(),
                key: "k".repeat(length),
                grants: false,
                was: None,
                now: Some(format!("[\"--token\",\"{HIDDEN}\"]")),
            };
            SettingDocument::new(&coverage, &setting)
        })
        .collect();
    for some in all.chunks(19).chain([all.as_slice()]) {
        let text = |reader| settings(some, 100, reader).replace(char::is_whitespace, "");
        assert!(text(Reader::Operator).contains("--show-secretsshowsit"));
        let read = text(Reader::Model);
        assert!(!read.contains("secrets") && !read.contains("--json"), "{read}");
        assert!(read.contains("(hidden)"), "{read}");
    }
}
