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
    /// A whole number, at least this.
    Count(u64),
    /// Bytes: a whole number, or a string such as "20GiB".
    Size,
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
        "What is done for a session.\n  \
         off                nothing; nothing is written\n  \
         metadata           the session is recorded, but no file\n  \
         project            the files of the mounts are kept\n  \
         project-and-state  also keeps the agent's own state",
    ),
    key(
        "exclude",
        Shape::List,
        "[]",
        "What is left out, in gitignore syntax, relative to each mount. What is left out is never captured, compared or touched. A \
         later \"!pattern\" takes an earlier exclude back. Unlike in git, {a,b} means either of the two.",
    ),
    key(
        "paths",
        Shape::List,
        "[]",
        "Track only these paths below each mount; empty means all. Relative, without \"..\".",
    ),
    key(
        "integrations",
        Shape::Switch,
        "true",
        "Leave out what the detected stack can make again. Detected by a regular file in the mount's root:\n  \
         Cargo.toml      /target/\n  \
         package.json    node_modules/ .next/ .nuxt/ .turbo/\n  \
         pyproject.toml  .venv/ __pycache__/ .pytest_cache/ .mypy_cache/\n                  .ruff_cache/\n\
         Others stand in integrations/NAME.toml beside config.toml: markers, exclude, exclude_at_root, warning. What the \
         repository at the mount's root tracks is not left out by one.",
    ),
    key(
        "sensitive",
        Shape::Words(&["withhold", "capture"]),
        "\"withhold\"",
        "Your own secrets below a mount (~/.ssh, ~/.aws, ~/.gnupg, ~/.config/gcloud, ~/.kube, ~/.docker, ~/.config/gh, ~/.netrc, \
         ~/.npmrc, ~/.git-credentials, ~/.config/op): \"withhold\" keeps them out of every archive, \"capture\" takes them like any \
         other file. Agents' credentials and the recovery store are kept out in both cases.",
    ),
    key(
        "on_failure",
        Shape::Words(&["block", "run"]),
        "\"block\"",
        "When the baseline cannot be taken: \"block\" does not start the command, \"run\" starts it without protection and says so. One that is stored behind the command (native) does not stop it: what was frozen for it is kept.",
    ),
    key(
        "native",
        Shape::Words(&["auto", "off", "require"]),
        "\"auto\"",
        "Snapshots of the file system itself (btrfs, ZFS; VolumeSnapshot of a claim).\n  \
         auto     where they can be had, each capture (of a claim only the\n           baseline) reads one, and launch does not wait for the archive;\n           it is removed when that is stored\n  \
         off      never\n  \
         require  a session only begins where they can be had\n\
         The contract names where each is kept, or why it cannot be had.",
    ),
    table("git", GIT, "Git repositories."),
    table(
        "limits",
        LIMITS,
        "A capture that would go over one of these stops before it stores anything.",
    ),
    table(
        "retention",
        RETENTION,
        "What is kept for how long. What goes beyond goes when a session ends, or with \"prune\". In every count 0 means no limit.",
    ),
    table("state", STATE, "The agent's own state."),
    table("agent", AGENT, "What an agent may do by itself."),
    table("store", STORE, "The store."),
];

const GIT: &[Key] = &[
    key(
        "dir",
        Shape::Words(&["full", "state", "off"]),
        "\"full\"",
        "How much of .git is captured; the contract lists what that leaves out.\n  \
         full   all of it\n  \
         state  all but objects: HEAD, refs, index, hooks, configuration.\n         A restore then needs the objects to survive\n  \
         off    none of it\n\
         A bare repository is captured in every case.",
    ),
    key(
        "clean",
        Shape::Words(&["archive", "commit"]),
        "\"archive\"",
        "A clean work tree, of which a remote has every commit: \"archive\" keeps its files like any other, \"commit\" keeps the \
         commit instead of their contents, which its objects have. Those are captured with .git (see \"dir\"), and a restore \
         reads them from there or from the repository itself. Any doubt archives it.",
    ),
];

const LIMITS: &[Key] = &[
    key(
        "max_entries",
        Shape::Count(1),
        "5_000_000",
        "How many files, directories and other entries a capture may have.",
    ),
    key(
        "max_bytes",
        Shape::Size,
        "\"20GiB\"",
        "How many bytes: a number, or a size such as \"500MB\" (decimal) or \"20GiB\" (binary).",
    ),
];

const RETENTION: &[Key] = &[
    key(
        "checkpoints",
        Shape::Count(0),
        "100",
        "How many checkpoints of a workspace are kept, and how many emergency snapshots; the oldest go first. The snapshots that the \
         last restore needs to be taken back stay in every case.",
    ),
    key(
        "checkpoint_days",
        Shape::Count(0),
        "0",
        "For how many days a checkpoint is kept.",
    ),
    key(
        "instances",
        Shape::Count(0),
        "20",
        "How many sessions of a workspace are kept. Those that are active, pinned, or the newest stay in every case.",
    ),
    key(
        "days",
        Shape::Count(0),
        "30",
        "For how many days after its end a session is kept.",
    ),
    key(
        "max_bytes",
        Shape::Size,
        "\"50GiB\"",
        "How large the store may grow: archives, records, receipts and catalog. Above it the oldest sessions go, then the oldest \
         checkpoints; receipts and catalog never. The end of a session deletes of its own workspace only, `prune` of all. Only in config.toml, for it is the store's.",
    ),
    key(
        "min_free",
        Shape::Size,
        "\"5GiB\"",
        "How much room must be left on the store's file system, but never more than a tenth of it. Snapshots go for it only \
         when that reaches it; at the end of a session, no more than the session stored itself. Only in config.toml.",
    ),
];

const STATE: &[Key] = &[
    key(
        "home",
        Shape::Switch,
        "false",
        "Also the agents' state in your own home, when the session is not about a container of jackin's. The contract names every path.",
    ),
    key(
        "secrets",
        Shape::Words(&["withhold", "encrypt"]),
        "\"withhold\"",
        "Credentials in an agent's state. \"withhold\": they enter no archive; that they changed is seen by a digest. \"encrypt\": they \
         are stored encrypted to your recipients, and --identity FILE brings them back.",
    ),
    key(
        "recipients",
        Shape::List,
        "[]",
        "Public keys that credentials are encrypted to: of age (age1…), or of ssh (ssh-ed25519 AAAA… or ssh-rsa AAAA…).",
    ),
];

const AGENT: &[Key] = &[
    key(
        "restore",
        Shape::Words(&["deny", "checkpoints"]),
        "\"deny\"",
        "What an agent may restore by itself, through `mcp`: \"deny\": nothing; \"checkpoints\": what it marked in its own session. Forks \
         are allowed and denied with it.",
    ),
    key(
        "on_failure",
        Shape::Words(&["run", "block"]),
        "\"run\"",
        "A tool call of an agent with our hooks, whose automatic checkpoint failed: \"run\" lets it run, \"block\" does not.",
    ),
];

const STORE: &[Key] = &[
    key(
        "replicate",
        Shape::Text,
        "\"\"",
        "An object store (s3://bucket/prefix; S3, or one that speaks like it) that the store is copied to after each snapshot. Everything there is \
         encrypted to the recipients of [recovery.state] in config.toml, without which it is refused. Region, endpoint and \
         credentials come from where AWS's own tools take them: AWS_PROFILE, AWS_ENDPOINT_URL, ~/.aws and so on. Empty: \
         nothing is copied. Only in config.toml, for it is the store's.",
    ),
    key(
        "prune_replica",
        Shape::Switch,
        "false",
        "Whether what is given up here is removed from the object store, too. Only in config.toml.",
    ),
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
