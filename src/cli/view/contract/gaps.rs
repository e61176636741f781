//! Paths that no archive of a contract will hold: skipped secrets, and what cannot be captured.

use std::collections::BTreeSet;

use super::layout::{Part, Sheet};
use crate::config::Sensitive;
use crate::contract::{Contract, Foreign, Matcher, ShellReason, Verdict};
use crate::model::{RelPath, WithheldReason};
use crate::terminal::{Role, size};
use handle_fs::remote::{Address, Limitation};

/// Maximum number of skipped paths that are all named.
const FEW: usize = 24;

/// Writes the section on paths that never enter an archive, in any mount.
pub(super) fn withheld(sheet: &mut Sheet, contract: &Contract) {
    sheet.section("Skipped");
    let captures_secrets = contract.sensitive.value == Sensitive::Capture;
    let several = contract.coverages().count() > 1;
    let mut is_first = !captures_secrets;
    for coverage in contract.coverages() {
        for reason in [WithheldReason::Sensitive, WithheldReason::Store] {
            let places = coverage.withheld.iter().filter(|place| place.reason == reason);
            let mut places: Vec<_> = places.map(|place| place.path.as_bytes()).collect();
            // Where not all are named, those nearest to the top are: whole directories like `.ssh`.
            places.sort_by_key(|place| place.iter().filter(|byte| **byte == b'/').count());
            if places.is_empty() {
                continue;
            }
            let number = size::counted(places.len() as u64, "place", "places");
            let intro = match reason {
                WithheldReason::Store => "the recovery store".to_owned(),
                // Said at the mount itself, or only where one is found.
                WithheldReason::Readonly
                | WithheldReason::Staging
                | WithheldReason::Credential
                | WithheldReason::Settings
                | WithheldReason::Forgotten
                | WithheldReason::Account => continue,
                WithheldReason::Sensitive if captures_secrets => format!("{number} of agents' credentials"),
                WithheldReason::Sensitive => {
                    format!("{number} of your own secrets or agents' credentials")
                }
            };
            let mut parts = vec![Part::Text(&intro)];
            if several {
                parts.extend([Part::Text(" in "), Part::item(coverage.label.as_bytes())]);
            }
            let few = places.len() <= FEW;
            parts.push(Part::Text(if few { ":" } else { ", among them" }));
            for (at, place) in places.iter().take(FEW).enumerate() {
                parts.push(Part::Text(if at == 0 { " " } else { ", " }));
                parts.push(Part::item(place));
            }
            sheet.say(&parts);
            is_first = false;
        }
    }
    if captures_secrets {
        let mut parts = vec![
            Part::loud(Role::Warning, "WARNING:"),
            Part::Text(
                " your ~/.ssh and similar directories are captured like any file (sensitive = \"capture\", ",
            ),
        ];
        parts.extend(super::chosen(&contract.sensitive.source));
        parts.push(Part::Text(")"));
        sheet.say(&parts);
    }
    sheet.say(&[Part::Text(match dot_env(contract) {
        DotEnv::Captured if is_first => "No secrets: a .env and the like are captured like any file.",
        DotEnv::Captured => "Other secrets, such as a .env, are captured like any file.",
        DotEnv::Partly => "Other secrets are captured like any file that is not excluded.",
        DotEnv::Excluded => {
            "Other secrets are captured like any file that is not excluded. Any .env is excluded."
        }
    })]);
}

/// Treatment of files named `.env`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DotEnv {
    Captured,
    /// In some places only.
    Partly,
    Excluded,
}

/// Judges a `.env` at the top of each mount, and one below it.
fn dot_env(contract: &Contract) -> DotEnv {
    let paths = [".env", "app/.env"];
    let paths = paths.map(|path| RelPath::new(path.as_bytes()).unwrap_or_else(|_| RelPath::root()));
    let projects = contract.coverages().filter(|coverage| !coverage.state);
    let found = projects.flat_map(|coverage| {
        let matcher = Matcher::new(coverage).ok();
        let is_excluded = |path: &RelPath| {
            let verdict = matcher
                .as_ref()
                .map(|matcher| matcher.verdict_with_parents(path, false));
            matches!(verdict, Some(Verdict::Excluded(_)))
        };
        paths.iter().map(is_excluded).collect::<Vec<_>>()
    });
    let found: Vec<bool> = found.collect();
    match (found.contains(&true), found.contains(&false)) {
        (true, true) => DotEnv::Partly,
        (true, false) => DotEnv::Excluded,
        (false, _) => DotEnv::Captured,
    }
}

/// Sums up what only another user can read or replace; `false` if not every mount was counted.
pub(super) fn found(contract: &Contract) -> (Foreign, bool) {
    let mut found = Foreign::default();
    let mut counted = true;
    for mount in contract.mounts.iter().filter(|mount| mount.coverage.is_some()) {
        let Some(foreign) = &mount.foreign else {
            counted = false;
            continue;
        };
        found.unreadable = found.unreadable.saturating_add(foreign.unreadable);
        found.irreplaceable = found.irreplaceable.saturating_add(foreign.irreplaceable);
        found.other_owner = found.other_owner.saturating_add(foreign.other_owner);
        found.sparse = found.sparse.saturating_add(foreign.sparse);
        found.mount_points = found.mount_points.saturating_add(foreign.mount_points);
        found.visited = found.visited.saturating_add(foreign.visited);
        found.stopped |= foreign.stopped;
    }
    (found, counted)
}

/// Returns a sentence for each kind of entry inside the mounts that a snapshot or a restore cannot cover; none if there is none.
pub(super) fn gap_lines(found: &Foreign) -> Vec<String> {
    let lines = [
        (found.unreadable, "that you cannot read: not captured"),
        (
            found.irreplaceable,
            "that you cannot replace: no restore changes them",
        ),
        (
            found.other_owner,
            "of other users: a restore cannot set their owner",
        ),
        (
            found.sparse,
            "that are sparse or compressed: restored at their full size",
        ),
    ];
    lines
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", size::counted(*number, "entry", "entries")))
        .collect()
}

/// Writes the section on the limits of any snapshot of these mounts.
pub(super) fn not_covered(sheet: &mut Sheet, contract: &Contract) {
    sheet.section("Not covered");
    let (found, counted) = found(contract);
    let inside = match found.mount_points {
        0 => String::new(),
        number => format!(" ({} found)", size::count(number)),
    };
    sheet.say(&[
        Part::Text("anything outside the mounts, other file systems inside them"),
        Part::Text(&inside),
    ]);
    lost_elsewhere(sheet, contract);
    for line in gap_lines(&found) {
        sheet.say(&[Part::Text(&line)]);
    }
    if found.stopped {
        let line = format!(
            "Only the first {} were checked; more may be readable or replaceable only by another user.",
            size::counted(found.visited, "entry", "entries")
        );
        sheet.say(&[Part::Text(&line)]);
    } else if !counted {
        sheet.say(&[Part::Text(
            "Also paths that only another user can read or replace; not every mount was counted.",
        )]);
    }
}

/// Describes the losses on machines whose shell and tools serve instead of this program.
fn lost_elsewhere(sheet: &mut Sheet, contract: &Contract) {
    let mut told = BTreeSet::new();
    for mount in &contract.mounts {
        let (Some(reason), Some((address, _))) = (mount.shell, Address::split(&mount.root.to_path())) else {
            continue;
        };
        if !told.insert(address.clone()) {
            continue;
        }
        let machine = address.to_string();
        let lost: Vec<&str> = mount.lacks.iter().map(|lack| words_of(*lack)).collect();
        let why = match reason {
            ShellReason::Asked => "the shell and tools there are used, as you asked (--agent shell)",
            ShellReason::NotInstalled => {
                "this program is not installed, so the shell and tools there are used"
            }
        };
        let lost = format!(
            ", {why}: {}. With a copy of this program (--agent copy) there are no such limits.",
            lost.join("; ")
        );
        sheet.say(&[
            Part::loud(Role::Warning, "On"),
            Part::Text(" "),
            Part::item(machine.as_bytes()),
            Part::Text(&lost),
        ]);
    }
}

fn words_of(lack: Limitation) -> &'static str {
    match lack {
        Limitation::Attributes => {
            "extended attributes, ACLs and chattr flags are neither recorded nor restored"
        }
        Limitation::Holes => "sparse files are restored without holes",
        Limitation::Exchange => "a replaced path is missing briefly",
        Limitation::FineTimes => "file times have whole seconds",
        Limitation::Locks => "a restore takes no lock there",
        Limitation::Mounts => "a bind mount looks like a directory",
    }
}
