//! The excludes of a contract: their patterns and sources for each mount, and which automatic ones are new.

use super::layout::{Part, Sheet};
use crate::contract::{Contract, MountTerms};
use crate::model::{Coverage, ExcludeRule, ExcludeSource};
use crate::terminal::{Role, sanitize};

/// One exclude, and the labels of the mounts that have it.
struct Row<'a> {
    rule: &'a ExcludeRule,
    new: bool,
    mounts: Vec<&'a str>,
}

impl Row<'_> {
    fn is_automatic(&self) -> bool {
        matches!(self.rule.source, ExcludeSource::Integration { .. })
    }
}

/// Writes the section.
pub(super) fn write(sheet: &mut Sheet, contract: &Contract) {
    let rows = rows(contract);
    sheet.section("Excluded");
    let count = contract.coverages().count();
    // What has the same source, mounts and mark shares a sentence.
    let same =
        |a: &Row<'_>, b: &Row<'_>| a.rule.source == b.rule.source && a.new == b.new && a.mounts == b.mounts;
    for group in rows.chunk_by(same) {
        if let Some(first) = group.first() {
            write_group(sheet, first, group, first.mounts.len() < count);
        }
    }
    for (mount, coverage) in captured(contract) {
        for kept in &mount.kept_excludes {
            sheet.say(&[
                Part::item(kept.rule.pattern.as_bytes()),
                Part::Text(" is NOT excluded from "),
                Part::item(coverage.label.as_bytes()),
                Part::Text(": git tracks files in "),
                Part::item(kept.path.as_bytes()),
            ]);
        }
        for warning in &mount.stack_warnings {
            let text = sanitize::text(&warning.text);
            sheet.say(&[
                Part::loud(Role::Warning, "WARNING"),
                Part::Text(" ("),
                Part::item(warning.name.as_bytes()),
                Part::Text(" in "),
                Part::item(coverage.label.as_bytes()),
                Part::Text("): "),
                Part::Text(&text),
            ]);
        }
    }
    if rows.iter().any(|row| row.new) {
        sheet.say(&[
            Part::Text("Excludes marked "),
            Part::loud(Role::Warning, "NEW"),
            Part::Text(
                " did not apply to the last baseline. An agent can plant a file such as package.json to keep a \
                directory out of the snapshot: check it before you continue.",
            ),
        ]);
    }
    if !contract.integrations.value {
        let mut parts = vec![Part::Text("Automatic excludes are off (integrations = false, ")];
        parts.extend(super::chosen(&contract.integrations.source));
        parts.push(Part::Text(")"));
        sheet.say(&parts);
    }
}

fn write_group(sheet: &mut Sheet, first: &Row<'_>, group: &[Row<'_>], partial: bool) {
    let mut parts = Vec::new();
    if first.new {
        parts.extend([Part::loud(Role::Warning, "NEW:"), Part::Text(" ")]);
    }
    if partial {
        for (at, label) in first.mounts.iter().enumerate() {
            parts.push(Part::Text(if at == 0 { "in " } else { ", " }));
            parts.push(Part::item(label.as_bytes()));
        }
        parts.push(Part::Text(", "));
    }
    let patterns = group
        .iter()
        .flat_map(|row| [Part::Text(" "), Part::item(row.rule.pattern.as_bytes())]);
    match &first.rule.source {
        ExcludeSource::Integration {
            name,
            because,
            defined,
        } => {
            parts.extend([
                Part::Text("automatic ("),
                Part::item(name.as_bytes()),
                Part::Text(", because of "),
                Part::item(because.as_bytes()),
            ]);
            if let Some(file) = defined {
                parts.extend([Part::Text(", by "), Part::name(&file.0)]);
            }
            parts.push(Part::Text("):"));
            parts.extend(patterns);
            sheet.say(&parts);
        }
        ExcludeSource::State(because) => {
            parts.extend([Part::Text("because "), Part::Text(because), Part::Text(":")]);
            parts.extend(patterns);
            sheet.say(&parts);
        }
        ExcludeSource::Flag => {
            parts.push(Part::Text("by --exclude:"));
            parts.extend(patterns);
            sheet.say(&parts);
        }
        ExcludeSource::Config(path) => {
            parts.extend([Part::Text("by "), Part::name(&path.0)]);
            sheet.say(&parts);
            sheet.below(&patterns.collect::<Vec<_>>());
        }
    }
}

/// Every exclude once, the automatic ones first. Within a mount the order stays, for a later `!pattern` takes an earlier
/// exclude back.
fn rows(contract: &Contract) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (mount, coverage) in captured(contract) {
        let label = coverage.label.as_str();
        for rule in &coverage.excludes {
            let new = mount.new_excludes.contains(rule);
            let known = rows
                .iter_mut()
                .find(|row| row.rule == rule && row.new == new && !row.mounts.contains(&label));
            match known {
                Some(row) => row.mounts.push(label),
                None => rows.push(Row {
                    rule,
                    new,
                    mounts: vec![label],
                }),
            }
        }
    }
    rows.sort_by_key(|row| !row.is_automatic());
    rows
}

/// Mounts with a coverage of their own.
fn captured(contract: &Contract) -> impl Iterator<Item = (&MountTerms, &Coverage)> {
    contract
        .mounts
        .iter()
        .filter_map(|mount| Some((mount, mount.coverage.as_ref()?)))
}
