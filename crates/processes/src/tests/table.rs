//! Hostile rows, and which rows of a table belong together.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::ProcessRef;
use crate::linux::parse;
use crate::other;
use crate::probe::{Why, belonging};
use crate::process_table::{ProbeError, Seen};

/// A row as the kernel writes it, with a state, a number of threads and a session.
fn line(name: &[u8], state: char, session: i32, threads: u32) -> Vec<u8> {
    let mut line = b"42 (".to_vec();
    line.extend(name);
    line.extend(
        format!(") {state} 7 42 {session} 34816 42 4194304 1 0 0 0 5 6 0 0 20 0 {threads} 0 987654 1 2\n")
            .bytes(),
    );
    line
}

fn seen(pid: u32, parent: u32, session: u32, start: u64) -> Seen {
    Seen {
        pid,
        parent,
        session,
        start,
        dead: false,
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
fn a_row_is_read() {
    let expected = Seen {
        pid: 42,
        parent: 7,
        session: 9,
        start: 987_654,
        dead: false,
        name: "sleep".into(),
    };
    assert_eq!(parse(&line(b"sleep", 'S', 9, 1)), Some(expected));
    assert!(parse(&line(b"sleep", 'Z', 9, 1)).unwrap().dead);
    assert!(parse(&line(b"sleep", 'X', 9, 0)).unwrap().dead);
    assert!(!parse(&line(b"sleep", 'T', 9, 1)).unwrap().dead);
    assert_eq!(parse(&line(b"sleep", 'X', -1, 0)).unwrap().session, 0);
}

#[test]
fn a_process_whose_main_thread_ended_lives() {
    assert!(!parse(&line(b"server", 'Z', 9, 2)).unwrap().dead);
}

#[test]
fn half_a_row_is_no_row() {
    let whole = line(b"a) (b", 'S', 9, 1);
    for length in 0..60 {
        assert_eq!(parse(&whole[..length]), None, "{length}");
    }
    assert_eq!(parse(b"42 sleep S 1"), None);
    assert_eq!(parse(b")("), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_name_is_only_a_name(name in proptest::collection::vec(any::<u8>(), 0..16)) {
        let row = parse(&line(&name, 'S', 9, 1)).unwrap();
        prop_assert_eq!((row.pid, row.parent, row.session, row.start, row.dead), (42, 7, 9, 987_654, false));
        prop_assert_eq!(row.name, String::from_utf8_lossy(&name));
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
    }
}

#[test]
fn names_that_look_like_the_rest_of_a_row() {
    for name in [&b") Z 1 1 1 ("[..], b"a\nb", b"((", b"))", b"", b"\xff\xfe) S"] {
        let row = parse(&line(name, 'S', 9, 1)).unwrap();
        assert_eq!((row.parent, row.dead), (7, false));
    }
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
        ..seen(20, 1, 1, 500)
    };
    assert_eq!(belong(&[zombie], &[20], &[recorded(20, 500)]), BTreeMap::new());
}

#[test]
fn a_system_without_a_table_says_so() {
    assert!(matches!(other::all(), Err(ProbeError::Unsupported)));
    assert!(matches!(other::row(i32::MAX.cast_unsigned()), Ok(None)));
    assert!(matches!(other::list(), Err(ProbeError::Unsupported)));
    assert!(matches!(other::identity(i32::MAX.cast_unsigned()), Ok(None)));
    assert!(matches!(other::values(1, "X"), Err(ProbeError::Unsupported)));
    assert!(matches!(
        other::look(std::process::id()),
        Err(ProbeError::Unsupported)
    ));
    assert!(matches!(other::look(i32::MAX.cast_unsigned()), Ok(None)));
    assert!(!other::exists(0) && other::boot().is_empty() && !other::adopt_orphans());
    assert_eq!(other::ignored_signals(), 0);
    let place = other::place(std::path::Path::new("/"));
    assert!(matches!(place, Err(ProbeError::Unsupported)));
    assert!(!other::has_open(1, (1, 1)) && !other::works_below(1, (1, 1)));
    assert!(other::words(1).is_empty() && other::directory(1).is_none());
}
