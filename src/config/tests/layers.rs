//! Precedence of the layers, appended lists, and the source of every value.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use super::{Home, MOUNT, flags};
use crate::config::{Flags, Mode, OnFailure, Resolved, Sensitive, Sourced, ValueSource};
use crate::model::ByteString;

/// Creates a home with settings in any of the three files, and the flags: bits 1, 2, 4, 8 from the lowest layer up.
fn layered(speaking: u32, say: impl Fn(u32) -> String) -> (Home, Vec<u32>) {
    let bits: Vec<u32> = [1, 2, 4].into_iter().filter(|bit| speaking & bit != 0).collect();
    let body = |bit: u32, table: &str| {
        if speaking & bit == 0 {
            String::new()
        } else {
            format!("{table}\n{}", say(bit))
        }
    };
    let global = format!(
        "{}\n{}",
        body(1, "[recovery]"),
        body(2, "[workspaces.w.recovery]")
    );
    let file = format!("{MOUNT}{}", body(4, "[recovery]"));
    (Home::new().global(&global).workspace("w", &file), bits)
}

#[test]
fn scalars_take_the_highest_layer_that_speaks() {
    let modes = |bit: u32| match bit {
        1 => "off",
        2 => "metadata",
        4 => "project",
        _ => "metadata",
    };
    for speaking in 0..16 {
        let (home, mut bits) = layered(speaking, |bit| {
            format!(
                "snapshot = \"{}\"\nlimits.max_entries = {bit}0\nlimits.max_bytes = {bit}\n",
                modes(bit)
            )
        });
        let flags = if speaking & 8 == 0 {
            Flags::default()
        } else {
            flags(modes(8))
        };
        let resolved = home.load().unwrap().for_workspace("w", &flags).unwrap();
        let highest_file = bits.last().copied();
        if speaking & 8 != 0 {
            bits.push(8);
        }
        let mode = bits.last().map_or("off", |bit| modes(*bit));
        assert_eq!(resolved.mode.value.word(), mode, "{speaking:04b}");
        let entries = highest_file.map_or(5_000_000, |bit| u64::from(bit) * 10);
        assert_eq!(resolved.limits.max_entries.value, entries, "{speaking:04b}");
        let bytes = highest_file.map_or(20 << 30, u64::from);
        assert_eq!(resolved.limits.max_bytes.value, bytes, "{speaking:04b}");
        let file = |name: &str| ByteString::from(home.configuration().join(name).as_path());
        match (bits.last(), &resolved.mode.source) {
            (None, ValueSource::Default) | (Some(8), ValueSource::Flag { name: "--snapshot" }) => {}
            (Some(1 | 2), ValueSource::File { path, .. }) => assert_eq!(*path, file("config.toml")),
            (Some(4), ValueSource::File { path, line }) => {
                assert_eq!((path, *line), (&file("workspaces/w.toml"), 5));
            }
            other => panic!("{speaking:04b}: {other:?}"),
        }
    }
}

#[test]
fn a_layer_that_is_silent_about_one_key_does_not_hide_it() {
    let home = Home::new()
        .global("[recovery]\nsensitive = \"capture\"\n[workspaces.w.recovery]\non_failure = \"run\"\n")
        .workspace(
            "w",
            &format!("{MOUNT}[recovery]\nsnapshot = \"project\"\nintegrations = false\n"),
        );
    let resolved = home.resolve("w").unwrap();
    assert_eq!(resolved.mode.value, Mode::Project);
    assert_eq!(resolved.sensitive.value, Sensitive::Capture);
    assert_eq!(resolved.on_failure.value, OnFailure::Run);
    assert!(!resolved.integrations.value);
    let flags = Flags {
        on_failure: Some("block".into()),
        ..Flags::default()
    };
    let resolved = home.load().unwrap().for_workspace("w", &flags).unwrap();
    assert_eq!(resolved.on_failure.value, OnFailure::Block);
    assert_eq!(
        resolved.on_failure.source,
        ValueSource::Flag { name: "--on-failure" }
    );
}

#[test]
fn lists_append_from_the_lowest_layer_up() {
    for speaking in 0..8 {
        let (home, bits) = layered(speaking, |bit| {
            format!("exclude = [\"e{bit}\", \"f{bit}\"]\npaths = [\"p{bit}\"]\n")
        });
        let flags = Flags {
            exclude: vec!["e8".into()],
            paths: vec![OsString::from("./p8//"), OsString::from_vec(b"\xff".to_vec())],
            ..Flags::default()
        };
        let resolved = home.load().unwrap().for_workspace("w", &flags).unwrap();
        let mut excludes: Vec<String> = bits
            .iter()
            .flat_map(|bit| [format!("e{bit}"), format!("f{bit}")])
            .collect();
        excludes.push("e8".into());
        assert_eq!(values(&resolved.exclude), excludes);
        let mut paths: Vec<Vec<u8>> = bits.iter().map(|bit| format!("p{bit}").into_bytes()).collect();
        paths.extend([b"p8".to_vec(), b"\xff".to_vec()]);
        let got: Vec<Vec<u8>> = resolved
            .paths
            .iter()
            .map(|path| path.value.as_bytes().to_vec())
            .collect();
        assert_eq!(got, paths);
    }
}

#[test]
fn an_exclude_is_recorded_as_git_reads_it() {
    let home = Home::new().workspace(
        "w",
        &format!("{MOUNT}[recovery]\nexclude = [\"a\\t\", \"b\\r\"]\n"),
    );
    let flags = Flags {
        exclude: vec!["c\t".into()],
        ..Flags::default()
    };
    let resolved = home.load().unwrap().for_workspace("w", &flags).unwrap();
    assert_eq!(values(&resolved.exclude), ["a[\t]", "b", "c[\t]"]);
}

#[test]
fn list_entries_know_their_own_lines() {
    let home = Home::new().workspace(
        "w",
        &format!("{MOUNT}[recovery]\nexclude = [\n  \"a\",\n\n  \"b\",\n]\n"),
    );
    let lines: Vec<usize> = home
        .resolve("w")
        .unwrap()
        .exclude
        .iter()
        .map(|exclude| line(&exclude.source))
        .collect();
    assert_eq!(lines, [6, 8]);
}

#[test]
fn a_bare_directory_takes_the_global_defaults_and_the_flags() {
    let home =
        Home::new().global("[recovery]\nexclude = [\"x\"]\n[workspaces.w.recovery]\nexclude = [\"no\"]\n");
    let config = home.load().unwrap();
    let error = config
        .for_directory(Path::new("sub/"), &Flags::default())
        .unwrap_err();
    assert_eq!(
        home.short(&error),
        "HOME/sub has no configuration; use --snapshot project"
    );
    let resolved = config.for_directory(Path::new("sub"), &flags("project")).unwrap();
    assert_eq!(values(&resolved.exclude), ["x"]);
    assert_eq!(resolved.subject.workspace(), None);
    assert_eq!(resolved.subject.label(), "sub");
    let mounts: Vec<_> = resolved
        .mounts
        .iter()
        .map(|mount| (mount.src.clone(), mount.readonly))
        .collect();
    assert_eq!(mounts, [(home.path().join("sub"), false)]);
    let home = Home::new().global("[recovery]\nsnapshot = \"project\"\n");
    let resolved = home
        .load()
        .unwrap()
        .for_directory(Path::new("/srv/Data Set/"), &Flags::default())
        .unwrap();
    assert_eq!(
        (resolved.mode.value, line(&resolved.mode.source)),
        (Mode::Project, 2)
    );
    assert_eq!(resolved.subject.label(), "data-set");
}

#[test]
fn a_workspace_without_a_word_on_recovery_is_off() {
    let resolved: Resolved = Home::new().workspace("w", MOUNT).resolve("w").unwrap();
    assert_eq!(
        resolved.mode,
        Sourced {
            value: Mode::Off,
            source: ValueSource::Default
        }
    );
}

fn values(list: &[Sourced<String>]) -> Vec<String> {
    list.iter().map(|entry| entry.value.clone()).collect()
}

fn line(source: &ValueSource) -> usize {
    match source {
        ValueSource::File { line, .. } => *line,
        other => panic!("{other:?}"),
    }
}
