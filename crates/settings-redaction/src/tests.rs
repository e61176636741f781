//! Settings split and merged: the properties that all formats share.

mod claude;
mod codex;
mod fixtures;
mod hostile;
mod hosts;
mod judged;
mod members;
mod random;
mod random_lines;

use super::*;

/// Placeholder of the tests.
const WITHHELD: &str = "(withheld by its owner)";

const REDACTOR: Redactor<'static> = Redactor::new(WITHHELD);

fn parted(format: Format, text: &str) -> SplitSettings {
    REDACTOR
        .split(format, text.as_bytes())
        .unwrap_or_else(|| panic!("not taken apart:\n{text}"))
}

fn public(format: Format, text: &str) -> String {
    String::from_utf8(parted(format, text).public).unwrap()
}

/// Joins the public part of an old file with a live one; what is the same as in the old file is known.
fn restored(format: Format, old: &str, live: Option<&str>) -> (String, Vec<String>, Vec<String>) {
    let old = parted(format, old);
    let is_same = |secret: &Secret| old.secrets.contains(secret);
    let joined = REDACTOR
        .merge(format, &old.public, live.map(str::as_bytes), &is_same)
        .expect("joined");
    let dotted = |keys: Vec<Vec<String>>| keys.into_iter().map(|key| key.join("/")).collect();
    (
        String::from_utf8(joined.whole).unwrap(),
        dotted(joined.missing),
        dotted(joined.lost),
    )
}

fn keys(format: Format, text: &str) -> Vec<String> {
    parted(format, text)
        .secrets
        .into_iter()
        .map(|secret| secret.key.join("/"))
        .collect()
}

/// Checks that the unchanged live file comes back byte for byte.
fn assert_exact(format: Format, text: &str) {
    assert_eq!(
        restored(format, text, Some(text)),
        (text.to_owned(), vec![], vec![])
    );
}
