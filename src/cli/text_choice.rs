//! Texts of which only some hunks are restored: both sides of a change, and the file composed of the chosen hunks. The choice itself is
//! made elsewhere, by questions (`hunk_choice`) or by marks on the screen (`line_choice`).

use super::error::{CliError, ErrorKind};
use crate::diff::{ChosenHunk, TextHunks, is_binary};
use crate::model::{Composition, Coverage, Digest, Entry, RelPath};
use crate::recovery::ChosenPaths;
use crate::report::{Change, ChangeKind, Contents, PatchOptions, Sources, contents};
use crate::restore::{Composed, can_be_composed};

/// A text file of which some hunks may be chosen.
pub(super) struct TextChoice<'p> {
    then: &'p Entry,
    now: &'p Entry,
    bytes: [Vec<u8>; 2],
}

/// Parts of a text that were chosen.
pub(super) struct ChosenParts {
    /// The hunks, in the order of the text.
    pub(super) hunks: Vec<ChosenHunk>,
    /// True if mode, owner and attributes are restored too.
    pub(super) metadata: bool,
}

impl<'p> TextChoice<'p> {
    /// Returns the contents of a text file that differs, up to `most` bytes each; `None` if the path is restored as a whole or not at
    /// all.
    pub(super) fn of(
        coverage: &Coverage,
        change: &'p Change,
        sources: &Sources<'_>,
        most: u64,
    ) -> Option<Self> {
        let (then, now) = (change.from.as_ref()?, change.to.as_ref()?);
        if change.kind != ChangeKind::Modified || !can_be_composed(then) || !can_be_composed(now) {
            return None;
        }
        let options = PatchOptions {
            context: 0,
            show_secrets: false,
            hides: false,
        };
        let Contents::Both(old, new) = contents(coverage, change, sources, options, most) else {
            return None;
        };
        let is_text = !is_binary(&old) && !is_binary(&new);
        let is_read = then.content()?.is_of(&old) && now.content()?.is_of(&new);
        (is_text && is_read).then_some(Self {
            then,
            now,
            bytes: [old, new],
        })
    }

    /// Returns the two texts.
    pub(super) fn texts(&self) -> TextHunks<'_> {
        let [then, now] = &self.bytes;
        TextHunks::of(then, now)
    }

    /// Returns the digests of both texts.
    pub(super) fn digests(&self) -> Option<[Digest; 2]> {
        Some([self.then.content()?.digest, self.now.content()?.digest])
    }

    /// Returns true if mode, owner or attributes differ as well.
    pub(super) fn has_metadata(&self) -> bool {
        !self.then.same_metadata(self.now)
    }

    /// Adds the file to the chosen paths, composed of the chosen parts; `all` counts the parts that there are.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] if the composed files are too large together.
    pub(super) fn choose(
        &self,
        chosen: &mut ChosenPaths,
        (coverage, path): (&Coverage, &RelPath),
        texts: &TextHunks<'_>,
        parts: &ChosenParts,
        all: usize,
    ) -> Result<(), CliError> {
        let ChosenParts { hunks, metadata } = parts;
        let taken = hunks.len() + usize::from(*metadata);
        if taken == 0 {
            return Ok(());
        }
        chosen.insert(coverage, path);
        let partial = hunks.iter().filter(|chosen| chosen.edited.is_some()).count();
        if taken == all && partial == 0 {
            return Ok(());
        }
        let Some(over) = self.now.content().map(|content| content.digest) else {
            return Ok(());
        };
        let count = |parts: usize| u32::try_from(parts).unwrap_or(u32::MAX);
        let by = Composition::Hunks {
            chosen: count(taken),
            all: count(all),
            partial: count(partial),
        };
        let like = match self.has_metadata() && !metadata {
            true => self.now,
            false => self.then,
        };
        let like = Entry {
            mtime: self.now.mtime,
            ..like.clone()
        };
        let mut edited = hunks.iter().filter_map(|chosen| chosen.edited.as_deref());
        let is_typed = edited.any(|lines| texts.has_new_line(lines));
        let file = Composed {
            is_typed,
            ..Composed::new(texts.composed(hunks), &like, over, by)
        };
        match chosen.compose(coverage, path, file) {
            true => Ok(()),
            false => Err(CliError::new(
                ErrorKind::Failed,
                "the files of which only some hunks were chosen are too large together; nothing was changed",
            )
            .hint("choose hunks of fewer files at once: name them")),
        }
    }
}
