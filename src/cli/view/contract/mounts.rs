//! The mounts of a contract: what happens to each, and why.

use super::layout::{Part, Sheet};
use crate::config::{Isolation, Subject, Unread};
use crate::contract::{Contract, MountState, MountTerms, NativeTerms, NotCovered};
use crate::model::RelPath;
use crate::terminal::{Role, sanitize, size};
use handle_fs::NativeKind;
use handle_fs::remote::Helper;

/// Width of the column that says what happens: its longest word and two blanks.
const STATE: usize = 14;

/// Writes the section.
pub(super) fn write(sheet: &mut Sheet, contract: &Contract) {
    sheet.section("Mounts");
    let several = contract.coverages().count() > 1;
    for mount in &contract.mounts {
        let word = match &mount.state {
            MountState::Captured | MountState::CoveredBy { .. } => "captured",
            MountState::Readonly => "read-only",
            MountState::NotCovered { .. } => "not captured",
        };
        sheet.pair(word, STATE, Part::name(&mount.root.0));
        if !is_named(contract, mount) {
            sheet.below(&[Part::Text("configured as "), Part::name(&mount.source.0)]);
        }
        if let Some(container) = &mount.container {
            sheet.below(&[
                Part::Text("the "),
                Part::Text(mount.isolation.word()),
                Part::Text(" of the container "),
                Part::item(container.as_bytes()),
            ]);
        }
        if let Some(helper) = &mount.helper {
            served(sheet, helper);
        }
        if let Some(bytes) = mount.copied_bytes {
            let size = size::bytes(bytes);
            sheet.below(&[
                Part::Text("a copy of this program ("),
                Part::Text(&size),
                Part::Text(") runs there, from a temporary directory that is removed when the session ends"),
            ]);
        }
        state(sheet, contract, mount);
        if several && let Some(coverage) = &mount.coverage {
            sheet.below(&[
                Part::Text("called "),
                Part::item(coverage.label.as_bytes()),
                Part::Text(" below"),
            ]);
        }
        if mount.coverage.as_ref().is_some_and(|coverage| coverage.folds) {
            sheet.below(&[Part::Text(
                "names that differ in case only are one here; excludes match in any case",
            )]);
        }
        if !mount.broad.is_empty() {
            let reasons: Vec<&str> = mount.broad.iter().map(|reason| reason.words()).collect();
            let reasons = reasons.join(" and ");
            sheet.below(&[
                Part::loud(Role::Warning, "WARNING:"),
                Part::Text(" it "),
                Part::Text(&reasons),
                Part::Text("; --allow-broad lets it pass"),
            ]);
        }
    }
}

/// Describes the helper container or pod that reads files which nothing else can reach.
fn served(sheet: &mut Sheet, helper: &Helper) {
    // Docker asks for no rights of its own.
    let what = match helper.permissions.is_empty() {
        true => "reached through a helper container of the image ",
        false => "reached through a helper pod of the image ",
    };
    let mut parts = vec![Part::Text(what), Part::item(helper.image.as_bytes())];
    if let Some(node) = &helper.node {
        parts.extend([Part::Text(" on the node "), Part::item(node.as_bytes())]);
    }
    let user = match helper.user {
        None => ", root in it, which is removed afterwards".to_owned(),
        Some(id) => format!(", user {id} in it (the namespace allows no root), which is removed afterwards"),
    };
    parts.push(Part::Text(&user));
    let rights = helper.permissions.join(", ");
    if !rights.is_empty() {
        parts.extend([Part::Text("; it takes the right to "), Part::Text(&rights)]);
    }
    sheet.below(&parts);
}

/// Returns true if the operator wrote the path in this form, here or in the title.
fn is_named(contract: &Contract, mount: &MountTerms) -> bool {
    mount.source == mount.root
        || matches!(&contract.subject, Subject::Directory { path } if *path == mount.source)
}

fn state(sheet: &mut Sheet, contract: &Contract, mount: &MountTerms) {
    match &mount.state {
        MountState::Captured => {
            tracked(sheet, mount);
            frozen(sheet, mount.native.as_ref());
        }
        MountState::CoveredBy { outer, .. } => {
            sheet.below(&[Part::Text("once, as a part of the mount "), Part::name(&outer.0)]);
        }
        MountState::Readonly if contract.snapshot.created => {
            sheet.below(&[Part::Text("recorded; never captured, never restored into")]);
        }
        MountState::Readonly => {}
        MountState::NotCovered { reason } => why_not(sheet, contract, mount.isolation, reason),
    }
}

/// Describes how captures freeze the mount, and names the directory outside the mount that this creates.
pub(super) fn frozen(sheet: &mut Sheet, terms: Option<&NativeTerms>) {
    let Some(terms) = terms else { return };
    let is_volume = NativeKind::Volume.word() == terms.kind;
    let what = match is_volume {
        true => "VolumeSnapshot".to_owned(),
        false => format!("{} snapshot", terms.kind),
    };
    let when = match is_volume && !terms.keeps {
        true => "for the baseline",
        false => "for each capture",
    };
    let class = terms.class.as_ref().map(|class| format!(" of the class {class}"));
    let class = sanitize::text(&class.unwrap_or_default());
    match (&terms.source, &terms.place, &terms.why_not) {
        (Some(source), Some(place), _) => {
            sheet.below(&[
                Part::Text("frozen "),
                Part::Text(when),
                Part::Text(" by a "),
                Part::Text(&what),
                Part::Text(&class),
                Part::Text(" of "),
                Part::name(&source.0),
                Part::Text(", in "),
                Part::name(&place.0),
                Part::Text(match terms.keeps {
                    true => ", which keeps the contents until it is pruned",
                    false => ", until it is stored",
                }),
            ]);
            if !terms.permissions.is_empty() {
                let rights = terms.permissions.join(", ");
                sheet.below(&[Part::Text("for that: "), Part::Text(&rights)]);
            }
        }
        (_, _, Some(why)) => {
            let why = sanitize::text(why);
            sheet.below(&[
                Part::Text("not frozen by a "),
                Part::Text(&what),
                Part::Text(": "),
                Part::Text(&why),
            ]);
        }
        _ => {}
    }
}

fn tracked(sheet: &mut Sheet, mount: &MountTerms) {
    let Some(coverage) = &mount.coverage else { return };
    if !coverage.tracked.is_empty() {
        let mut parts = vec![Part::Text("only these paths below it:")];
        list(&mut parts, &coverage.tracked);
        sheet.below(&parts);
    }
    if !mount.absent_paths.is_empty() {
        let mut parts = vec![Part::Text("not there yet:")];
        list(&mut parts, &mount.absent_paths);
        sheet.below(&parts);
    }
}

fn list(parts: &mut Vec<Part<'_>>, paths: &[RelPath]) {
    for (at, path) in paths.iter().enumerate() {
        parts.push(Part::Text(if at == 0 { " " } else { ", " }));
        parts.push(Part::item(path.as_bytes()));
    }
}

fn why_not(sheet: &mut Sheet, contract: &Contract, isolation: Isolation, reason: &NotCovered) {
    match reason {
        // The section on the snapshot says so.
        NotCovered::Mode => {}
        NotCovered::SingleFile => {
            sheet.below(&[Part::Text("a single file; only directories can be captured")]);
        }
        NotCovered::Special => sheet.below(&[Part::Text("a socket, a FIFO or a device")]),
        NotCovered::Isolated { containers, unread } => {
            let mut parts = vec![Part::Text("the agent works in a "), Part::Text(isolation.word())];
            parts.push(Part::Text(match (containers.as_slice(), unread.as_slice()) {
                ([], []) => ", and no container has one now",
                (_, [_, ..]) => ", and it is unknown which container has one",
                _ => ", and several containers match; use its directory instead: ",
            }));
            if unread.is_empty() {
                for (at, name) in containers.iter().enumerate() {
                    parts.push(Part::Text(if at > 0 { ", " } else { "" }));
                    parts.push(Part::item(name.as_bytes()));
                }
            }
            sheet.below(&parts);
            for Unread { path, reason, .. } in unread {
                sheet.below(&[Part::name(&path.0), Part::Text(": "), Part::Text(reason)]);
            }
        }
        NotCovered::LeftOut { label, pattern } => {
            let mut parts = Vec::new();
            match pattern {
                Some(pattern) => parts.extend([
                    Part::Text("excluded by "),
                    Part::item(pattern.as_bytes()),
                    Part::Text(" of the mount "),
                ]),
                None => parts.push(Part::Text("skipped, or outside the tracked paths, of the mount ")),
            }
            let outer = contract.coverages().find(|coverage| coverage.label == *label);
            parts.push(outer.map_or_else(|| Part::item(label.as_bytes()), |outer| Part::name(&outer.root.0)));
            sheet.below(&parts);
        }
    }
}
