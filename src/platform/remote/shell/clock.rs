//! The clock of the other machine, by what its `date` told last: it goes on at least as much as ours does.

use std::time::Duration;

use crate::model::Time;
use crate::platform;

/// What is known of it.
#[derive(Debug)]
pub(super) struct Clock {
    fine: bool,
    /// What it told (nanoseconds), and what ours said when that was heard.
    told: i128,
    heard: i128,
}

impl Clock {
    pub(super) fn new(fine: bool) -> Self {
        Self {
            fine,
            told: 0,
            heard: platform::fine_clock().nanos(),
        }
    }

    /// The command that tells it.
    pub(super) fn command(&self) -> &'static str {
        if self.fine { "date +%s.%N" } else { "date +%s" }
    }

    /// Hears what the command told; a clock of whole seconds is never ahead. `None`: it told no time.
    pub(super) fn told(&mut self, text: &[u8]) -> Option<Time> {
        let text = std::str::from_utf8(text).ok()?.trim();
        let (sec, nsec) = text.split_once('.').unwrap_or((text, "0"));
        let (sec, nsec) = (sec.parse().ok()?, nsec.parse().ok()?);
        let time = Time { sec, nsec };
        self.told = time.nanos();
        self.heard = platform::fine_clock().nanos();
        Some(time)
    }

    /// What it told last (nanoseconds).
    pub(super) fn told_at(&self) -> i128 {
        self.told
    }

    /// How long to wait until a change would get another time than `last`, when a change within `tick` (nanoseconds) might get the
    /// same.
    pub(super) fn until_settled(&self, last: Time, tick: i128) -> Option<Duration> {
        let now = self.told + (platform::fine_clock().nanos() - self.heard).max(0);
        let rest = last.nanos() + tick - now;
        // What is from a future that is not near will not settle by waiting.
        let near = if self.fine { tick } else { 1_000_000_000 + tick };
        (1..=near)
            .contains(&rest)
            .then(|| Duration::from_nanos(u64::try_from(rest).unwrap_or(0)))
    }
}
