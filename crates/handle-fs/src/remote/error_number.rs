//! Error numbers as they are sent: those of Linux, whatever system is at either end.

use rustix::io::Errno;

/// Errors that calls answer, with their numbers on Linux (errno(3)). Up to 34 they are the same on all systems but for EAGAIN.
const NUMBERS: [(i32, Errno); 22] = [
    (11, Errno::AGAIN),
    (35, Errno::DEADLK),
    (36, Errno::NAMETOOLONG),
    (37, Errno::NOLCK),
    (38, Errno::NOSYS),
    (39, Errno::NOTEMPTY),
    (40, Errno::LOOP),
    (61, crate::system::own::NO_ATTRIBUTE),
    (71, Errno::PROTO),
    (74, Errno::BADMSG),
    (75, Errno::OVERFLOW),
    (84, Errno::ILSEQ),
    (95, Errno::OPNOTSUPP),
    (103, Errno::CONNABORTED),
    (104, Errno::CONNRESET),
    (105, Errno::NOBUFS),
    (107, Errno::NOTCONN),
    (110, Errno::TIMEDOUT),
    (113, Errno::HOSTUNREACH),
    (116, Errno::STALE),
    (122, Errno::DQUOT),
    (125, Errno::CANCELED),
];
/// Numbers below are the same everywhere, and none is larger than the other.
const ALIKE: i32 = 35;
const LARGEST: i32 = 4095;

/// Returns the number by which the other end knows an error.
#[must_use]
pub fn sent(error: Errno) -> i32 {
    let number = error.raw_os_error();
    if cfg!(target_os = "linux") {
        return number;
    }
    let known = NUMBERS.iter().find(|(_, known)| *known == error);
    match known {
        Some((linux, _)) => *linux,
        // A second name of the same (ENOTSUP).
        None if error == Errno::NOTSUP => 95,
        None if (1..ALIKE).contains(&number) => number,
        None => 5,
    }
}

/// Returns the error that the other end means. What is none is a failure like any other.
pub(super) fn received(number: i32) -> Errno {
    if !(1..=LARGEST).contains(&number) {
        return Errno::IO;
    }
    if cfg!(target_os = "linux") {
        return Errno::from_raw_os_error(number);
    }
    match NUMBERS.iter().find(|(linux, _)| *linux == number) {
        Some((_, error)) => *error,
        None if number < ALIKE => Errno::from_raw_os_error(number),
        None => Errno::IO,
    }
}

#[cfg(test)]
mod tests {
    use super::{Errno, NUMBERS, received, sent};

    #[test]
    fn what_is_sent_is_received() {
        for (_, error) in NUMBERS {
            assert_eq!(received(sent(error)), error);
        }
        for number in [0, -1, 4096, i32::MIN] {
            assert_eq!(received(number), Errno::IO);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_table_has_the_numbers_of_linux() {
        for (number, error) in NUMBERS {
            assert_eq!(error.raw_os_error(), number);
        }
        // What the table omits has one number on all systems.
        for (number, error) in [
            (1, Errno::PERM),
            (2, Errno::NOENT),
            (17, Errno::EXIST),
            (18, Errno::XDEV),
            (34, Errno::RANGE),
        ] {
            assert_eq!(error.raw_os_error(), number);
        }
    }
}
