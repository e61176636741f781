//! The files that are shipped in `config/` say what the code does.

use std::path::Path;

use proptest::prelude::*;

use super::{Home, MOUNT, flags};
use crate::config::schema::{Key, RECOVERY, Shape, nearest};
use crate::config::{Flags, Mode, Resolved, recorded_pattern};

const DEFAULT: &str = include_str!("../../../config/default.toml");
const EXAMPLE: &str = include_str!("../../../config/example-workspace.toml");

#[test]
fn the_default_file_changes_nothing() {
    let values = |resolved: &Resolved| {
        (
            resolved.mode.value,
            resolved.exclude.len(),
            resolved.paths.len(),
            (
                resolved.integrations.value,
                resolved.sensitive.value,
                resolved.on_failure.value,
            ),
            (resolved.limits.max_entries.value, resolved.limits.max_bytes.value),
        )
    };
    let bare = Home::new()
        .load()
        .unwrap()
        .for_directory(Path::new("x"), &flags("off"))
        .unwrap();
    let shipped = Home::new().global(DEFAULT).load().unwrap();
    let shipped = shipped.for_directory(Path::new("x"), &Flags::default()).unwrap();
    assert_eq!(values(&shipped), values(&bare));
}

/// Lines `key = value` of the default file, with their tables.
fn lines() -> Vec<(String, String)> {
    let mut table = String::new();
    let mut found = Vec::new();
    for text in DEFAULT.lines() {
        let is_key =
            |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        if let Some(name) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            table = name.to_owned();
        } else if text.split_once(" = ").is_some_and(|(name, _)| is_key(name)) {
            found.push((table.clone(), text.to_owned()));
        }
    }
    found
}

#[test]
fn the_default_file_has_every_key_and_nothing_in_it_is_refused() {
    fn names(prefix: &str, keys: &[Key], out: &mut Vec<String>) {
        for key in keys {
            let name = format!("{prefix}.{}", key.name);
            match key.shape {
                Shape::Table(inner) => names(&name, inner, out),
                _ => out.push(name),
            }
        }
    }
    let mut expected = Vec::new();
    names("recovery", RECOVERY, &mut expected);
    let mut found = Vec::new();
    for (table, line) in lines() {
        found.push(format!("{table}.{}", line.split_once(" = ").unwrap().0));
        // What is about the store stands in the file for all.
        let is_of_store = line.starts_with("max_bytes") && table.ends_with("retention")
            || line.starts_with("min_free")
            || table.ends_with("store")
            || table.ends_with("ui");
        let home = match is_of_store {
            true => Home::new()
                .global(&format!("[{table}]\n{line}\n"))
                .workspace("w", MOUNT),
            false => Home::new().workspace("w", &format!("{MOUNT}[{table}]\n{line}\n")),
        };
        let resolved = home.resolve("w");
        assert!(resolved.is_ok(), "{table}: {line}: {resolved:?}");
    }
    assert_eq!(found, expected);
}

#[test]
fn the_example_is_a_workspace() {
    let home = Home::new().workspace("web", EXAMPLE);
    let resolved = home.resolve("web").unwrap();
    assert_eq!(resolved.mode.value, Mode::Project);
    assert_eq!(resolved.exclude.len(), 3);
    let readonly: Vec<bool> = resolved.mounts.iter().map(|mount| mount.readonly).collect();
    assert_eq!(readonly, [false, true]);
}

#[test]
fn the_nearest_word_is_the_one_that_was_meant() {
    let words = ["snapshot", "exclude", "paths", "on_failure"];
    for (given, meant) in [
        ("excludes", "exclude"),
        ("ON-FAILURE", "on_failure"),
        ("path", "paths"),
        ("snap", "snapshot"),
    ] {
        assert_eq!(nearest(given, words), meant);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_text_breaks_the_loader(text in "[\\[\\]a-z_.=\" \n\\{\\}0-9é\\\\]{0,80}") {
        let home = Home::new().global(&text).workspace("w", &format!("{MOUNT}[recovery]\n{text}"));
        if let Err(error) = home.load() {
            prop_assert!(error.to_string().contains("line "));
        }
        let _ = Home::new().workspace("w", &text).resolve("w");
    }

    #[test]
    fn no_pattern_breaks_the_check(pattern in "[!#/\\\\*?\\[\\]{},. a-c\u{e9}\u{1F600}-]{0,12}") {
        let _ = recorded_pattern(&pattern);
    }
}

#[test]
fn the_reference_says_of_each_count_that_may_be_0_that_this_is_no_limit() {
    let tables = crate::config::reference();
    let retention = tables.iter().find(|table| table.name == "recovery.retention");
    let keys = &retention.unwrap().keys;
    for name in ["checkpoints", "checkpoint_days", "instances", "days"] {
        let key = keys.iter().find(|key| key.name == name).unwrap();
        assert!(key.values.contains("0 means no limit"), "{key:?}");
    }
    assert!(tables.iter().skip(1).all(|table| !table.about.is_empty()));
}
