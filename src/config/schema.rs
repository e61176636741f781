//! The one table of all keys below `[recovery]`: their types, how much of each this version supports, and their purpose.
//! `config/default.toml` and the manual's page are made from it.

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// One of these words.
    Words(&'static [&'static str]),
    /// `true` or `false`.
    Switch,
    /// A list of strings.
    List,
    /// Any string.
    Text,
    /// A whole number, at least this. Where it may be 0, 0 means no limit.
    Count(u64),
    /// Bytes: a whole number, or a string such as "20GiB"; at least this. Where it may be 0, 0 means no limit.
    Size(u64),
    /// A table with these keys.
    Table(&'static [Key]),
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// Default value, as TOML; empty for a table.
    pub(super) default: &'static str,
    /// Purpose, in paragraphs; a line that begins with a blank is kept as it is.
    pub(super) about: &'static str,
}

const fn key(name: &'static str, shape: Shape, default: &'static str, about: &'static str) -> Key {
    Key {
        name,
        shape,
        default,
        about,
    }
}

const fn table(name: &'static str, keys: &'static [Key], about: &'static str) -> Key {
    key(name, Shape::Table(keys), "", about)
}

/// Every key of `[recovery]`.
pub(super) const RECOVERY: &[Key] = &[
    key(
        "snapshot",
        Shape::Words(&["off", "metadata", "project", "project-and-state"]),
        "\"off\"",
        "What a session records. Without any setting, launch uses \"project\": typing launch asks for it.\
         \n  off                nothing is written\
         \n  metadata           the session itself, but no files\
         \n  project            the files of the mounts\
         \n  project-and-state  also the agent's own state",
    ),
    key(
        "exclude",
        Shape::List,
        "[]",
        "Paths to exclude, in gitignore syntax, relative to each mount. Excluded paths are never captured, compared or \
         restored. A later \"!pattern\" includes a path again. Unlike in git, {a,b} matches either name.",
    ),
    key(
        "paths",
        Shape::List,
        "[]",
        "Capture only these paths below each mount; an empty list means all. Relative, without \"..\".",
    ),
    key(
        "integrations",
        Shape::Switch,
        "true",
        "Exclude directories that the project's tools can rebuild. A tool is detected by a regular file in the root of the \
         mount:\
         \n  Cargo.toml      /target/\
         \n  package.json    node_modules/ .next/ .nuxt/ .turbo/\
         \n  pyproject.toml  .venv/ __pycache__/ .pytest_cache/ .mypy_cache/\
         \n                  .ruff_cache/\
         \nDefine others in integrations/NAME.toml beside config.toml (markers, exclude, exclude_at_root, warning). Files \
         that the repository in the root of the mount tracks are never excluded by these.",
    ),
    key(
        "sensitive",
        Shape::Words(&["withhold", "capture"]),
        "\"withhold\"",
        "Your own secrets below a mount (~/.ssh, ~/.aws, ~/.gnupg, ~/.config/gcloud, ~/.kube, ~/.docker, ~/.config/gh, \
         ~/.netrc, ~/.npmrc, ~/.git-credentials, ~/.config/op, ~/Library/Keychains): \"withhold\" keeps them out of every \
         archive, \"capture\" treats them like any other file. Agents' credentials and the recovery store are never captured as they are.",
    ),
    key(
        "on_failure",
        Shape::Words(&["block", "run"]),
        "\"block\"",
        "What happens if the baseline fails: \"block\" does not start the command, \"run\" starts it without protection and \
         warns. A baseline that is stored while the command runs (native) does not stop it: jackin keeps the file-system \
         snapshot.",
    ),
    key(
        "command",
        Shape::Words(&["program", "full"]),
        "\"program\"",
        "What is recorded of a launched command: \"program\" its name and the number of arguments, \"full\" the arguments \
         too, without those that look like secrets.",
    ),
    key(
        "native",
        Shape::Words(&["auto", "off", "require"]),
        "\"auto\"",
        "Snapshots of the file system itself (btrfs, ZFS, VolumeSnapshot of a claim).\
         \n  auto     use one for each capture where available (for a claim: for\
         \n           the baseline); launch does not wait for the archive, and the\
         \n           snapshot is removed once the archive is stored\
         \n  off      never\
         \n  require  do not start a session without one\
         \nThe contract names where each snapshot is kept, or why none is available.",
    ),
    key(
        "watch",
        Shape::Switch,
        "false",
        "Watch the files while a session lives, so that a checkpoint before which nothing happened does not look at them: a \
         process beside the session, with one watch of inotify for each directory. Where it cannot know everything, checkpoints \
         look at all files as without it.",
    ),
    table("git", GIT, "Git repositories."),
    table(
        "limits",
        LIMITS,
        "A capture that would exceed one of these stops before it stores anything.",
    ),
    table(
        "retention",
        RETENTION,
        "Retention policy. Snapshots that exceed it are deleted when a session ends, when a checkpoint is taken, or by \
         \"prune\". Until then a number of snapshots or sessions of 8 or more may be exceeded by an eighth. In every \
         count of snapshots, sessions or days, 0 means no limit.",
    ),
    table("state", STATE, "The agent's own state."),
    table("agent", AGENT, "What an agent may do on its own."),
    table("store", STORE, "The store."),
    table(
        "ui",
        UI,
        "Keys and colors of the screen (\"jackin recovery ui\"). A key is one character, or \"space\"; arrows, Enter, Tab and Esc \
         always work, and so does y as an answer. Only in config.toml.",
    ),
];

const GIT: &[Key] = &[
    key(
        "dir",
        Shape::Words(&["full", "state", "off"]),
        "\"full\"",
        "How much of .git is captured; the contract lists what is excluded.\
         \n  full   everything\
         \n  state  everything but objects: HEAD, refs, index, hooks, settings.\
         \n         A restore then needs the objects that are still there\
         \n  off    nothing\
         \nA bare repository is always captured.",
    ),
    key(
        "clean",
        Shape::Words(&["archive", "commit"]),
        "\"archive\"",
        "How a clean work tree is captured if a remote has every commit: \"archive\" stores its files like any other, \
         \"commit\" stores the commit id, and a restore reads the files from the captured .git (see \"dir\") or from the \
         repository. In doubt the files are stored.",
    ),
];

const LIMITS: &[Key] = &[
    key(
        "max_entries",
        Shape::Count(1),
        "5_000_000",
        "Maximum number of files, directories and other entries of a baseline. Later snapshots may have more.",
    ),
    key(
        "max_bytes",
        Shape::Size(1),
        "\"20GiB\"",
        "Maximum size of a baseline: a number of bytes, or a size such as \"500MB\" (decimal) or \"20GiB\" (binary).",
    ),
];

const RETENTION: &[Key] = &[
    key(
        "checkpoints",
        Shape::Count(0),
        "100",
        "Maximum number of checkpoints of a workspace, and of emergency snapshots; the oldest are deleted first. The \
         snapshots that undo the last restore are always kept.",
    ),
    key(
        "checkpoint_days",
        Shape::Count(0),
        "0",
        "Days for which a checkpoint is kept.",
    ),
    key(
        "instances",
        Shape::Count(0),
        "20",
        "Maximum number of sessions of a workspace. Active and pinned sessions and the newest one are always kept. Sessions \
         without a baseline go first, and none of the others because of them.",
    ),
    key(
        "days",
        Shape::Count(0),
        "30",
        "Days for which a session is kept after its end.",
    ),
    key(
        "max_bytes",
        Shape::Size(0),
        "\"50GiB\"",
        "Maximum size of the store: archives, records, receipts and catalog. Above it the oldest sessions are deleted, then \
         the oldest checkpoints; receipts and catalog never. The end of a session deletes only snapshots of its own \
         workspace, `prune` those of all. 0 means no limit. Only in config.toml, because there is one store.",
    ),
    key(
        "min_free",
        Shape::Size(0),
        "\"5GiB\"",
        "Free space to keep on the store's file system, at most a tenth of it. Snapshots are deleted only if that reaches it; \
         at the end of a session, no more than the session itself stored. 0 means no limit. Only in config.toml.",
    ),
];

const STATE: &[Key] = &[
    key(
        "home",
        Shape::Switch,
        "false",
        "Also capture agents' state in your own home directory, unless the session belongs to a jackin container. The \
         contract names every path.",
    ),
    key(
        "secrets",
        Shape::Words(&["withhold", "encrypt"]),
        "\"withhold\"",
        "Credentials in an agent's state. \"withhold\": never stored; a digest shows that they changed. \"encrypt\": stored \
         encrypted to your recipients, and restored with --identity FILE.",
    ),
    key(
        "recipients",
        Shape::List,
        "[]",
        "Public keys that credentials are encrypted to: age (age1…) or ssh (ssh-ed25519 AAAA… or ssh-rsa AAAA…).",
    ),
];

const AGENT: &[Key] = &[
    key(
        "restore",
        Shape::Words(&["deny", "checkpoints"]),
        "\"deny\"",
        "What an agent may restore on its own, through `mcp`: \"deny\": nothing; \"checkpoints\": the checkpoints of its own \
         session. The same setting allows or denies forks.",
    ),
    key(
        "on_failure",
        Shape::Words(&["run", "block"]),
        "\"run\"",
        "What happens to a tool call of an agent with jackin's hooks if its automatic checkpoint fails: \"run\" runs it, \
         \"block\" does not.",
    ),
    key(
        "prompts",
        Shape::Words(&["first-line", "full", "off"]),
        "\"first-line\"",
        "What jackin's hooks record of your prompts to an agent, and of the commands that it runs: \"first-line\": the first line, at \
         most 200 characters; \"full\": all of it; \"off\": nothing of them. The names of tools, and the files that they name, are recorded always. What looks like a secret is hidden.",
    ),
];

const STORE: &[Key] = &[
    key(
        "replicate",
        Shape::Text,
        "\"\"",
        "An object store (s3://bucket/prefix; S3 or compatible) that the store is copied to after each snapshot. Everything \
         there is encrypted to the recipients of [recovery.state] in config.toml; without recipients the setting is refused. \
         Region, endpoint and credentials come from the same places as for AWS tools: AWS_PROFILE, AWS_ENDPOINT_URL, ~/.aws \
         and so on. Empty: no copy. Only in config.toml, because there is one store.",
    ),
    key(
        "prune_replica",
        Shape::Switch,
        "false",
        "Also delete from the object store what is deleted here. Only in config.toml.",
    ),
];

const COLORS: &[&str] = &[
    "default", "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
];

const fn press(name: &'static str, default: &'static str, about: &'static str) -> Key {
    key(name, Shape::Text, default, about)
}

const fn color(name: &'static str, default: &'static str, about: &'static str) -> Key {
    key(name, Shape::Words(COLORS), default, about)
}

/// Every key of `[recovery.ui]`.
pub(super) const UI: &[Key] = &[
    press("key_restore", "\"r\"", "Restore what is marked or selected."),
    press(
        "key_restore_all",
        "\"R\"",
        "Restore everything in the comparison.",
    ),
    press("key_undo", "\"u\"", "Undo the last restore, or the selected one."),
    press(
        "key_mark",
        "\"space\"",
        "Mark a path, a hunk, selected lines or a snapshot.",
    ),
    press("key_mark_all", "\"a\"", "Mark everything that is shown."),
    press("key_select", "\"v\"", "Select lines in the preview."),
    press("key_filter", "\"/\"", "Filter a list, or search in the preview."),
    press("key_kind", "\"f\"", "Filter paths by kind."),
    press("key_fold", "\"z\"", "Open or close all directories."),
    press("key_step", "\"t\"", "Show the changes of one step."),
    press("key_prompts", "\"b\"", "List prompts and tool calls."),
    press("key_next", "\"n\"", "Go to the next path or match."),
    press("key_previous", "\"p\"", "Go to the previous path."),
    press("key_previous_match", "\"N\"", "Go to the previous match."),
    press("key_next_hunk", "\"]\"", "Go to the next hunk."),
    press("key_previous_hunk", "\"[\"", "Go to the previous hunk."),
    press("key_more_context", "\"+\"", "Show more unchanged lines."),
    press("key_less_context", "\"-\"", "Show fewer unchanged lines."),
    press("key_wrap", "\"w\"", "Wrap or cut long lines."),
    press("key_edit", "\"e\"", "Open the file in your editor."),
    press("key_history", "\"H\"", "Show the changes of the file."),
    press("key_blame", "\"B\"", "Show the author of each line."),
    press("key_copy", "\"y\"", "Copy a path, an id or a command."),
    press("key_pin", "\"P\"", "Pin or unpin."),
    press("key_name", "\"m\"", "Name a session."),
    press("key_checkpoint", "\"c\"", "Take a checkpoint."),
    press("key_fork", "\"F\"", "Fork a snapshot."),
    press("key_export", "\"x\"", "Export a snapshot."),
    press("key_forget", "\"D\"", "Forget a session."),
    press(
        "key_overwrite_later",
        "\"o\"",
        "In a plan: overwrite later edits.",
    ),
    press("key_delete_later", "\"d\"", "In a plan: delete later files."),
    press("key_store", "\"s\"", "Show the size of the store."),
    press("key_log", "\"l\"", "Show the log."),
    press("key_up", "\"k\"", "Move up."),
    press("key_down", "\"j\"", "Move down."),
    press("key_scroll_up", "\"K\"", "Scroll the preview up."),
    press("key_scroll_down", "\"J\"", "Scroll the preview down."),
    press("key_top", "\"g\"", "Go to the first row."),
    press("key_bottom", "\"G\"", "Go to the last row."),
    press("key_help", "\"?\"", "Show the keys."),
    press("key_quit", "\"q\"", "Quit."),
    color("color_added", "\"green\"", "Added lines and paths."),
    color("color_removed", "\"red\"", "Removed lines and paths."),
    color("color_changed", "\"yellow\"", "Changed paths and warnings."),
    color("color_path", "\"cyan\"", "Heads of hunks."),
];

/// Returns the valid word that `given` probably stands for. If none is similar, it is `project` where that is valid: an unknown
/// word must not lead to a proposal that captures no files.
pub(super) fn meant(given: &str, valid: &'static [&'static str]) -> &'static str {
    const LIKE: f64 = 0.5;
    const USUAL: &str = "project";
    let best = nearest(given, valid.iter().copied());
    let likeness = strsim::normalized_damerau_levenshtein(&given.to_lowercase(), best);
    if likeness < LIKE && valid.contains(&USUAL) {
        USUAL
    } else {
        best
    }
}

/// Returns true for the name of a value in `[recovery]` itself.
pub(super) fn is_own_value(name: &str) -> bool {
    let mut keys = RECOVERY.iter();
    keys.any(|key| key.name == name && !matches!(key.shape, Shape::Table(_)))
}

/// Returns the candidate that is most similar to `given`; the first one if none is similar.
pub(super) fn nearest(given: &str, candidates: impl IntoIterator<Item = &'static str>) -> &'static str {
    // Folded, because a wrong case or `-` for `_` is the commonest slip of all.
    let folded = given.to_lowercase().replace('-', "_");
    let mut best = ("", f64::MIN);
    for candidate in candidates {
        let likeness = strsim::normalized_damerau_levenshtein(&folded, &candidate.replace('-', "_"));
        if likeness > best.1 {
            best = (candidate, likeness);
        }
    }
    best.0
}
