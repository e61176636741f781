//! The README's first command runs word for word. At night it builds the program; otherwise a `cargo` before the real one has it checked,
//! which finds what does not compile, and puts the program of the tests in its place: to build 90 crates with other features than the
//! tests have takes a minute and a half.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::machine::{binary, is_nightly, write_script};

/// Makes a copy of the sources with a target directory of its own: the first command builds other features than the tests, under the
/// same name. It stays, so that only what changed is built again.
fn checked_out() -> PathBuf {
    let (from, to) = (
        Path::new(env!("CARGO_MANIFEST_DIR")),
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("clone"),
    );
    fs::create_dir_all(&to).unwrap();
    for name in [
        "crates",
        "src",
        "tests",
        "Cargo.toml",
        "Cargo.lock",
        "build.rs",
        "examples",
        "README.md",
    ] {
        // What did not change keeps its time, and is not built again.
        let copied = Command::new("cp")
            .args(["-pRT"])
            .arg(from.join(name))
            .arg(to.join(name))
            .status();
        assert!(copied.unwrap().success(), "{name}");
    }
    to
}

/// Returns `PATH` with a `cargo` that checks what it is to build, and then has it.
fn checking(place: &Path) -> OsString {
    let script = "#!/bin/sh\n[ \"$1\" = build ] || exit 1\nshift\n\
         PATH=$REAL_PATH cargo check \"$@\" --bin jackin && mkdir -p target/debug && ln -sf \"$BUILT\" target/debug/jackin\n";
    write_script(&place.join("cargo"), script);
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(
        [place.to_path_buf()]
            .into_iter()
            .chain(std::env::split_paths(&path)),
    )
    .unwrap()
}

#[test]
fn the_first_command_builds_wrecks_and_restores() {
    let (home, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = match is_nightly() {
        true => std::env::var_os("PATH").unwrap_or_default(),
        false => checking(tools.path()),
    };
    let clone = checked_out();
    let page = fs::read_to_string(clone.join("README.md")).unwrap();
    let first = page.split("```sh\n").nth(1).unwrap();
    let real_home = std::env::var_os("HOME").unwrap_or_default();
    let kept = |name: &str, below: &str| {
        std::env::var_os(name).unwrap_or_else(|| Path::new(&real_home).join(below).into_os_string())
    };
    let run = Command::new("bash")
        .args(["-euo", "pipefail", "-c", first.split("```").next().unwrap()])
        .stdin(Stdio::null())
        .current_dir(&clone)
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        // Dependencies that the tests have built with the same features are not built again.
        .env(
            "CARGO_BUILD_BUILD_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap(),
        )
        // It is run and not debugged, and is built in less time without what a debugger needs.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_HOME", kept("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", kept("RUSTUP_HOME", ".rustup"))
        .env("PATH", path)
        .env("REAL_PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("BUILT", binary())
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
