//! Processes that belong together: those that try to get away, and those that only look alike.

use std::ffi::OsStr;
use std::path::Path;

use super::{Orphan, Scratch, VARIABLE, line_of, lines, own_process, until, value};
use crate::{Member, ProcessRef, ProcessTable, Why, caller, members, reference};

/// A table of which nothing is known yet.
fn now() -> ProcessTable {
    ProcessTable::default()
}

fn found(value: &str, known: &[ProcessRef]) -> Vec<Member> {
    members(&now(), VARIABLE, value, known).unwrap().members
}

fn why(value: &str, known: &[ProcessRef], pid: u32) -> Option<Why> {
    found(value, known)
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
    let id = value("aaaaaaaa");
    let child = Scratch::start("sleep", &["60"], &[(VARIABLE, &id)]);
    until("exec", || !found(&id, &[]).is_empty());
    let expected = Member {
        pid: child.pid(),
        name: "sleep".into(),
        why: Why::Environment,
    };
    assert_eq!(found(&id, &[]), [expected]);
    // Neither a longer nor a shorter id is this one.
    assert_eq!(found(&value("aaaaaaab"), &[]), []);
    assert_eq!(found(&format!("{id}s"), &[]), []);
    drop(child);
    assert_eq!(found(&id, &[]), []);
}

#[test]
fn a_child_with_a_cleared_environment_belongs() {
    let id = value("bbbbbbbb");
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("pid");
    let script = format!("env -i sleep 60 & echo $! > '{}'; wait", file.display());
    let parent = Scratch::shell(&script, &[(VARIABLE, &id)]);
    let child = Orphan(pid_in(&file));
    until("exec", || why(&id, &[], child.0) == Some(Why::Descendant));
    assert_eq!(why(&id, &[], parent.pid()), Some(Why::Environment));
}

#[test]
fn a_daemon_that_keeps_its_environment_belongs() {
    let id = value("cccccccc");
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("pid");
    let script = format!(
        "(setsid sh -c 'echo $$ > \"{}\"; exec sleep 60' &)",
        file.display()
    );
    let mut parent = Scratch::shell(&script, &[(VARIABLE, &id)]);
    let daemon = Orphan(pid_in(&file));
    parent.0.wait().unwrap();
    until("exec", || why(&id, &[], daemon.0) == Some(Why::Environment));
}

#[test]
fn an_orphan_in_the_session_of_a_dead_recorded_process_belongs() {
    let id = value("dddddddd");
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
    let id = value("eeeeeeee");
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
    let id = value("ffffffff");
    let child = Scratch::start("true", &[], &[(VARIABLE, &id)]);
    let recorded = reference(child.pid()).unwrap();
    until("the zombie", || {
        found(&id, std::slice::from_ref(&recorded)).is_empty()
    });
}

#[test]
fn a_name_that_looks_like_a_row_hides_nothing() {
    let id = value("gggggggg");
    let script = "printf ') Z 1 (' > /proc/$$/comm; read go";
    let child = Scratch::shell(script, &[(VARIABLE, &id)]);
    until("the new name", || {
        found(&id, &[]).iter().any(|member| member.name == ") Z 1 (")
    });
    assert_eq!(why(&id, &[], child.pid()), Some(Why::Environment));
}

#[test]
fn the_caller_is_not_counted_but_its_children_are() {
    own_process!(the_caller_is_not_counted_but_its_children_are);
    let id = value("hhhhhhhh");
    let ourselves = reference(std::process::id()).unwrap();
    let alone = members(&now(), VARIABLE, &id, std::slice::from_ref(&ourselves)).unwrap();
    assert_eq!((alone.members, alone.caller), (vec![], Some(Why::Recorded)));
    let child = Scratch::start("sleep", &["60"], &[]);
    let with_child = members(&now(), VARIABLE, &id, &[ourselves]).unwrap();
    assert_eq!(
        with_child
            .members
            .iter()
            .map(|member| member.pid)
            .collect::<Vec<_>>(),
        [child.pid()]
    );
    assert_eq!(members(&now(), VARIABLE, &id, &[]).unwrap().caller, None);
}

#[test]
fn a_caller_that_unset_the_variable_is_inside_all_the_same() {
    let outer = "PROCESS_TEST_NAME=p-jjjjjjjj-test";
    // The second shell does not replace itself by the test, for it has something to do afterwards.
    let inner = "PROCESS_TEST_NAME= \"$@\"; exit $?";
    own_process!(
        a_caller_that_unset_the_variable_is_inside_all_the_same,
        "env",
        outer,
        "sh",
        "-c",
        inner,
        "sh"
    );
    let id = value("jjjjjjjj");
    let from_ancestors = caller(&now(), VARIABLE, None);
    assert_eq!(from_ancestors.values, [id.as_str()]);
    assert!(from_ancestors.complete);
    // Another value does not hide the real one.
    let own = Some(OsStr::new("p-kkkkkkkk-fake"));
    assert_eq!(caller(&now(), VARIABLE, own).values, ["p-kkkkkkkk-fake", &id]);
    let probe = members(&now(), VARIABLE, &id, &[]).unwrap();
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
    let caller = caller(&now(), VARIABLE, None);
    assert!(caller.complete);
    let parent = std::os::unix::process::parent_id();
    assert_eq!(caller.ancestors.first().map(|process| process.pid), Some(parent));
    let top = &caller.ancestors.last().unwrap();
    let stat = lines(Path::new(&format!("/proc/{}/status", top.pid)));
    assert!(stat.iter().any(|line| line == "PPid:\t0"), "{stat:?}");
}

#[test]
fn one_table_sees_what_begins_and_what_ends() {
    let table = now();
    let id = value("mmmmmmmm");
    let living = || members(&table, VARIABLE, &id, &[]).unwrap().members;
    assert_eq!(living(), []);
    // Its row is known before the program runs in it, so the table of another moment is asked when it does.
    let child = Scratch::start("sleep", &["60"], &[(VARIABLE, &id)]);
    until("exec", || !found(&id, &[]).is_empty());
    until("fresh", || !living().is_empty());
    assert_eq!(living().first().map(|member| member.pid), Some(child.pid()));
    assert!(table.reference(child.pid()).is_some());
    let pid = child.pid();
    drop(child);
    assert_eq!(living(), []);
    assert_eq!(table.reference(pid), None);
}

#[test]
fn a_known_row_is_not_read_again() {
    let table = now();
    let child = Scratch::start("sleep", &["60"], &[]);
    let first = table.look(child.pid()).unwrap().unwrap();
    // A name that changed since shows which of the two it is: what was read, or what is there.
    std::fs::write(format!("/proc/{}/comm", std::process::id()), b"looks-again").unwrap();
    let own = table.look(std::process::id()).unwrap().unwrap();
    std::fs::write(format!("/proc/{}/comm", std::process::id()), b"looked").unwrap();
    assert_eq!(table.look(std::process::id()).unwrap(), Some(own));
    let all = table.all().unwrap();
    assert!(all.contains(&first));
    assert!(all.iter().any(|seen| seen.name == "looks-again"));
}
