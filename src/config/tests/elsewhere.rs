//! Errors in mounts, flags and files, by their texts.

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use super::{Home, MOUNT, flags};
use crate::config::{Flags, Mode};

/// Mounts text, and the error behind `CONF/workspaces/w.toml, line `.
const MOUNTS: &[(&str, &str)] = &[
    (
        "mounts = 3\n",
        "1: `mounts` must be a list of tables, written [[mounts]], but it is a whole number",
    ),
    (
        "mounts = [\n \"/x\"]\n",
        "2: `mounts` must be a list of tables, written [[mounts]], but it is a string",
    ),
    (
        "\n[[mounts]]\ndst = \"/x\"\n",
        "2: `mounts.src` is missing; every mount needs it",
    ),
    (
        "[[mounts]]\nsrc = 5\n",
        "2: `mounts.src` must be a string, but it is a whole number",
    ),
    (
        "[[mounts]]\nsrc = \"x/y\"\n",
        "2: `mounts.src` cannot be \"x/y\": a host path must be absolute or begin with `~/`",
    ),
    (
        "[[mounts]]\nsrc = \"~bob/y\"\n",
        "2: `mounts.src` cannot be \"~bob/y\": a host path must be absolute or begin with `~/`",
    ),
    (
        "[[mounts]]\nsrc = \"/x\"\nreadonly = \"yes\"\n",
        "3: `mounts.readonly` must be true or false, but it is a string",
    ),
    (
        "[[mounts]]\nsrc = \"/x\"\n[[mounts]]\nsrc = \"/y\"\nisolation = \"cloned\"\n",
        "5: `mounts.isolation` cannot be \"cloned\"; the nearest valid value is \"clone\" \
         (valid: shared, worktree, clone)",
    ),
];

#[test]
fn faults_in_mounts() {
    for (text, expected) in MOUNTS {
        let home = Home::new().workspace("w", text);
        assert_eq!(
            home.error("w"),
            format!("CONF/workspaces/w.toml, line {expected}"),
            "{text}"
        );
    }
    for text in ["", "mounts = []\n", "[recovery]\nsnapshot = \"project\"\n"] {
        assert_eq!(
            Home::new().workspace("w", text).error("w"),
            "workspace \"w\" has no mounts, so there is nothing to protect; add [[mounts]] to CONF/workspaces/w.toml"
        );
    }
}

#[test]
fn a_home_that_nobody_knows_is_said() {
    let home = Home::new().workspace("w", "[[mounts]]\nsrc = \"~/x\"\n");
    let mut environment = home.environment();
    environment.home = None;
    environment
        .variables
        .insert("JACKIN_CONFIG_DIR".into(), home.configuration().into());
    let config = crate::config::Config::load(&environment).unwrap();
    let error = config.for_workspace("w", &Flags::default()).unwrap_err();
    assert_eq!(
        home.short(&error),
        "CONF/workspaces/w.toml, line 2: `mounts.src` begins with `~`, but the home directory is not known; set HOME"
    );
}

#[test]
fn flags_have_the_same_faults_without_a_line() {
    let config = Home::new().load().unwrap();
    let with = |flags: &Flags| {
        config
            .for_directory(Path::new("/srv"), flags)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        with(&flags("projekt")),
        "`--snapshot` cannot be \"projekt\"; the nearest valid value is \"project\" \
         (valid: off, metadata, project, project-and-state)"
    );
    let state = config.for_directory(Path::new("/srv"), &flags("project-and-state"));
    assert_eq!(state.unwrap().mode.value, Mode::ProjectAndState);
    let bad = Flags {
        on_failure: Some("go".into()),
        ..flags("project")
    };
    assert!(with(&bad).starts_with("`--on-failure` cannot be \"go\""));
    let bad = Flags {
        exclude: vec!["x".into(), "[z-a]".into()],
        ..flags("project")
    };
    assert!(
        with(&bad).starts_with("`--exclude` cannot be \"[z-a]\": it has the range `z-a`"),
        "{}",
        with(&bad)
    );
    let bad = Flags {
        paths: vec![std::ffi::OsString::from_vec(b"\xff/..".to_vec())],
        ..flags("project")
    };
    assert!(
        with(&bad).starts_with("`--path` cannot be \"\\\\xff/..\": it has a part"),
        "{}",
        with(&bad)
    );
}

#[test]
fn files_that_are_no_files() {
    let home = Home::new();
    fs::create_dir(home.configuration().join("workspaces/w.toml")).unwrap();
    assert_eq!(
        home.error("w"),
        "CONF/workspaces/w.toml cannot be read: it is not a regular file"
    );
    let home = Home::new();
    let fifo = home.configuration().join("workspaces/w.toml");
    handle_fs::make_fifo(rustix::fs::CWD, fifo.as_os_str()).unwrap();
    assert_eq!(
        home.error("w"),
        "CONF/workspaces/w.toml cannot be read: it is not a regular file"
    );
    let home = Home::new();
    fs::write(
        home.configuration().join("workspaces/w.toml"),
        b"a = 1\nb = \"\xff\"\n",
    )
    .unwrap();
    assert_eq!(
        home.error("w"),
        "CONF/workspaces/w.toml, line 2: not valid TOML: it is not UTF-8"
    );
    let home = Home::new().workspace("w", &"#".repeat((4 << 20) + 1));
    assert_eq!(
        home.error("w"),
        "CONF/workspaces/w.toml cannot be read: it is larger than 4 MiB"
    );
}

#[test]
fn what_a_message_shows_cannot_move_the_cursor() {
    assert_eq!(crate::config::shown(Path::new("/a b/é")), "/a b/é");
    assert_eq!(crate::config::shown(Path::new("/a\u{1b}[2J")), "\"/a\\u{1b}[2J\"");
    assert_eq!(crate::config::shown(Path::new("/\u{202e}x")), "\"/\\u{202e}x\"");
    let raw = std::ffi::OsString::from_vec(b"/\xff".to_vec());
    assert_eq!(crate::config::shown(Path::new(&raw)), "\"/\\xFF\"");
    let home = Home::new().workspace("w", &format!("{MOUNT}[recovery]\n\"\\u001b[2J\" = 1\n"));
    assert!(!home.error("w").contains('\u{1b}'));
}
