//! Hostile rows of Linux' table.

use proptest::prelude::*;

use crate::linux::parse;
use crate::process_table::Seen;

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

#[test]
fn a_row_is_read() {
    let expected = Seen {
        pid: 42,
        parent: 7,
        session: 9,
        start: 987_654,
        dead: false,
        kernel: false,
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
fn a_thread_of_the_kernel_is_known_by_its_flag() {
    let user = line(b"kthreadd", 'S', 9, 1);
    assert!(!parse(&user).unwrap().kernel);
    let thread =
        parse(b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 18446744073709551615")
            .unwrap();
    assert!(thread.kernel);
}
