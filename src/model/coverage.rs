//! Coverage of one mount: the contents that a snapshot was asked to hold. It is frozen into the record, so that a restore years
//! later follows the rules of that time and not today's configuration.

use std::path::{Path, PathBuf};

use handle_fs::Locations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ByteString, RelPath};

/// Where an exclude comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExcludeSource {
    /// A configuration file (its path) wrote it.
    Config(ByteString),
    /// A stack integration: its name, and the file that made it apply.
    Integration {
        /// e.g. `rust`.
        name: String,
        /// e.g. `Cargo.toml`.
        because: String,
        /// The operator's file that defines it; none for one that is built in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        defined: Option<ByteString>,
    },
    /// What is never captured of agents' state; why.
    State(String),
    /// `--exclude` on the command line.
    Flag,
}

/// One exclude, in gitignore syntax, relative to the mount root.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ExcludeRule {
    /// The pattern as written.
    pub pattern: String,
    /// Who asked for it.
    pub source: ExcludeSource,
    /// In the state of agents: a file that matches is private, and treated as one of this reason. Directories are looked into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<WithheldReason>,
}

impl ExcludeRule {
    /// Returns true if matching files are in no snapshot.
    #[must_use]
    pub fn leaves_out(&self) -> bool {
        let is_state = matches!(self.source, ExcludeSource::State(_));
        self.private.is_none() && !(is_state && self.pattern.starts_with('!'))
    }
}

/// Why a path is withheld in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WithheldReason {
    /// The operator's own secrets.
    Sensitive,
    /// A credential in an agent's state: that it is there, its metadata and a keyed digest are recorded.
    Credential,
    /// A settings file of an agent, in which secrets may stand beside other things: it is stored without them, and restored by key.
    Settings,
    /// The same with an account in it: one that cannot be read by key is withheld whole.
    Account,
    /// The recovery store.
    Store,
    /// What a restore stages in the mount root, and what an interrupted one left there.
    Staging,
    /// A mount of its own that the agent sees read-only: recorded, never restored into.
    Readonly,
    /// The operator deleted it from the store with `forget`. Only snapshots that were taken before have it.
    Forgotten,
}

impl WithheldReason {
    /// Returns true if the file is stored without the secrets in it.
    #[must_use]
    pub fn is_by_key(self) -> bool {
        matches!(self, Self::Settings | Self::Account)
    }

    /// Returns true for an agent's file that is recorded by key or keyed digest.
    #[must_use]
    pub fn is_private(self) -> bool {
        self.is_by_key() || self == Self::Credential
    }
}

/// A path below the mount that never enters an archive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct WithheldPath {
    /// Below the mount root.
    pub path: RelPath,
    /// Why.
    pub reason: WithheldReason,
}

/// The coverage of one mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Short name, unique within the instance, the first path part of archive members: `[A-Za-z0-9._-]`, at most 64
    /// bytes, starting with a letter, a digit or `_`.
    pub label: String,
    /// Canonical host path.
    pub root: ByteString,
    /// Excludes in order; a later `!pattern` takes an earlier one back, as gitignore does.
    pub excludes: Vec<ExcludeRule>,
    /// Only these directories below the root (files work too); empty means all.
    pub tracked: Vec<RelPath>,
    /// Never captured, whatever else is said.
    pub withheld: Vec<WithheldPath>,
    /// The contents of a clean git work tree need not be archived: its commit has them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_commit: bool,
    /// It is the state of agents, and has archives of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub state: bool,
    /// Public keys that agents' credentials are encrypted to; without any they are withheld.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recipients: Vec<String>,
    /// Secret places of this machine, compared by device and inode: a file or directory below the root that is one of them, or lies in one,
    /// is skipped under any name (a hard link, a bind mount).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guarded: Vec<ByteString>,
    /// Which machine the root lies on, when it is another one, in letters that say nothing else: the same directory may have several
    /// addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Location of the root's files, when it is on another machine that shows those of a volume or of a bound directory: containers that show
    /// the same ones have the same location. A path of this machine if they lie on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<ByteString>,
    /// The root takes names that differ in case only for one, so excludes and places match in any case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folds: bool,
    /// Its captures read snapshots of the file system itself, as far as they can be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeUse>,
}

/// What a snapshot of the file system itself is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NativeUse {
    /// A capture reads it, and it goes when the archive is whole. Without one the files are read as they are.
    Source,
    /// It is the snapshot: contents stay in it and are in no archive. Without one nothing is captured.
    Itself,
}

/// Returns the root, or its location on `machine`, which is the same for all addresses of it.
#[must_use]
pub fn ground(root: &ByteString, machine: Option<&str>) -> PathBuf {
    let whole = &root.0;
    let address = whole.windows(3).position(|part| part == b"://");
    let path = address.and_then(|at| {
        let rest = whole.get(at + 3..)?;
        // A volume's own path ends where the path in it would begin.
        rest.get(rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len())..)
    });
    match (machine, path) {
        (Some(machine), Some(path)) => {
            let ground = ByteString([b"machine/", machine.as_bytes(), path].concat());
            ground.to_path()
        }
        _ => root.to_path(),
    }
}

impl Coverage {
    /// Returns the root, or its location on its machine, which is the same for all addresses of it.
    #[must_use]
    pub fn ground(&self) -> PathBuf {
        ground(&self.root, self.machine.as_deref())
    }

    /// Returns the path of this machine, or the location in a storage, at which the files lie; the root itself if nothing else is known.
    #[must_use]
    pub fn stored_at(&self) -> PathBuf {
        self.storage.as_ref().unwrap_or(&self.root).to_path()
    }

    /// Returns this root and another one in comparable form, if one lies in the other: as paths, as addresses of one machine, as locations in
    /// one storage, or as `locations` that mounts of this machine show under two paths.
    #[must_use]
    pub fn common(&self, other: &Self, locations: &Locations) -> Option<(PathBuf, PathBuf)> {
        let below = |(a, b): &(PathBuf, PathBuf)| {
            let below = |path: &Path, place| path.strip_prefix(place).ok().map(Path::to_path_buf);
            let (inner, outer) = (below(a, b), below(b, a));
            (inner.is_some() || outer.is_some()).then_some((inner, outer))
        };
        let named = (self.root.to_path(), other.root.to_path());
        if named.0 == named.1 {
            return Some(named);
        }
        let there = (self.ground(), other.ground());
        let stored = (self.stored_at(), other.stored_at());
        let located = locations.of(&stored.0).zip(locations.of(&stored.1));
        let mut by_name = [named, there, stored].into_iter();
        let by_name = by_name.find(|pair| below(pair).is_some());
        match (located.filter(|pair| below(pair).is_some()), by_name) {
            // The inner one shows another part of the outer one than its path says, or the same.
            (Some(located), Some(by_name)) if below(&located) == below(&by_name) => Some(by_name),
            (located, by_name) => located.or(by_name),
        }
    }

    /// Returns the same if a place of one coverage is, contains or lies in a place of the other. Of a home only the directories of agents
    /// are covered.
    #[must_use]
    pub fn meeting(&self, other: &Self, locations: &Locations) -> Option<(PathBuf, PathBuf)> {
        let (in_own, in_other) = self.common(other, locations)?;
        let (own, others) = (self.places_in(&in_own), other.places_in(&in_other));
        let touch = |one: &PathBuf, other: &PathBuf| one.starts_with(other) || other.starts_with(one);
        let meet = own.iter().any(|one| others.iter().any(|other| touch(one, other)));
        meet.then_some((in_own, in_other))
    }

    /// Returns the roots in the same form if an agent with the other mount may write a place of this coverage ([`Self::reach_in`]).
    #[must_use]
    pub fn reached_from(&self, other: &Self, locations: &Locations) -> Option<(PathBuf, PathBuf)> {
        let common = self.common(other, locations);
        let (in_own, in_other) = common.or_else(|| self.seen_below(other, locations))?;
        let (own, reach) = (self.places_in(&in_own), other.reach_in(&in_other, self));
        let touch = |one: &PathBuf, other: &PathBuf| one.starts_with(other) || other.starts_with(one);
        let meet = own.iter().any(|one| reach.iter().any(|other| touch(one, other)));
        meet.then_some((in_own, in_other))
    }

    /// Returns the roots in the same form if a mount below the other root shows this one, or a part of it.
    fn seen_below(&self, other: &Self, locations: &Locations) -> Option<(PathBuf, PathBuf)> {
        let (root, outer) = (self.stored_at(), other.stored_at());
        let mut mounted = locations.mounted_below(&outer).peekable();
        mounted.peek()?;
        let own = locations.of(&root)?;
        mounted.find_map(|(point, shown)| {
            let inner = own.strip_prefix(shown).ok();
            let inner = inner.map(|below| (point.join(below), outer.clone()));
            let part = || {
                let below = shown.strip_prefix(&own).ok()?;
                // Its tracked paths lie elsewhere.
                let is_whole = other.reach_in(&outer, self) == [outer.clone()];
                is_whole.then(|| (root.clone(), root.join(below)))
            };
            inner.or_else(part)
        })
    }

    /// Returns the paths at and below which an agent with this mount may write as `beside` sees it, for a root at `root`. Tracked paths narrow
    /// what is captured, not what the agent may write; but where both sessions have some, the operator separated their agents by them. Of
    /// a home only the directories of agents are meant.
    #[must_use]
    pub fn reach_in(&self, root: &Path, beside: &Self) -> Vec<PathBuf> {
        let is_narrowed = |coverage: &Self| !coverage.state && !coverage.tracked.is_empty();
        match self.state || (is_narrowed(self) && is_narrowed(beside)) {
            true => self.places_in(root),
            false => vec![root.to_path_buf()],
        }
    }

    /// Returns true for a path that was forgotten, or lies below one.
    #[must_use]
    pub fn has_forgotten(&self, path: &RelPath) -> bool {
        let mut forgotten = self.withheld.iter();
        forgotten.any(|own| own.reason == WithheldReason::Forgotten && path.is_within(&own.path))
    }

    /// Returns the host paths at and below which the coverage lies.
    #[must_use]
    pub fn places(&self) -> Vec<PathBuf> {
        self.places_in(&self.root.to_path())
    }

    /// Returns the same paths for a root at `root`.
    #[must_use]
    pub fn places_in(&self, root: &Path) -> Vec<PathBuf> {
        match self.tracked.as_slice() {
            [] => vec![root.to_path_buf()],
            some => some.iter().map(|path| path.on_host(root)).collect(),
        }
    }

    /// Returns the coverage of everything at and below `root`.
    #[must_use]
    pub fn new(label: impl Into<String>, root: impl Into<ByteString>) -> Self {
        Self {
            label: label.into(),
            root: root.into(),
            excludes: Vec::new(),
            tracked: Vec::new(),
            withheld: Vec::new(),
            by_commit: false,
            state: false,
            recipients: Vec::new(),
            guarded: Vec::new(),
            machine: None,
            storage: None,
            folds: false,
            native: None,
        }
    }

    /// Returns a coverage without a root, for questions about these excludes alone.
    #[must_use]
    pub fn of_rules(rules: &[ExcludeRule]) -> Self {
        Self {
            excludes: rules.to_vec(),
            ..Self::new("", ByteString::default())
        }
    }
}
