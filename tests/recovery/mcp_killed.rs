//! Restores that an agent made and that were killed: the warnings about them, and the author of the changes once the session is over.

use std::fs;
use std::path::Path;

use crate::support::compare::assert_same_tree;
use crate::support::machine::{binary, has_points, skip};
use crate::support::mcp::{ALLOWED, workspace};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Speaks to `mcp` from a session, as an agent does. `RPC '{…}'` calls a tool, and prints what came back.
const RPC: &str = r#"RPC() { printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"m","version":"1"}}}' '{"jsonrpc":"2.0","method":"notifications/initialized"}' "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":$1}" | "$JACKIN" recovery mcp; }; "#;

/// A session whose agent went back to its snapshot and was killed at `point` of that.
fn torn(sandbox: &Sandbox, project: &Path, point: &str, more: &str) -> Run {
    for number in 1..=6 {
        fs::write(project.join(format!("f{number}")), format!("orig {number}\n")).unwrap();
    }
    let script = format!(
        "{RPC} for i in 1 2 3 4; do echo first > f$i; done; rm a; echo n > n1
         RPC '{{\"name\":\"snapshot_create\",\"arguments\":{{\"name\":\"one\"}}}}'
         for i in 1 2 3 4; do echo second > f$i; done; echo n > n2; rm n1
         JACKIN_RECOVERY_FAIL_AT={point} RPC '{{\"name\":\"snapshot_restore\",\"arguments\":{{\"name\":\"one\"}}}}'
         {more}
         true"
    );
    let words = ["launch", "shop", "--", "bash", "-c", &script];
    let run = sandbox.command(words).with("JACKIN", binary());
    run.inside(project).run().ok()
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn what_a_killed_restore_left_to_the_end_is_the_sessions_once_it_is_taken_back() {
    if !has_points() {
        return skip("points", "the program was built without points to fail at");
    }
    for point in ["move:3", "moved"] {
        let (sandbox, project) = workspace(ALLOWED);
        let before = {
            for number in 1..=6 {
                fs::write(project.join(format!("f{number}")), format!("orig {number}\n")).unwrap();
            }
            Tree::read(&project)
        };
        torn(&sandbox, &project, point, "");
        sandbox.jackin(["abort", "--yes", &sandbox.newest()]).ok();
        for number in 1..=4 {
            let now = fs::read_to_string(project.join(format!("f{number}"))).unwrap();
            assert_eq!(now, "second\n", "{point}");
        }
        sandbox.jackin(["restore", "--yes", &sandbox.newest()]).ok();
        assert_same_tree(&before, &Tree::read(&project));
        // What the operator makes of it afterwards is no work of the session.
        sandbox.jackin(["undo", "--yes", &sandbox.newest()]).ok();
        fs::write(project.join("f1"), "of the operator\n").unwrap();
        sandbox
            .jackin(["restore", "--yes", &sandbox.newest()])
            .code(6)
            .has("f1: changed after the session");
    }
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn whoever_looks_is_told_of_a_restore_that_was_killed() {
    if !has_points() {
        return skip("points", "the program was built without points to fail at");
    }
    let (sandbox, project) = workspace(ALLOWED);
    let looks = r#"for call in snapshot_list session_checkpoints snapshot_diff snapshot_create; do
            RPC "{\"name\":\"$call\",\"arguments\":{}}" | grep -c "interrupted.*some new until it is finished or aborted" | sed "s/^/$call /"
        done; "$JACKIN" recovery checkpoint --name torn"#;
    let run = torn(&sandbox, &project, "move:3", looks);
    for told in [
        "snapshot_list 1",
        "session_checkpoints 1",
        "snapshot_diff 1",
        "snapshot_create 1",
    ] {
        run.has(told);
    }
    let id = sandbox.newest();
    let said = run.said();
    // Once by the checkpoint, once by the end of the session, which proposes no restore that would be refused.
    assert_eq!(said.matches("was interrupted").count(), 2, "{run}");
    run.has(&format!("resume {id}")).has(&format!("abort {id}"));
    assert!(!said.contains("to undo:"), "{run}");
    for words in [
        &["export", &id, sandbox.scratch("x.tar.zst").to_str().unwrap()][..],
        &["rename", &id, "torn"],
        &["pin", &id],
        &["unpin", &id],
        &["prune", "--dry-run"],
        &[
            "restore",
            &id,
            "--to",
            sandbox.scratch("elsewhere").to_str().unwrap(),
            "--yes",
        ],
    ] {
        sandbox.jackin(words).ok().has("was interrupted");
    }
    sandbox.jackin(["restore", &id, "--yes"]).code(8);
    sandbox.jackin(["abort", &id, "--yes"]).ok();
    sandbox
        .jackin(["restore", &id, "--yes"])
        .ok()
        .hides("was interrupted");
}
