//! Plans made from trees that are made up, and restores of real directories.

mod aside;
mod authors;
mod building;
mod drift;
mod executing;
mod flags;
mod hints;
mod knowing;
mod linked;
mod meddling;
mod model;
mod modes;
mod nested;
mod older;
mod problems;
mod property;
mod refused;
mod repositories;
mod scopes;
mod set_aside;
mod simulation;
mod staging;
mod states;
mod times;
mod witness;

use std::collections::BTreeSet;

use super::{
    Action, Allow, ChangeHistory, Merging, MountRequest, Plan, Proposal, Purpose, Report, RestoreContext,
    RestoreError, Scope, Why, execute, plan, propose,
};
use crate::capture::Captured;
use crate::capture::tests::{Place, only};
use crate::diff::tests::{Tree, path};
use crate::model::{Operation, RelPath, SnapshotKind};
use crate::observer::{Observer, Silent};

const NOTHING: Allow = Allow {
    overwrite_later: false,
    delete_later: false,
    files_only: false,
    merging: Merging::Off,
};
const OVERWRITE: Allow = Allow {
    overwrite_later: true,
    ..NOTHING
};
const DELETE: Allow = Allow {
    delete_later: true,
    files_only: false,
    ..NOTHING
};
const BOTH: Allow = Allow {
    overwrite_later: true,
    delete_later: true,
    ..NOTHING
};

/// The plan for a session that was seen to end with `last`.
fn planned(target: &Tree, last: &Tree, now: &Tree, scope: &Scope, allow: Allow) -> Plan {
    let witness = ChangeHistory {
        last: Some(last.build().manifest),
        ..ChangeHistory::default()
    };
    plan(
        Some(&target.build().manifest),
        &now.build().side(),
        &witness,
        scope,
        allow,
    )
}

/// A plan in words, sorted: what is done, what is a conflict, what stays.
fn words(plan: &Plan) -> Vec<String> {
    let text = |path: &RelPath| String::from_utf8(path.as_bytes().to_vec()).unwrap();
    let mut words: Vec<String> = plan
        .steps
        .iter()
        .map(|step| {
            let action = match step.action {
                Action::Create => "create",
                Action::Replace => "replace",
                Action::Delete => "delete",
                Action::Metadata => "metadata",
            };
            let overrode = if step.overrode { " overrode" } else { "" };
            format!("{action} {}{overrode}", text(&step.change.path))
        })
        .collect();
    for (list, kept) in [("conflict", &plan.conflicts), ("kept", &plan.kept)] {
        words.extend(kept.iter().map(|kept| {
            let why = match &kept.why {
                Why::LaterEdit(_) => "edit".to_owned(),
                Why::LaterFile(_) => "file".to_owned(),
                Why::LaterDeletion(_) => "deletion".to_owned(),
                Why::Unvouched(_) => "unvouched".to_owned(),
                Why::Unseen => "unseen".to_owned(),
                Why::Shared(ids) => format!("shared by {}", ids.len()),
                Why::Database(path) => {
                    format!("same database as {}", String::from_utf8_lossy(path.as_bytes()))
                }
                Why::Format(path) => format!("format of {}", text(path)),
                Why::Repository(path) => format!("same repository as {}", text(path)),
                Why::Names(path) => format!("names {}", String::from_utf8_lossy(path.as_bytes())),
                Why::Moved(path) => format!("moved from {}", text(path)),
                Why::Needed(path) => format!("needed by {}", String::from_utf8_lossy(path.as_bytes())),
                Why::Others(ids) => format!("changed by {} others", ids.len()),
                Why::Closed => "closed".to_owned(),
                Why::Holds(held) => format!("holds {}", text(held)),
                Why::Parent(above) => format!("parent {}", text(above)),
                Why::Socket => "socket".to_owned(),
                Why::Root => "root".to_owned(),
                Why::Stored => "stored".to_owned(),
                Why::Settled => "settled".to_owned(),
                Why::NothingToMerge(_) => "nothing to merge".to_owned(),
                Why::Excluded => "excluded".to_owned(),
                Why::Older => "older".to_owned(),
                Why::Aside(why) => format!("{why:?}"),
                Why::OneName(other) => format!("one name with {}", text(other)),
                Why::Encoding => "encoding".to_owned(),
                Why::Linked(first) => format!("linked {}", text(first)),
            };
            format!("{list} {}: {why}", text(&kept.change.path))
        }));
    }
    words.sort();
    words
}

fn below(paths: &[&str]) -> Scope {
    Scope::Below(paths.iter().map(|at| path(at)).collect())
}

fn exactly(paths: &[&str]) -> Scope {
    Scope::Exactly(paths.iter().map(|at| path(at)).collect::<BTreeSet<_>>())
}

/// A real directory between the two ends of a session.
struct Wrecked {
    place: Place,
    baseline: Captured,
    closing: Captured,
}

/// Files before, and what a session does to them.
fn wrecked(files: &[(&str, &str)], session: impl FnOnce(&Place)) -> Wrecked {
    let place = Place::with(files);
    let baseline = place.take(SnapshotKind::Baseline);
    session(&place);
    let closing = place.take(SnapshotKind::Closing);
    Wrecked {
        place,
        baseline,
        closing,
    }
}

impl Wrecked {
    fn propose(&self) -> Proposal {
        self.propose_with(Scope::All, NOTHING)
    }

    fn propose_with(&self, scope: Scope, allow: Allow) -> Proposal {
        let witness = ChangeHistory {
            last: Some(only(&self.closing).clone()),
            ..ChangeHistory::default()
        };
        let request = MountRequest {
            coverage: self.place.coverage(),
            scope,
            witness,
        };
        propose(
            &self.place.store,
            self.baseline.record.clone(),
            Purpose::Restore,
            vec![request],
            allow,
            false,
            &Silent,
        )
        .unwrap()
    }

    fn execute(&self, proposal: &Proposal) -> Result<Report, RestoreError> {
        self.execute_by(proposal, &Silent)
    }

    fn execute_by(&self, proposal: &Proposal, observer: &dyn Observer) -> Result<Report, RestoreError> {
        let acting = RestoreContext {
            observer,
            entropy: &self.place.entropy,
            now: crate::clock::Clock::now(&self.place.clock),
            uid: 1000,
            inside: false,
            exact_mtimes: false,
        };
        execute(&self.place.store, proposal, &acting)
    }

    /// The restores that were written down.
    fn receipts(&self) -> usize {
        let receipts = self.place.store.receipts().unwrap();
        let restores = receipts
            .iter()
            .filter(|receipt| matches!(receipt.act, Operation::Restore { .. }));
        restores.count()
    }

    /// Lists the names beside the mount, where a restore may leave nothing.
    fn beside(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.place.base)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Asserts that a failed restore left everything as `before` says.
    fn assert_untouched(
        &self,
        before: &std::collections::BTreeMap<std::path::PathBuf, (u32, Vec<u8>)>,
        about: &str,
    ) {
        assert_eq!(&self.place.tree(), before, "{about}");
        assert_eq!(self.beside(), ["data", "project"], "{about}");
        assert_eq!(self.receipts(), 0, "{about}");
        assert!(self.place.stored("tmp").is_empty(), "{about}");
    }
}
