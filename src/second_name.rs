//! The program `jackin-recovery` of a `cargo install`: runs `jackin` beside it under this name, so that it takes its commands directly.
//! Packages have a link in its place. It is no second copy of the program, which would have to be linked again.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

/// Name by which the program knows that it takes its commands directly.
const NAME: &str = "jackin-recovery";
/// Exit code of a command that is not found.
const NOT_FOUND: u8 = 127;

fn main() -> ExitCode {
    let error = replaced();
    let text = format!(
        "error: cannot run the program jackin beside {NAME}: {error}\nhint: install both again, in a clone: cargo install --force --locked --path .\n"
    );
    // Nothing is left to say it with.
    let _ = io::stderr().write_all(text.as_bytes());
    ExitCode::from(NOT_FOUND)
}

/// Replaces this process; returns only with an error.
fn replaced() -> io::Error {
    let beside = || {
        let own = std::env::current_exe()?;
        let program = own.with_file_name("jackin");
        // A link back to this file would run it for ever.
        match program.canonicalize()? == own.canonicalize()? {
            true => Err(io::Error::other("it is a link to this file")),
            false => Ok(program),
        }
    };
    match beside() {
        Ok(program) => Command::new(program)
            .arg0(NAME)
            .args(std::env::args_os().skip(1))
            .exec(),
        Err(error) => error,
    }
}
