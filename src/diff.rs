//! Diff: two states of a mount become a list of changes. Restore plans from the same list, so what is shown is what
//! is done.

mod change;
mod changed_paths;
mod commits;
mod compare;
mod git_format;
mod hunks;
mod kept_lines;
mod mask;
mod merge;
mod patch;
mod rename;
mod repository;
mod secret_groups;
mod secret_lines;
mod settings;
mod withheld;
mod words;

pub use change::{Change, ChangeKind};
pub use changed_paths::ChangedPaths;
pub use commits::{CommitLine, Commits};
pub use compare::{Comparison, NotCovered, Side, compare, count, count_changes, count_unknown};
pub use git_format::{binary_patch, git_mode, is_refused_by_git, quoted_name};
pub use hunks::{ChangedLine, ChosenHunk, TextHunk, TextHunks};
pub use kept_lines::kept_lines;
pub use mask::{end_of_logins, masked, masks_the_rest};
pub use merge::{MergeLabels, MergeSides, Merged, Overlap, merge};
pub use patch::{
    Body, Content, Contents, Line, MAX_TEXT, Patch, PatchOptions, contents, holds_passwords, is_binary,
    is_secret_path, lines, patch, patch_of, texts,
};
pub use rename::{moved, pair_renames, renames};
pub use repository::{Execution, RefMove, RepositoryChange, compare_repository, hook_places};
pub use secret_groups::{LinkGroup, SecretGroups, link_group, mark_secrets, secret_groups};
pub use secret_lines::{KeyLines, holds_key_or_setting, is_git_configuration, mask_settings};
pub use settings::{Setting, compare_settings, withheld_settings};
pub use withheld::{WithheldChange, WithheldKind, compare_withheld, has_encrypted};
pub use words::{word_changes, word_marks};

/// Text that replaces a hidden value.
pub(crate) const HIDDEN: &str = "(hidden; --show-secrets shows it)";

#[cfg(test)]
pub(crate) mod tests;
