//! The progress line's text, and that a stop is handed on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::super::Verbosity;
use super::super::progress::{Done, Progress, describe};
use super::super::recorded::{facts, terminal};
use crate::observer::{Observer as _, Phase};

#[test]
fn the_line_tells_phase_entries_bytes_and_rate() {
    let of = |phase, entries, bytes, all_entries, all_bytes, elapsed| {
        let done = Done {
            entries,
            bytes,
            all_entries,
            all_bytes,
        };
        describe(phase, done, elapsed)
    };
    let second = Duration::from_secs(1);
    assert_eq!(
        of(Phase::Capture, 12_000, 3 << 30, 0, 0, 4 * second),
        "capturing  12,000 entries  3.0 GiB  768.0 MiB a second"
    );
    assert_eq!(
        of(Phase::Compare, 10, 0, 69_123, 0, second / 2),
        "comparing  10 of 69,123 entries  20 a second"
    );
    assert_eq!(
        of(Phase::Compare, 1000, 0, 11_000, 0, 2 * second),
        "comparing  1,000 of 11,000 entries  500 a second  20.0 s left"
    );
    // Bytes tell more than entries, once there are any to come.
    assert_eq!(
        of(Phase::Stage, 9, 1 << 20, 10, 4 << 20, 2 * second),
        "staging  9 of 10 entries  1.0 MiB of 4.0 MiB  512.0 KiB a second  6.0 s left"
    );
    // More than was guessed.
    assert_eq!(
        of(Phase::Capture, 12, 5, 10, 4, 2 * second),
        "capturing  12 entries  5 B  2 B a second"
    );
    assert_eq!(
        of(Phase::Verify, 0, 0, 0, 0, Duration::ZERO),
        "verifying  0 entries"
    );
    let most = u64::MAX;
    assert!(of(Phase::Apply, most - 1, most - 1, most, most, Duration::MAX).starts_with("applying"));
}

#[test]
fn only_a_terminal_that_wants_it_gets_a_line() {
    let mut facts = facts(80);
    assert!(!terminal(facts, Verbosity::Normal).0.can_animate());
    facts.err.tty = true;
    assert!(!terminal(facts, Verbosity::Normal).0.can_animate(), "TERM=dumb");
    facts.dumb = false;
    assert!(terminal(facts, Verbosity::Normal).0.can_animate());
    assert!(!terminal(facts, Verbosity::Quiet).0.can_animate());
}

#[test]
fn a_stop_is_handed_on_whether_or_not_a_line_is_shown() {
    let mut facts = facts(80);
    for tty in [false, true] {
        facts.err.tty = tty;
        facts.dumb = false;
        let stop = Arc::new(AtomicBool::new(false));
        let (terminal, ..) = terminal(facts, Verbosity::Normal);
        let progress = Progress::new(&terminal, Arc::clone(&stop));
        progress.begin(Phase::Capture);
        progress.expect(2, 0);
        progress.advance(1, 10);
        assert!(!progress.cancelled());
        stop.store(true, Ordering::Relaxed);
        assert!(progress.cancelled());
        progress.end();
        progress.begin(Phase::Apply);
    }
}
