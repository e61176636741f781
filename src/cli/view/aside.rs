//! Excluded directories that go aside or come back, in plans, reports and receipts.

use super::changes;
use crate::model::{AsideAct, AsideChange, AsideStep};
use crate::terminal::{Role, sanitize, size, style};

/// Returns the command for a move, and the arrow between its two places.
fn words(act: AsideAct) -> (&'static str, &'static str) {
    match act {
        AsideAct::Away => ("set aside", "->"),
        AsideAct::Back => ("restore", "<-"),
        AsideAct::Exchanged => ("exchange", "<->"),
    }
}

/// One line each for a plan, below the root of the mount.
pub(in crate::cli) fn lines(steps: &[AsideStep]) -> Vec<String> {
    let line = |step: &AsideStep| {
        let (word, arrow) = words(step.act);
        format!(
            "  {} {}/  {arrow}  {}",
            style::paint(Role::Changed, &format!("{word:9}")),
            changes::path(&step.path, None),
            sanitize::path(&step.lies())
        )
    };
    steps.iter().map(line).collect()
}

/// Counts the moves of each kind, for a plan.
pub(super) fn counts<'a>(steps: impl Iterator<Item = &'a AsideStep> + Clone) -> Vec<String> {
    let mut parts = Vec::new();
    for (act, word) in [
        (AsideAct::Away, "to set aside"),
        (AsideAct::Back, "to restore"),
        (AsideAct::Exchanged, "to swap with the one set aside"),
    ] {
        let number = steps.clone().filter(|step| step.act == act).count() as u64;
        if number > 0 {
            parts.push(format!("{} {word}", size::count(number)));
        }
    }
    parts
}

/// Describes the moves that a restore made, to follow the number of paths.
pub(in crate::cli) fn told<'a>(done: impl Iterator<Item = &'a AsideStep> + Clone) -> String {
    let mut text = String::new();
    for (act, word) in [
        (AsideAct::Away, "set aside"),
        (AsideAct::Back, "restored"),
        (AsideAct::Exchanged, "swapped with the one set aside"),
    ] {
        let number = done.clone().filter(|step| step.act == act).count() as u64;
        if number > 0 {
            let many = size::counted(number, "excluded directory", "excluded directories");
            text.push_str(&format!(", {many} {word}"));
        }
    }
    text
}

/// Describes one move, for a receipt.
pub(in crate::cli) fn receipt(change: &AsideChange) -> String {
    let (word, arrow) = words(change.act);
    let lies = sanitize::path(&change.place.to_path());
    format!("{word} {} {arrow} {lies}", sanitize::name(change.path.as_bytes()))
}
