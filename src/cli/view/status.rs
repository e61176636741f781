//! `status`: one line for a prompt.

use crate::model::Time;
use crate::report::{StatusDocument, StatusState};
use crate::terminal::size;

/// Returns the line; `None` if there is nothing to say.
pub(in crate::cli) fn line(found: &StatusDocument, now: Time) -> Option<String> {
    let age = found.since.map(|since| brief(since, now)).unwrap_or_default();
    let changed = found
        .changed
        .map(|changed| match (changed, found.changed_is_exact) {
            (0, _) => "no changes".to_owned(),
            (changed, true) => format!("{} changed", size::count(changed)),
            (changed, false) => format!("up to {} changed", size::count(changed)),
        });
    Some(match found.state {
        StatusState::None => return None,
        StatusState::Recording => match changed.filter(|_| found.changed != Some(0)) {
            Some(changed) => format!("recording {age} · {changed}"),
            None => format!("recording {age}"),
        },
        StatusState::Ended => match (found.changed, changed) {
            (Some(0), Some(changed)) => format!("{changed} {age} ago"),
            (_, Some(changed)) => format!("undo: {changed} {age} ago"),
            (_, None) => format!("undo: ended {age} ago"),
        },
        StatusState::Lost => format!("undo: began {age} ago, end unknown"),
        StatusState::Restored => format!("restored {age} ago"),
        StatusState::Interrupted => "restore interrupted: resume or abort".to_owned(),
    })
}

/// Returns the time between in its largest unit: `40s`, `3m`, `5h`, `12d`.
fn brief(then: Time, now: Time) -> String {
    const UNITS: [(i128, char); 3] = [(86_400, 'd'), (3_600, 'h'), (60, 'm')];
    // A clock that was set back gives no negative age.
    let seconds = (now.nanos() - then.nanos()).max(0) / 1_000_000_000;
    let unit = UNITS.iter().find(|(unit, _)| seconds >= *unit);
    unit.map_or_else(
        || format!("{seconds}s"),
        |(unit, letter)| format!("{}{letter}", seconds / unit),
    )
}

#[cfg(test)]
mod tests {
    use super::brief;
    use crate::model::Time;

    #[test]
    fn an_age_is_brief_and_never_negative() {
        let at = |seconds: i64| Time::from_nanos(i128::from(seconds) * 1_000_000_000);
        for (seconds, shown) in [
            (-5, "0s"),
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (3_599, "59m"),
            (3_600, "1h"),
            (86_399, "23h"),
            (86_400, "1d"),
            (8_640_000, "100d"),
        ] {
            assert_eq!(brief(at(1_000), at(1_000 + seconds)), shown);
        }
    }
}
