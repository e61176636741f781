//! Sizes, counts and times as people say them. Integers only: the same value always reads the same.

use crate::model::Time;

const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// `5 B`, `1.4 GiB`: binary units with one digit, rounded to the nearest (never up to `1024.0`: the next unit begins there).
#[must_use]
pub fn bytes(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut shift = 10_u32;
    for unit in UNITS {
        let tenths = (u128::from(bytes) * 10 + (1_u128 << (shift - 1))) >> shift;
        if tenths < 10_240 || shift == 60 {
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
        shift += 10;
    }
    format!("{bytes} B")
}

/// `69,123`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// `1 file`, `69,123 files`, `no files`.
#[must_use]
pub fn counted(number: u64, one: &str, many: &str) -> String {
    match number {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        _ => format!("{} {many}", count(number)),
    }
}

/// `2 minutes ago`, `just now`; a time that has not come yet (a clock was set back) is `in 3 hours`.
#[must_use]
pub fn age(then: Time, now: Time) -> String {
    let seconds = (now.nanos() - then.nanos()) / 1_000_000_000;
    match span(seconds.unsigned_abs()) {
        None => "just now".to_owned(),
        Some(span) if seconds < 0 => format!("in {span}"),
        Some(span) => format!("{span} ago"),
    }
}

/// Formats a duration: `0.4 s`, `12.0 s`, `3 min 5 s`, `2 h 10 min`.
#[must_use]
pub fn duration(taken: std::time::Duration) -> String {
    let seconds = taken.as_secs();
    match seconds {
        0..60 => format!("{seconds}.{} s", taken.subsec_millis() / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A number of seconds in the largest unit that it is a multiple of: `10 minutes`, `90 seconds`.
#[must_use]
pub fn interval(seconds: u64) -> String {
    const UNITS: [(u64, &str, &str); 3] = [
        (3600, "hour", "hours"),
        (60, "minute", "minutes"),
        (1, "second", "seconds"),
    ];
    let unit = UNITS
        .into_iter()
        .find(|(length, ..)| seconds.is_multiple_of(*length));
    let (length, one, many) = unit.unwrap_or((1, "second", "seconds"));
    match seconds / length {
        1 => one.to_owned(),
        several => counted(several, one, many),
    }
}

/// A point in time to the second: `2026-11-20 23:03:21 UTC`.
#[must_use]
pub fn moment(time: Time) -> String {
    let text = time.rfc3339();
    match text.split_once('T') {
        Some((date, clock)) => format!("{date} {} UTC", clock.get(..8).unwrap_or(clock)),
        None => text,
    }
}

/// The largest unit that fits, rounded down; `None` below five seconds.
fn span(seconds: u128) -> Option<String> {
    const STEPS: [(u128, &str); 6] = [
        (31_556_952, "year"),
        (2_629_746, "month"),
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
        (1, "second"),
    ];
    if seconds < 5 {
        return None;
    }
    let (length, unit) = STEPS.into_iter().find(|(length, _)| seconds >= *length)?;
    let number = seconds / length;
    Some(if number == 1 {
        format!("1 {unit}")
    } else {
        format!("{number} {unit}s")
    })
}
