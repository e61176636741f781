//! The one table of all keys below `[recovery]`: their types, and how much of each this version can do.

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

/// What of a key works now.
#[derive(Clone, Copy, Debug)]
pub(super) enum Now {
    /// All of it.
    Yes,
    /// Only these words.
    Words(&'static [&'static str]),
    /// Only this.
    Switch(bool),
    /// Nothing: setting it is refused.
    No,
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) now: Now,
}

const fn key(name: &'static str, shape: Shape, now: Now) -> Key {
    Key { name, shape, now }
}

const fn table(name: &'static str, keys: &'static [Key]) -> Key {
    key(name, Shape::Table(keys), Now::Yes)
}

/// Every key of `[recovery]`. Where a later feature has a value that says what this version does anyway, that value is
/// accepted, so that a file can be explicit.
pub(super) const RECOVERY: &[Key] = &[
    key(
        "snapshot",
        Shape::Words(&["off", "metadata", "project", "project-and-state"]),
        Now::Words(&["off", "metadata", "project"]),
    ),
    key("exclude", Shape::List, Now::Yes),
    key("paths", Shape::List, Now::Yes),
    key("integrations", Shape::Switch, Now::Yes),
    key("sensitive", Shape::Words(&["withhold", "capture"]), Now::Yes),
    key("on_failure", Shape::Words(&["block", "run"]), Now::Yes),
    key(
        "native",
        Shape::Words(&["auto", "off", "require"]),
        Now::Words(&["off"]),
    ),
    table("git", GIT),
    table("limits", LIMITS),
    table("retention", RETENTION),
    table("state", STATE),
    table("agent", AGENT),
    table("store", STORE),
];

const GIT: &[Key] = &[
    key(
        "dir",
        Shape::Words(&["full", "state", "off"]),
        Now::Words(&["full"]),
    ),
    key(
        "clean",
        Shape::Words(&["archive", "commit"]),
        Now::Words(&["archive"]),
    ),
];

const LIMITS: &[Key] = &[
    key("max_entries", Shape::Count(1), Now::Yes),
    key("max_bytes", Shape::Size, Now::Yes),
];

const RETENTION: &[Key] = &[
    key("checkpoints", Shape::Count(0), Now::No),
    key("checkpoint_days", Shape::Count(0), Now::No),
    key("instances", Shape::Count(0), Now::No),
    key("days", Shape::Count(0), Now::No),
    key("max_bytes", Shape::Size, Now::No),
    key("min_free", Shape::Size, Now::No),
];

const STATE: &[Key] = &[
    key("home", Shape::Switch, Now::Switch(false)),
    key(
        "secrets",
        Shape::Words(&["withhold", "encrypt"]),
        Now::Words(&["withhold"]),
    ),
    key("recipients", Shape::List, Now::No),
];

const AGENT: &[Key] = &[
    key(
        "restore",
        Shape::Words(&["deny", "checkpoints"]),
        Now::Words(&["deny"]),
    ),
    key("on_failure", Shape::Words(&["run", "block"]), Now::No),
];

const STORE: &[Key] = &[key("replicate", Shape::Text, Now::No)];

/// The candidate that is most like `given`; the first of `candidates` when none is like it.
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
