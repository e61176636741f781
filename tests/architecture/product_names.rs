//! Names of this program in the crates below it, which know nothing of it.

use std::fs;
use std::path::Path;

use super::{crates, files};

/// Lines of crates that may name this program, with the reason.
const NAMED_IN_CRATES: &[(&str, &str)] = &[(
    "#[path = \"../../../tests/recovery/support/skipped.rs\"]",
    "one file records the skipped tests of all crates, and lies beside the tests that skip the most",
)];

/// Lines of a file that name this program, as `path:line: text`.
fn names_of_the_product(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().enumerate().filter(|(_, line)| {
        let lower = line.to_lowercase();
        ["jackin", "recovery"].iter().any(|word| lower.contains(word))
            && NAMED_IN_CRATES.iter().all(|(allowed, _)| line.trim() != *allowed)
    });
    lines
        .map(|(number, line)| format!("{path}:{}: {}", number + 1, line.trim()))
        .collect()
}

#[test]
fn no_crate_names_the_program_that_uses_it() {
    let mut found = Vec::new();
    for (path, text) in files("crates") {
        found.extend(names_of_the_product(&path, &text));
    }
    for name in crates() {
        for file in ["Cargo.toml", "README.md"] {
            let path = format!("{name}/{file}");
            let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path)).unwrap();
            found.extend(names_of_the_product(&path, &text));
        }
    }
    assert!(
        found.is_empty(),
        "a crate knows nothing of this program; take the name as an argument, as `FileReplacer` and `Product` do:\n  {}",
        found.join("\n  ")
    );
}

#[test]
fn names_of_the_program_are_found() {
    let text = "//! Files.\nconst A: &str = \"JACKIN_A\";\n    #[path = \"../../../tests/recovery/support/skipped.rs\"]\n// Recovery.\n";
    assert_eq!(
        names_of_the_product("crates/a/src/lib.rs", text),
        [
            "crates/a/src/lib.rs:2: const A: &str = \"JACKIN_A\";",
            "crates/a/src/lib.rs:4: // Recovery.",
        ]
    );
}
