//! The clock of the other machine, from the last output of its `date`. It advances at least as much as the local clock.

use std::time::Duration;

use handle_fs::Time;

/// Last known time of the other machine.
#[derive(Debug)]
pub(super) struct Clock {
    fine: bool,
    /// Time that the other machine reported last (nanoseconds), and the local time at which that was received.
    told: i128,
    heard: i128,
}

impl Clock {
    pub(super) fn new(fine: bool) -> Self {
        Self {
            fine,
            told: 0,
            heard: handle_fs::fine_clock().nanos(),
        }
    }

    /// The command that tells it.
    pub(super) fn command(&self) -> &'static str {
        if self.fine { "date +%s.%N" } else { "date +%s" }
    }

    /// Records the output of the command; a clock of whole seconds is never ahead. `None` if the output is no time.
    pub(super) fn told(&mut self, text: &[u8]) -> Option<Time> {
        let text = std::str::from_utf8(text).ok()?.trim();
        let (sec, nsec) = text.split_once('.').unwrap_or((text, "0"));
        let (sec, nsec) = (sec.parse().ok()?, nsec.parse().ok()?);
        let time = Time { sec, nsec };
        self.told = time.nanos();
        self.heard = handle_fs::fine_clock().nanos();
        Some(time)
    }

    /// Returns the time that the other machine reported last (nanoseconds).
    pub(super) fn told_at(&self) -> i128 {
        self.told
    }

    /// Returns the wait until a change gets another time than `last`. A change within `tick` (nanoseconds) might get the same.
    /// `None` if no wait is needed, or `last` is too far in the future for a wait to help.
    pub(super) fn until_settled(&self, last: Time, tick: i128) -> Option<Duration> {
        let now = self.told + (handle_fs::fine_clock().nanos() - self.heard).max(0);
        let rest = last.nanos() + tick - now;
        // What is from a future that is not near will not settle by waiting.
        let near = if self.fine { tick } else { 1_000_000_000 + tick };
        (1..=near)
            .contains(&rest)
            .then(|| Duration::from_nanos(u64::try_from(rest).unwrap_or(0)))
    }
}
