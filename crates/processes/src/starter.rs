//! The program that started the calling process, told apart from one that adopted it.

use super::caller::Caller;
use super::process_ref::ProcessRef;
use super::shared_table::ProcessTable;
use super::shell::is_shell;

/// Programs that run as the first process of a machine or a container and start nothing but services.
const FIRST: [&str; 9] = [
    "systemd",
    "init",
    "launchd",
    "tini",
    "docker-init",
    "dumb-init",
    "catatonit",
    "s6-svscan",
    "runit",
];

/// Starter of the calling process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Starter {
    /// This program.
    Program(ProcessRef),
    /// A program that ended since.
    Gone,
    /// It cannot be determined.
    Unknown,
}

/// Returns the program that started the calling process: its nearest ancestor that is no shell.
///
/// The child of a program that ended is adopted by the first process, or by the manager of its user's services, from which every other process
/// descends as well. In a container the first process may be the program itself: `is_program` recognizes it by its name.
#[must_use]
pub fn starter(table: &ProcessTable, caller: &Caller, is_program: &dyn Fn(&str) -> bool) -> Starter {
    let ancestors = &caller.ancestors;
    let known = caller.adopted_by.unwrap_or(ancestors.len());
    let mut started = ancestors.iter().take(known);
    let Some(program) = started.find(|process| !is_shell(table, process)) else {
        // The adopter may be a shell: the first process of a container often is.
        return match caller.adopted_by {
            Some(_) => Starter::Gone,
            None => Starter::Unknown,
        };
    };
    let Some(seen) = table
        .look(program.pid)
        .ok()
        .flatten()
        .filter(|seen| seen.is(program))
    else {
        return Starter::Gone;
    };
    let is_first = program.pid == 1;
    match seen.name.as_str() {
        "systemd" => Starter::Gone,
        name if is_first && FIRST.contains(&name) => Starter::Gone,
        name if is_first && !is_program(name) => Starter::Unknown,
        _ => Starter::Program(program.clone()),
    }
}
