//! What names a fork: the reference that `fork` prints is taken back, and one that was changed is refused.

use std::fs;

use serde_json::Value;

use crate::forks::{directory, forks, reference, session};
use crate::support::sandbox::Sandbox;

#[test]
fn a_reference_is_taken_back() {
    let sandbox = Sandbox::new();
    let (_, id) = session(&sandbox);
    let run = sandbox
        .jackin(["fork", &id, "--from", "closing", "--branch", "left"])
        .ok();
    let first = reference(&run);
    let text = String::from_utf8(run.stdout).unwrap();
    let shown = sandbox.jackin(["show", text.trim(), "--json"]).ok().json();
    assert_eq!(shown["instance"]["id"], id.as_str());
    assert_eq!(shown["fork"], first["id"]);
    sandbox
        .jackin(["show", text.trim()])
        .ok()
        .shows(first["id"].as_str().unwrap())
        .shows("left");
    let again = reference(&sandbox.jackin(["fork", text.trim()]).ok());
    assert_eq!(again["snapshot"], first["snapshot"]);
    assert_ne!(again["id"], first["id"]);
    let read = fs::read_to_string(directory(&again).join("main.rs")).unwrap();
    assert_eq!(read, "agent\n");
    // The whole document names it as well.
    let document = sandbox.jackin(["fork", &id, "--json"]).ok();
    assert_eq!(document.json()["outcome"], "forked");
    let whole = String::from_utf8(document.stdout).unwrap();
    sandbox.jackin(["fork", whole.trim()]).ok();
    sandbox
        .jackin(["fork", text.trim(), "--from", "baseline"])
        .code(2)
        .shows("--from");
}

#[test]
fn a_reference_that_is_not_ours_or_was_changed_is_refused() {
    let sandbox = Sandbox::new();
    let (_, id) = session(&sandbox);
    let made = reference(&sandbox.jackin(["fork", &id]).ok());
    let other = reference(&sandbox.jackin(["fork", &id, "--from", "closing"]).ok());
    let count = forks(&sandbox).len();
    let with = |key: &str, value: Value| {
        let mut changed = made.clone();
        changed[key] = value;
        changed.to_string()
    };
    let elsewhere = serde_json::json!([{"label": made["mounts"][0]["label"], "path": "/etc"}]);
    let cases = [
        ("{".to_owned(), 2, "reference"),
        ("{}".to_owned(), 2, "provider"),
        (
            "{\"provider\":\"jackin-recovery\"}".to_owned(),
            2,
            "missing field",
        ),
        (with("provider", "docker\u{1b}[31m".into()), 2, "docker"),
        (with("provider", 7.into()), 2, "provider"),
        (with("id", "fk-000000000000".into()), 5, "fk-000000000000"),
        (with("id", "../../etc".into()), 2, "fork id"),
        (with("snapshot", other["snapshot"].clone()), 2, "was changed"),
        (with("snapshot", "sn-../../../x".into()), 2, "snapshot id"),
        (with("mounts", serde_json::json!([])), 2, "was changed"),
        (with("mounts", elsewhere), 2, "was changed"),
        (format!("{made}{made}"), 2, "reference"),
        (format!("{{\"provider\":{}", "[".repeat(10_000)), 2, "reference"),
    ];
    for (text, code, word) in cases {
        for verb in ["fork", "show"] {
            sandbox.jackin([verb, &text]).code(code).harmless().shows(word);
            sandbox.jackin([verb, &text, "--json"]).code(code);
        }
    }
    assert_eq!(forks(&sandbox).len(), count);
}
