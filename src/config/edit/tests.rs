//! A table is added and nothing else changes, whatever the file looks like; otherwise the addition is refused.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use proptest::prelude::*;

use super::insert::plan;
use super::{Edit, EditError, Wanted};
use crate::config::tests::Home;
use crate::config::{ConfigError, Flags, Origin, Place};
use crate::diagnostic::Diagnostic as _;
use handle_fs::ReplaceError;

fn wanted() -> Wanted {
    Wanted {
        mode: "project".to_owned(),
        exclude: vec!["/target/".to_owned(), "a \"b\"/".to_owned()],
        because: "node_modules/".to_owned(),
    }
}

/// Returns the new text, which must contain all of the old one, in one or two pieces.
fn after(text: &str, tables: &[&str]) -> String {
    let insertion = plan(text, tables, &wanted()).unwrap_or_else(|| panic!("{text:?}"));
    let (head, tail) = text.split_at(insertion.at);
    format!("{head}{}{tail}", insertion.text)
}

const TABLE: &str = "# What jackin recovery does for sessions of this workspace; flags win over it.\n\
                     # `jackin recovery explain` shows the result.\n\
                     [recovery]\n\
                     snapshot = \"project\"  # off | metadata | project | project-and-state\n\
                     exclude = [\"/target/\", 'a \"b\"/']  # gitignore syntax; excluded automatically: node_modules/\n";

#[test]
fn the_table_comes_last_behind_every_comment() {
    let cases = [
        ("", String::new()),
        ("a = 1\n", "a = 1\n\n".to_owned()),
        ("a = 1", "a = 1\n\n".to_owned()),
        ("a = 1\n\n", "a = 1\n\n".to_owned()),
        ("# only a comment\n", "# only a comment\n\n".to_owned()),
        (
            "[[mounts]]\nsrc = '/x' # why\n\n[env]\nK='v'\n  # the end",
            "[[mounts]]\nsrc = '/x' # why\n\n[env]\nK='v'\n  # the end\n\n".to_owned(),
        ),
        (
            "[b.c]\n[a]\n[b.d]\nx = [ 1,\n 2 ]\n# c\n\n",
            "[b.c]\n[a]\n[b.d]\nx = [ 1,\n 2 ]\n# c\n\n".to_owned(),
        ),
    ];
    for (text, before) in cases {
        assert_eq!(after(text, &[]), format!("{before}{TABLE}"), "{text:?}");
    }
}

#[test]
fn the_table_of_a_workspace_stands_behind_its_own() {
    let text = "[workspaces.shop]\nworkdir = '/s'\n[[workspaces.shop.mounts]]\nsrc = '/s'\n\n# next\n[workspaces.web]\n[env]\nX='1'\n";
    let table = TABLE.replace("[recovery]", "[workspaces.shop.recovery]");
    assert_eq!(
        after(text, &["workspaces", "shop"]),
        text.replace("\n\n# next", &format!("\n\n{table}\n# next"))
    );
    let last = "[env]\nX = 1\n[workspaces.\"a b\"]\nw = 1\n# end\n";
    let table = TABLE.replace("[recovery]", "[workspaces.\"a b\".recovery]");
    assert_eq!(after(last, &["workspaces", "a b"]), format!("{last}\n{table}"));
}

#[test]
fn tables_in_braces_are_added_to_in_their_line() {
    let text = "[workspaces]\nshop = { workdir = '/s', mounts = [{ src = '/s' }] } # one line\nweb = {}\n";
    let new = after(text, &["workspaces", "shop"]);
    assert!(
        new.contains("mounts = [{ src = '/s' }]")
            && new.contains("recovery = { snapshot = \"project\", exclude = "),
        "{new}"
    );
    assert_eq!(new.lines().count(), text.lines().count());
    assert!(new.contains("# one line\nweb = {}\n"));
    let tree: toml::Table = new.parse().unwrap();
    assert_eq!(
        tree["workspaces"]["shop"]["recovery"]["snapshot"].as_str(),
        Some("project")
    );
}

#[test]
fn line_ends_and_the_byte_order_mark_stay() {
    let text = "\u{feff}a = 1\r\n\r\n[b]\r\nc = \"\"\"x\r\ny\"\"\"\r\n";
    let new = after(text, &[]);
    assert!(new.starts_with(text));
    assert_eq!(new.matches('\n').count(), new.matches("\r\n").count(), "{new:?}");
    // A file that has both is not tidied up.
    let mixed = "a = 1\r\nb = 2\nc = 3\r\n";
    assert!(after(mixed, &[]).starts_with(mixed));
}

#[test]
fn what_has_no_such_table_is_not_added_to() {
    for (text, tables) in [
        ("a = 1\n", &["workspaces", "shop"][..]),
        ("[[workspaces]]\nshop = 1\n", &["workspaces", "shop"]),
        ("[workspaces]\nshop = 1\n", &["workspaces", "shop"]),
        ("[recovery]\n", &[]),
        ("not toml at all", &[]),
        ("a = 1\na = 2\n", &[]),
    ] {
        assert_eq!(plan(text, tables, &wanted()), None, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_byte_of_the_old_text_stays(
        lines in proptest::collection::vec(
            prop_oneof![
                Just(""), Just("  # ümlaut"), Just("x.y = 1"), Just("[a]"), Just("[[b]]"), Just("[a.c]"), Just("z = '#'"),
                Just("\t"), Just("l = [ 1,"), Just("]"), Just("s = \"\"\""), Just("\"\"\""), Just("[workspaces.w]"),
                Just("[workspaces]"), Just("w = { q = 1 }"), Just("w.r = 2"),
            ],
            0..8,
        ),
        ends in proptest::collection::vec(prop_oneof![Just("\n"), Just("\r\n")], 8),
        last in any::<bool>(),
    ) {
        let mut text: String = lines.iter().zip(&ends).flat_map(|(line, end)| [*line, *end]).collect();
        if !last {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
        }
        for tables in [&[][..], &["workspaces", "w"]] {
            let Some(insertion) = plan(&text, tables, &wanted()) else { continue };
            let (head, tail) = text.split_at(insertion.at);
            let new: toml::Table = format!("{head}{}{tail}", insertion.text).parse().unwrap();
            let mut old: toml::Table = text.parse().unwrap();
            let inner = tables.iter().fold(&mut old, |table, name| table[*name].as_table_mut().unwrap());
            let mut added = toml::Table::new();
            added.insert("snapshot".into(), "project".into());
            added.insert("exclude".into(), wanted().exclude.into());
            inner.insert("recovery".into(), added.into());
            prop_assert_eq!(new, old);
        }
    }
}

const MOUNT: &str = "[[mounts]]\nsrc = \"/srv/x\"\ndst = \"/x\"\n\n[env]\nTOKEN = \"hush\"\n";

fn propose(home: &Home, name: &str) -> Result<Edit, EditError> {
    Edit::propose(&home.load().unwrap(), name, &wanted())
}

#[test]
fn the_file_is_replaced_as_a_whole_with_mode_and_link_kept() {
    let home = Home::new();
    let kept = home.path().join("dotfiles");
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("w"), MOUNT).unwrap();
    fs::set_permissions(kept.join("w"), fs::Permissions::from_mode(0o640)).unwrap();
    let link = home.configuration().join("workspaces/w.toml");
    std::os::unix::fs::symlink(kept.join("w"), &link).unwrap();
    let edit = propose(&home, "w").unwrap();
    assert_eq!(
        (edit.path(), edit.file()),
        (link.as_path(), kept.join("w").as_path())
    );
    assert_eq!(edit.line(), (7, true));
    assert!(!edit.added().contains("hush"));
    assert_eq!(
        fs::read_to_string(&link).unwrap(),
        MOUNT,
        "nothing is written yet"
    );
    edit.apply(&home.load().unwrap(), [7; 8]).unwrap();
    assert_eq!(fs::read_to_string(&link).unwrap(), format!("{MOUNT}\n{TABLE}"));
    assert!(link.is_symlink());
    let names: Vec<_> = fs::read_dir(&kept)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["w"]);
    assert_eq!(fs::metadata(kept.join("w")).unwrap().mode() & 0o7777, 0o640);
    let resolved = home.resolve("w").unwrap();
    assert_eq!(resolved.mode.value.word(), "project");
    assert!(matches!(propose(&home, "w"), Err(EditError::Already { .. })));
}

#[test]
fn a_table_that_is_there_is_named_with_its_line() {
    let home = Home::new()
        .global("[workspaces.old]\n[[workspaces.old.mounts]]\nsrc = '/o'\n[workspaces.old.recovery]\nsnapshot = 'off'\n")
        .workspace("w", &format!("{MOUNT}[recovery]\n"));
    for (name, expected) in [
        ("w", "CONF/workspaces/w.toml, line 7: `recovery` already exists"),
        (
            "old",
            "CONF/config.toml, line 4: `workspaces.old.recovery` already exists",
        ),
    ] {
        let Err(error) = propose(&home, name) else {
            panic!("{name}")
        };
        let text = error
            .to_string()
            .replace(home.configuration().to_str().unwrap(), "CONF");
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn a_change_in_the_meantime_stops_it_and_leaves_no_litter() {
    let home = Home::new().workspace("w", MOUNT);
    let edit = propose(&home, "w").unwrap();
    let home = home.workspace("w", &format!("{MOUNT}# mine\n"));
    assert!(matches!(
        edit.apply(&home.load().unwrap(), [1; 8]),
        Err(EditError::Replace(ReplaceError::Changed { .. }))
    ));
    let text = fs::read_to_string(home.configuration().join("workspaces/w.toml")).unwrap();
    assert_eq!(text, format!("{MOUNT}# mine\n"));
    let entries = fs::read_dir(home.configuration().join("workspaces")).unwrap();
    assert_eq!(entries.count(), 1);
}

#[test]
fn a_file_that_would_not_load_is_not_written() {
    let home = Home::new().workspace("w", MOUNT);
    let config = home.load().unwrap();
    let unknown = Wanted {
        mode: "everything".to_owned(),
        ..wanted()
    };
    assert!(matches!(
        Edit::propose(&config, "w", &unknown),
        Err(EditError::Config(ConfigError::UnknownWord { .. }))
    ));
    let bad = Wanted {
        exclude: vec!["[".to_owned()],
        ..wanted()
    };
    assert!(matches!(
        Edit::propose(&config, "w", &bad),
        Err(EditError::Config(ConfigError::BadValue { .. }))
    ));
    assert!(matches!(
        Edit::propose(&config, "W", &wanted()),
        Err(EditError::Config(ConfigError::UnknownWorkspace { .. }))
    ));
    assert_eq!(
        fs::read_to_string(home.configuration().join("workspaces/w.toml")).unwrap(),
        MOUNT
    );
}

#[test]
fn a_fault_of_the_configuration_keeps_its_hints() {
    let fault = || ConfigError::UnknownKey {
        place: Place {
            origin: Origin::Flag("--snapshot"),
            key: "--snapshot".to_owned(),
        },
        nearest: "snapshot",
    };
    assert_eq!(EditError::from(fault()).hints(), fault().hints());
    assert_eq!(fault().hints().len(), 1);
}

#[test]
fn the_excludes_of_every_layer_stay_in_front() {
    let home = Home::new()
        .global("[recovery]\nexclude = ['*.log']\n[workspaces.old]\n[[workspaces.old.mounts]]\nsrc = '/o'\n");
    propose(&home, "old")
        .unwrap()
        .apply(&home.load().unwrap(), [2; 8])
        .unwrap();
    let resolved = home
        .load()
        .unwrap()
        .for_workspace("old", &Flags::default())
        .unwrap();
    let patterns: Vec<_> = resolved
        .exclude
        .iter()
        .map(|pattern| pattern.value.as_str())
        .collect();
    assert_eq!(patterns, ["*.log", "/target/", "a \"b\"/"]);
}
