//! Questions to programs of the system, for what no safe library tells.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// Returns what a program prints; `None` if it cannot be started. It gets nothing of this process's environment, and in a process
/// group of its own it gets no signal of the terminal's.
pub(crate) fn ask(program: &str, words: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command
        .args(words)
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::null());
    let answer = command.output().ok()?.stdout;
    Some(String::from_utf8(answer).ok()?.trim().to_owned())
}
