//! Prints the licenses of the grammars that color code. `packaging/package` adds them to the notices of third parties.

#![allow(clippy::print_stdout, reason = "its output is its purpose")]

fn main() {
    print!("{}", two_face::acknowledgement::listing().to_md());
}
