//! The book is true: the commands in the guide and the recipes run here, page by page, and print what the page shows.
//! `JACKIN_BLESS=1 cargo test --test book` writes outputs that differ into the pages.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    reason = "a test shall stop where it meets the unexpected, in its helpers too"
)]

#[path = "book/page.rs"]
mod page;
#[path = "book/shell.rs"]
mod shell;
#[path = "recovery/support/skipped.rs"]
mod skipped;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use page::{Page, Piece};
use shell::Shell;

/// Blocks that no test runs: the reason that the page gives, and how many there are.
const NOT_RUN: &[(&str, usize)] = &[
    ("ends with the session, which runs in another terminal", 1),
    ("needs a cluster", 2),
    ("needs an agent", 3),
    ("needs an object store", 2),
    ("needs another machine", 1),
    ("needs borg", 1),
    ("needs docker", 1),
    ("needs restic", 1),
    ("needs vimdiff and meld", 1),
    ("needs /dev/fuse", 2),
    ("needs a terminal", 1),
];

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

/// Returns the pages of the book below these directories, in the order of the summary.
fn pages(directories: &[&str]) -> Vec<String> {
    let summary = fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    let links = summary.split("](").skip(1);
    let pages = links.map(|rest| rest.split(')').next().unwrap().to_owned());
    pages
        .filter(|page| directories.iter().any(|directory| page.starts_with(directory)))
        .collect()
}

/// Optional parts of the program that pages need, and whether this build has them.
const FEATURES: &[(&str, bool)] = &[
    ("encrypt", cfg!(feature = "encrypt")),
    ("html", cfg!(feature = "html")),
    ("mcp", cfg!(feature = "mcp")),
    ("s3", cfg!(feature = "s3")),
];

/// Returns true if a page can run here: `feature:NAME` is a part of the program, another name a program that its commands find.
fn is_there(name: &str) -> bool {
    if let Some(feature) = name.strip_prefix("feature:") {
        return FEATURES.contains(&(feature, true));
    }
    shell::PATH.split(':').any(|at| Path::new(at).join(name).exists())
}

/// Runs a page. Returns how its outputs differ from those that it shows, and the page with the outputs as they are.
fn run(name: &str, text: &str) -> (Vec<String>, String) {
    let page = Page::parse(name, text);
    let missing: Vec<&str> = page.needs().filter(|tool| !is_there(tool)).collect();
    if !missing.is_empty() {
        skipped::skipped(&format!("{name}: {} is missing", missing.join(", ")));
        return (Vec::new(), text.to_owned());
    }
    let mut shell = Shell::new();
    let (mut different, mut made) = (Vec::new(), String::new());
    for piece in &page.pieces {
        match piece {
            Piece::Text(text) => made.push_str(text),
            Piece::Setup { text, script } => {
                let (printed, status) = shell.run(script);
                assert!(
                    status == 0,
                    "{name}: the setup ends with {status}:\n{script}\n{printed}"
                );
                made.push_str(text);
            }
            Piece::Step {
                typed,
                command,
                shown,
            } => {
                // Nobody sits at a terminal here to answer.
                let (is_asked, shown_without) = page::without_answers(shown);
                let command = if is_asked {
                    format!("{command} --yes")
                } else {
                    command.clone()
                };
                let (printed, _) = shell.run(&command);
                made.push_str(typed);
                if page::is_like(&shown_without, &printed) {
                    made.push_str(shown);
                } else {
                    different.push(format!(
                        "{name}: {command}\n--- shown\n{shown_without}--- printed\n{printed}"
                    ));
                    made.push_str(&page::with_answers(shown, &printed));
                }
            }
        }
    }
    (different, made)
}

#[test]
fn commands_print_what_the_page_shows() {
    let only = std::env::var("BOOK_PAGE").unwrap_or_default();
    let names: Vec<String> = pages(&["guide/", "recipes/"])
        .into_iter()
        .filter(|name| name.contains(&only))
        .collect();
    let ran = |name: &String| {
        let text = fs::read_to_string(docs().join(name)).unwrap();
        let (different, made) = run(name, &text);
        if std::env::var_os("JACKIN_BLESS").is_some() && made != text {
            fs::write(docs().join(name), made).unwrap();
            return Vec::new();
        }
        different
    };
    // A page at a time leaves a core idle.
    let (left, right) = names.split_at(names.len() / 2);
    let different: Vec<String> = std::thread::scope(|scope| {
        let other = scope.spawn(|| left.iter().flat_map(ran).collect::<Vec<_>>());
        let own: Vec<String> = right.iter().flat_map(ran).collect();
        other.join().unwrap().into_iter().chain(own).collect()
    });
    assert!(
        different.is_empty(),
        "{}\nJACKIN_BLESS=1 cargo test --test book writes what is printed",
        different.join("\n")
    );
}

#[test]
fn blocks_that_do_not_run_say_why() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut silent = Vec::new();
    let mut steps = 0;
    for name in pages(&["guide/", "recipes/"]) {
        let text = fs::read_to_string(docs().join(&name)).unwrap();
        let page = Page::parse(&name, &text);
        let is_step = |piece: &&Piece| matches!(piece, Piece::Step { .. });
        steps += page.pieces.iter().filter(is_step).count();
        for (reason, block) in page.not_run {
            match reason {
                Some(reason) => *counts.entry(reason).or_default() += 1,
                None => silent.push(format!("{name}: {block}")),
            }
        }
    }
    assert!(
        silent.is_empty(),
        "blocks with commands that neither run nor say why:\n{}",
        silent.join("\n")
    );
    let expected: BTreeMap<String, usize> = NOT_RUN
        .iter()
        .map(|(why, count)| ((*why).to_owned(), *count))
        .collect();
    assert_eq!(counts, expected);
    assert!(steps > 100, "only {steps} commands of the book run");
}

#[test]
fn the_summary_has_every_page() {
    let listed: BTreeSet<String> = pages(&[""]).into_iter().collect();
    let (mut found, mut open) = (BTreeSet::new(), vec![docs()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.insert(path.strip_prefix(docs()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.remove("SUMMARY.md");
    assert_eq!(found, listed);
}

#[test]
fn links_stay_in_the_book() {
    let listed = pages(&[""]);
    let mut out = Vec::new();
    for name in &listed {
        let text = fs::read_to_string(docs().join(name)).unwrap();
        let here = docs().join(name).parent().unwrap().to_owned();
        for link in text
            .split("](")
            .skip(1)
            .map(|rest| rest.split(')').next().unwrap())
        {
            let file = link.split('#').next().unwrap();
            if file.is_empty() || link.starts_with("https://") {
                continue;
            }
            // That it leads to something is held by tests/readme.rs.
            let target = fs::canonicalize(here.join(file)).unwrap_or_default();
            let is_page = target.extension().is_some_and(|extension| extension == "md");
            let inside = target.strip_prefix(fs::canonicalize(docs()).unwrap()).ok();
            let is_listed = |path: &Path| listed.iter().any(|page| Path::new(page) == path);
            if !inside.is_some_and(|path| (!is_page && target.is_file()) || is_listed(path)) {
                out.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(
        out.is_empty(),
        "links that lead out of the book:\n{}",
        out.join("\n")
    );
}

#[test]
fn it_builds_without_a_warning() {
    let program = std::env::var_os("MDBOOK").unwrap_or_else(|| "mdbook".into());
    let scratch = tempfile::tempdir().unwrap();
    let built = Command::new(&program)
        .arg("build")
        .arg(docs())
        .arg("--dest-dir")
        .arg(scratch.path())
        .output();
    let Ok(built) = built else {
        skipped::skipped("mdbook is not installed (MDBOOK names another one)");
        return;
    };
    let told = String::from_utf8_lossy(&built.stderr);
    assert!(
        built.status.success() && !told.contains("WARN") && !told.contains("ERROR"),
        "{told}"
    );
    for name in pages(&[""]) {
        let page = scratch.path().join(name).with_extension("html");
        assert!(page.exists(), "{} is missing", page.display());
    }
    let index = fs::read_dir(scratch.path()).unwrap();
    let is_index = |name: &str| name.starts_with("searchindex");
    assert!(
        index
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .any(|name| is_index(&name)),
        "the book cannot be searched"
    );
}
