//! However `ui` ends, the terminal is as it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::build::Build;
use crate::support::machine::has_points;
use crate::support::sandbox::Sandbox;
use crate::support::tmux::Tmux;

fn session() -> (Sandbox, PathBuf, String) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("a.txt", "one\n").aged();
    let id = sandbox.launch(&project, "echo agent > a.txt");
    (sandbox, project, id)
}

/// Runs it, and then says how it ended and how the terminal is set.
const SCRIPT: &str = "stty -a > before; jackin recovery ui; echo code=$?; sleep 1; stty -a > after; sleep 99";

/// Waits until it ended, and looks at the terminal.
#[track_caller]
fn ends_well(tmux: &Tmux, place: &Path, code: &str) {
    if !code.is_empty() {
        tmux.sees(code);
    }
    let begun = Instant::now();
    let read = |name: &str| fs::read_to_string(place.join(name)).unwrap_or_default();
    while read("after").is_empty() && begun.elapsed() < Duration::from_secs(10) {
        sleep(Duration::from_millis(10));
    }
    assert_eq!(read("after"), read("before"));
    tmux.is_plain();
    assert!(
        read("after").contains(" icanon") && read("after").contains(" echo "),
        "{}",
        read("after")
    );
}

/// Processes whose command line holds this word.
fn processes(word: &str, sandbox: &Sandbox) -> Vec<Pid> {
    let home = format!("HOME={}", sandbox.home().display());
    let all = fs::read_dir("/proc").unwrap().flatten();
    let found = all.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let variables = fs::read(entry.path().join("environ")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let is_ours = variables
            .split(|byte| *byte == 0)
            .any(|one| one == home.as_bytes());
        let is_meant = words.first()?.ends_with(b"jackin") && words.contains(&word.as_bytes());
        Pid::from_raw(pid).filter(|_| is_ours && is_meant)
    });
    found.collect()
}

#[track_caller]
fn one(word: &str, sandbox: &Sandbox) -> Pid {
    let found = processes(word, sandbox);
    assert_eq!(found.len(), 1, "{word}");
    found[0]
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn a_panic_in_the_middle_leaves_the_terminal_as_it_was() {
    if !has_points() {
        return;
    }
    for point in ["screen", "screen-work"] {
        let (sandbox, project, id) = session();
        let place = sandbox.scratch("place");
        fs::create_dir(&place).unwrap();
        let variable = format!("JACKIN_RECOVERY_FAIL_AT={point}");
        let Some(tmux) = Tmux::start(&sandbox, &place, (80, 24), SCRIPT, &[&variable]) else {
            return;
        };
        if point == "screen" {
            tmux.sees(&id);
            tmux.press(&["Down"]);
        }
        ends_well(&tmux, &place, "code=1");
        let screen = tmux.screen();
        assert!(
            screen.contains("a test asked for it") && screen.contains("error:"),
            "{screen}"
        );
        assert_eq!(fs::read_to_string(project.join("a.txt")).unwrap(), "agent\n");
    }
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn signals_to_it_and_to_its_child_leave_the_terminal_as_it_was() {
    for (word, signal, code) in [
        ("ui", Signal::TERM, "code="),
        ("__screen", Signal::TERM, "code="),
        ("__screen", Signal::HUP, "code="),
        ("__screen", Signal::KILL, "code=1"),
        // Nobody is left who could: the child sees that, and clears up.
        ("ui", Signal::KILL, ""),
    ] {
        let (sandbox, _, id) = session();
        let place = sandbox.scratch("place");
        fs::create_dir(&place).unwrap();
        let Some(tmux) = Tmux::start(&sandbox, &place, (80, 24), SCRIPT, &[]) else {
            return;
        };
        tmux.sees(&id);
        kill_process(one(word, &sandbox), signal).unwrap();
        ends_well(&tmux, &place, code);
        assert!(processes("__screen", &sandbox).is_empty(), "{word} {signal:?}");
    }
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn it_is_suspended_and_goes_on() {
    let (sandbox, project, id) = session();
    let Some(tmux) = Tmux::start(
        &sandbox,
        &project,
        (80, 24),
        "exec bash --norc --noprofile -i",
        &[],
    ) else {
        return;
    };
    tmux.press(&["jackin recovery ui", "Enter"]).sees(&id);
    tmux.press(&["C-z"]).sees("Stopped");
    tmux.is_plain();
    tmux.press(&["echo typed", "Enter"]).sees("\ntyped");
    tmux.press(&["fg", "Enter"]).sees("INSTANCE");
    tmux.press(&["Enter"]).sees("baseline");
    tmux.press(&["q"]).misses("baseline");
    tmux.is_plain();
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn a_terminal_that_goes_away_takes_it_along() {
    let (sandbox, project, id) = session();
    let Some(tmux) = Tmux::start(&sandbox, &project, (80, 24), "jackin recovery ui", &[]) else {
        return;
    };
    tmux.sees(&id);
    one("__screen", &sandbox);
    tmux.close();
    let begun = Instant::now();
    let is_there = || {
        ["ui", "__screen"]
            .into_iter()
            .any(|word| !processes(word, &sandbox).is_empty())
    };
    while is_there() {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "it goes on without a terminal"
        );
        sleep(Duration::from_millis(20));
    }
}
