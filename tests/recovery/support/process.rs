//! Facts about another process: from /proc on Linux, elsewhere from `ps`.

use std::fs;
use std::process::Command;

const IS_LINUX: bool = cfg!(target_os = "linux");

/// The output of `ps` with these words; empty if there is no such process.
fn ps(words: &[&str]) -> String {
    let output = Command::new("ps").args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Columns of one process, without headings.
fn columns(pid: u32, columns: &str) -> String {
    ps(&["-o", columns, "-p", &pid.to_string()])
}

/// The program and its arguments; empty if the process is gone.
pub(crate) fn words(pid: u32) -> Vec<String> {
    if !IS_LINUX {
        return columns(pid, "command=")
            .split_whitespace()
            .map(str::to_owned)
            .collect();
    }
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// True if it runs. A zombie counts as gone: in a container there may be no parent that collects it.
pub(crate) fn lives(pid: u32) -> bool {
    let state = match IS_LINUX {
        true => {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(')').next().unwrap_or_default().trim().to_owned()
        }
        false => columns(pid, "stat=").trim().to_owned(),
    };
    !state.is_empty() && !state.starts_with('Z')
}

/// Every process.
pub(crate) fn all() -> Vec<u32> {
    if !IS_LINUX {
        let listed = ps(&["-A", "-o", "pid="]);
        return listed
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect();
    }
    let names = fs::read_dir("/proc").unwrap().flatten();
    names
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Its children.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let text = match IS_LINUX {
        true => fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default(),
        false => {
            let parent = pid.to_string();
            let listed = ps(&["-A", "-o", "ppid=,pid="]);
            let pairs = listed.lines().filter_map(|line| line.trim().split_once(' '));
            let of_parent = pairs.filter(|(above, _)| *above == parent);
            of_parent
                .map(|(_, child)| child.trim())
                .collect::<Vec<_>>()
                .join(" ")
        }
    };
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Signals that a process treats in a way, as a mask.
#[derive(Clone, Copy)]
pub(crate) enum Signals {
    Ignored,
    Caught,
}

/// Those signals of a process; none if it is gone.
pub(crate) fn signals(pid: u32, which: Signals) -> u64 {
    let (field, column) = match which {
        Signals::Ignored => ("SigIgn:", "ignored="),
        Signals::Caught => ("SigCgt:", "caught="),
    };
    let mask = match IS_LINUX {
        true => {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let mask = status.lines().find_map(|line| line.strip_prefix(field));
            mask.unwrap_or_default().trim().to_owned()
        }
        false => columns(pid, column).trim().to_owned(),
    };
    u64::from_str_radix(&mask, 16).unwrap_or(0)
}
