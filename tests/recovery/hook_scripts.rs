//! Shell scripts that report events: one that is the agent itself ends its session with its own end, one that wraps a hook does not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::documents::{Instance, instances};
use crate::support::machine::{binary, run_tool, skip, tool, write_script};
use crate::support::sandbox::Sandbox;

/// A function of a shell that reports an event of the conversation `c1`, or of none.
fn reports(id: &str) -> String {
    let fields = r#""cwd":"%s","hook_event_name":"%s","source":"startup","prompt":"go","tool_name":"Bash","tool_input":{"command":"rm a"}"#;
    let program = binary().display().to_string();
    format!(
        "h() {{ printf '{{\"session_id\":\"{id}\",{fields}}}' \"$PWD\" \"$1\" | '{program}' recovery hook run claude \"$1\"; }}\n"
    )
}

fn workspace() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", "");
    fs::write(project.join("a"), "of the operator\n").unwrap();
    (sandbox, project)
}

/// Runs a program in the project to its end.
fn run(sandbox: &Sandbox, project: &Path, program: &Path, words: &[&str]) {
    let mut command = Command::new(program);
    command.args(words).env_clear().env("HOME", sandbox.home());
    command.env("PATH", "/usr/bin:/bin").current_dir(project);
    run_tool(command.stdin(Stdio::null()));
}

fn listed(sandbox: &Sandbox) -> Vec<Instance> {
    instances(&sandbox.jackin(["list", "--json"]).ok())
}

#[test]
fn the_session_of_a_script_ends_with_the_script() {
    const WORK: &str = "h SessionStart; h UserPromptSubmit; h PreToolUse; rm a; h PostToolUse; h Stop\n";
    let shell = tool("sh").unwrap();
    for id in ["c1", ""] {
        for starts_itself in [false, true] {
            let (sandbox, project) = workspace();
            let agent = sandbox.scratch("agent.sh");
            let reports = reports(id);
            write_script(&agent, &format!("#!/bin/sh\n{reports}{WORK}"));
            // This test has started it, and goes on as the operator.
            match starts_itself {
                true => run(&sandbox, &project, &agent, &[]),
                false => run(&sandbox, &project, &shell, &[agent.to_str().unwrap()]),
            }
            let all = listed(&sandbox);
            assert_eq!(all.len(), 1, "{all:?}");
            assert_eq!(all[0].status, "lost");
            sandbox.jackin(["hook", "install", "claude", "--yes"]).ok();
            sandbox.jackin(["restore", &all[0].id, "--yes"]).ok();
            assert_eq!(
                fs::read_to_string(project.join("a")).unwrap(),
                "of the operator\n"
            );
        }
    }
}

#[test]
fn a_script_with_parts_in_processes_of_their_own_is_one_agent() {
    let (sandbox, project) = workspace();
    let agent = sandbox.scratch("agent.sh");
    let work = "(h SessionStart; h UserPromptSubmit; h PreToolUse); rm a; (h PostToolUse); x=$(h Stop)\n";
    let seen = sandbox.scratch("seen");
    let list = format!(
        "'{}' recovery list --active > '{}'\n",
        binary().display(),
        seen.display()
    );
    write_script(&agent, &format!("{}{work}{list}", reports("c1")));
    run(
        &sandbox,
        &project,
        &tool("sh").unwrap(),
        &[agent.to_str().unwrap()],
    );
    assert!(fs::read_to_string(seen).unwrap().contains("active"));
    let all = listed(&sandbox);
    assert_eq!(all.len(), 1, "{all:?}");
    sandbox.jackin(["restore", &all[0].id, "--yes"]).ok();
    assert!(project.join("a").exists());
}

#[test]
fn a_script_that_wraps_a_hook_is_not_the_agent() {
    let program = binary().display().to_string();
    for (starter, again) in [("", false), ("sh ", false), ("sh ", true)] {
        for id in ["c1", ""] {
            let (sandbox, project) = workspace();
            let hook = sandbox.scratch("hook.sh");
            let call = format!("'{program}' recovery hook run claude \"$1\" < \"$0.event\"\n");
            let more = if again { call.as_str() } else { "" };
            write_script(&hook, &format!("#!/bin/sh\ncat > \"$0.event\"\n{call}{more}"));
            // The agent's own program is this test.
            let hook = format!("{starter}'{}'", hook.display());
            let say = reports(id).replace(&format!("'{program}' recovery hook run claude"), &hook);
            for event in [
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "Stop",
            ] {
                let line = format!("{say}h {event}; exit 0");
                run(&sandbox, &project, &tool("sh").unwrap(), &["-c", &line]);
                let all = listed(&sandbox);
                assert_eq!(all.len(), 1, "{hook} {event} {all:?}");
                assert_eq!(all[0].status, "active", "{hook} {event}");
            }
            let id = listed(&sandbox)[0].id.clone();
            sandbox.jackin(["restore", &id, "--yes"]).code(3);
        }
    }
}

#[test]
fn a_script_that_reports_two_events_in_one_run_is_not_the_agent() {
    for events in ["SessionStart UserPromptSubmit", "UserPromptSubmit PreToolUse"] {
        let (sandbox, project) = workspace();
        let hook = sandbox.scratch("wrap.sh");
        let each = "for e in \"$@\"; do h \"$e\"; done\n";
        write_script(&hook, &format!("#!/bin/sh\n{}{each}", reports("c1")));
        let line = format!("'{}' {events}; exit 0", hook.display());
        run(&sandbox, &project, &tool("sh").unwrap(), &["-c", &line]);
        let all = listed(&sandbox);
        assert_eq!(all.len(), 1, "{events} {all:?}");
        assert_eq!(all[0].status, "active", "{events}");
    }
}

#[test]
fn scripts_below_a_program_with_the_name_of_an_agent_work_for_it() {
    let Some(shell) = tool("dash") else {
        skip("an agent that is a program", "dash is not installed");
        return;
    };
    let (sandbox, project) = workspace();
    let claude = sandbox.scratch("claude");
    run_tool(Command::new("cp").arg(shell).arg(&claude));
    let worker = sandbox.scratch("worker.sh");
    write_script(
        &worker,
        &format!(
            "{}h SessionStart; h UserPromptSubmit; h PreToolUse\n",
            reports("c1")
        ),
    );
    let seen = sandbox.scratch("seen");
    // The worker that passes the events on is gone, and the agent still there.
    let line = format!(
        "sh '{}'; '{}' recovery list --active > '{}'; exit 0",
        worker.display(),
        binary().display(),
        seen.display()
    );
    run(&sandbox, &project, &claude, &["-c", &line]);
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.contains("active"), "{seen}");
}

/// A script that starts the agent and waits for it.
#[test]
fn a_script_that_wraps_an_agent_is_not_the_agent() {
    let Some(shell) = tool("dash") else {
        skip("an agent that is a program", "dash is not installed");
        return;
    };
    let (sandbox, project) = workspace();
    let program = sandbox.scratch("program");
    run_tool(Command::new("cp").arg(shell).arg(&program));
    let (wrapper, seen) = (sandbox.scratch("agent.sh"), sandbox.scratch("seen"));
    let work = format!(
        "{}h SessionStart; h UserPromptSubmit; h PreToolUse; rm a; exit 0",
        reports("c1")
    );
    let work_file = sandbox.scratch("work");
    fs::write(&work_file, work).unwrap();
    write_script(
        &wrapper,
        &format!(
            "#!/bin/sh\n'{}' -c \"$(cat '{}')\"\n'{}' recovery list > '{}'\n",
            program.display(),
            work_file.display(),
            binary().display(),
            seen.display()
        ),
    );
    run(&sandbox, &project, &wrapper, &[]);
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.contains("lost"), "{seen}");
}
