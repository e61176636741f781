//! Kinds of git objects, and the words for them.

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A state of the tree, with its history.
    Commit,
    /// A directory.
    Tree,
    /// The content of a file.
    Blob,
    /// A tag with a message.
    Tag,
}

impl ObjectKind {
    /// Returns the word that git uses.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    pub(super) fn from_word(word: &[u8]) -> Option<Self> {
        let all = [Self::Commit, Self::Tree, Self::Blob, Self::Tag];
        all.into_iter().find(|kind| kind.word().as_bytes() == word)
    }
}
