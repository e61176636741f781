//! Remote machines that hang, never stop sending, or send too slowly to connect.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::machine::write_script;
use crate::support::patience::await_that;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

/// An `ssh` that runs what it is told here, with tools of its own before the usual ones.
struct Machine {
    sandbox: Sandbox,
    project: PathBuf,
    tools: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let project = sandbox.project("far");
        fs::write(project.join("a"), "a\n").unwrap();
        let (carriers, tools) = (sandbox.scratch("carriers"), sandbox.scratch("tools"));
        for directory in [&carriers, &tools] {
            fs::create_dir_all(directory).unwrap();
        }
        let there = format!("{}:/usr/bin:/bin", tools.display());
        // The last word is the command. It ends with the connection as little as a process on another machine does.
        let ssh = [
            "#!/bin/sh",
            "for last; do :; done",
            "exec 3<&0",
            &format!("PATH={there} setsid sh -c \"$last\" <&3 3<&- &"),
            "exec <&- 3<&- >&-",
            "wait $!",
        ];
        let ssh = ssh.map(|line| format!("{line}\n")).concat();
        write_script(&carriers.join("ssh"), &ssh);
        Self {
            sandbox,
            project,
            tools,
        }
    }

    fn tool(&self, name: &str, text: &str) {
        write_script(&self.tools.join(name), &format!("#!/bin/sh\n{text}\n"));
    }

    fn run(&self, seconds: &str, words: &[&str]) -> (Run, Duration) {
        let search = std::env::var("PATH").unwrap_or_default();
        let carriers = self.sandbox.scratch("carriers");
        let address = format!("ssh://box{}", self.project.display());
        let words: Vec<&str> = words
            .iter()
            .map(|word| if *word == "TARGET" { &address } else { *word })
            .collect();
        let began = Instant::now();
        let run = self
            .sandbox
            .command(words)
            .with("PATH", format!("{}:{search}", carriers.display()))
            .with("JACKIN_RECOVERY_TIMEOUT", seconds)
            .run();
        (run, began.elapsed())
    }
}

/// Returns true if a process has this word on its command line.
fn runs(word: &str) -> bool {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .into_iter()
        .any(|line| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes()))
}

#[track_caller]
fn ends(word: &str) {
    await_that(&format!("the end of {word}"), || !runs(word));
}

#[test]
#[cfg_attr(
    not(feature = "remote-shell"),
    ignore = "the feature remote-shell is not built"
)]
fn a_machine_that_never_says_who_it_is_is_given_up() {
    let word = format!("{}", 200_000 + std::process::id());
    let silent = format!("exec sleep {word}");
    let endless = format!("while :; do echo {word}; done # {word}");
    let slow = format!("while :; do echo a; sleep 0.2; done # {word}");
    for (tool, text) in [
        ("jackin-recovery", &silent),
        ("find", &silent),
        ("find", &endless),
        ("find", &slow),
        ("stat", &silent),
    ] {
        let machine = Machine::new();
        machine.tool(tool, text);
        let launch = ["launch", "--snapshot", "project", "TARGET", "--", "true"];
        let (run, took) = machine.run("2", &launch);
        run.refused()
            .shows("ssh://box")
            .shows("within 2 seconds")
            .shows("JACKIN_RECOVERY_TIMEOUT");
        assert!(took < Duration::from_secs(30), "{tool}: {took:?}");
        ends(&word);
    }
}

#[test]
#[cfg_attr(
    not(feature = "remote-shell"),
    ignore = "the feature remote-shell is not built"
)]
fn a_machine_that_falls_silent_is_given_up() {
    let word = format!("{}", 300_000 + std::process::id());
    let machine = Machine::new();
    // It answers as long as nobody looks into the directory.
    let hang = format!(
        "case $PWD in */far*) exec sleep {word};; esac; case \"$*\" in */far*) exec sleep {word};; esac; exec /usr/bin/find \"$@\""
    );
    machine.tool("find", &hang);
    let launch = ["launch", "--snapshot", "project", "TARGET", "--", "true"];
    // A busy machine may take longer than a second to say who it is.
    let mut runs = (0..10).map(|_| machine.run("1", &launch));
    let run = runs.find(|(run, _)| !run.said().contains("did not say who it is"));
    let (run, took) = run.unwrap();
    run.refused()
        .shows("ssh://box")
        .shows("has not answered for 5 seconds");
    assert!(took < Duration::from_secs(60), "{took:?}");
    ends(&word);
}

/// Slow is not silent: whatever flows keeps a connection.
#[test]
#[cfg_attr(
    not(feature = "remote-shell"),
    ignore = "the feature remote-shell is not built"
)]
fn a_machine_that_is_slow_is_waited_for() {
    let machine = Machine::new();
    machine.tool("find", "sleep 0.3; exec /usr/bin/find \"$@\"");
    let begun = ["begin", "--snapshot", "project", "TARGET"];
    let (run, _) = machine.run("20", &begun);
    let id = String::from_utf8_lossy(&run.ok().stdout).trim().to_owned();
    fs::write(machine.project.join("a"), "changed\n").unwrap();
    machine.run("20", &["end", &id]).0.ok();
    machine.run("20", &["restore", &id, "--yes"]).0.ok();
    assert_eq!(fs::read_to_string(machine.project.join("a")).unwrap(), "a\n");
}

#[test]
#[cfg_attr(
    not(feature = "remote-shell"),
    ignore = "the feature remote-shell is not built"
)]
fn a_limit_that_is_none_is_named() {
    let machine = Machine::new();
    for limit in ["0", "-1", "soon", "1e9"] {
        let (run, _) = machine.run(limit, &["explain", "--snapshot", "project", "TARGET"]);
        run.refused()
            .shows("JACKIN_RECOVERY_TIMEOUT must be a number of seconds");
    }
}
