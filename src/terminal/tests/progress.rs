//! The progress line's text, and that a stop is handed on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::super::Verbosity;
use super::super::progress::{Progress, describe};
use super::super::recorded::{facts, terminal};
use crate::observer::{Observer as _, Phase};

#[test]
fn the_line_tells_phase_entries_bytes_and_rate() {
    let text = describe(Phase::Capture, 12_000, 3 << 30, None, Duration::from_secs(4));
    assert_eq!(text, "capturing  12,000 entries  3.0 GiB  3,000 a second");
    let text = describe(Phase::Compare, 10, 0, Some(69_123), Duration::from_secs(1));
    assert_eq!(text, "comparing  10 of 69,123 entries  10 a second");
    assert_eq!(
        describe(Phase::Verify, 0, 0, None, Duration::ZERO),
        "verifying  0 entries"
    );
    assert!(
        describe(
            Phase::Apply,
            u64::MAX,
            u64::MAX,
            Some(u64::MAX),
            Duration::from_millis(1)
        )
        .starts_with("applying")
    );
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
        let progress = Progress::new(&terminal(facts, Verbosity::Normal).0, Arc::clone(&stop));
        progress.begin(Phase::Capture, Some(2));
        progress.advance(1, 10);
        assert!(!progress.cancelled());
        stop.store(true, Ordering::Relaxed);
        assert!(progress.cancelled());
        progress.end();
        progress.begin(Phase::Apply, None);
    }
}
