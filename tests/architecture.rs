//! Holds the walls of the source: who may see whom, the one place of each outside thing, and the form of every file.
//! The checks themselves are tried on snippets that break each rule.

#![expect(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a panic here is a test that fails"
)]

#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/comments.rs"]
mod comments;
#[path = "architecture/product_names.rs"]
mod product_names;
#[path = "architecture/source.rs"]
mod source;
#[path = "architecture/statics.rs"]
mod statics;
#[path = "architecture/walls.rs"]
mod walls;
#[path = "architecture/words.rs"]
mod words;

use std::fs;
use std::path::Path;

use circles::Imports;
use comments::{is_clause, summaries};
use source::Source;
use walls::{check, check_manifest, is_test};

/// Every Rust file below a directory of the repository, as path and text.
fn files(directory: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut open = vec![root.join(directory)];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Directories of the crates below `crates`, as `crates/NAME`.
fn crates() -> Vec<String> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let entries = fs::read_dir(place).unwrap().map(|entry| entry.unwrap());
    let directories = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> = directories
        .map(|entry| format!("crates/{}", entry.file_name().to_str().unwrap()))
        .collect();
    names.sort();
    names
}

#[test]
fn a_crate_introduces_itself() {
    for name in crates() {
        let readme = fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join(&name)
                .join("README.md"),
        );
        let lines = readme.map_or(0, |text| text.lines().count());
        assert!(
            (5..=20).contains(&lines),
            "{name}/README.md has {lines} lines; about ten say what the crate is for"
        );
    }
}

/// Documents of the project below a directory, or a single one, as path and text.
fn documents(place: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut open = vec![root.join(place)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if matches!(
            path.extension().and_then(|end| end.to_str()),
            Some("md" | "1" | "5")
        ) {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn texts_use_the_words_of_the_reader() {
    let sources = ["src", "crates"].into_iter().flat_map(files);
    let mut broken: Vec<String> = sources
        .filter(|(path, _)| !is_test(path))
        .flat_map(|(path, text)| words::of_source(&path, &text))
        .collect();
    for (path, text) in documents("man") {
        broken.extend(words::of_manual(&path, &text));
    }
    for place in ["README.md", "CONTRIBUTING.md", "docs", "bench", "crates", "fuzz"] {
        for (path, text) in documents(place) {
            broken.extend(words::of_document(&path, &text));
        }
    }
    for (path, text) in documents("CHANGELOG.md") {
        broken.extend(words::of_document(&path, words::newest(&text)));
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn the_source_keeps_its_walls() {
    let places = ["src", "crates", "tests", "fuzz/src", "fuzz/targets"];
    let files: Vec<_> = places.into_iter().flat_map(files).collect();
    for expected in [
        "fuzz/src/manifest.rs",
        "fuzz/targets/manifest.rs",
        "src/lib.rs",
        "crates/processes/src/launch.rs",
        "tests/architecture/walls.rs",
    ] {
        assert!(
            files.iter().any(|(path, _)| path == expected),
            "{expected} was not read"
        );
    }
    let broken: Vec<String> = files.iter().flat_map(|(path, text)| check(path, text)).collect();
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

/// The product's own files: those of `src` and of the crates, without tests.
fn product() -> Vec<(String, String)> {
    let places = crates().into_iter().map(|name| format!("{name}/src"));
    let places = std::iter::once("src".to_owned()).chain(places);
    let files = places.flat_map(|place| files(&place));
    files.filter(|(path, _)| !is_test(path)).collect()
}

#[test]
fn every_dependency_is_explained() {
    let of_crates = crates().into_iter().map(|name| format!("{name}/Cargo.toml"));
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"]
        .map(String::from)
        .into_iter()
        .chain(of_crates)
    {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&manifest)).unwrap();
        let broken = check_manifest(&text);
        assert!(broken.is_empty(), "{manifest}\n{}\n", broken.join("\n"));
    }
}

/// Checks one line of code behind a proper first line.
fn findings(path: &str, code: &str) -> Vec<String> {
    check(path, &format!("//! A file with a job.\n{code}\n"))
}

#[test]
fn each_broken_wall_is_found() {
    let cases = [
        // Layers.
        (
            "src/model/id.rs",
            "use crate::store::Store;",
            "`model` must not see `store`",
        ),
        // Commands.
        (
            "src/cli/commands/pin.rs",
            "use crate::store::Store;",
            "a command must not see `store`",
        ),
        (
            "src/cli/commands/hook/edit.rs",
            "use super::super::super::super::store::Store;",
            "a command must not see `store`",
        ),
        (
            "src/cli/commands/lifeline.rs",
            "use crate::terminal::Terminal;",
            "sees `process` no more",
        ),
        (
            "src/process.rs",
            "use crate::{model::Time, config::Config};",
            "must not see `config`",
        ),
        (
            "src/config/load.rs",
            "fn f() -> crate::contract::Contract { g() }",
            "must not see `contract`",
        ),
        (
            "src/config.rs",
            "use super::capture::run;",
            "must not see `capture`",
        ),
        (
            "src/config/read.rs",
            "use super::super::{\n    model,\n    store as kept,\n};",
            "must not see `store`",
        ),
        (
            "src/store/tests.rs",
            "use crate::restore::plan;",
            "must not see `restore`",
        ),
        (
            "src/session.rs",
            "use crate::terminal::Style;",
            "must not see `terminal`",
        ),
        (
            "src/terminal/table.rs",
            "pub(crate) use crate::cli::error::Error;",
            "must not see `cli`",
        ),
        ("src/diff.rs", "use jackin_recovery::cli;", "must not see `cli`"),
        ("src/extra.rs", "", "`extra` has no layer"),
        (
            "src/diff.rs",
            "use crate::Thing;",
            "`crate::Thing` is in no layer",
        ),
        // One place each.
        (
            "src/store/record.rs",
            "use rusqlite::Connection;",
            "SQL belongs in store/catalog",
        ),
        (
            "src/cli.rs",
            "fn f(e: &rusqlite::Error) {}",
            "SQL belongs in store/catalog",
        ),
        (
            "src/capture/pack.rs",
            "use ::zstd::{Encoder, stream::raw};",
            "archive bytes belong",
        ),
        (
            "src/restore.rs",
            "let h = tar :: Header :: new_ustar();",
            "archive bytes belong",
        ),
        (
            "src/diff/git.rs",
            "use std::process::{self, Command};",
            "processes are started",
        ),
        (
            "src/config.rs",
            "use std::process;\nfn f() { process::Command::new(\"git\"); }",
            ":3: `process::Command::new`",
        ),
        (
            "src/config.rs",
            "use std::process::Command as Start;",
            "processes are started",
        ),
        ("src/config.rs", "use std::process as p;", "processes are started"),
        ("src/config.rs", "use std::process::*;", "processes are started"),
        (
            "src/cli/list.rs",
            "println!(\"{}\", 1);",
            "`println!`: only terminal prints",
        ),
        (
            "src/capture.rs",
            "std::eprint ! (\"x\");",
            "`eprint!`: only terminal prints",
        ),
        (
            "src/cli.rs",
            "let out = std::io::stdout().lock();",
            "stdout and stderr belong",
        ),
        (
            "src/cli.rs",
            "use std::io::{self, stderr};",
            "stdout and stderr belong",
        ),
        (
            "src/cli.rs",
            "use std::io;\nlet out = io::stdout();",
            "stdout and stderr belong",
        ),
        (
            "src/store.rs",
            "let now = std::time::SystemTime::now();",
            "`Clock`",
        ),
        (
            "src/cli/list.rs",
            "use std::time::SystemTime;\nlet now = SystemTime::now;",
            ":3: `SystemTime::now`",
        ),
        ("src/session.rs", "let now = jiff::Zoned::now();", "`Clock`"),
        ("src/session.rs", "use jiff::Timestamp as T;", "`Clock`"),
        (
            "src/capture/walk.rs",
            "let now = Instant::now();",
            "only progress on the terminal",
        ),
        ("src/store/draft.rs", "getrandom::fill(&mut bytes)?;", "`Entropy`"),
        (
            "src/store/locksmith.rs",
            "use rustix::fs::flock;",
            "the kernel is asked",
        ),
        (
            "src/diff.rs",
            "use std::os::linux::fs::MetadataExt;",
            "the kernel is asked",
        ),
        (
            "src/session.rs",
            "let path = \"/proc/self/stat\";",
            "the kernel is asked",
        ),
        (
            "src/session.rs",
            "let path = r#\"/proc\"#;",
            "the kernel is asked",
        ),
        // Form.
        ("src/process.rs", "unsafe { f() }", ":2: `unsafe` is forbidden"),
        ("tests/crash.rs", "unsafe fn f() {}", "`unsafe` is forbidden"),
        ("src/diff.rs", "use crate::model::*;", "name each thing"),
        ("src/diff/tree.rs", "use super::*;", "name each thing"),
        ("src/cli/util.rs", "", "`util` says nothing"),
        ("src/store/lock_manager.rs", "", "`manager` says nothing"),
        ("tests/common/mod.rs", "", "`common` says nothing"),
    ];
    for (path, code, expected) in cases {
        let found = findings(path, code);
        assert!(
            found.iter().any(|line| line.contains(expected)),
            "{path}: {code}\nfound: {found:?}"
        );
        assert!(found.iter().all(|line| line.starts_with(path)), "{found:?}");
    }
}

#[test]
fn what_only_looks_broken_is_not() {
    let cases = [
        (
            "src/model/id.rs",
            "// use crate::store::Store; println!(\"x\") unsafe\n/* /* rusqlite::x */ tar::y */",
        ),
        (
            "src/model/id.rs",
            "let text = \"rusqlite::x // \\\" unsafe\"; let raw = r##\"zstd::x \"# unsafe\"##;",
        ),
        (
            "src/model/id.rs",
            "fn f<'a>(c: char) -> bool { c == '\"' || c == '\\'' || b\"unsafe\" == b\"\\\\\" }",
        ),
        (
            "src/store/archive/frames.rs",
            "use zstd::bulk::Compressor; use crate::model::Digest;",
        ),
        ("src/store/catalog.rs", "use rusqlite::Connection;"),
        ("src/store/lock.rs", "use rustix::fs::flock;"),
        (
            "crates/processes/src/launch.rs",
            "use std::process::Command; let path = \"/proc/self\";",
        ),
        (
            "src/terminal/progress.rs",
            "let now = std::time::Instant::now(); eprintln!(\"x\"); std::io::stderr();",
        ),
        (
            "src/cli/context.rs",
            "let now = jiff::Timestamp::now(); getrandom::fill(&mut bytes);",
        ),
        (
            "src/cli/generate.rs",
            "use clap::Command; let c = Command::new(\"x\"); let t = tar.len(); let z = zstd;",
        ),
        (
            "src/store/archive/tests.rs",
            "use std::process::Command; use super::*; println!(\"x\");",
        ),
        (
            "src/store/tests/locks.rs",
            "use crate::model::*; let p = \"/proc/self\";",
        ),
        (
            "src/contract.rs",
            "use crate::process::Probe; use super::config::Config; if print != 1 {}",
        ),
        (
            "src/store.rs",
            "use crate::contract::Matcher; use self::local::Local; use std::os::unix::fs::FileExt;",
        ),
        (
            "src/diff/tree.rs",
            "use super::content::Text; use Change::*; use std::io::prelude::*;",
        ),
        (
            "src/session.rs",
            "let text = \"/process\"; let why = \"see /proc\"; std::process::id();",
        ),
        ("src/lib.rs", "pub mod anything;"),
        (
            "tests/crash.rs",
            "use std::process::Command; println!(\"x\"); use support::*;",
        ),
    ];
    for (path, code) in cases {
        assert_eq!(findings(path, code), Vec::<String>::new(), "{path}: {code}");
    }
}

#[test]
fn the_form_of_a_file_is_checked() {
    let long = |lines: usize| format!("//! A job.\n{}", "\n".repeat(lines - 1));
    assert_eq!(check("src/diff.rs", &long(800)), Vec::<String>::new());
    assert!(check("src/diff.rs", &long(801))[0].contains("801 lines"));
    assert!(check("tests/diff.rs", &long(801))[0].contains("801 lines"));
    for text in ["", "//!\n", "\n//! A job.\n", "// A job.\n", "use std::fs;\n"] {
        assert!(check("src/diff.rs", text)[0].contains("`//!`"), "{text:?}");
    }
}

#[test]
fn unexplained_dependencies_are_found() {
    let good = "[package]\nname = \"x\"\n\n[dependencies]\n# Why.\na = \"1\"\nb = { version = \"1\", features = [\n  \
                \"x = y\",\n] }\n# Why.\nc = \"1\"\n\n# Why.\n[target.'cfg(unix)'.dependencies.d]\nversion = \"1\"\n";
    assert_eq!(check_manifest(good), Vec::<String>::new());
    let cases = [
        ("[dependencies]\na = \"1\"\n", "`a`"),
        ("# Not this.\n[dependencies]\na = \"1\"\n", "`a`"),
        ("[dev-dependencies]\n# Why.\n\na = \"1\"\n", "`a`"),
        ("[dependencies]\n# Why.\na = \"1\"\n\nb = \"1\"\n", "`b`"),
        (
            "[target.'cfg(unix)'.dependencies]\nc.version = \"1\"\n",
            "`c.version`",
        ),
        ("[build-dependencies.d]\nversion = \"1\"\n", "`d`"),
    ];
    for (text, expected) in cases {
        let found = check_manifest(text);
        assert!(
            found.len() == 1 && found[0].contains(expected),
            "{text}\n{found:?}"
        );
    }
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut shown = Vec::new();
    for place in std::iter::once(String::new()).chain(crates().into_iter().map(|name| name + "/")) {
        let files = files(&format!("{place}src"));
        let product = files.iter().filter(|(path, _)| !is_test(path));
        let within = product.map(|(path, text)| (path.strip_prefix(&place).unwrap(), text.as_str()));
        let circles = Imports::of(within).circles();
        shown.extend(
            circles
                .iter()
                .map(|circle| format!("{place}{}", circle.join("\n  "))),
        );
    }
    assert!(
        shown.is_empty(),
        "{} circles:\n  {}",
        shown.len(),
        shown.join("\n\n  ")
    );
}

/// Circles of files that are given as path and text.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    Imports::of(files.iter().copied()).circles()
}

#[test]
fn circles_are_found_and_named() {
    let lib = ("src/lib.rs", "mod a;\nmod b;\n");
    let there = (
        "src/a.rs",
        "mod inner;\npub(crate) use inner::Thing;\nuse crate::b::Other;\n",
    );
    let back = ("src/b.rs", "use super::{\n    a::{Thing as T},\n};\n");
    let inner = ("src/a/inner.rs", "use super::Parent;\nuse crate::b;\n");
    // The thing is defined in the child, which imports the other file.
    let found = circles_of(&[lib, there, back, inner]);
    assert_eq!(
        found,
        [[
            "src/a/inner.rs:2 imports src/b.rs (crate::b)",
            "src/b.rs:2 imports src/a/inner.rs (super::a::Thing)",
        ]]
    );
    // A path in the code counts as much as an import, a longer way as much as a short one.
    let long = [
        lib,
        ("src/a.rs", "fn f() { crate::b::g() }\n"),
        ("src/b.rs", "use crate::c::h;\n"),
        ("src/c.rs", "use crate::a::*;\n"),
    ];
    assert_eq!(circles_of(&long)[0].len(), 3);
}

#[test]
fn a_module_and_its_parts_are_no_circle() {
    let files = [
        ("src/lib.rs", "mod a;\npub use a::Thing;\n"),
        (
            "src/a.rs",
            "mod one;\nmod two;\nuse one::f;\npub use two::Thing;\nuse std::fs;\n",
        ),
        ("src/a/one.rs", "use super::{Own, Thing};\nuse serde::a;\n"),
        ("src/a/two.rs", "use crate::a::Own;\nuse crate::Anything;\n"),
    ];
    assert_eq!(circles_of(&files), Vec::<Vec<String>>::new());
}

/// Imports of commands by other files, in files that are given as path and text.
fn imports_of_commands<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    Imports::of(files).imports_of_parts_of("src/cli/commands.rs")
}

#[test]
fn no_file_but_the_dispatch_imports_a_command() {
    let files = files("src");
    let product = files.iter().filter(|(path, _)| !is_test(path));
    let found = imports_of_commands(product.map(|(path, text)| (path.as_str(), text.as_str())));
    assert!(
        found.is_empty(),
        "a command parses, calls the engine and prints; move what others need to `recovery` or beside `cli/commands`:\n  {}",
        found.join("\n  ")
    );
}

#[test]
fn imports_of_commands_are_found() {
    let files = [
        ("src/lib.rs", "mod cli;\n"),
        ("src/cli.rs", "mod commands;\nmod view;\nuse commands::perform;\n"),
        (
            "src/cli/commands.rs",
            "mod diff;\nmod end;\npub(super) use diff::Lines;\nfn perform() { diff::run(); end::run() }\n",
        ),
        (
            "src/cli/commands/diff.rs",
            "mod lines;\npub(super) use lines::Lines;\n",
        ),
        (
            "src/cli/commands/diff/lines.rs",
            "use super::Sides;\nuse crate::cli::view;\n",
        ),
        ("src/cli/commands/end.rs", "use super::diff::run as show;\n"),
        ("src/cli/view.rs", "use super::commands::Lines;\n"),
    ];
    assert_eq!(
        imports_of_commands(files.into_iter()),
        [
            "src/cli/commands/end.rs:1 imports src/cli/commands/diff.rs (super::diff::run)",
            "src/cli/view.rs:1 imports src/cli/commands/diff/lines.rs (super::commands::Lines)",
        ]
    );
}

#[test]
fn doc_comments_say_what_a_thing_is_or_does() {
    let (mut all, mut clauses) = (0, Vec::new());
    for (path, text) in ["src", "crates"].into_iter().flat_map(files) {
        for (line, summary) in summaries(&text) {
            all += 1;
            if is_clause(summary) {
                clauses.push(format!("{path}:{line}: {summary}"));
            }
        }
    }
    assert!(all > 5000, "only {all} doc comments were found");
    assert!(
        clauses.len() * 20 <= all,
        "{} of {all} doc comments begin with a clause, more than 5 %:\n{}",
        clauses.len(),
        clauses.join("\n")
    );
}

#[test]
fn clauses_are_told_from_summaries() {
    let text = "//! What a file is for.\n//! Whether it is.\n\n/// Reads it.\n/// What else.\nfn a() {}\n    /// Why\n//// How\n///Who, then.\n";
    let found = summaries(text);
    assert_eq!(
        found,
        [
            (1, "What a file is for."),
            (4, "Reads it."),
            (7, "Why"),
            (9, "Who, then.")
        ]
    );
    let clauses: Vec<bool> = found.iter().map(|(_, summary)| is_clause(summary)).collect();
    assert_eq!(clauses, [true, false, true, true]);
    for summary in ["", "Whereabouts of it.", "`What` is a type.", "Asks.", "Item."] {
        assert!(!is_clause(summary), "{summary}");
    }
}

#[test]
fn lines_stay_where_they_are() {
    let text = "//! A.\n\nlet a = \"one\ntwo\"; /* three\nfour */ five::six();\n";
    let source = Source::of(text);
    assert_eq!(source.code.lines().count(), text.lines().count());
    assert_eq!(
        source.paths().iter().map(|named| named.line).collect::<Vec<_>>(),
        [5]
    );
}

#[test]
fn source_that_does_not_parse_ends() {
    for text in [
        "use {",
        "use ;",
        "use a::{b::{c, #}, d",
        "use a as",
        "\"",
        "r#\"x",
        "/*",
        "'",
        "use impl + use<'a>;",
    ] {
        let _ = check("src/diff.rs", text);
    }
}

/// Names of the variants of an enum, read from its file.
fn variants(file: &str, name: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let (_, body) = text.split_once(&format!("enum {name} {{\n")).unwrap();
    let (body, _) = body.split_once("\n}\n").unwrap();
    let lines = body
        .lines()
        .filter(|line| line.starts_with("    ") && !line.starts_with("     "));
    let names = lines.map(|line| line.trim().split(|c: char| !c.is_alphanumeric()).next().unwrap());
    names
        .filter(|name| name.starts_with(char::is_uppercase))
        .map(String::from)
        .collect()
}

#[test]
fn the_table_of_states_has_every_state() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/internals/restore-states.md");
    let page = fs::read_to_string(page).unwrap();
    let mut states: Vec<String> = variants("src/restore/move_state.rs", "Progress");
    states.extend(
        variants("src/store/restore_journal.rs", "Stage")
            .into_iter()
            .filter(|name| name != "Decided"),
    );
    let decisions = variants("src/model/journal.rs", "Decision");
    states.extend(decisions.iter().map(|name| format!("Decided({name})")));
    assert!(states.len() > 12, "{states:?}");
    for state in &states {
        assert!(page.contains(&format!("\n| `{state}` | ")), "no row for {state}");
    }
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let unknown: Vec<&str> = rows
        .map(|(state, _)| state)
        .filter(|state| !states.contains(&(*state).to_owned()))
        .collect();
    assert_eq!(unknown, Vec::<&str>::new(), "rows of states that there are not");
    for kind in variants("src/model/journal.rs", "MoveKind") {
        assert!(page.contains(&format!("`{kind}`")), "{kind} is not explained");
    }
}

/// A row of the glossary: the name and the file that defines it.
fn defined(row: &str) -> Option<(&str, &str)> {
    let mut cells = row.strip_prefix('|')?.strip_suffix('|')?.split('|').skip(2);
    let (name, place) = (cells.next()?.trim(), cells.next()?.trim());
    let name = name.strip_prefix('`')?.strip_suffix('`')?;
    Some((name, place.strip_prefix('`')?.strip_suffix('`')?))
}

#[test]
fn the_glossary_names_what_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let glossary = fs::read_to_string(root.join("docs/glossary.md")).unwrap();
    let rows: Vec<(&str, &str)> = glossary.lines().filter_map(defined).collect();
    assert!(rows.len() > 50, "only {} rows were read", rows.len());
    let mut wrong = Vec::new();
    for (name, place) in rows {
        let read = |top: &str| fs::read_to_string(root.join(top).join(place)).ok();
        let source = read("src").or_else(|| read("crates")).unwrap_or_default();
        let code: Vec<&str> = source
            .split(|other: char| !(other.is_alphanumeric() || other == '_'))
            .filter(|word| !word.is_empty())
            .collect();
        let is_defined = code.windows(2).any(|pair| {
            let keywords = ["struct", "enum", "trait", "type", "fn", "impl"];
            keywords.contains(&pair[0]) && pair[1] == name
        });
        if !is_defined {
            wrong.push(format!("{name} is not defined in {place}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn the_page_for_newcomers_is_short_and_names_files_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/internals/architecture.md")).unwrap();
    let lines = page.lines().count();
    assert!(lines <= 200, "{lines} lines");
    // What stands between backticks.
    let named: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
    let files = named
        .iter()
        .filter(|name| name.contains('/') && (name.ends_with(".rs") || name.ends_with('/')));
    let mut missing = Vec::new();
    let mut count = 0;
    for file in files {
        count += 1;
        let places = [
            root.join("src").join(file),
            root.join("crates").join(file),
            root.join(file),
        ];
        if !places.iter().any(|place| place.exists()) {
            missing.push(*file);
        }
    }
    assert!(count > 60, "only {count} files were read");
    // Beside a module: there are many.
    missing.retain(|file| *file != "tests/");
    assert!(missing.is_empty(), "{missing:?}");
}
