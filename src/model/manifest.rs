//! A manifest: every directory of one mount with its entries, what is unknown, and whether absence is proven.

use std::sync::Arc;

use super::{Entry, Name, RelPath, WithheldPath};

/// Reliability of the list of a directory's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// The directory did not change while it was listed: what is not in the list was not there.
    Proven,
    /// The directory kept changing: all listed names existed, others may have existed.
    Unsettled,
    /// The directory could not be listed at all.
    Unreadable,
    /// Only the named children were asked for (`paths` in the configuration).
    Partial,
}

/// Reason in words for a file whose content is stored, and may be none that it ever had.
pub const MIXED: &str = "kept changing while it was read: its bytes may mix two versions";

/// Reason that an object below the mount root is not covered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GapReason {
    /// Unreadable object; the text is the system's.
    Unreadable(String),
    /// Another file system, or a bind mount, begins here.
    MountPoint,
    /// The operator's own secrets (`~/.ssh` and the like).
    Sensitive,
    /// The recovery store itself, or one of its staging directories.
    Store,
    /// Object that came, vanished or changed its type while the snapshot was taken. The snapshot does not say whether it was there.
    Moving,
    /// Object with the name of a restore's staging directory.
    Staging,
    /// A mount of its own that the agent sees read-only.
    Readonly,
    /// Object that the operator deleted from the store with `forget`.
    Forgotten,
}

/// A child that the snapshot knows of but does not hold. A restore never touches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Name within the directory.
    pub name: Name,
    /// Reason for the gap.
    pub reason: GapReason,
}

/// One directory: its path, its entries sorted by name, its gaps sorted by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// Path below the mount root.
    pub path: RelPath,
    /// Reliability of the list: whether an absent name is proven to be absent.
    pub listing: Listing,
    /// True if every name that the directory held is an entry or a gap here. False if excludes left something out, or if only
    /// some children were asked for. While the directory's times are unchanged, its names can be taken from here.
    pub all_named: bool,
    /// Entries, sorted by name, unique.
    pub entries: Vec<Entry>,
    /// Gaps, sorted by name, unique, none of them an entry.
    pub gaps: Vec<Gap>,
}

impl Directory {
    /// Returns the entry called `name`.
    #[must_use]
    pub fn entry(&self, name: &Name) -> Option<&Entry> {
        self.named(name.as_bytes())
    }

    /// Returns the entry with this name in bytes; no entry has what is no name.
    #[must_use]
    pub fn named(&self, name: &[u8]) -> Option<&Entry> {
        let by_name = |entry: &Entry| entry.name.as_bytes().cmp(name);
        let at = self.entries.binary_search_by(by_name).ok()?;
        self.entries.get(at)
    }

    /// Returns the gap called `name`.
    #[must_use]
    pub fn gap(&self, name: &Name) -> Option<&Gap> {
        let at = self.gaps.binary_search_by(|gap| gap.name.cmp(name)).ok()?;
        self.gaps.get(at)
    }
}

/// One mount at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The mount root itself; its name is meaningless.
    pub root: Entry,
    /// Every directory that was entered, the root's first, sorted by path. A later manifest of the same mount shares
    /// those in which nothing changed.
    pub directories: Vec<Arc<Directory>>,
}

/// Adds two sizes in bytes. Sparse files can have any size, so a sum is capped at the largest possible size (`off_t`, and
/// SQLite's numbers, end there too).
#[must_use]
pub fn add_sizes(a: u64, b: u64) -> u64 {
    a.saturating_add(b).min(i64::MAX.unsigned_abs())
}

impl Manifest {
    /// Returns the directory at `path`.
    #[must_use]
    pub fn directory(&self, path: &RelPath) -> Option<&Arc<Directory>> {
        let at = self.directories.binary_search_by(|dir| dir.path.cmp(path)).ok()?;
        self.directories.get(at)
    }

    /// Returns the directory at `path` and all below it, in path order.
    pub fn directories_within<'m>(&'m self, path: &'m RelPath) -> impl Iterator<Item = &'m Arc<Directory>> {
        let first = self.directories.partition_point(|dir| dir.path < *path);
        let from = self.directories.iter().skip(first);
        from.take_while(|dir| dir.path.is_within(path))
    }

    /// Returns true if both hold the same directories in the same memory, so that nothing needs to be compared. `false` proves
    /// nothing.
    #[must_use]
    pub fn shares_all(&self, other: &Self) -> bool {
        let pairs = || self.directories.iter().zip(&other.directories);
        self.root == other.root
            && self.directories.len() == other.directories.len()
            && pairs().all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// Returns the entry at `path`; the root entry for the root.
    #[must_use]
    pub fn entry(&self, path: &RelPath) -> Option<&Entry> {
        match path.split() {
            None => Some(&self.root),
            Some((parent, name)) => self.directory(&parent)?.entry(&name),
        }
    }

    /// Returns the gap at `path`; the root is none.
    #[must_use]
    pub fn gap(&self, path: &RelPath) -> Option<&Gap> {
        let (parent, name) = path.split()?;
        self.directory(&parent)?.gap(&name)
    }

    /// Returns every entry below the root with its path: a directory's entries together, directories in path order.
    pub fn entries(&self) -> impl Iterator<Item = (RelPath, &Entry)> {
        self.directories.iter().flat_map(|dir| {
            dir.entries
                .iter()
                .map(|entry| (dir.path.join(&entry.name), entry))
        })
    }

    /// Returns every gap with its path.
    pub fn gaps(&self) -> impl Iterator<Item = (RelPath, &Gap)> {
        self.directories
            .iter()
            .flat_map(|dir| dir.gaps.iter().map(|gap| (dir.path.join(&gap.name), gap)))
    }

    /// Number of entries.
    #[must_use]
    pub fn entry_count(&self) -> u64 {
        let counts = self.directories.iter().map(|dir| dir.entries.len() as u64);
        counts.sum()
    }

    /// Number of entries and sum of the sizes of regular files (each hard link group once), in bytes. See [`add_sizes`].
    #[must_use]
    pub fn totals(&self) -> (u64, u64) {
        let entries = self.directories.iter().flat_map(|dir| &dir.entries);
        entries.fold((0, 0), |(count, bytes), entry| {
            let size = if entry.link.is_none() {
                entry.content().map_or(0, |c| c.size)
            } else {
                0
            };
            (count + 1, add_sizes(bytes, size))
        })
    }

    /// Returns the paths that make the manifest incomplete within its coverage, each with the reason in words. Agreed omissions
    /// (the operator's secrets, the store) are not listed.
    #[must_use]
    pub fn lacks(&self, agreed: &[WithheldPath]) -> Vec<(RelPath, String)> {
        let mut lacks = Vec::new();
        for dir in &self.directories {
            match dir.listing {
                Listing::Proven | Listing::Partial => {}
                Listing::Unsettled => {
                    lacks.push((dir.path.clone(), "kept changing while it was listed".to_owned()))
                }
                Listing::Unreadable => lacks.push((dir.path.clone(), "cannot be listed".to_owned())),
            }
            for gap in &dir.gaps {
                let path = dir.path.join(&gap.name);
                let is_agreed = match gap.reason {
                    GapReason::Store | GapReason::Readonly => true,
                    // Another name of a secret is not part of the agreement.
                    GapReason::Sensitive => agreed.iter().any(|agreed| agreed.path == path),
                    _ => false,
                };
                if !is_agreed {
                    lacks.push((path, gap.reason.words()));
                }
            }
            for entry in dir.entries.iter().filter(|entry| entry.unstable) {
                lacks.push((dir.path.join(&entry.name), MIXED.to_owned()));
            }
        }
        lacks
    }
}

impl GapReason {
    /// Returns true if an object that is known elsewhere may have changed here, rather than being one that is never captured or was
    /// forgotten.
    #[must_use]
    pub fn may_hide_change(&self) -> bool {
        matches!(self, Self::Unreadable(_) | Self::MountPoint | Self::Moving)
    }

    /// Returns true if the object is certainly there.
    #[must_use]
    pub fn is_there(&self) -> bool {
        matches!(self, Self::Unreadable(_) | Self::MountPoint)
    }

    /// Returns the reason in words, without the path.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Unreadable(words) => format!("cannot be read: {words}"),
            Self::MountPoint => "another mount begins here".to_owned(),
            Self::Sensitive => "skipped: a secret of yours or of an agent".to_owned(),
            Self::Store => "skipped: the recovery store".to_owned(),
            Self::Moving => "came, vanished or changed while the snapshot was taken".to_owned(),
            Self::Staging => "has the name of a restore's staging directory".to_owned(),
            Self::Readonly => "a read-only mount of its own".to_owned(),
            Self::Forgotten => "forgotten: deleted from the store on request".to_owned(),
        }
    }
}
