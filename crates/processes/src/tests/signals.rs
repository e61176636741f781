//! Signals: ours while we work, the command's while it runs.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::thread;

use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};

use super::{in_own_process, lines, own_process, until};
use crate::{Exit, Interrupts, Invocation, LaunchError, start};

/// Waits for signals, ten seconds at most, and starts nothing that a signal to the group would end for good.
const WAITING: &str = "n=0; while test $n -lt 500; do n=$((n+1)); sleep 0.02; done";

fn run(script: &str, interrupts: &Interrupts) -> Result<Exit, LaunchError> {
    let arguments = [OsString::from("-c"), OsString::from(script)];
    let directory = Path::new("/");
    let invocation = Invocation {
        program: OsStr::new("sh"),
        arguments: &arguments,
        environment: &[],
        directory,
    };
    start(&invocation, interrupts)?.wait().map(|ended| ended.exit)
}

/// Runs a script that notes each line that it says in a file, and sends signals when it has noted so many lines.
fn send_meanwhile(
    script: &str,
    interrupts: &Interrupts,
    send: &(dyn Fn(usize) + Sync),
) -> (Exit, Vec<String>) {
    let scratch = tempfile::tempdir().unwrap();
    let notes = scratch.path().join("notes");
    let script = format!("exec >> '{}'; {script}", notes.display());
    let exit = thread::scope(|scope| {
        scope.spawn(|| {
            for count in 1..=3 {
                until("a note", || lines(&notes).len() >= count);
                send(count);
            }
        });
        run(&script, interrupts).unwrap()
    });
    (exit, lines(&notes))
}

fn send(signal: Signal) {
    kill_process(getpid(), signal).unwrap();
}

#[test]
fn term_and_hangup_go_to_the_command() {
    own_process!(term_and_hangup_go_to_the_command);
    let interrupts = Interrupts::install().unwrap();
    let script = format!("trap 'echo hup' HUP; trap 'echo term; exit 5' TERM; echo ready; {WAITING}");
    let (exit, notes) = send_meanwhile(&script, &interrupts, &|count| match count {
        1 => send(Signal::HUP),
        2 => send(Signal::TERM),
        _ => {}
    });
    assert_eq!(exit, Exit::Code(5));
    assert_eq!(notes, ["ready", "hup", "term"]);
    assert!(!interrupts.requested());
}

#[test]
fn a_command_that_does_not_mind_is_ended() {
    own_process!(a_command_that_does_not_mind_is_ended);
    let script = "echo 1; echo 2; echo 3; exec sleep 60";
    let (exit, _) = send_meanwhile(script, &Interrupts::install().unwrap(), &|count| {
        if count == 3 {
            send(Signal::TERM);
        }
    });
    assert_eq!(exit.status(), 143);
}

#[test]
fn ctrl_c_is_the_command_s_business_however_often() {
    own_process!(ctrl_c_is_the_command_s_business_however_often);
    let interrupts = Interrupts::install().unwrap();
    let script = format!("trap 'echo int' INT; trap 'echo quit; exit 9' QUIT; echo ready; {WAITING}");
    let (exit, notes) = send_meanwhile(&script, &interrupts, &|count| {
        kill_current_process_group(if count == 3 { Signal::QUIT } else { Signal::INT }).unwrap();
    });
    assert_eq!(exit, Exit::Code(9));
    assert_eq!(notes, ["ready", "int", "int", "quit"]);
    assert!(!interrupts.requested());
    // Afterwards it is ours again.
    send(Signal::INT);
    until("the flag", || interrupts.requested());
}

#[test]
fn a_request_to_stop_is_heard_after_the_command() {
    own_process!(a_request_to_stop_is_heard_after_the_command);
    let interrupts = Interrupts::install().unwrap();
    assert_eq!(run("exit 0", &interrupts).unwrap(), Exit::Code(0));
    assert!(!interrupts.requested());
    send(Signal::HUP);
    until("the flag", || interrupts.requested());
    // Somebody wants us to stop: nothing is started any more.
    let error = run("exit 0", &interrupts).unwrap_err();
    assert!(matches!(error, LaunchError::Interrupted { .. }), "{error:?}");
    assert_eq!(error.status(), 125);
}

#[test]
fn a_second_ctrl_c_ends_us() {
    use std::os::unix::process::ExitStatusExt as _;
    let test = concat!(module_path!(), "::a_second_ctrl_c_ends_us");
    if let Some(status) = in_own_process(test, &[]) {
        assert_eq!(status.signal(), Some(2), "{status}");
        return;
    }
    let interrupts = Interrupts::install().unwrap();
    // Also after a command ran in between.
    run("exit 0", &interrupts).unwrap();
    send(Signal::INT);
    until("the flag", || interrupts.requested());
    send(Signal::INT);
    thread::sleep(std::time::Duration::from_secs(5));
}

#[test]
fn quit_has_its_own_effect_again_after_the_command() {
    use std::os::unix::process::ExitStatusExt as _;
    let test = concat!(
        module_path!(),
        "::quit_has_its_own_effect_again_after_the_command"
    );
    // Without a core file.
    if let Some(status) = in_own_process(test, &["sh", "-c", "ulimit -c 0; exec \"$@\"", "sh"]) {
        assert_eq!(status.signal(), Some(3), "{status}");
        return;
    }
    run("exit 0", &Interrupts::install().unwrap()).unwrap();
    send(Signal::QUIT);
    thread::sleep(std::time::Duration::from_secs(5));
}

#[test]
fn what_was_ignored_stays_ignored() {
    own_process!(
        what_was_ignored_stays_ignored,
        "sh",
        "-c",
        "trap '' HUP INT; exec \"$@\"",
        "sh"
    );
    let interrupts = Interrupts::install().unwrap();
    let script = "kill -HUP $$; kill -INT $$; kill -HUP $PPID; kill -INT $PPID; exit 3";
    assert_eq!(run(script, &interrupts).unwrap(), Exit::Code(3));
    send(Signal::HUP);
    send(Signal::INT);
    send(Signal::INT);
    assert!(!interrupts.requested());
    // What was not ignored is heard.
    send(Signal::TERM);
    until("the flag", || interrupts.requested());
}

#[test]
fn a_command_s_status_is_known_where_child_signals_are_ignored() {
    own_process!(
        a_command_s_status_is_known_where_child_signals_are_ignored,
        "env",
        "--ignore-signal=CHLD"
    );
    assert_eq!(
        run("exit 6", &Interrupts::install().unwrap()).unwrap(),
        Exit::Code(6)
    );
}
