//! Sizes, counts and ages.

use std::time::Duration;

use super::super::size::{age, bytes, count, counted, duration, moment};
use crate::model::Time;

#[test]
fn sizes_use_the_largest_unit_that_fits() {
    let cases = [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1_048_524, "1023.9 KiB"),
        (1_048_575, "1.0 MiB"),
        (1_503_238_554, "1.4 GiB"),
        (u64::MAX, "16.0 EiB"),
    ];
    for (number, text) in cases {
        assert_eq!(bytes(number), text);
    }
}

#[test]
fn counts_are_grouped() {
    assert_eq!(count(0), "0");
    assert_eq!(count(999), "999");
    assert_eq!(count(1000), "1,000");
    assert_eq!(count(69_123), "69,123");
    assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    assert_eq!(counted(0, "file", "files"), "no files");
    assert_eq!(counted(1, "file", "files"), "1 file");
    assert_eq!(counted(69_123, "file", "files"), "69,123 files");
}

#[test]
fn ages_are_told_in_one_unit() {
    let now = Time {
        sec: 1_763_679_801,
        nsec: 500_000_000,
    };
    let ago = |seconds: i64| {
        age(
            Time {
                sec: now.sec - seconds,
                nsec: now.nsec,
            },
            now,
        )
    };
    let cases = [
        (0, "just now"),
        (4, "just now"),
        (5, "5 seconds ago"),
        (60, "1 minute ago"),
        (150, "2 minutes ago"),
        (7_200, "2 hours ago"),
        (86_400, "1 day ago"),
        (86_400 * 45, "1 month ago"),
        (86_400 * 800, "2 years ago"),
        (-3, "just now"),
        (-10_800, "in 3 hours"),
    ];
    for (seconds, text) in cases {
        assert_eq!(ago(seconds), text);
    }
    assert!(
        age(
            Time {
                sec: i64::MIN,
                nsec: 0
            },
            Time {
                sec: i64::MAX,
                nsec: 0
            }
        )
        .ends_with("years ago")
    );
}

#[test]
fn durations_and_moments() {
    assert_eq!(duration(Duration::from_millis(440)), "0.4 s");
    assert_eq!(duration(Duration::from_secs(185)), "3 min 5 s");
    assert_eq!(duration(Duration::from_secs(7_800)), "2 h 10 min");
    assert_eq!(
        moment(Time {
            sec: 1_795_215_801,
            nsec: 999_999_999
        }),
        "2026-11-20 23:03:21 UTC"
    );
}
