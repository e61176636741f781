//! Tests with fingerprints that Codex 0.169 computed.

use std::fs;

use super::{fingerprint, untrusted};
use crate::agents::settings::{FoundHook, standing};
use crate::agents::{Agent, Scope};
use crate::environment::Environment;

fn hook(event: &str, timeout: u64, matcher: Option<&str>) -> FoundHook {
    FoundHook {
        event: event.to_owned(),
        group: 0,
        index: 0,
        command: format!("/usr/bin/jackin recovery hook run codex {event}"),
        matcher: matcher.map(str::to_owned),
        timeout: Some(timeout),
        is_plain: true,
    }
}

#[test]
fn fingerprints_are_those_of_codex() {
    for (hook, expected) in [
        (
            hook("SessionStart", 60, None),
            "d3357881864f477dafaf7a8efc3b69563dcead87c87c0aa79cafa8e33368734e",
        ),
        (
            hook("SessionEnd", 60, None),
            "7795f1f16cb9607f37dd52fbca34c3fe51325e6340aae2aea152d97d544fb34b",
        ),
        (
            hook("SessionEnd", 3, None),
            "7795f1f16cb9607f37dd52fbca34c3fe51325e6340aae2aea152d97d544fb34b",
        ),
        (
            hook("PreToolUse", 60, Some("")),
            "00ad32977f8006d3b9d1011f3c93762eba12ec10d6a451770d044be484824bd5",
        ),
    ] {
        assert_eq!(fingerprint(&hook), format!("sha256:{expected}"), "{hook:?}");
    }
}

#[test]
fn trust_is_read_from_the_settings_of_codex() {
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path().join("home");
    fs::create_dir_all(home.join(".codex")).unwrap();
    let environment = Environment {
        home: Some(home.clone()),
        ..Environment::default()
    };
    let file = home.join(".codex/hooks.json");
    let command = "/usr/bin/jackin recovery hook run codex SessionStart";
    let text = format!(
        r#"{{"hooks": {{"SessionStart": [{{"hooks": [{{"command": "x"}}, {{"type": "command", "command": "{command}", "timeout": 60}}]}}]}}}}"#
    );
    fs::write(&file, text).unwrap();
    let events = || {
        let standing = standing(Agent::Codex, Scope::User, &environment).unwrap();
        untrusted(&environment, &standing)
    };
    assert_eq!(events(), ["SessionStart"]);
    let right = fingerprint(&hook("SessionStart", 60, None));
    for (state, is_trusted) in [
        (format!("trusted_hash = \"{right}\""), true),
        (format!("enabled = false\ntrusted_hash = \"{right}\""), false),
        (format!("trusted_hash = \"{right}0\""), false),
        ("enabled = true".to_owned(), false),
    ] {
        let key = format!("{}:session_start:0:1", file.display());
        fs::write(
            home.join(".codex/config.toml"),
            format!("model = \"m\"\n[hooks.state.\"{key}\"]\n{state}\n"),
        )
        .unwrap();
        assert_eq!(events().is_empty(), is_trusted, "{state}");
    }
    // Broken settings trust nothing.
    fs::write(home.join(".codex/config.toml"), "[[[").unwrap();
    assert_eq!(events(), ["SessionStart"]);
}
