//! A question that stays open keeps nobody else from working, and what does hold a lock is named.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::{has_points, skip};
use crate::support::sandbox::Sandbox;
use crate::support::tmux::Tmux;
use crate::support::tree::Tree;

const SIZE: (u16, u16) = (160, 40);

fn project(sandbox: &Sandbox) -> (PathBuf, Tree, String) {
    let project = sandbox.project("asked");
    Build::at(&project).file("a", "before\n").file("b", "b\n").aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > a; rm b");
    (project, before, id)
}

fn ask(sandbox: &Sandbox, project: &Path, words: &str) -> Option<Tmux> {
    let script = format!("jackin recovery {words}; echo \"code $?\"; sleep 60");
    let tmux = Tmux::start(sandbox, project, SIZE, &script, &[])?;
    tmux.sees("[y/N]");
    Some(tmux)
}

#[test]
fn a_restore_and_an_undo_that_wait_for_an_answer_hold_no_lock() {
    let sandbox = Sandbox::new();
    let (project, before, id) = project(&sandbox);
    let Some(tmux) = ask(&sandbox, &project, &format!("restore {id}")) else {
        return;
    };
    // Nothing happened meanwhile.
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert_same_tree(&before, &Tree::read(&project));
    let Some(tmux) = ask(&sandbox, &project, &format!("undo {id}")) else {
        return;
    };
    // Others work there, and then the plan that was shown is no longer sure.
    sandbox.launch(&project, "echo other > c");
    tmux.press(&["y", "Enter"]);
    tmux.sees("changed something here while the question was open");
    tmux.sees("code 1");
    let now = Tree::read(&project);
    assert!(now.has("c") && now.has("b"));
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "before\n");
}

#[test]
fn a_restore_goes_through_beside_one_that_waits_for_an_answer() {
    let sandbox = Sandbox::new();
    let (project, before, id) = project(&sandbox);
    let Some(tmux) = ask(&sandbox, &project, &format!("restore {id}")) else {
        return;
    };
    let elsewhere = sandbox.project("elsewhere");
    Build::at(&elsewhere).file("x", "x\n").aged();
    sandbox.launch(&elsewhere, "echo y > x");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 1");
    assert_same_tree(&before, &Tree::read(&project));
}

/// Changes elsewhere do not invalidate the plan.
#[test]
fn an_answer_counts_although_others_worked_elsewhere() {
    let sandbox = Sandbox::new();
    let (project, before, id) = project(&sandbox);
    let Some(tmux) = ask(&sandbox, &project, &format!("restore {id}")) else {
        return;
    };
    let elsewhere = sandbox.project("elsewhere");
    Build::at(&elsewhere).file("x", "x\n").aged();
    sandbox.launch(&elsewhere, "echo y > x");
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn who_holds_the_lock_is_named_with_the_terminal() {
    if !has_points() {
        return skip("kills at points", "a released program has none");
    }
    let sandbox = Sandbox::new();
    let (project, _, id) = project(&sandbox);
    let restore = sandbox.command(["restore", &id, "--yes"]);
    let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
    assert_eq!(killed.exit(), None, "{killed}");
    let Some(tmux) = ask(&sandbox, &project, &format!("resume {id}")) else {
        return;
    };
    let refused = sandbox.jackin(["abort", &id, "--yes"]).code(1);
    let said = refused.said();
    assert!(said.contains("(jackin) on /dev/pts/"), "{refused}");
    let pid = said.split("process ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(
        fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .unwrap()
            .contains("resume")
    );
    assert!(said.contains(&format!("ps -fp {pid}")), "{refused}");
    tmux.press(&["n", "Enter"]);
    tmux.sees("code 4");
    sandbox.jackin(["resume", &id, "--yes"]).ok();
}
