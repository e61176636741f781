//! `list`, `show`, `diff`: looking, without changing anything.

use std::ffi::OsString;

use clap::{ArgGroup, Args, ValueHint};

use super::values::{Check, Unlock, some_path, some_text};
use crate::recovery::Until;

/// Arguments of `list`.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `show`.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// The session: an id or its prefix, a workspace, a container, or @latest; or what `fork` printed
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Write a self-contained HTML page to FILE, which may only be a page written before; - prints it
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath, conflicts_with = "json")]
    pub html: Option<OsString>,
}

/// How `diff` shows changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffForm {
    /// The paths alone.
    NameOnly,
    /// One line a path: what happened to it. The default.
    NameStatus,
    /// How much changed in each file.
    Stat,
    /// The changed lines.
    Patch,
}

/// Forms of `diff` that are no patch.
const NO_PATCH: [&str; 5] = ["name_only", "name_status", "stat", "json", "html"];

/// Arguments of `diff`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("form").args(["name_only", "name_status", "stat", "patch", "json", "html"]))]
pub struct DiffArgs {
    /// The session: an id or its prefix, a workspace, a container, or @latest; inside a session it may be left out
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// Only these paths and what lies below them
    #[arg(value_name = "PATH", value_parser = some_path(), value_hint = ValueHint::AnyPath)]
    pub paths: Vec<OsString>,
    /// Print only the paths, one a line
    #[arg(long)]
    pub name_only: bool,
    /// One line a path: what happened to it (the default)
    #[arg(long)]
    pub name_status: bool,
    /// How much changed in each file
    #[arg(long)]
    pub stat: bool,
    /// Print a patch that `git apply` takes; what git cannot express is in lines that begin with #
    #[arg(long)]
    pub patch: bool,
    /// Show N unchanged lines around each change [default: 3]; implies --patch
    #[arg(short = 'U', long, value_name = "N", conflicts_with_all = NO_PATCH)]
    pub unified: Option<usize>,
    /// Mark changed words as [-old-] and {+new+}; implies --patch, but is not for `git apply`
    #[arg(long, conflicts_with_all = NO_PATCH)]
    pub word_diff: bool,
    /// Include binary files as git encodes them; implies --patch
    #[arg(long, conflicts_with_all = NO_PATCH, conflicts_with = "word_diff")]
    pub binary: bool,
    /// End each path with NUL and print it unquoted, with --name-only or --name-status; not to a terminal
    #[arg(short = 'z', conflicts_with_all = ["stat", "patch", "json", "html", "unified", "word_diff", "binary"])]
    pub nul: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Write a self-contained HTML page to FILE, which may only be a page written before; - prints it
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath)]
    pub html: Option<OsString>,
    /// The earlier snapshot: a kind, a checkpoint's name, or an id or its prefix; without it the baseline
    #[arg(long, value_name = "SNAP", value_parser = some_text())]
    pub from: Option<String>,
    /// The later snapshot, or `now`: the files as they are [default: the closing snapshot; now while the session lives]
    #[arg(long, value_name = "SNAP|now")]
    pub to: Option<Until>,
    /// Compare with the files as they are: what a restore would change
    #[arg(long, conflicts_with = "to")]
    pub now: bool,
    /// Show a renamed file as one deleted and one added
    #[arg(long)]
    pub no_renames: bool,
    /// Exit with 1 when there are differences, as diff(1) does
    #[arg(long)]
    pub exit_code: bool,
    /// Show also what is likely to be a secret: values of settings and, with --patch, the content of files
    #[arg(long)]
    pub show_secrets: bool,
    /// What opens what is encrypted.
    #[command(flatten)]
    pub unlock: Unlock,
    /// How changes are found: `content` reads every file instead of trusting size and times
    #[arg(long, value_enum, value_name = "HOW", hide_possible_values = true)]
    pub check: Option<Check>,
}

impl DiffArgs {
    /// How changes are shown to people.
    #[must_use]
    pub fn form(&self) -> DiffForm {
        let is_patch = self.patch || self.word_diff || self.binary || self.unified.is_some();
        match (self.name_only, self.stat, is_patch) {
            (true, _, _) => DiffForm::NameOnly,
            (_, true, _) => DiffForm::Stat,
            (_, _, true) => DiffForm::Patch,
            _ => DiffForm::NameStatus,
        }
    }
}
