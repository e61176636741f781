//! Signals that were ignored at the start: a shell's answer.

#[cfg(target_os = "linux")]
use super::own_process;
use crate::ignored_signals::mask;
#[cfg(target_os = "linux")]
use crate::ignored_signals::{HANDLED, ignored};

#[test]
fn signals_that_did_not_come_are_ignored() {
    assert_eq!(mask("1\n2\n3\n15\n25\nend"), Some(0));
    assert_eq!(mask("2\n3\n15\n25\nend"), Some(1));
    assert_eq!(mask("15\n25\nend"), Some(0b111));
}

#[test]
fn an_answer_without_its_end_says_nothing() {
    assert_eq!(mask(""), None);
    assert_eq!(mask("1\n2\n"), None);
    assert_eq!(mask("no such trap\nend"), None);
}

/// Compares the shell's answer with that of Linux' kernel.
#[cfg(target_os = "linux")]
fn assert_as_the_kernel_says(expected: &[i32]) {
    let mask = |signals: &[i32]| {
        signals
            .iter()
            .fold(0_u64, |mask, signal| mask | 1 << (signal - 1))
    };
    let expected = mask(expected);
    assert_eq!(crate::linux::ignored_signals() & mask(&HANDLED), expected);
    assert_eq!(ignored(), Some(expected));
}

#[cfg(target_os = "linux")]
#[test]
fn a_shell_finds_that_no_signal_is_ignored() {
    own_process!(a_shell_finds_that_no_signal_is_ignored);
    assert_as_the_kernel_says(&[]);
    // Handlers of this process are none of the shell's.
    let _interrupts = crate::Interrupts::install().unwrap();
    crate::outlive_file_limit().unwrap();
    assert_eq!(ignored(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_shell_finds_that_nohup_ignores_hangups() {
    own_process!(a_shell_finds_that_nohup_ignores_hangups, "nohup");
    assert_as_the_kernel_says(&[1]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_shell_finds_each_ignored_signal() {
    own_process!(
        a_shell_finds_each_ignored_signal,
        "sh",
        "-c",
        "trap '' HUP INT QUIT TERM XFSZ; exec \"$@\"",
        "sh"
    );
    assert_as_the_kernel_says(&HANDLED);
}

#[cfg(target_os = "linux")]
#[test]
fn a_shell_finds_what_a_background_job_of_a_script_ignores() {
    own_process!(
        a_shell_finds_what_a_background_job_of_a_script_ignores,
        "sh",
        "-c",
        "\"$@\" & wait $!",
        "sh"
    );
    assert_as_the_kernel_says(&[2, 3]);
}
