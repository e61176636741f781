//! Every error by its text: file, line, key, and what would be right.

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use super::{Home, MOUNT, flags};
use crate::config::{ConfigError, Flags};

/// `[recovery]` text, and the error behind `CONF/workspaces/w.toml, line `.
const RECOVERY: &[(&str, &str)] = &[
    (
        "[recovery]\nsnapshot = \"project\"\nexlude = []\n",
        "6: `recovery.exlude` is not a known key; the nearest valid one is `exclude`",
    ),
    (
        "[recovery]\n\n[recovery.limits]\nmax-entries = 5\n",
        "7: `recovery.limits.max-entries` is not a known key; the nearest valid one is `max_entries`",
    ),
    (
        "[recovery.limit]\nmax_entries = 5\n",
        "4: `recovery.limit` is not a known key; the nearest valid one is `limits`",
    ),
    (
        "[recovery]\nSnapshot = \"project\"\n",
        "5: `recovery.Snapshot` is not a known key; the nearest valid one is `snapshot`",
    ),
    (
        "[recovery]\nsnapshot = \"projct\"\n",
        "5: `recovery.snapshot` cannot be \"projct\"; the nearest valid value is \"project\" \
         (valid: off, metadata, project, project-and-state)",
    ),
    (
        "[recovery]\nsensitive = \"Withhold\"\n",
        "5: `recovery.sensitive` cannot be \"Withhold\"; the nearest valid value is \"withhold\" \
         (valid: withhold, capture)",
    ),
    (
        "[recovery]\nsnapshot = true\n",
        "5: `recovery.snapshot` must be a string, but it is true or false",
    ),
    (
        "[recovery]\nintegrations = 1\n",
        "5: `recovery.integrations` must be true or false, but it is a whole number",
    ),
    (
        "[recovery]\nexclude = \"x\"\n",
        "5: `recovery.exclude` must be a list of strings, but it is a string",
    ),
    (
        "[recovery]\nexclude = [\n  \"a\",\n  2,\n]\n",
        "7: `recovery.exclude` must be a list of strings, and each entry a string, but it is a whole number",
    ),
    (
        "[recovery]\nlimits = 3\n",
        "5: `recovery.limits` must be a table, but it is a whole number",
    ),
    (
        "[[recovery]]\nsnapshot = \"off\"\n",
        "4: `recovery` must be a table, but it is a list",
    ),
    (
        "[recovery.limits]\nmax_entries = \"many\"\n",
        "5: `recovery.limits.max_entries` must be a whole number, but it is a string",
    ),
    (
        "[recovery.limits]\nmax_entries = -5\n",
        "5: `recovery.limits.max_entries` cannot be \"-5\": it must be a whole number from 1 to 9223372036854775807",
    ),
    (
        "[recovery.limits]\nmax_entries = 0\n",
        "5: `recovery.limits.max_entries` cannot be \"0\": it must be a whole number from 1 to 9223372036854775807",
    ),
    (
        "[recovery.limits]\nmax_bytes = \"20GiBB\"\n",
        "5: `recovery.limits.max_bytes` cannot be \"20GiBB\": it must be a size such as \"20GiB\", \"500MB\" or \"4096\"",
    ),
    (
        "[recovery.limits]\nmax_bytes = \"-1GiB\"\n",
        "5: `recovery.limits.max_bytes` cannot be \"-1GiB\": it must be a size such as \"20GiB\", \"500MB\" or \"4096\"",
    ),
    (
        "[recovery.limits]\nmax_bytes = \"0\"\n",
        "5: `recovery.limits.max_bytes` cannot be \"0\": it must be at least one byte",
    ),
    (
        "[recovery.limits]\nmax_bytes = \"99999999EiB\"\n",
        "5: `recovery.limits.max_bytes` cannot be \"99999999EiB\": it is larger than any store can be",
    ),
    (
        "[recovery.limits]\nmax_bytes = 1.5\n",
        "5: `recovery.limits.max_bytes` must be a size such as \"20GiB\" or a whole number of bytes, \
         but it is a number with a point",
    ),
    (
        "[recovery]\npaths = [\"src\", \"/etc\"]\n",
        "5: `recovery.paths` cannot be \"/etc\": it is absolute; it must be a path below the mount, such as src/data",
    ),
    (
        "[recovery]\npaths = [\n\"src/../..\"]\n",
        "6: `recovery.paths` cannot be \"src/../..\": it has a part `.` or `..`; \
         it must be a path below the mount, such as src/data",
    ),
    (
        "[recovery]\npaths = [\"\"]\n",
        "5: `recovery.paths` cannot be \"\": it is empty; it must be a path below the mount, such as src/data",
    ),
    (
        "[recovery]\npaths = [\"a//b\"]\n",
        "5: `recovery.paths` cannot be \"a//b\": it has an empty part; \
         it must be a path below the mount, such as src/data",
    ),
    (
        "[recovery]\nexclude = [\n  \"ok/\",\n  \"a{b\",\n]\n",
        "7: `recovery.exclude` cannot be \"a{b\": it is no gitignore pattern: error parsing glob 'a{b': \
         unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
    ),
    (
        "[recovery]\nexclude = [\"a\\u0000\"]\n",
        "5: `recovery.exclude` cannot be \"a\\0\": it holds a NUL or a line break, which no pattern can",
    ),
    (
        "[recovery]\nexclude = [\"a\\nb\"]\n",
        "5: `recovery.exclude` cannot be \"a\\nb\": it holds a NUL or a line break, which no pattern can",
    ),
    (
        "[recovery]\nexclude = [\"# x\"]\n",
        "5: `recovery.exclude` cannot be \"# x\": it begins with `#`, which makes it a comment; \
         write `\\#` for the character",
    ),
    (
        "[recovery]\nexclude = [\"!/\"]\n",
        "5: `recovery.exclude` cannot be \"!/\": it names nothing",
    ),
    (
        "[recovery]\nexclude = [\"./target\"]\n",
        "5: `recovery.exclude` cannot be \"./target\": it has an empty part or a part `.` or `..`, \
         so it never matches; a leading `/` stands for the root of the mount",
    ),
    (
        "[recovery]\nsnapshot = \"off\"\nsnapshot = \"off\"\n",
        "6: not valid TOML: duplicate key",
    ),
    (
        "[recovery]\nsnapshot = project\n",
        "5: not valid TOML: string values must be quoted, expected literal string",
    ),
];

#[test]
fn faults_name_file_line_key_and_what_is_right() {
    for (text, expected) in RECOVERY {
        let home = Home::new().workspace("w", &format!("{MOUNT}{text}"));
        assert_eq!(
            home.error("w"),
            format!("CONF/workspaces/w.toml, line {expected}"),
            "{text}"
        );
    }
}

/// Behind `CONF/workspaces/w.toml, line 5: `, without the tail that all have.
const NOT_YET: &[(&str, &str)] = &[
    (
        "snapshot = \"project-and-state\"",
        "`recovery.snapshot` = \"project-and-state\"",
    ),
    ("native = \"auto\"", "`recovery.native` = \"auto\""),
    ("native = \"require\"", "`recovery.native` = \"require\""),
    ("git.dir = \"state\"", "`recovery.git.dir` = \"state\""),
    ("git.clean = \"commit\"", "`recovery.git.clean` = \"commit\""),
    ("retention.checkpoints = 100", "`recovery.retention.checkpoints`"),
    (
        "retention.checkpoint_days = 0",
        "`recovery.retention.checkpoint_days`",
    ),
    ("retention.min_free = \"5GiB\"", "`recovery.retention.min_free`"),
    ("state.home = true", "`recovery.state.home`"),
    (
        "state.secrets = \"encrypt\"",
        "`recovery.state.secrets` = \"encrypt\"",
    ),
    ("state.recipients = []", "`recovery.state.recipients`"),
    (
        "agent.restore = \"checkpoints\"",
        "`recovery.agent.restore` = \"checkpoints\"",
    ),
    ("agent.on_failure = \"run\"", "`recovery.agent.on_failure`"),
    ("store.replicate = \"s3://b/p\"", "`recovery.store.replicate`"),
];

#[test]
fn later_features_are_known_and_refused() {
    for (line, expected) in NOT_YET {
        let home = Home::new().workspace("w", &format!("{MOUNT}[recovery]\n{line}\n"));
        assert!(
            matches!(home.resolve("w"), Err(ConfigError::NotYet { .. })),
            "{line}"
        );
        assert_eq!(
            home.error("w"),
            format!(
                "CONF/workspaces/w.toml, line 5: {expected} is known but comes in a later version; remove it for now"
            )
        );
    }
    // Their types and words are checked all the same, and what this version does anyway may be said.
    for (line, kind) in [
        ("retention.days = \"x\"", "must be a whole number"),
        ("retention.keep = 3", "not a known key"),
        ("state.secrets = \"plain\"", "nearest valid value"),
        ("store.replicate = 5", "must be a string"),
    ] {
        let home = Home::new().workspace("w", &format!("{MOUNT}[recovery]\n{line}\n"));
        assert!(home.error("w").contains(kind), "{line}: {}", home.error("w"));
    }
    let same = "git = { dir = \"full\", clean = \"archive\" }\nnative = \"off\"\nstate.home = false\n\
                state.secrets = \"withhold\"\nagent.restore = \"deny\"\nretention = {}\n";
    Home::new()
        .workspace("w", &format!("{MOUNT}[recovery]\n{same}"))
        .resolve("w")
        .unwrap();
}

#[test]
fn faults_in_the_global_file_name_its_keys() {
    let home = Home::new().global("version = \"v1alpha9\"\n[recovery]\nsnapshots = \"off\"\n");
    let error = home.load().unwrap_err();
    assert_eq!(
        home.short(&error),
        "CONF/config.toml, line 3: `recovery.snapshots` is not a known key; the nearest valid one is `snapshot`"
    );
    let home = Home::new().global("[workspaces.\"a b\".recovery]\non_failure = \"stop\"\n");
    assert_eq!(
        home.error("a b"),
        "CONF/config.toml, line 2: `workspaces.\"a b\".recovery.on_failure` cannot be \"stop\"; \
         the nearest valid value is \"block\" (valid: block, run)"
    );
    let home = Home::new().global("workspaces = 3\n");
    assert_eq!(
        home.error("w"),
        "CONF/config.toml, line 1: `workspaces` must be a table, but it is a whole number"
    );
    let home = Home::new().global("[workspaces]\nw = \"x\"\n");
    assert_eq!(
        home.error("w"),
        "CONF/config.toml, line 2: `workspaces.w` must be a table, but it is a string"
    );
}

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
    assert_eq!(
        with(&flags("project-and-state")),
        "`--snapshot` = \"project-and-state\" is known but comes in a later version; remove it for now"
    );
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
        with(&bad).starts_with("`--exclude` cannot be \"[z-a]\": it is no gitignore pattern"),
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
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
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
