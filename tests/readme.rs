//! The README is true: its second command is the one that checks run, and every link of a page leads to something. The first one runs in
//! `tests/recovery/first_command.rs`.

#![allow(
    clippy::unwrap_used,
    reason = "a test shall stop where it meets the unexpected, in its helpers too"
)]

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn the_second_command_is_the_one_that_checks_run() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let second = page.split("```sh\n").nth(2).unwrap();
    let command = second.split("```").next().unwrap().trim();
    assert_eq!(command, "cargo test --locked");
    let script = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run")).unwrap();
    assert!(script.contains(command), ".ci/run does not run `{command}`");
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
