//! Agents are found by their program or their settings.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Presence, present};
use crate::agents::Agent;
use crate::environment::Environment;

#[test]
fn programs_and_settings_directories_are_found() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    for directory in ["bin", "home/.codex", "home/.config/opencode", "home/.copilot"] {
        fs::create_dir_all(at.join(directory)).unwrap();
    }
    for (name, mode) in [("claude", 0o755), ("gemini", 0o644)] {
        fs::write(at.join("bin").join(name), "").unwrap();
        fs::set_permissions(at.join("bin").join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let environment = Environment {
        home: Some(at.join("home")),
        ..Environment::default()
    };
    let path = format!("bin:{}", at.join("bin").display());
    let found = present(&environment.with("PATH", &path));
    let settings = |below: &str| Presence::Settings(at.join("home").join(below));
    assert_eq!(
        found,
        [
            (Agent::Claude, Presence::Program(at.join("bin/claude"))),
            (Agent::Codex, settings(".codex")),
            (Agent::Opencode, settings(".config/opencode")),
            (Agent::Copilot, settings(".copilot")),
        ]
    );
    assert!(present(&Environment::default()).is_empty());
}
