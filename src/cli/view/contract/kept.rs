//! How long snapshots are kept, and how large the store may be.

use super::sheet::{Part, Sheet};
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
    sheet.say(&[Part::Text(&format!("{}.", rules.join("; ")))]);
    sheet.say(&[Part::Text(
        "What goes beyond that goes by itself when a session ends, the oldest first; never the newest session, what is \
         pinned, or what an undo needs.",
    )]);
}

fn sessions(kept: &Retention, of: &str) -> String {
    let (most, days) = (kept.instances.value, kept.days.value);
    let which = match most {
        0 => format!("every session of this {of}"),
        _ => format!(
            "the newest {} of this {of}",
            size::counted(most, "session", "sessions")
        ),
    };
    format!("{which}{}", for_days(days))
}

fn checkpoints(kept: &Retention) -> String {
    let (most, days) = (kept.checkpoints.value, kept.checkpoint_days.value);
    let which = match most {
        0 => "every checkpoint".to_owned(),
        _ => format!("the newest {}", size::counted(most, "checkpoint", "checkpoints")),
    };
    format!("{which}{}", for_days(days))
}

fn for_days(days: u64) -> String {
    match days {
        0 => String::new(),
        _ => format!(", for {}", size::counted(days, "day", "days")),
    }
}

fn room(room: Room) -> Option<String> {
    let (most, free) = (size::bytes(room.max_bytes), size::bytes(room.min_free));
    match (room.max_bytes, room.min_free) {
        (0, 0) => None,
        (_, 0) => Some(format!("at most {most} in the whole store")),
        (0, _) => Some(format!("as much as leaves {free} free on the disk")),
        _ => Some(format!(
            "at most {most} in the whole store, and as much as leaves {free} free on the disk"
        )),
    }
}
