//! A running session is not restored under its agent's feet (scenario 31, the living half).

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::documents::instances;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// The agents of both would be told apart by nothing.
#[test]
fn a_session_that_begins_beside_another_names_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shared");
    Build::at(&project).file("a", "a\n");
    let words = ["begin", "--snapshot", "project", project.to_str().unwrap()];
    let first = sandbox.jackin(words).ok().hides("also active here");
    let first = String::from_utf8_lossy(&first.stdout).trim().to_owned();
    let second = sandbox.jackin(words).ok();
    let second = second.shows(&format!("{first} is also active here"));
    let second = String::from_utf8_lossy(&second.stdout).trim().to_owned();
    for id in [first, second] {
        sandbox.jackin(["end", &id]).ok();
    }
}

#[test]
fn s31_running_instance_is_refused_with_its_processes() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("running");
    Build::at(&project)
        .file("a", "before\n")
        .file("gone", "gone\n")
        .aged();
    let before = Tree::read(&project);

    let session = Background::launch(&sandbox, &project, "echo agent > a; rm gone");
    let run = sandbox.jackin(["list", "--json"]).ok();
    let all = instances(&run);
    assert_eq!((all.len(), all[0].status.as_str()), (1, "active"), "{run}");
    assert_eq!(all[0].ended_at, None, "{run}");
    let id = all[0].id.clone();

    let damaged = Tree::read(&project);
    let agent = session.agent().to_string();
    sandbox.jackin(["restore", &id, "--yes"]).code(3).shows(&agent);
    let error = sandbox
        .jackin(["restore", &id, "--yes", "--json"])
        .code(3)
        .error();
    assert!(error.to_string().contains(&agent), "{error}");
    sandbox.jackin(["undo", &id, "--yes"]).refused();
    assert_untouched(&damaged, &Tree::read(&project));
    // Looking is allowed.
    sandbox
        .diff(&id, &["--to", "now"])
        .are(&[("modified", "a"), ("deleted", "gone")]);
    sandbox.jackin(["show", &id]).ok().shows(&id);
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    plan.shows("1 to create, 1 to replace")
        .shows("so a restore is refused")
        .hides("to apply");
    sandbox.plan(&id, &[]).touched(&["a", "gone"]);
    assert_untouched(&damaged, &Tree::read(&project));

    session.end().ok();
    let run = sandbox.jackin(["list", "--json"]).ok();
    assert_ne!(instances(&run)[0].status, "active", "{run}");
    assert!(instances(&run)[0].ended_at.is_some(), "{run}");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s31_agent_that_outlives_its_launcher_is_still_active() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("orphan");
    Build::at(&project).file("a", "before\n").aged();

    let mut session = Background::launch(&sandbox, &project, "echo agent > a");
    let id = sandbox.newest();
    session.kill_launcher();
    let damaged = Tree::read(&project);
    sandbox
        .jackin(["restore", &id, "--yes"])
        .code(3)
        .shows(&session.agent().to_string());
    assert_untouched(&damaged, &Tree::read(&project));
    session.kill();
    sandbox.jackin(["restore", &id, "--yes"]).code(6);
}

#[test]
fn s31_other_active_instance_on_the_same_paths_refuses_too() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("busy");
    Build::at(&project).file("sub/a", "before\n").aged();
    let before = Tree::read(&project);
    let ended = sandbox.launch(&project, "echo agent > sub/a");
    let damaged = Tree::read(&project);

    // On a directory below the first one's mount: the paths overlap all the same.
    let session = Background::launch(&sandbox, &project.join("sub"), "true");
    let running = sandbox.newest();
    sandbox
        .jackin(["restore", &ended, "--yes"])
        .code(3)
        .shows(&running);
    assert_same_tree(&damaged, &Tree::read(&project));
    // One on another directory is in nobody's way.
    let elsewhere = sandbox.project("elsewhere");
    let other = Background::launch(&sandbox, &elsewhere, "true");
    session.end().ok();
    sandbox.restore(&ended, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    other.end().ok();
}

#[test]
fn instance_of_begin_is_active_until_end() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("begun");
    Build::at(&project).file("a", "before\n").aged();
    let id = sandbox.begin(&project);
    std::fs::write(project.join("a"), "agent\n").unwrap();
    sandbox.jackin(["restore", &id, "--yes"]).code(3);
    sandbox.jackin(["end", &id]).ok();
    sandbox.restore(&id, &[]).touched(&["a"]);
    sandbox.jackin(["end", "rc-00000000-nothing"]).refused();
}

#[test]
fn agent_itself_may_look_but_not_restore() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("inside");
    Build::at(&project).file("a", "before\n").aged();
    let id = sandbox.launch(&project, "echo agent > a");
    let said = sandbox.scratch("said");
    let script = format!(
        "{{ \"{bin}\" recovery list >/dev/null; echo list $?; \
           \"{bin}\" recovery restore {id} --yes; echo restore $?; \
           \"{bin}\" recovery undo {id} --yes; echo undo $?; \
           echo id $JACKIN_RECOVERY_INSTANCE; }} > '{said}' 2>&1",
        bin = env!("CARGO_BIN_EXE_jackin"),
        said = said.display(),
    );
    let own = sandbox.launch(&project, &script);
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.contains("list 0"), "{said}");
    assert!(!said.contains("restore 0") && !said.contains("undo 0"), "{said}");
    assert!(
        said.contains(&format!("id {own}")),
        "the session knows its name: {own}\n{said}"
    );
    assert_eq!(std::fs::read_to_string(project.join("a")).unwrap(), "agent\n");
}
