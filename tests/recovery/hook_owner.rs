//! Codex's full-screen client lets a background server run the hooks. The session ends with the client, not with the server.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use crate::support::documents::instances;
use crate::support::machine::{binary, run_tool, skip, tool};
use crate::support::patience::await_that;
use crate::support::sandbox::Sandbox;

/// A process that goes with the test.
struct Going(Child);

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the sessions, newest first, have these states.
#[track_caller]
fn await_states(sandbox: &Sandbox, wanted: &[&str]) {
    await_that(&format!("{wanted:?}"), || {
        let all = instances(&sandbox.jackin(["list", "--json"]));
        all.iter()
            .map(|one| one.status.as_str())
            .eq(wanted.iter().copied())
    });
}

#[test]
fn a_session_ends_with_the_client_and_not_with_its_server() {
    let Some(shell) = tool("dash") else {
        skip("the server of an agent", "dash is not installed");
        return;
    };
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", "");
    fs::write(project.join("a"), "of the operator\n").unwrap();
    // Both are one program, as Codex's are.
    let codex = sandbox.scratch("codex");
    run_tool(Command::new("cp").arg(shell).arg(&codex));
    let start = |directory: &Path, script: &str, words: &[&str]| {
        let mut command = Command::new(&codex);
        command.args(["-c", script]).args(words).env_clear();
        command.env("HOME", sandbox.home()).env("PATH", "/usr/bin:/bin");
        let child = command.current_dir(directory).stdin(Stdio::null()).spawn();
        Going(child.unwrap())
    };
    let wait = "while :; do sleep 0.1; done";
    let client = start(&project, wait, &["codex", "resume"]);
    let elsewhere = start(&sandbox.sources(), wait, &["codex", "resume"]);
    let event = sandbox.scratch("event");
    let facts =
        json!({"session_id": "c1", "cwd": project, "hook_event_name": "SessionStart", "source": "startup"});
    fs::write(&event, facts.to_string()).unwrap();
    let call = sandbox.scratch("call");
    let facts = json!({
        "session_id": "c1", "cwd": project, "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "x"},
    });
    fs::write(&call, facts.to_string()).unwrap();
    let hook = |event: &str, file: &Path| {
        let program = binary().display().to_string();
        format!(
            "'{program}' recovery hook run codex {event} < '{}'",
            file.display()
        )
    };
    let hook = format!(
        "{}; {}; {wait}",
        hook("SessionStart", &event),
        hook("PreToolUse", &call)
    );
    let server = start(
        &sandbox.sources(),
        &hook,
        &["codex", "app-server", "--listen", "unix://"],
    );
    await_states(&sandbox, &["active"]);
    await_that("its baseline", || {
        let all = instances(&sandbox.jackin(["list", "--json"]));
        all[0].snapshots.iter().any(|one| one.kind == "baseline")
    });
    fs::write(project.join("a"), "of the agent\n").unwrap();
    drop(elsewhere);
    thread::sleep(Duration::from_secs(1));
    await_states(&sandbox, &["active"]);
    drop(client);
    await_states(&sandbox, &["ended"]);
    sandbox.jackin(["restore", "@latest", "--any", "--yes"]).ok();
    assert_eq!(
        fs::read_to_string(project.join("a")).unwrap(),
        "of the operator\n"
    );
    drop(server);
    // Without a client, the session is the server's.
    let _server = start(
        &sandbox.sources(),
        &hook,
        &["codex", "app-server", "--listen", "unix://"],
    );
    await_states(&sandbox, &["active", "ended"]);
}

/// The agent is killed after it started a hook, which the first process adopts: every process of the operator descends from that as well.
#[test]
fn a_hook_whose_agent_was_killed_locks_nothing() {
    for in_session_of_its_own in [false, true] {
        let sandbox = Sandbox::new();
        let project = sandbox.captured("shop", "");
        fs::write(project.join("a"), "of the operator\n").unwrap();
        let id = sandbox.launch(&project, "echo agent > a");
        let (event, go, done) = (
            sandbox.scratch("event"),
            sandbox.scratch("go"),
            sandbox.scratch("done"),
        );
        let facts = json!({"session_id": "s", "cwd": project, "source": "startup"});
        fs::write(&event, facts.to_string()).unwrap();
        let hook = format!(
            "while ! [ -e '{}' ]; do sleep 0.05; done; '{}' recovery hook run claude SessionStart < '{}'; echo > '{}'",
            go.display(),
            binary().display(),
            event.display(),
            done.display()
        );
        let start = match in_session_of_its_own {
            true => "setsid sh -c \"$1\" & exec sleep 60",
            false => "sh -c \"$1\" & exec sleep 60",
        };
        // As in a terminal, the agent is in another process session than the first process, which may be in the one of this test.
        let mut agent = Command::new("setsid");
        agent.args(["sh", "-c", start, "sh", &hook]).env_clear();
        agent.env("HOME", sandbox.home()).env("PATH", "/usr/bin:/bin");
        let agent = Going(agent.current_dir(&project).stdin(Stdio::null()).spawn().unwrap());
        await_that("the agent", || !children(agent.0.id()).is_empty());
        drop(agent);
        fs::write(go, "").unwrap();
        await_that("the hook", || done.exists());
        let all = instances(&sandbox.jackin(["list", "--json"]).ok());
        match in_session_of_its_own {
            false => assert_eq!(all.len(), 1, "{all:?}"),
            // Who started it is not known, so there may be a session, which the operator can end.
            true => {
                for one in all.iter().filter(|one| one.status == "active") {
                    sandbox.jackin(["end", &one.id]).ok();
                }
            }
        }
        sandbox.jackin(["restore", &id, "--yes"]).ok();
        assert_eq!(
            fs::read_to_string(project.join("a")).unwrap(),
            "of the operator\n"
        );
    }
}

/// The first process of a container is often a shell: it adopts the hook, and every process of the operator descends from it as well.
#[test]
fn a_hook_that_a_shell_adopted_begins_no_session() {
    let in_container = ["-Urpf", "--mount-proc", "sh", "-c"];
    let mut probe = Command::new("unshare");
    if !probe
        .args(in_container)
        .arg(":")
        .output()
        .is_ok_and(|it| it.status.success())
    {
        skip(
            "a shell as the first process",
            "`unshare` makes no namespaces here",
        );
        return;
    }
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", "");
    let (event, done) = (sandbox.scratch("event"), sandbox.scratch("done"));
    let facts = json!({"session_id": "s", "cwd": project, "source": "startup"});
    fs::write(&event, facts.to_string()).unwrap();
    let hook = format!(
        "while [ \"$(cut -d ' ' -f 4 /proc/$$/stat)\" != 1 ]; do sleep 0.05; done; '{}' recovery hook run claude SessionStart < '{}'; echo > '{}'",
        binary().display(),
        event.display(),
        done.display()
    );
    let first = format!(
        "setsid sh -c 'sh -c \"$1\" & exit 0' sh \"$0\"; while ! [ -e '{}' ]; do sleep 0.05; done",
        done.display()
    );
    let mut container = Command::new("unshare");
    container.args(in_container).args([&first, &hook]).env_clear();
    container.env("HOME", sandbox.home()).env("PATH", "/usr/bin:/bin");
    run_tool(container.current_dir(&project));
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    assert!(all.is_empty(), "{all:?}");
}

/// The children of a process.
fn children(pid: u32) -> String {
    let path = format!("/proc/{pid}/task/{pid}/children");
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn a_session_ends_though_its_lock_is_held_for_a_moment() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    let id = sandbox.begin(&project);
    let lock = sandbox.store().join(format!("locks/instance-{id}"));
    let held = fs::File::create(lock).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let (begun, held_for) = (Instant::now(), Duration::from_secs(2));
    let let_go = thread::spawn(move || {
        thread::sleep(held_for);
        drop(held);
    });
    // A process that has ended.
    let mut client = Command::new("true").spawn().unwrap();
    client.wait().unwrap();
    let client = client.id().to_string();
    sandbox.jackin(["__ending", &id, &client, "0"]).ok();
    assert!(begun.elapsed() >= held_for, "the lock has another name");
    let_go.join().unwrap();
    await_states(&sandbox, &["ended"]);
}
