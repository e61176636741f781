//! Words that are copied into a shell.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use proptest::prelude::*;

use crate::display::{sanitize, shell};

fn word(bytes: &[u8]) -> String {
    shell::word(OsStr::from_bytes(bytes))
}

#[test]
fn what_is_plain_stays_and_the_rest_is_quoted() {
    for (bytes, shown) in [
        (&b"src/main.rs"[..], "src/main.rs"),
        (b"@latest", "@latest"),
        (b"", "''"),
        (b"a b", "'a b'"),
        (b"it's", "'it'\\''s'"),
        (b"$(rm)", "'$(rm)'"),
        (b"~", "'~'"),
        ("日本".as_bytes(), "'日本'"),
        (b"a\nb'", "$'a\\012b\\047'"),
        (b"\xff\x1b[2J", "$'\\377\\033[2J'"),
    ] {
        assert_eq!(word(bytes), shown);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_shell_reads_the_same_bytes_and_a_terminal_nothing_else(
        bytes in proptest::collection::vec(1_u8.., 0..40)
    ) {
        let shown = word(&bytes);
        prop_assert!(shown.chars().all(sanitize::is_visible), "{shown:?}");
        // Only bash reads `$'…'` on every system of ours.
        let script = format!("printf %s {shown}");
        if let Ok(run) = Command::new("bash").args(["-c", &script]).output() {
            prop_assert_eq!(run.stdout, bytes);
        }
    }
}
