//! Which rows of a table belong together.

use std::collections::{BTreeMap, BTreeSet};

use crate::ProcessRef;
use crate::probe::{Why, belonging};
use crate::process_table::Seen;

fn seen(pid: u32, parent: u32, session: u32, start: u64) -> Seen {
    Seen {
        pid,
        parent,
        session,
        start,
        dead: false,
        kernel: false,
        name: "x".into(),
    }
}

fn recorded(pid: u32, start: u64) -> ProcessRef {
    ProcessRef {
        pid,
        start,
        boot: "b".into(),
    }
}

fn belong(table: &[Seen], carriers: &[u32], known: &[ProcessRef]) -> BTreeMap<u32, Why> {
    belonging(
        table,
        &carriers.iter().copied().collect::<BTreeSet<_>>(),
        &known.iter().collect::<Vec<_>>(),
    )
}

#[test]
fn children_of_children_belong() {
    // Listed so that the grandchild comes before its parent.
    let table = [
        seen(10, 40, 1, 9),
        seen(20, 1, 1, 5),
        seen(40, 20, 1, 6),
        seen(50, 1, 1, 7),
    ];
    let found = belong(&table, &[20], &[]);
    assert_eq!(
        found,
        BTreeMap::from([
            (20, Why::Environment),
            (40, Why::Descendant),
            (10, Why::Descendant)
        ])
    );
}

#[test]
fn a_number_used_again_does_not_belong() {
    let table = [seen(20, 1, 1, 500), seen(21, 20, 1, 501)];
    assert_eq!(belong(&table, &[], &[recorded(20, 499)]), BTreeMap::new());
    assert_eq!(belong(&table, &[], &[recorded(20, 500)]).len(), 2);
}

#[test]
fn a_session_outlives_its_leader() {
    let orphan = seen(30, 1, 20, 600);
    let known = [recorded(20, 500)];
    assert_eq!(
        belong(std::slice::from_ref(&orphan), &[], &known),
        BTreeMap::from([(30, Why::Descendant)])
    );
    // The leader as a zombie still holds the number.
    let zombie = Seen {
        dead: true,
        kernel: false,
        ..seen(20, 1, 20, 500)
    };
    assert_eq!(belong(&[orphan.clone(), zombie], &[], &known).len(), 1);
    // Another process has the number, so the session that it names is another one.
    assert_eq!(
        belong(&[orphan, seen(20, 1, 20, 550)], &[], &known),
        BTreeMap::new()
    );
    // A session that is older than its supposed leader.
    assert_eq!(belong(&[seen(30, 1, 20, 400)], &[], &known), BTreeMap::new());
}

#[test]
fn the_session_that_the_command_was_started_in_does_not_belong() {
    // An operator's shell (20) leads the session; the launcher (30) and an editor (40) run in it.
    let table = [
        seen(20, 1, 20, 1),
        seen(30, 20, 20, 2),
        seen(40, 20, 20, 3),
        seen(31, 30, 20, 4),
    ];
    let found = belong(&table, &[], &[recorded(30, 2)]);
    assert_eq!(found.into_keys().collect::<Vec<_>>(), [30, 31]);
}

#[test]
fn the_dead_do_not_belong() {
    let zombie = Seen {
        dead: true,
        kernel: false,
        ..seen(20, 1, 1, 500)
    };
    assert_eq!(belong(&[zombie], &[20], &[recorded(20, 500)]), BTreeMap::new());
}
