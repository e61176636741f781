//! An open file: parts of its content, unless they are likely to hold secrets.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::BrowseError;
use super::tree::{SnapshotTree, lock};
use crate::diff::{holds_passwords, is_binary, is_git_configuration, mask_settings};
use crate::model::Content;
use crate::store::OpenContent;

/// Text of at most this size is searched for logins as a whole before it is shown, in bytes. A larger one is searched part by part as it is
/// read, so that the first byte of a log of many gigabytes is there at once.
const WHOLE: u64 = 4 << 20;
/// Size of such a part in bytes.
const PART: u64 = 1 << 20;
/// Bytes before and behind a part that are searched with it: a login is a piece of one line.
const AROUND: u64 = 64 << 10;
/// Bytes that are looked at to find out whether a content is text.
const FIRST: usize = 64 << 10;
/// Verdicts that are kept.
const VERDICTS: usize = 100_000;

/// An open file.
pub struct OpenedFile {
    tree: Arc<SnapshotTree>,
    content: OpenContent,
    /// Verdicts on the parts of a large text; `None` for content that is shown.
    parts: Option<Mutex<HashMap<u64, bool>>>,
}

impl OpenedFile {
    /// Opens a regular file. One that is likely to hold secrets is hidden, unless they are shown.
    pub(super) fn open(
        tree: Arc<SnapshotTree>,
        number: u64,
        shows_secrets: bool,
    ) -> Result<Self, BrowseError> {
        let content = tree.content(number, shows_secrets)?;
        let path = tree.host_path(number)?;
        let mut file = Self {
            content: tree.blobs.open_content(&content)?,
            tree,
            parts: None,
        };
        if !shows_secrets && file.is_text()? {
            if is_git_configuration(&path) {
                file.ensure_no_secret_setting(&path)?;
            }
            if content.size > WHOLE {
                file.parts = Some(Mutex::default());
            } else if file.holds_login(&content)? {
                return Err(BrowseError::Hidden);
            }
        }
        Ok(file)
    }

    /// Returns the size in bytes, holes included.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.content.size()
    }

    pub(super) fn tree(&self) -> &SnapshotTree {
        &self.tree
    }

    pub(super) fn read(&self, at: u64, length: usize) -> Result<Vec<u8>, BrowseError> {
        if let Some(parts) = &self.parts
            && length > 0
        {
            let end = at.saturating_add(length as u64).min(self.content.size());
            for part in at / PART..end.div_ceil(PART) {
                self.ensure_shown(parts, part)?;
            }
        }
        self.bytes(at, length)
    }

    pub(super) fn data_from(&self, at: u64) -> Result<Option<(u64, u64)>, BrowseError> {
        Ok(self.tree.blobs.data_from(&self.content, at)?)
    }

    fn bytes(&self, at: u64, length: usize) -> Result<Vec<u8>, BrowseError> {
        let rest = usize::try_from(self.content.size().saturating_sub(at)).unwrap_or(usize::MAX);
        let mut room = vec![0; length.min(rest)];
        let count = self.tree.blobs.read_at(&self.content, at, &mut room)?;
        room.truncate(count);
        Ok(room)
    }

    fn is_text(&self) -> Result<bool, BrowseError> {
        Ok(!is_binary(&self.bytes(0, FIRST)?))
    }

    /// Fails if a git configuration holds a secret, or is too large to find out.
    fn ensure_no_secret_setting(&self, path: &Path) -> Result<(), BrowseError> {
        let whole = usize::try_from(WHOLE).unwrap_or(usize::MAX);
        match self.size() > WHOLE || mask_settings(path, &self.bytes(0, whole)?).is_some() {
            true => Err(BrowseError::Hidden),
            false => Ok(()),
        }
    }

    /// Searches a text for logins; each content once.
    fn holds_login(&self, content: &Content) -> Result<bool, BrowseError> {
        if let Some(known) = lock(&self.tree.logins).get(&content.digest) {
            return Ok(*known);
        }
        let whole = usize::try_from(WHOLE).unwrap_or(usize::MAX);
        let found = holds_passwords(&self.bytes(0, whole)?);
        let mut known = lock(&self.tree.logins);
        if known.len() >= VERDICTS {
            known.clear();
        }
        known.insert(content.digest, found);
        Ok(found)
    }

    /// Fails if a part of a large text holds a login.
    fn ensure_shown(&self, parts: &Mutex<HashMap<u64, bool>>, part: u64) -> Result<(), BrowseError> {
        let known = lock(parts).get(&part).copied();
        let found = match known {
            Some(known) => known,
            None => {
                let begin = (part * PART).saturating_sub(AROUND);
                let length = usize::try_from(part * PART + PART + AROUND - begin).unwrap_or(0);
                let found = holds_passwords(&self.bytes(begin, length)?);
                let mut known = lock(parts);
                if known.len() >= VERDICTS {
                    known.clear();
                }
                known.insert(part, found);
                found
            }
        };
        match found {
            true => Err(BrowseError::Hidden),
            false => Ok(()),
        }
    }
}
