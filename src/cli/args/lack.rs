//! A command line that lacks nothing but an argument that can be chosen from a list.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind as ClapKind};

/// Missing argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// `AGENT`.
    Agent,
}

/// Actions of `hook` on one agent.
const OF_AN_AGENT: [&str; 2] = ["install", "uninstall"];

/// Returns the only argument that is missing, if it can be chosen from a list.
pub(super) fn lacking(error: &clap::Error, verb: Option<&str>) -> Option<Lack> {
    let Some(ContextValue::Strings(missing)) = error
        .get(ContextKind::InvalidArg)
        .filter(|_| error.kind() == ClapKind::MissingRequiredArgument)
    else {
        return None;
    };
    match (missing.as_slice(), verb) {
        ([one], Some(_)) if one == "<AGENT>" => Some(Lack::Agent),
        _ => None,
    }
}

/// Returns the arguments with `word` directly after the command or action that lacks it.
pub fn with_chosen(args: &[OsString], lack: Lack, word: &str) -> Vec<OsString> {
    let commands: &[&str] = match lack {
        Lack::Agent => &OF_AN_AGENT,
    };
    let command = args
        .iter()
        .position(|arg| commands.iter().any(|command| arg == command));
    let mut all = args.to_vec();
    all.insert(command.map_or(args.len(), |at| at + 1), word.into());
    all
}
