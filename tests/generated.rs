//! The committed completions, manual pages, reference pages and JSON schema are those that the types and the command line's definition give.
//! `JACKIN_BLESS=1 cargo test --test generated` writes them anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jackin_recovery::cli::Verb;
use jackin_recovery::cli::generate::{self, GeneratedFile};

/// Directories in which every file is generated.
const DIRECTORIES: [&str; 4] = ["man", "completions", "docs/reference", "docs/reference/commands"];

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn committed_files_are_up_to_date() {
    let files = generate::all::<Verb>().unwrap();
    if std::env::var_os("JACKIN_BLESS").is_some() {
        for directory in DIRECTORIES {
            for entry in fs::read_dir(top().join(directory)).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_file() {
                    fs::remove_file(path).unwrap();
                }
            }
            fs::create_dir_all(top().join(directory)).unwrap();
        }
        for GeneratedFile { path, contents } in &files {
            let path = top().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
    }
    for GeneratedFile { path, contents } in &files {
        let committed =
            fs::read_to_string(top().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(
            committed == *contents,
            "{path} is out of date: run JACKIN_BLESS=1 cargo test --test generated"
        );
    }
    let expected: BTreeSet<PathBuf> = files.iter().map(|file| top().join(&file.path)).collect();
    let found: BTreeSet<PathBuf> = DIRECTORIES
        .into_iter()
        .flat_map(|directory| fs::read_dir(top().join(directory)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .chain(
            [
                "config/schema.json",
                "config/default.toml",
                ".claude-plugin/marketplace.json",
                "packaging/claude-code/.claude-plugin/plugin.json",
                "packaging/claude-code/.mcp.json",
                "packaging/claude-code/hooks/hooks.json",
                "packaging/claude-code/commands/changes.md",
                "packaging/claude-code/commands/undo.md",
                "packaging/gemini/gemini-extension.json",
                "packaging/gemini/hooks/hooks.json",
                "packaging/gemini/commands/jackin-recovery/changes.toml",
                "packaging/gemini/commands/jackin-recovery/undo.toml",
                "packaging/opencode/jackin-recovery.js",
            ]
            .map(|file| top().join(file)),
        )
        .collect();
    assert_eq!(found, expected, "files that nothing generates");
}

#[test]
fn generation_gives_the_same_bytes_each_time() {
    assert_eq!(generate::all::<Verb>().unwrap(), generate::all::<Verb>().unwrap());
}

#[test]
fn pages_are_named_after_their_verb_and_say_how_to_type_it() {
    let page = generate::man::<Verb>(Some("restore")).unwrap();
    assert_eq!(page.path, "man/jackin-recovery-restore.1");
    assert!(page.contents.contains(".TH jackin-recovery-restore 1"));
    assert!(
        page.contents
            .contains("\\fBjackin recovery restore [OPTIONS] [INSTANCE] [PATH]...\\fR")
    );
    assert!(page.contents.contains(".SH EXAMPLES"));
    let overview = generate::man::<Verb>(None).unwrap();
    assert_eq!(overview.path, "man/jackin-recovery.1");
    assert!(overview.contents.contains("jackin\\-recovery\\-undo(1)"));
    assert!(overview.contents.contains(".SH \"EXIT STATUS\""));
    assert!(generate::man::<Verb>(Some("nonsense")).is_err());
}

#[test]
fn nothing_steers_a_terminal_and_no_date_creeps_in() {
    for GeneratedFile { path, contents } in generate::all::<Verb>().unwrap() {
        assert!(
            !contents
                .chars()
                .any(|c| c.is_control() && !matches!(c, '\n' | '\t')),
            "{path}"
        );
        assert!(!contents.contains("\"202"), "{path}");
    }
}

#[test]
fn packages_take_every_page_and_every_completion() {
    let script = fs::read_to_string(top().join("packaging/package")).unwrap();
    let names = |below: &str| -> Vec<String> {
        let all = fs::read_dir(top().join(below)).unwrap();
        all.map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    assert!(script.contains("man/*.[15]"));
    for page in names("man") {
        assert!(
            page.ends_with(".1") || page.ends_with(".5"),
            "{page} is in no package"
        );
    }
    for completion in names("completions") {
        let path = format!("completions/{completion}");
        assert!(script.contains(&path), "{path} is in no package");
    }
}
