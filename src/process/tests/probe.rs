//! The processes of a session: those that try to get away, and those that only look alike.

use std::path::Path;

use super::{Orphan, Scratch, instance, line_of, lines, own_process, until};
use crate::environment::Environment;
use crate::model::{InstanceId, ProcessRef};
use crate::process::{INSTANCE_VARIABLE, Member, Why, caller, members, reference};

fn found(instance: &InstanceId, known: &[ProcessRef]) -> Vec<Member> {
    members(instance, known).unwrap().members
}

fn why(instance: &InstanceId, known: &[ProcessRef], pid: u32) -> Option<Why> {
    found(instance, known)
        .into_iter()
        .find(|member| member.pid == pid)
        .map(|member| member.why)
}

/// A number that a script wrote to a file.
fn pid_in(path: &Path) -> u32 {
    line_of(path).trim().parse().unwrap()
}

#[test]
fn a_process_with_the_id_in_its_environment_belongs() {
    let id = instance("aaaaaaaa");
    let child = Scratch::start("sleep", &["60"], &[(INSTANCE_VARIABLE, id.as_str())]);
    until("exec", || !found(&id, &[]).is_empty());
    let expected = Member {
        pid: child.pid(),
        name: "sleep".into(),
        why: Why::Environment,
    };
    assert_eq!(found(&id, &[]), [expected]);
    // Neither a longer nor a shorter id is this one.
    assert_eq!(found(&instance("aaaaaaab"), &[]), []);
    assert_eq!(found(&InstanceId::parse(&format!("{id}s")).unwrap(), &[]), []);
    drop(child);
    assert_eq!(found(&id, &[]), []);
}

#[test]
fn a_child_with_a_cleared_environment_belongs() {
    let id = instance("bbbbbbbb");
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("pid");
    let script = format!("env -i sleep 60 & echo $! > '{}'; wait", file.display());
    let parent = Scratch::shell(&script, &[(INSTANCE_VARIABLE, id.as_str())]);
    let child = Orphan(pid_in(&file));
    until("exec", || why(&id, &[], child.0) == Some(Why::Descendant));
    assert_eq!(why(&id, &[], parent.pid()), Some(Why::Environment));
}

#[test]
fn a_daemon_that_keeps_its_environment_belongs() {
    let id = instance("cccccccc");
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("pid");
    let script = format!(
        "(setsid sh -c 'echo $$ > \"{}\"; exec sleep 60' &)",
        file.display()
    );
    let mut parent = Scratch::shell(&script, &[(INSTANCE_VARIABLE, id.as_str())]);
    let daemon = Orphan(pid_in(&file));
    parent.0.wait().unwrap();
    assert_eq!(why(&id, &[], daemon.0), Some(Why::Environment));
}

#[test]
fn an_orphan_in_the_session_of_a_dead_recorded_process_belongs() {
    let id = instance("dddddddd");
    let scratch = tempfile::tempdir().unwrap();
    let (leader, orphan) = (scratch.path().join("leader"), scratch.path().join("orphan"));
    let script = format!(
        "echo $$ > '{}'; env -i sh -c 'sleep 60 & echo $! > \"{}\"'; read go",
        leader.display(),
        orphan.display()
    );
    let mut session = Scratch::start("setsid", &["--wait", "sh", "-c", &script], &[]);
    let recorded = reference(pid_in(&leader)).unwrap();
    let orphan = Orphan(pid_in(&orphan));
    // The end of its input lets the leader go.
    drop(session.0.stdin.take());
    session.0.wait().unwrap();
    assert_eq!(
        why(&id, std::slice::from_ref(&recorded), orphan.0),
        Some(Why::Descendant)
    );
    let another = ProcessRef {
        boot: "another".into(),
        ..recorded
    };
    assert_eq!(found(&id, &[another]), []);
}

#[test]
fn only_the_recorded_process_belongs_not_its_successor() {
    let id = instance("eeeeeeee");
    let child = Scratch::start("sleep", &["60"], &[]);
    let recorded = reference(child.pid()).unwrap();
    assert_eq!(
        why(&id, std::slice::from_ref(&recorded), child.pid()),
        Some(Why::Recorded)
    );
    assert_eq!(
        found(
            &id,
            &[ProcessRef {
                start: recorded.start + 1,
                ..recorded
            }]
        ),
        []
    );
}

#[test]
fn a_zombie_does_not_belong() {
    let id = instance("ffffffff");
    let child = Scratch::start("true", &[], &[(INSTANCE_VARIABLE, id.as_str())]);
    let recorded = reference(child.pid()).unwrap();
    until("the zombie", || {
        found(&id, std::slice::from_ref(&recorded)).is_empty()
    });
}

#[test]
fn a_name_that_looks_like_a_row_hides_nothing() {
    let id = instance("gggggggg");
    let script = "printf ') Z 1 (' > /proc/$$/comm; read go";
    let child = Scratch::shell(script, &[(INSTANCE_VARIABLE, id.as_str())]);
    until("the new name", || {
        found(&id, &[]).iter().any(|member| member.name == ") Z 1 (")
    });
    assert_eq!(why(&id, &[], child.pid()), Some(Why::Environment));
}

#[test]
fn the_caller_is_not_counted_but_its_children_are() {
    own_process!(the_caller_is_not_counted_but_its_children_are);
    let id = instance("hhhhhhhh");
    let ourselves = reference(std::process::id()).unwrap();
    let alone = members(&id, std::slice::from_ref(&ourselves)).unwrap();
    assert_eq!((alone.members, alone.caller), (vec![], Some(Why::Recorded)));
    let child = Scratch::start("sleep", &["60"], &[]);
    let with_child = members(&id, &[ourselves]).unwrap();
    assert_eq!(
        with_child
            .members
            .iter()
            .map(|member| member.pid)
            .collect::<Vec<_>>(),
        [child.pid()]
    );
    assert_eq!(members(&id, &[]).unwrap().caller, None);
}

#[test]
fn a_caller_that_unset_the_variable_is_inside_all_the_same() {
    let outer = "JACKIN_RECOVERY_INSTANCE=rc-jjjjjjjj-test";
    // The second shell does not replace itself by the test, for it has something to do afterwards.
    let inner = "JACKIN_RECOVERY_INSTANCE= \"$@\"; exit $?";
    own_process!(
        a_caller_that_unset_the_variable_is_inside_all_the_same,
        "env",
        outer,
        "sh",
        "-c",
        inner,
        "sh"
    );
    let id = instance("jjjjjjjj");
    let mut environment = Environment::default();
    let from_ancestors = caller(&environment);
    assert_eq!(from_ancestors.sessions, [id.as_str()]);
    assert!(from_ancestors.complete);
    // Naming another session does not hide the real one.
    environment
        .variables
        .insert(INSTANCE_VARIABLE.into(), "rc-kkkkkkkk-fake".into());
    assert_eq!(caller(&environment).sessions, ["rc-kkkkkkkk-fake", id.as_str()]);
    let probe = members(&id, &[]).unwrap();
    assert_eq!(probe.caller, Some(Why::Descendant));
    let parent = probe
        .members
        .iter()
        .find(|member| member.why == Why::Environment)
        .unwrap();
    assert_eq!(from_ancestors.ancestors.first(), reference(parent.pid).as_ref());
}

#[test]
fn the_chain_of_parents_reaches_the_top() {
    let caller = caller(&Environment::default());
    assert!(caller.complete);
    let parent = std::os::unix::process::parent_id();
    assert_eq!(caller.ancestors.first().map(|process| process.pid), Some(parent));
    let top = &caller.ancestors.last().unwrap();
    let stat = lines(Path::new(&format!("/proc/{}/status", top.pid)));
    assert!(stat.iter().any(|line| line == "PPid:\t0"), "{stat:?}");
}
