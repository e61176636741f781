//! `completions`, `man`: fitting the program into a shell and a manual.

use clap::Args;

use super::help::VERBS;
use super::values::Shell;

/// Arguments of `completions`.
#[derive(Clone, Copy, Debug, Args)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `man`.
#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// The verb; without it the overview
    #[arg(value_name = "VERB", value_parser = VERBS, hide_possible_values = true)]
    pub verb: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
