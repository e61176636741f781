//! The README is true: its first command runs here, word for word, and every link of a page leads to something.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::string_slice,
    clippy::indexing_slicing,
    reason = "a test shall stop where it meets the unexpected, in its helpers too"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the blocks of a page that are marked with `kind`, in order.
fn blocks(page: &str, kind: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let parts = text.split(&format!("```{kind}\n")).skip(1).collect::<Vec<_>>();
    let parts = parts.into_iter();
    parts
        .map(|part| part.split("```").next().unwrap().to_owned())
        .collect()
}

/// A copy of the sources with a target directory of its own: the first command builds other features than the tests, under the same
/// name. It stays, so that only what changed is built again.
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

#[test]
fn the_first_command_builds_wrecks_and_restores() {
    let home = tempfile::tempdir().unwrap();
    let clone = checked_out();
    let real_home = std::env::var_os("HOME").unwrap_or_default();
    let kept = |name: &str, below: &str| {
        std::env::var_os(name).unwrap_or_else(|| Path::new(&real_home).join(below).into_os_string())
    };
    let run = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &blocks("README.md", "sh")[0]])
        .current_dir(&clone)
        .env_remove("CARGO_TARGET_DIR")
        // Dependencies that the tests have built with the same features are not built again.
        .env(
            "CARGO_BUILD_BUILD_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap(),
        )
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
    let command = blocks("README.md", "sh")[1].trim().to_owned();
    assert_eq!(command, "cargo test --locked");
    let script = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run")).unwrap();
    assert!(script.contains(&command), ".ci/run does not run `{command}`");
}

/// Returns every page: the README, the other pages at the top, and all below `docs`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut open = vec![root.join("docs")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push(path),
            }
        }
    }
    found.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root.join(name)));
    found.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    found
}

/// Returns the anchor that a heading has on a page.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_of_a_page_leads_to_something() {
    let (mut count, mut broken) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in text
            .split("](")
            .skip(1)
            .map(|rest| rest.split(')').next().unwrap())
        {
            if link.starts_with("https://") {
                continue;
            }
            count += 1;
            let (file, part) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(file)
            };
            let has_part = || {
                let text = fs::read_to_string(&target).unwrap_or_default();
                let mut headings = text.lines().filter_map(|line| line.strip_prefix('#'));
                headings.any(|heading| anchor(heading.trim_start_matches('#')) == part)
            };
            if !target.exists() || (!part.is_empty() && !has_part()) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(count > 40, "only {count} links were found");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_readme_is_short() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    assert!(text.lines().count() <= 130, "{} lines", text.lines().count());
}
