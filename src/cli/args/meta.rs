//! `completions`, `man`: fitting the program into a shell and a manual.

use std::ffi::OsString;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::help::VERBS;
use super::values::{Shell, some_text};
use crate::cli::generate::CONFIG;

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
    /// The command, or `config` for the configuration [default: the overview]
    #[arg(value_name = "PAGE", value_parser = pages(), hide_possible_values = true)]
    pub verb: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of the hidden verb that completions call.
#[derive(Clone, Debug, Args)]
pub struct CompleteArgs {
    /// Which of the words is to be completed; the program is word 0
    #[arg(value_name = "INDEX")]
    pub index: usize,
    /// The command line up to the cursor
    #[arg(last = true, num_args = 0.., value_name = "WORD")]
    pub words: Vec<OsString>,
}

/// Arguments of the hidden verb that `begin --checkpoint-every` leaves behind.
#[derive(Clone, Debug, Args)]
pub struct CheckpointsArgs {
    /// The session's id
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// Between two checkpoints
    #[arg(value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: u64,
}

fn pages() -> PossibleValuesParser {
    PossibleValuesParser::new(VERBS.into_iter().chain([CONFIG]))
}
