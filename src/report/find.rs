//! `find`: paths in all snapshots, and lines in their contents.

use std::path::PathBuf;

use base64::Engine as _;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Head, HostPathDocument};
use crate::model::{EntryKind, SnapshotKind, Time};
use crate::recovery::{ContentMatch, FoundPath, MatchedLine, Moment, Presence};

/// A snapshot that shows something of a path.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct MomentDocument {
    /// The session.
    pub(crate) instance: String,
    /// The snapshot.
    pub(crate) snapshot: String,
    /// Its kind.
    kind: &'static str,
    /// Its name, if it is a checkpoint with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Time at which it was taken.
    pub(crate) at: Time,
    /// Shortest word that names it in its session.
    #[serde(skip)]
    pub(crate) word: String,
    /// Its kind, which tells whether its session made a change that it shows first.
    #[serde(skip)]
    pub(crate) exact: SnapshotKind,
}

impl MomentDocument {
    fn of(moment: &Moment) -> Self {
        Self {
            instance: moment.session.to_string(),
            snapshot: moment.snapshot.to_string(),
            kind: moment.kind.word(),
            name: moment.name.clone(),
            at: moment.at,
            word: moment.word().to_owned(),
            exact: moment.kind,
        }
    }
}

/// Type of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FoundType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Anything else.
    Other,
}

/// Presence of a path in the live tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PresenceWord {
    /// It exists.
    There,
    /// It was deleted.
    Deleted,
    /// It cannot be looked at, or is on another machine.
    Unknown,
}

/// A line that matches `--content`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct MatchedLineDocument {
    /// Number of the line, from 1.
    pub(crate) line: u64,
    /// Content without its newline.
    text: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    text_bytes: Option<String>,
    /// The content, exactly.
    #[serde(skip)]
    pub(crate) exact: Vec<u8>,
}

impl MatchedLineDocument {
    fn of(line: &MatchedLine) -> Self {
        let is_text = std::str::from_utf8(&line.text).is_ok();
        let encode = || base64::engine::general_purpose::STANDARD.encode(&line.text);
        Self {
            line: line.number,
            text: String::from_utf8_lossy(&line.text).into_owned(),
            text_bytes: (!is_text).then(encode),
            exact: line.text.clone(),
        }
    }
}

/// Lines of the newest version of a path that has any.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct MatchesDocument {
    /// The first snapshot with that version.
    pub(crate) snapshot: MomentDocument,
    /// The lines, at most a hundred.
    pub(crate) lines: Vec<MatchedLineDocument>,
    /// Number of all lines that match.
    pub(crate) count: u64,
}

/// A path that was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct FoundDocument {
    #[serde(flatten)]
    pub(crate) file: HostPathDocument,
    /// Type of the newest version.
    #[serde(rename = "type")]
    kind: FoundType,
    /// Size of the newest version in bytes; none for what is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// The first snapshot that shows the path.
    pub(crate) first: MomentDocument,
    /// The first snapshot that shows the newest version.
    pub(crate) changed: MomentDocument,
    /// The last snapshot that shows the path.
    pub(crate) last: MomentDocument,
    /// Number of versions.
    pub(crate) versions: u64,
    /// Presence of the path in the live tree.
    pub(crate) now: PresenceWord,
    /// The first snapshot that proves that it was deleted; none if it was deleted after the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deleted: Option<MomentDocument>,
    /// Lines that `--content` found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) matches: Option<MatchesDocument>,
}

impl FoundDocument {
    /// Makes the report of a path, with the lines that were found in it.
    pub(crate) fn of(found: &FoundPath, matches: Option<&ContentMatch>) -> Self {
        let (now, deleted) = match &found.now {
            Presence::There => (PresenceWord::There, None),
            Presence::Deleted { seen } => (PresenceWord::Deleted, seen.as_ref()),
            Presence::Unknown => (PresenceWord::Unknown, None),
        };
        Self {
            file: HostPathDocument::new(&found.path),
            kind: match found.entry.kind {
                EntryKind::File(_) => FoundType::File,
                EntryKind::Directory => FoundType::Directory,
                EntryKind::Symlink(_) => FoundType::Symlink,
                _ => FoundType::Other,
            },
            size: found.entry.content().map(|content| content.size),
            first: MomentDocument::of(&found.first),
            changed: MomentDocument::of(&found.changed),
            last: MomentDocument::of(&found.last),
            versions: found.versions,
            now,
            deleted: deleted.map(MomentDocument::of),
            matches: matches.map(|matches| MatchesDocument {
                snapshot: MomentDocument::of(&matches.moment),
                lines: matches.lines.iter().map(MatchedLineDocument::of).collect(),
                count: matches.count,
            }),
        }
    }

    /// Returns the snapshot to take the file from: the one with the lines, else the one with the newest version.
    pub(crate) fn source(&self) -> &MomentDocument {
        self.matches
            .as_ref()
            .map_or(&self.changed, |matches| &matches.snapshot)
    }

    /// Returns the path as the operator types it: relative to the current directory if it lies below.
    pub(crate) fn below(&self, current: &std::path::Path) -> PathBuf {
        match self.file.exact.strip_prefix(current) {
            Ok(below) if !below.as_os_str().is_empty() => below.to_path_buf(),
            _ => self.file.exact.clone(),
        }
    }

    /// Returns true for a file or a symbolic link, which `cat` prints.
    pub(crate) fn is_printed(&self) -> bool {
        matches!(self.kind, FoundType::File | FoundType::Symlink)
    }

    /// Returns true for a directory.
    pub(crate) fn is_directory(&self) -> bool {
        self.kind == FoundType::Directory
    }
}

/// Numbers of a search.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct FindSummary {
    /// Number of snapshots that were read.
    pub(crate) snapshots: u64,
    /// Number of snapshots that are damaged or missing.
    pub(crate) unreadable: u64,
    /// Number of binary files that `--content` passed over.
    pub(crate) binary: u64,
    /// Number of files that `--content` passed over because they are likely to hold secrets.
    pub(crate) secret: u64,
    /// Number of files whose content is damaged or missing.
    pub(crate) unreadable_files: u64,
}

/// `find --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FindDocument {
    #[serde(flatten)]
    head: Head,
    /// The paths, newest change first.
    pub(crate) paths: Vec<FoundDocument>,
    #[serde(flatten)]
    pub(crate) summary: FindSummary,
}

impl FindDocument {
    /// Makes the report.
    pub(crate) fn of(paths: Vec<FoundDocument>, summary: FindSummary) -> Self {
        Self {
            head: Head::default(),
            paths,
            summary,
        }
    }
}
