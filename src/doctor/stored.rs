//! Judges what the store holds: snapshots, receipts, catalog, drafts.

use super::{Finding, Group, Severity, counted, size};
use crate::config::shown;
use crate::display::shell;
use crate::model::SnapshotId;
use crate::store::{DraftFact, NativeFact, StoreError, Survey};
use std::path::PathBuf;

/// Maximum number of objects of one sort that are named individually.
const NAMED: usize = 5;
const NEWER: &str = "use the version of jackin recovery that wrote it, or a later one";

pub(super) fn judge(survey: &Survey, findings: &mut Vec<Finding>) {
    snapshots(survey, findings);
    receipts(survey, findings);
    catalog(survey, findings);
    findings.extend(survey.drafts.iter().map(draft));
    findings.extend(survey.natives.iter().filter_map(native));
}

/// Judges one file-system snapshot. A missing one damages the snapshots whose contents it keeps; one of a dead process is stored
/// or removed later.
fn native(fact: &NativeFact) -> Option<Finding> {
    let finding = |severity, what: String| Finding::new(Group::Snapshots, severity, what);
    let shown = |places: &[PathBuf]| named(places.iter().map(|place| shown(place).to_string()).collect());
    if fact.is_alive {
        return None;
    }
    let id = &fact.id;
    if let Some((place, why)) = fact.unseen.first() {
        let what = format!(
            "cannot check the file-system snapshot {}, which {id} needs: {why}",
            crate::config::shown(place)
        );
        let finding = finding(Severity::Warning, what);
        return Some(match fact.is_recorded {
            true => finding.words("check again when it can be reached"),
            false => finding.words(format!(
                "check again when it can be reached; if it is lost: prune --forget {id}"
            )),
        });
    }
    Some(match (fact.is_recorded, fact.missing.is_empty()) {
        (true, true) => finding(
            Severity::Ok,
            format!(
                "{id} keeps its contents in the file system: {}",
                shown(&fact.places)
            ),
        ),
        (true, false) => {
            let what = format!(
                "the file-system snapshot {} is missing, which damages {id}",
                shown(&fact.missing)
            );
            finding(Severity::Error, what).damage().verb("verify --read-data")
        }
        (false, _) => {
            let what = format!(
                "{} is the file-system snapshot of {id}, which is not stored",
                shown(&fact.places)
            );
            finding(Severity::Note, what)
                .words("the next command that writes to the store stores or removes it")
        }
    })
}

fn ids(ids: &[SnapshotId]) -> String {
    named(ids.iter().map(ToString::to_string).collect())
}

fn named(mut all: Vec<String>) -> String {
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    all.join(", ")
}

fn snapshots(survey: &Survey, findings: &mut Vec<Finding>) {
    let found = |severity, what: String| Finding::new(Group::Snapshots, severity, what);
    let mut judged = Vec::new();
    for (id, error) in survey.unreadable.iter().take(NAMED) {
        let finding = found(Severity::Error, format!("the record of {id}: {error}")).damage();
        judged.push(match error {
            StoreError::Newer { .. } => finding.words(NEWER),
            _ => finding.words(format!(
                "copy snapshots/{id}.json from a backup; the other snapshots are not affected"
            )),
        });
    }
    if survey.unreadable.len() > NAMED {
        let what = format!("{} more records cannot be read", survey.unreadable.len() - NAMED);
        judged.push(found(Severity::Error, what).damage().verb("verify"));
    }
    if !survey.lost.is_empty() {
        let what = format!(
            "records are missing for snapshots in the log: {}",
            named(survey.lost.iter().map(ToString::to_string).collect())
        );
        let finding = found(Severity::Error, what).damage();
        judged.push(finding.words(
            "copy the records into snapshots/ from a backup, or discard them with `rebuild \
            --accept-loss`",
        ));
    }
    if let Some((_, first)) = survey.missing.first() {
        let mut damaged: Vec<SnapshotId> = survey.missing.iter().map(|(id, _)| id.clone()).collect();
        damaged.dedup();
        let what = format!(
            "archive {first} is missing or has another size, which damages {}",
            ids(&damaged)
        );
        judged.push(found(Severity::Error, what).damage().verb("verify --read-data"));
    }
    if !survey.without_receipt.is_empty() {
        let what = format!(
            "{} without a receipt (killed before it was written); usable",
            ids(&survey.without_receipt)
        );
        judged.push(found(Severity::Note, what).verb("log"));
    }
    orphans(survey, &mut judged);
    if judged.is_empty() && survey.failures.is_empty() {
        let records = usize::try_from(survey.records).unwrap_or(usize::MAX);
        let archives = usize::try_from(survey.archives).unwrap_or(usize::MAX);
        let what = format!(
            "{} and {}, each where it belongs",
            counted(records, "record", "records"),
            counted(archives, "archive", "archives")
        );
        judged.push(found(Severity::Ok, what));
    }
    findings.extend(judged);
}

/// Reports archives that no record names. They waste room, but an unreadable record may still name them.
fn orphans(survey: &Survey, judged: &mut Vec<Finding>) {
    let Some((first, _)) = survey.orphans.first() else {
        return;
    };
    let bytes = survey.orphans.iter().map(|(_, size)| size).sum();
    let archives = counted(survey.orphans.len(), "archive", "archives");
    // A redirect that cannot be read may lead to one of them.
    let sure = survey.unreadable.is_empty()
        && survey.missing.is_empty()
        && survey.lost.is_empty()
        && survey.failures.is_empty()
        && survey.receipts.is_ok();
    let finding = if sure {
        let paths: Vec<String> = survey.orphans.iter().map(|(path, _)| shell::word(path)).collect();
        let what = format!(
            "no record names {archives} of {}: left by a killed command",
            size(bytes)
        );
        Finding::new(Group::Snapshots, Severity::Warning, what).shell(format!("rm {}", paths.join(" ")))
    } else {
        let what = format!(
            "no readable record names {archives} of {}; a damaged or lost one may",
            size(bytes)
        );
        Finding::new(Group::Snapshots, Severity::Note, what)
            .words("keep them until every snapshot is valid again")
    };
    judged.push(finding.at(first));
}

fn receipts(survey: &Survey, findings: &mut Vec<Finding>) {
    let finding = match &survey.receipts {
        // It holds, and is not the chain that the catalog knows: told with the catalog.
        Ok(_) if matches!(survey.catalog.error, Some(StoreError::Chain { .. })) => return,
        Ok(_) if !survey.untold.is_empty() => {
            let what = format!(
                "receipts are lost: none names {} any more; no snapshot is affected",
                ids(&survey.untold)
            );
            Finding::new(Group::Receipts, Severity::Error, what)
                .damage()
                .verb("rebuild")
        }
        Ok(number) => {
            let number = usize::try_from(*number).unwrap_or(usize::MAX);
            let what = format!("{}, every hash is valid", counted(number, "receipt", "receipts"));
            Finding::new(Group::Receipts, Severity::Ok, what)
        }
        Err(error) => broken(Group::Receipts, error),
    };
    findings.push(finding);
}

fn broken(group: Group, error: &StoreError) -> Finding {
    let finding = Finding::new(group, Severity::Error, error.to_string());
    match error {
        StoreError::Newer { .. } | StoreError::UnknownReceipt { .. } => finding.damage().words(NEWER),
        StoreError::Chain { .. } => finding.damage().verb("rebuild"),
        StoreError::Damaged { .. } if group == Group::Catalog => finding.damage().verb("rebuild"),
        StoreError::Damaged { path, .. } | StoreError::Unsafe { path, .. } => finding
            .damage()
            .at(path)
            .shell(format!("ls -l {}", shell::word(path))),
        StoreError::Io { path, .. } => finding.at(path).shell(format!("ls -l {}", shell::word(path))),
        _ => finding.verb("verify"),
    }
}

fn catalog(survey: &Survey, findings: &mut Vec<Finding>) {
    let found = |severity, what: String| Finding::new(Group::Catalog, severity, what);
    let facts = &survey.catalog;
    if let Some(fault) = facts.faults.first() {
        let more = facts.faults.len() - 1;
        let more = if more > 0 {
            format!(" (and {more} more)")
        } else {
            String::new()
        };
        let what = format!("the catalog is damaged: {fault}{more}; snapshots and receipts are not affected");
        findings.push(found(Severity::Error, what).damage().verb("rebuild"));
    } else if let Some(error) = &facts.error {
        // A broken chain is reported only once.
        let said = matches!(
            error,
            StoreError::Chain { .. } | StoreError::UnknownReceipt { .. }
        ) && survey.receipts.is_err();
        if !said {
            let group = if matches!(error, StoreError::Chain { .. }) {
                Group::Receipts
            } else {
                Group::Catalog
            };
            findings.push(broken(group, error));
        }
    } else {
        findings.push(match facts.version {
            None => found(
                Severity::Note,
                "it is missing; the next command that writes creates it".to_owned(),
            ),
            Some(_) if !facts.current => found(
                Severity::Note,
                "it is out of date; the next command that writes updates it".to_owned(),
            )
            .verb("rebuild"),
            Some(version) => found(
                Severity::Ok,
                format!("version {version}, sound, and has everything"),
            ),
        });
    }
    if let Some(aside) = &facts.aside {
        let what = format!(
            "{}: a damaged catalog that was moved aside; nothing needs it",
            shown(aside)
        );
        let finding = found(Severity::Note, what).at(aside);
        findings.push(finding.shell(format!("rm {}", shell::word(aside))));
    }
}

fn draft(draft: &DraftFact) -> Finding {
    let found = |what: String| Finding::new(Group::Work, Severity::Note, what).at(&draft.path);
    let path = shown(&draft.path);
    let name = draft.path.file_name().and_then(|name| name.to_str());
    if name.is_none_or(|name| SnapshotId::parse(name).is_err()) {
        let what = format!("{path}: no draft has such a name, so nothing removes it");
        return found(what).shell(format!("ls -la {}", shell::word(&draft.path)));
    }
    match &draft.holders {
        Some(holders) => {
            let who: Vec<String> = holders
                .iter()
                .map(|holder| format!(" by process {} ({})", holder.pid, holder.name))
                .collect();
            found(format!("{path}: a snapshot is being taken{}", who.concat()))
        }
        None => found(format!(
            "{path}: a draft of {} whose process exited; the next command that writes removes it",
            size(draft.bytes)
        ))
        .verb("rebuild"),
    }
}
