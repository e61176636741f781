//! Unified patch of one change: text line by line; binary, large and secret content is only mentioned.

use std::path::Path;
use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};

use super::mask::masked;
use super::secret_lines::{holds_key, without_secrets};
use super::{Change, ChangeKind};
use crate::contract::is_named_secret;
use crate::model::{Entry, EntryKind, RelPath};

/// Content of one side, as far as the caller could load it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// There is none on this side.
    Absent,
    /// All bytes.
    Bytes(Vec<u8>),
    /// More than is shown; the size in bytes.
    Large(u64),
    /// The content could not be loaded; the reason.
    Unavailable(String),
}

/// Options for a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatchOptions {
    /// Unchanged lines around a change.
    pub context: usize,
    /// True to show content that only its owner may read, or that usually holds secrets.
    pub show_secrets: bool,
    /// True to hide the content in any case.
    pub hides: bool,
}

/// Kind of a line in a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Unchanged.
    Context,
    /// Only in the later state.
    Added,
    /// Only in the earlier state.
    Removed,
    /// `@@ … @@`.
    Hunk,
    /// The last line has no newline.
    NoNewline,
}

/// Content part of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// No content to show: a directory, or only metadata differ.
    Nothing,
    /// Lines without their newline, as raw bytes: the caller makes them safe to print.
    Lines(Vec<(Line, Vec<u8>)>),
    /// At least one side is no text; sizes in bytes.
    Binary(u64, u64),
    /// At least one side is too large to show; sizes in bytes.
    Large(u64, u64),
    /// Content that is not shown without `--show-secrets`.
    Hidden,
    /// Content that could not be loaded.
    Unavailable(String),
}

/// Patch of one change, with its line counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The part to print.
    pub body: Body,
    /// Added lines.
    pub added: u64,
    /// Removed lines.
    pub removed: u64,
}

/// Maximum bytes of a file that is compared line by line.
pub const MAX_TEXT: u64 = 4 << 20;

/// Time limit for one file; a slow pair is then shown more coarsely, never wrongly.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// Returns true if the content of this path below the mount root `root` is hidden by default: only its owner may read it, or files of its
/// name or in its place usually hold secrets ([`is_named_secret`]).
#[must_use]
pub fn is_secret_path(root: &Path, path: &RelPath, entry: Option<&Entry>) -> bool {
    let is_private = entry.is_some_and(|entry| entry.content().is_some() && entry.mode & 0o077 == 0);
    is_private || is_named_secret(root, path)
}

/// Content of both sides of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// No content: a directory, or only metadata differ.
    Nothing,
    /// Content that is not shown without `--show-secrets`.
    Hidden,
    /// Content that could not be loaded.
    Unavailable(String),
    /// At least one side is too large; sizes in bytes.
    Large(u64, u64),
    /// Both sides; empty where there is none.
    Both(Vec<u8>, Vec<u8>),
    /// Both sides, with a placeholder for each secret value. They are for display only.
    Masked(Vec<u8>, Vec<u8>),
}

/// Returns both sides of one change below the mount root `root`. `load` returns the content of the earlier (`false`) or the later (`true`) side; it is called
/// only if content will be shown.
pub fn contents(
    root: &Path,
    change: &Change,
    options: PatchOptions,
    mut load: impl FnMut(bool) -> Content,
) -> Contents {
    let has_content = |entry: &Option<Entry>| {
        entry
            .as_ref()
            .is_some_and(|entry| matches!(entry.kind, EntryKind::File(_) | EntryKind::Symlink(_)))
    };
    let same = match (&change.from, &change.to) {
        (Some(from), Some(to)) => from.kind == to.kind,
        _ => false,
    };
    if same || change.kind == ChangeKind::Renamed || !(has_content(&change.from) || has_content(&change.to)) {
        return Contents::Nothing;
    }
    let from_path = change.from_path.as_ref().unwrap_or(&change.path);
    let secret = change.has_secret_name
        || is_secret_path(root, &change.path, change.to.as_ref())
        || is_secret_path(root, from_path, change.from.as_ref());
    if options.hides || (secret && !options.show_secrets) {
        return Contents::Hidden;
    }
    let mut side = |entry: &Option<Entry>, later: bool| match entry.as_ref().map(|entry| &entry.kind) {
        Some(EntryKind::File(_)) => load(later),
        Some(EntryKind::Symlink(target)) => Content::Bytes(target.to_vec()),
        _ => Content::Absent,
    };
    match (side(&change.from, false), side(&change.to, true)) {
        (Content::Unavailable(why), _) | (_, Content::Unavailable(why)) => Contents::Unavailable(why),
        (old @ Content::Large(_), new) | (old, new @ Content::Large(_)) => {
            Contents::Large(size(&old), size(&new))
        }
        (old, new) => {
            let (old, new) = (bytes(old), bytes(new));
            let hosts = [from_path, &change.path].map(|path| path.on_host(root));
            let [from_host, host] = [&hosts[0], &hosts[1]];
            let masked = (!options.show_secrets).then(|| without_secrets([from_host, host], [&old, &new]));
            match masked.flatten() {
                Some([old, new]) => Contents::Masked(old, new),
                None => Contents::Both(old, new),
            }
        }
    }
}

/// Returns the patch of one change below the mount root `root`. `load` is that of [`contents`].
pub fn patch(
    root: &Path,
    change: &Change,
    options: PatchOptions,
    load: impl FnMut(bool) -> Content,
) -> Patch {
    patch_of(&contents(root, change, options, load), options)
}

/// Returns the patch between both sides of a change.
#[must_use]
pub fn patch_of(contents: &Contents, options: PatchOptions) -> Patch {
    let plain = |body| Patch {
        body,
        added: 0,
        removed: 0,
    };
    match contents {
        Contents::Nothing => plain(Body::Nothing),
        Contents::Hidden => plain(Body::Hidden),
        Contents::Unavailable(why) => plain(Body::Unavailable(why.clone())),
        Contents::Large(old, new) => plain(Body::Large(*old, *new)),
        Contents::Both(old, new) if is_binary(old) || is_binary(new) => {
            plain(Body::Binary(old.len() as u64, new.len() as u64))
        }
        Contents::Both(old, new) | Contents::Masked(old, new) => lines(old, new, options),
    }
}

/// Returns true if a line of the text holds a login, which [`texts`] hides, or if the text holds a private key.
#[must_use]
pub fn holds_passwords(text: &[u8]) -> bool {
    split(text).into_iter().any(|line| masked(line) != line) || holds_key(text)
}

/// Returns the patch between two texts that belong to no snapshot, without passwords in addresses.
#[must_use]
pub fn texts(old: &[u8], new: &[u8], context: usize) -> Patch {
    let options = PatchOptions {
        context,
        show_secrets: false,
        hides: false,
    };
    lines(old, new, options)
}

fn size(content: &Content) -> u64 {
    match content {
        Content::Bytes(bytes) => bytes.len() as u64,
        Content::Large(size) => *size,
        Content::Absent | Content::Unavailable(_) => 0,
    }
}

fn bytes(content: Content) -> Vec<u8> {
    match content {
        Content::Bytes(bytes) => bytes,
        _ => Vec::new(),
    }
}

/// Returns true if the first 8000 bytes hold a NUL, as git decides.
#[must_use]
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8000).any(|b| *b == 0)
}

/// Splits the text into lines with their newlines. A carriage return is a part of its line, as for diff(1) and patch(1).
pub(super) fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Returns the patch between two texts; [`PatchOptions::show_secrets`] shows passwords in addresses.
#[must_use]
pub fn lines(old: &[u8], new: &[u8], options: PatchOptions) -> Patch {
    let shown = |text: &[u8]| match options.show_secrets {
        true => text.to_vec(),
        false => masked(text),
    };
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(PATIENCE)
        .diff_slices(&split(old), &split(new));
    let mut out = Vec::new();
    let (mut added, mut removed) = (0, 0);
    for hunk in diff.unified_diff().context_radius(options.context).iter_hunks() {
        out.push((Line::Hunk, hunk.header().to_string().into_bytes()));
        for change in hunk.iter_changes() {
            let line = match change.tag() {
                ChangeTag::Equal => Line::Context,
                ChangeTag::Insert => Line::Added,
                ChangeTag::Delete => Line::Removed,
            };
            added += u64::from(line == Line::Added);
            removed += u64::from(line == Line::Removed);
            let text: &[u8] = change.value();
            match text.strip_suffix(b"\n") {
                Some(text) => out.push((line, shown(text))),
                None => out.extend([(line, shown(text)), (Line::NoNewline, Vec::new())]),
            }
        }
    }
    Patch {
        body: Body::Lines(out),
        added,
        removed,
    }
}
