//! Retention of snapshots, and the size limit of the store.

use super::layout::{Part, Sheet};
use crate::config::{Retention, Room, Subject};
use crate::contract::Contract;
use crate::terminal::size;

pub(super) fn write(sheet: &mut Sheet, contract: &Contract) {
    let Some(terms) = &contract.retention else {
        return;
    };
    sheet.section("Kept");
    let of = match contract.subject {
        Subject::Workspace { .. } => "workspace",
        Subject::Directory { .. } => "directory",
    };
    let rules: Vec<String> = [sessions(&terms.kept, of), checkpoints(&terms.kept)]
        .into_iter()
        .chain(room(terms.room))
        .collect();
    let rules = rules.join(", ");
    sheet.say(&[
        Part::Text(&rules),
        Part::Text(", and what is pinned or `undo` needs"),
    ]);
}

fn sessions(kept: &Retention, of: &str) -> String {
    let which = match kept.instances.value {
        0 => "every session".to_owned(),
        most => format!("the newest {}", size::counted(most, "session", "sessions")),
    };
    format!("{which} of this {of}{}", for_days(kept.days.value))
}

fn checkpoints(kept: &Retention) -> String {
    let which = match kept.checkpoints.value {
        0 => "every checkpoint".to_owned(),
        most => size::counted(most, "checkpoint", "checkpoints"),
    };
    format!("{which}{}", for_days(kept.checkpoint_days.value))
}

fn for_days(days: u64) -> String {
    match days {
        0 => String::new(),
        _ => format!(" for {}", size::counted(days, "day", "days")),
    }
}

fn room(room: Room) -> impl Iterator<Item = String> {
    let most = (room.max_bytes > 0).then(|| format!("at most {}", size::bytes(room.max_bytes)));
    let free = (room.min_free > 0).then(|| format!("{} free", size::bytes(room.min_free)));
    most.into_iter().chain(free)
}
