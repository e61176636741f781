//! Files that are no valid settings are left alone, and the error names the line.

use super::super::{Program, uninstall};
use super::{WITH_SETTINGS, fault};
use crate::agents::Agent;

#[test]
fn what_is_broken_is_named_with_its_line() {
    for (text, line, said) in [
        ("", 1, "empty"),
        (" \n// only a comment\n", 3, "empty"),
        ("[]", 1, "the file must be an object, but it is a list"),
        ("null", 1, "must be an object"),
        (
            "{\n\"hooks\": [] }",
            2,
            "`hooks` must be an object, but it is a list",
        ),
        ("{\n\"hooks\": \"x\" }", 2, "a string"),
        ("{\n\n\"hooks\": null }", 3, "a number, true, false or null"),
        ("{\"hooks\": {},\n\"hooks\": {} }", 2, "appears twice"),
        ("{\n\"a\": }", 2, "no value"),
        ("{\n\"a\": 1 \"b\": 2 }", 2, "a comma is missing"),
        ("{\n\"a\": 1,, }", 2, "a comma stands"),
        ("{\n,}", 2, "a comma stands"),
        ("{\n\"a\" 1}", 2, "a colon"),
        ("{\na: 1}", 2, "a key in double quotes"),
        ("{\n\"a\": 'x'}", 2, "no value"),
        ("{\n\"a\": \"x}", 2, "a string has no end"),
        ("{\n\"a\": \"\\q\"}", 2, "no string"),
        ("{\n/* \"a\": 1}", 2, "has no end"),
        ("{\n\"a\": 1", 2, "ends before"),
        ("{}\n}", 2, "text after the end"),
        ("{\n\"a\": 01}", 2, "no value"),
        ("{\n\"a\": NaN}", 2, "no value"),
    ] {
        for agent in WITH_SETTINGS {
            let fault = fault(agent, text);
            assert_eq!(fault.line, Some(line), "{text}: {fault:?}");
            assert!(fault.problem.contains(said), "{text}: {fault:?}");
            if !matches!(text, "{\"hooks\": {},\n\"hooks\": {} }") {
                assert!(uninstall(agent, Some(text)).is_err(), "{text}");
            }
        }
    }
    let found = fault(Agent::Claude, "{\"hooks\": {\n\"PreToolUse\": {} }}");
    assert_eq!(found.line, Some(2));
    assert!(
        found.problem.contains("`hooks.PreToolUse` must be a list"),
        "{found:?}"
    );
    // The events before it would be added first.
    for agent in [Agent::Claude, Agent::Codex] {
        let text = r#"{"a":{"b":[1,2]},"hooks":{"PreToolUse":[],"SessionStart":[{"hooks":[]}],"Stop":null}}"#;
        let found = fault(agent, text);
        assert_eq!(found.line, Some(1), "{agent}");
        assert!(found.problem.contains("`hooks.Stop` must be a list"), "{found:?}");
    }
}

#[test]
fn what_is_nested_without_end_is_refused() {
    let text = format!("{{\"a\": {}", "[".repeat(1 << 20));
    assert!(fault(Agent::Claude, &text).problem.contains("nested"));
}

#[test]
fn a_path_that_no_shell_reads_back_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    for (path, word) in [
        (b"/a\xff/jackin".as_slice(), "$'/a\\377/jackin'"),
        (b"/a\n/jackin", "$'/a\\012/jackin'"),
        (b"jackin", "jackin"),
    ] {
        assert!(Program::new(OsStr::from_bytes(path).as_ref(), word).is_err());
    }
}
