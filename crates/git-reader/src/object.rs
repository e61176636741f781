//! Objects: the contents of commits, trees and tags.

use super::Oid;
use super::object_kind::ObjectKind;
use super::reading::Cursor;

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Content of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its tree.
    pub tree: Oid,
    /// Commits that it follows.
    pub parents: Vec<Oid>,
    /// The first line of its message; at most 200 bytes of it.
    pub subject: String,
    /// Time of authorship, in seconds since 1970.
    pub author_time: i64,
    /// Time of the commit, in seconds since 1970.
    pub commit_time: i64,
}

/// A child in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Type and permissions, as git writes them (`0o100644`, `0o40000`, `0o120000`, `0o160000`).
    pub mode: u32,
    /// Its name.
    pub name: Vec<u8>,
    /// Its object; of another repository when it is a submodule.
    pub oid: Oid,
}

/// Maximum bytes of a subject; a longer one is cut.
const LONGEST_SUBJECT: usize = 200;

/// Maximum number of entries in a tree; git itself becomes unusable long before.
const MOST_TREE_ENTRIES: usize = 1_000_000;

impl Commit {
    /// Parses the content of a commit object; `None` if it is invalid.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = Cursor(bytes);
        let tree = Oid::parse(rest.until(b'\n')?.strip_prefix(b"tree ")?)?;
        let (mut parents, mut author_time, mut commit_time) = (Vec::new(), None, None);
        // Without an empty line there is no message.
        while let Some(line) = rest.until(b'\n').filter(|line| !line.is_empty()) {
            if author_time.is_none()
                && let Some(parent) = line.strip_prefix(b"parent ")
            {
                parents.push(Oid::parse(parent)?);
            } else if let Some(person) = line.strip_prefix(b"author ") {
                author_time.get_or_insert(time(person));
            } else if let Some(person) = line.strip_prefix(b"committer ") {
                commit_time.get_or_insert(time(person));
            }
        }
        let mut lines = rest.0.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        let subject = lines.find(|line| !line.is_empty()).unwrap_or_default();
        let subject = subject.get(..LONGEST_SUBJECT).unwrap_or(subject);
        Some(Self {
            tree,
            parents,
            subject: String::from_utf8_lossy(subject).into_owned(),
            author_time: author_time.unwrap_or_default(),
            commit_time: commit_time.unwrap_or_default(),
        })
    }
}

/// Returns the time in `Name <mail> 1700000000 +0100`. An invalid time is 1970, as in git.
fn time(person: &[u8]) -> i64 {
    let after = person.rsplit(|byte| *byte == b'>').next().unwrap_or_default();
    let word = after.split(|byte| *byte == b' ').find(|word| !word.is_empty());
    let text = std::str::from_utf8(word.unwrap_or_default()).unwrap_or_default();
    text.parse().unwrap_or_default()
}

/// Parses the content of a tree object; `None` if it is invalid, or has more than a million entries.
pub(super) fn parse_tree(bytes: &[u8]) -> Option<Vec<TreeEntry>> {
    let mut rest = Cursor(bytes);
    let mut entries = Vec::new();
    while !rest.0.is_empty() {
        let mode = rest.until(b' ')?;
        let name = rest.until(0)?;
        let oid = Oid::from_bytes(rest.array()?);
        let mode = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
        if name.is_empty() || entries.len() == MOST_TREE_ENTRIES {
            return None;
        }
        let name = name.to_vec();
        entries.push(TreeEntry { mode, name, oid });
    }
    Some(entries)
}

/// Returns the kind and the ID of the object that a tag names; `None` if the tag is invalid.
pub(super) fn parse_tag(bytes: &[u8]) -> Option<(ObjectKind, Oid)> {
    let mut rest = Cursor(bytes);
    let oid = Oid::parse(rest.until(b'\n')?.strip_prefix(b"object ")?)?;
    let kind = ObjectKind::from_word(rest.until(b'\n')?.strip_prefix(b"type ")?)?;
    Some((kind, oid))
}
