//! The README's first two commands are what they claim: the first one runs here, word for word.

#![allow(
    clippy::unwrap_used,
    reason = "a test shall stop where it meets the unexpected, in its helpers too"
)]

use std::path::Path;
use std::process::Command;

/// The shell blocks of the README, in order.
fn blocks() -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let parts = text.split("```sh\n").skip(1);
    parts
        .map(|part| part.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_first_command_builds_wrecks_and_restores() {
    let home = tempfile::tempdir().unwrap();
    let real_home = std::env::var_os("HOME").unwrap_or_default();
    let kept = |name: &str, below: &str| {
        std::env::var_os(name).unwrap_or_else(|| Path::new(&real_home).join(below).into_os_string())
    };
    let run = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &blocks()[0]])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_HOME", kept("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", kept("RUSTUP_HOME", ".rustup"))
        .env("HOME", home.path())
        .env("TMPDIR", home.path())
        .env_remove("JACKIN_HOME_DIR")
        .env_remove("JACKIN_CONFIG_DIR")
        .env_remove("JACKIN_RECOVERY_INSTANCE")
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(run.status.success(), "stdout:\n{out}\nstderr:\n{err}");
    assert!(
        out.ends_with("everything is back\n"),
        "stdout:\n{out}\nstderr:\n{err}"
    );
    assert!(err.contains("Recovery contract"), "{err}");
}

#[test]
fn the_second_command_is_the_one_that_checks_run() {
    let command = blocks()[1].trim().to_owned();
    assert_eq!(command, "cargo test --locked");
    let script = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run")).unwrap();
    assert!(script.contains(&command), ".ci/run does not run `{command}`");
}
