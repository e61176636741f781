//! Every error in a `[recovery]` table by its text: file, line, key, and what would be right.

use super::{Home, MOUNT};

/// `[recovery]` text, and the error behind `CONF/workspaces/w.toml, line `.
const RECOVERY: &[(&str, &str)] = &[
    // Of several faults the first one in the file.
    (
        "[recovery]\nsnap = 1\nexlude = 1\n",
        "5: `recovery.snap` is not a known key; the nearest valid one is `snapshot`",
    ),
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
        "7: `recovery.exclude` must be a list of strings, but this entry is a whole number",
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
        "7: `recovery.exclude` cannot be \"a{b\": it is not a gitignore pattern: error parsing glob 'a{b': \
         unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
    ),
    (
        "[recovery]\nexclude = [\"a\\u0000\"]\n",
        "5: `recovery.exclude` cannot be \"a\\0\": a pattern cannot contain a NUL or a line break",
    ),
    (
        "[recovery]\nexclude = [\"a\\nb\"]\n",
        "5: `recovery.exclude` cannot be \"a\\nb\": a pattern cannot contain a NUL or a line break",
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
        "6: not valid TOML: duplicate key, near `snapshot`",
    ),
    (
        "[recovery]\nsnapshot = project\n",
        "5: not valid TOML: string values must be quoted, expected literal string, near `snapshot`",
    ),
];

/// Under another table's heading, or none, they are jackin's own keys, and would be ignored.
#[test]
fn keys_of_recovery_outside_of_it_are_refused() {
    for (text, key, line) in [
        ("exclude = [\"*.log\"]\n", "exclude", 1),
        ("version = \"v1\"\nsnapshot = \"off\"\n", "snapshot", 2),
    ] {
        let home = Home::new().workspace("w", &format!("{text}{MOUNT}"));
        assert_eq!(
            home.error("w"),
            format!("CONF/workspaces/w.toml, line {line}: `{key}` belongs in the table [recovery]")
        );
    }
    // A table of that name may be jackin's.
    let home = Home::new().workspace("w", &format!("{MOUNT}[native]\nx = 1\n"));
    assert!(home.resolve("w").is_ok());
}

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

#[test]
fn types_and_words_are_checked() {
    for (line, kind) in [
        ("retention.days = \"x\"", "must be a whole number"),
        ("retention.keep = 3", "not a known key"),
        ("retention.max_bytes = \"1GiB\"", "of config.toml"),
        ("retention.min_free = 1", "of config.toml"),
        ("state.secrets = \"plain\"", "nearest valid value"),
        ("store.replicate = 5", "must be a string"),
        ("store.replicate = \"s3://bucket/p\"", "of config.toml"),
        ("store.prune_replica = true", "of config.toml"),
        ("ui.key_mark = \"!\"", "of config.toml"),
        ("ui.color_added = \"pink\"", "nearest valid value"),
        ("ui.key_restroe = \"x\"", "the nearest valid one is `key_restore`"),
        ("ui.key_mark = \"xy\"", "must be one character"),
        ("ui.key_mark = \"r\"", "it is the key of key_restore"),
        ("native = \"yes\"", "(valid: auto, off, require)"),
    ] {
        let home = Home::new().workspace("w", &format!("{MOUNT}[recovery]\n{line}\n"));
        assert!(home.error("w").contains(kind), "{line}: {}", home.error("w"));
    }
    let same = "git = { dir = \"full\", clean = \"archive\" }\nnative = \"off\"\nstate.home = false\n\
                state.secrets = \"withhold\"\nagent.restore = \"deny\"\nretention = { days = 3 }\n";
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

#[test]
fn a_slip_in_the_tables_name_is_no_silent_off() {
    let home = Home::new().workspace("w", &format!("{MOUNT}[recovry]\nsnapshot = \"project\"\n"));
    let error = home.error("w");
    assert!(
        error.contains("`recovry` is not a known key; the nearest valid one is `recovery`"),
        "{error}"
    );
    let home = Home::new().global("[Recovery]\nsnapshot = \"project\"\n");
    let error = home.load().unwrap_err();
    assert!(
        error.to_string().contains("nearest valid one is `recovery`"),
        "{error}"
    );
    // A request for more is not answered with a proposal of less.
    let home = Home::new().workspace("w", &format!("{MOUNT}[recovery]\nsnapshot = \"full\"\n"));
    assert!(home.error("w").contains("nearest valid value is \"project\""));
}
