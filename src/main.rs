//! The binary: everything it does is in the library.

use std::process::ExitCode;

use jackin_recovery::cli;

fn main() -> ExitCode {
    cli::main(cli::context::arguments(), &cli::context::environment()).into()
}
