//! Shells above a process: programs that run commands for another one, and scripts, which may be programs themselves.

use std::path::Path;

use super::caller::Caller;
use super::process_ref::ProcessRef;
use super::shared_table::ProcessTable;
use super::system;

const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "fish"];
/// Programs that only start another one.
const STARTERS: [&str; 5] = ["env", "timeout", "nice", "nohup", "stdbuf"];
/// Length to which the kernel of Linux cuts the name of a process (`TASK_COMM_LEN` in include/linux/sched.h), in bytes.
const LONGEST_NAME: usize = 15;

/// Returns true if a process calls itself a shell, or a program that only starts another one. Such a process
/// runs commands for another one. A script that names its shell in its first line has the script's name.
pub(crate) fn is_shell(table: &ProcessTable, process: &ProcessRef) -> bool {
    let Some(seen) = table.look(process.pid).ok().flatten() else {
        return false;
    };
    let name = seen.name.trim_start_matches('-');
    SHELLS.contains(&name)
        || STARTERS.contains(&name)
        || script(&system::words(process.pid)).is_some_and(|script| {
            let file = Path::new(script).file_name().unwrap_or_default();
            let file = file.as_encoded_bytes();
            file.get(..LONGEST_NAME).unwrap_or(file) == seen.name.as_bytes()
        })
}

/// Returns the shells between the calling process and the program that started it that run a script, nearest first. A part of a script
/// that runs in a process of its own counts as the script. Behind an ancestor that adopted its child nothing is known.
///
/// Returns none if `is_program` recognizes that program by its name: the scripts between run for it.
#[must_use]
pub fn scripts(table: &ProcessTable, caller: &Caller, is_program: &dyn Fn(&str) -> bool) -> Vec<ProcessRef> {
    let ancestors = caller.ancestors.iter();
    let known = ancestors.take(caller.adopted_by.unwrap_or(usize::MAX));
    let mut found: Vec<(Vec<String>, ProcessRef)> = Vec::new();
    for process in known {
        if !is_shell(table, process) {
            let seen = table.look(process.pid).ok().flatten();
            match seen.is_some_and(|seen| is_program(&seen.name)) {
                true => return Vec::new(),
                false => break,
            }
        }
        let words = system::words(process.pid);
        if script(&words).is_none() {
            continue;
        }
        match found.last_mut() {
            Some((last, part)) if *last == words => *part = process.clone(),
            _ => found.push((words, process.clone())),
        }
    }
    found.into_iter().map(|(_, process)| process).collect()
}

/// Returns the script that a command line lets a shell run. `None` for a shell that takes its commands from an argument, a terminal
/// or a pipe.
pub(crate) fn script(words: &[String]) -> Option<&str> {
    let (program, arguments) = words.split_first()?;
    let program = Path::new(program.trim_start_matches('-')).file_name()?;
    if !SHELLS.iter().any(|shell| program == *shell) {
        return None;
    }
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(word) = arguments.next() {
        match word {
            "--" | "-" => return arguments.next(),
            "--rcfile" | "--init-file" => drop(arguments.next()),
            long if long.starts_with("--command") => return None,
            long if long.starts_with("--") => {}
            short if short.starts_with('-') || short.starts_with('+') => {
                if short.starts_with('-') && short.contains(['c', 's', 'i']) {
                    return None;
                }
                // Its argument is the option's name.
                if short.ends_with(['o', 'O']) {
                    arguments.next();
                }
            }
            script => return Some(script),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::script;

    #[test]
    fn a_shell_runs_a_script_if_it_is_given_one() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            script(&words).map(str::to_owned)
        };
        for (line, wanted) in [
            ("sh /x/agent.sh", "/x/agent.sh"),
            ("/bin/sh -e ./agent.sh -c x", "./agent.sh"),
            ("bash -euo pipefail agent x", "agent"),
            ("bash --norc --rcfile r -- -agent", "-agent"),
            ("zsh +o nomatch agent", "agent"),
        ] {
            assert_eq!(of(line).as_deref(), Some(wanted), "{line}");
        }
        for line in [
            "sh",
            "-bash",
            "bash -i",
            "bash -l",
            "sh -c agent.sh",
            "bash -lc agent.sh x",
            "bash -euo pipefail -c x",
            "bash -s x",
            "fish --command=x",
            "python3 agent.py",
            "timeout 3 sh agent.sh",
            "",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
