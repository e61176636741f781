//! A process of our own that goes on when we are done: it has no terminal and holds nothing open.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use super::child_registry;

/// Starts this program anew with these arguments, called `name`, and leaves it behind. Its streams lead nowhere, its directory is the
/// root, no signal of the terminal reaches it. It has these variables as well, and does not have the variable `without`.
///
/// # Errors
/// When our own file cannot be found or started.
pub fn leave_behind(
    name: &str,
    arguments: &[OsString],
    variables: Vec<(OsString, OsString)>,
    without: &str,
) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg0(name)
        .args(arguments)
        .envs(variables)
        .env_remove(without)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    child_registry::leave(&mut command)
}

/// Leaves the terminal's session (setsid(2)); for the process that was left behind.
pub fn leave_terminal() {
    // It fails only for the leader of a group, who has that to itself already.
    let _ = rustix::process::setsid();
}

/// Gives this process the lowest priority (nice(2)).
pub fn yield_to_all() {
    /// Highest number of nice(2).
    const LOWEST: i32 = 19;
    // It is only a courtesy.
    let _ = rustix::process::nice(LOWEST);
}
