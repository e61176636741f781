//! Plans, and carrying them out: by the commands `restore` and `undo`, which refuse what they refuse elsewhere.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::data::{Answer, Goal, Request, Sides};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::line_choice::LineChoice;
use crate::cli::restore_flow::{Choosing, RestoreOptions, carry, flags, gaps};
use crate::cli::suggested_command::{Words, literal};
use crate::cli::view;
use crate::cli::view::plan::Listed;
use crate::recovery::{ChosenPaths, RestorePlan, RestoreRequest, UndoRequest};
use crate::report::{ChangedMeanwhileDocument, restore_document};
use crate::restore::{Allow, Purpose, Why, refuse_in_use};
use crate::terminal::recorded::Recording;
use crate::terminal::{Role, style};

/// Plans what a request asks for, to look or to act. With marks the plan of their paths and of all below them comes first, and is narrowed
/// to the marks.
fn planned(context: &Context<'_>, request: &Request, dry_run: bool) -> Result<RestorePlan, CliError> {
    let whole = planned_with(context, request, None, dry_run)?;
    if request.paths.is_empty() {
        return Ok(whole);
    }
    let choice = LineChoice::of(&whole, &request.lines, &request.paths)?;
    if choice.is_all {
        return Ok(whole);
    }
    // It holds the locks.
    drop(whole);
    let narrowed = planned_with(context, request, Some(&choice.chosen), dry_run)?;
    choice.ensure_kept(&narrowed)?;
    Ok(narrowed)
}

fn planned_with(
    context: &Context<'_>,
    request: &Request,
    chosen: Option<&ChosenPaths>,
    dry_run: bool,
) -> Result<RestorePlan, CliError> {
    let allow = Allow {
        overwrite_later: request.overwrite_later,
        delete_later: request.delete_later,
        ..Allow::default()
    };
    let (from, only_changes_of) = match &request.goal {
        Goal::Undo(receipt) => {
            return Ok(context.engine().plan_undo(&UndoRequest {
                session: Some(&request.instance),
                receipt: *receipt,
                allow,
                dry_run,
                ..UndoRequest::default()
            })?);
        }
        Goal::Snapshot(id) => (Some(id.as_str()), None),
        Goal::Step(id) => (None, Some(id.as_str())),
    };
    Ok(context.engine().plan(&RestoreRequest {
        paths: &request.paths,
        chosen,
        from,
        only_changes_of,
        allow,
        dry_run,
        ..RestoreRequest::of(&request.instance)
    })?)
}

/// Returns the paths that a restore to the earlier side keeps. Without a plan there is none: the restore reports why.
pub(super) fn later(context: &Context<'_>, sides: Sides) -> Answer {
    let kept = kept(context, &sides).unwrap_or_default();
    Answer::Later(sides, kept)
}

/// Returns the host paths that a restore keeps, with the reason in two words.
fn kept(context: &Context<'_>, sides: &Sides) -> Result<BTreeMap<PathBuf, &'static str>, CliError> {
    let (from, only_changes_of) = match &sides.to {
        Some(step) if sides.is_step => (None, Some(step.as_str())),
        _ => (Some(sides.from.as_str()), None),
    };
    let planned = context.engine().plan(&RestoreRequest {
        from,
        only_changes_of,
        dry_run: true,
        shows_refused: true,
        ..RestoreRequest::of(&sides.instance)
    })?;
    let mut kept = BTreeMap::new();
    for mount in &planned.proposal.mounts {
        for conflict in &mount.plan.conflicts {
            let words = match conflict.why {
                Why::LaterEdit(_) => "edited later",
                Why::LaterFile(_) => "created later",
                Why::LaterDeletion(_) => "deleted later",
                _ => "conflict",
            };
            let root = mount.request.coverage.root.to_path();
            kept.insert(conflict.change.path.on_host(&root), words);
        }
    }
    Ok(kept)
}

/// Returns the plan of a restore. Nothing is locked while the operator reads it.
pub(super) fn plan(context: &Context<'_>, request: Request) -> Result<Answer, CliError> {
    let planned = planned(context, &request, true)?;
    Ok(told(request, &planned))
}

/// Plans again, now with the locks held; what was agreed to is done, anything else is shown first.
pub(super) fn act(
    context: &Context<'_>,
    request: Request,
    agreed: &str,
    said: &Recording,
) -> Result<Answer, CliError> {
    let planned = planned(context, &request, false)?;
    if text(&planned) != agreed {
        return Ok(told(request, &planned));
    }
    let roots: Vec<PathBuf> = planned
        .row
        .mounts
        .iter()
        .map(|mount| mount.root.to_path())
        .collect();
    let paths: Vec<OsString> = request
        .paths
        .iter()
        .map(|path| literal(&roots, Path::new(path)))
        .collect();
    let again = match (&request.goal, &planned.proposal.purpose) {
        (Goal::Undo(_), Purpose::Undo(number)) => Words::new("undo")
            .arg(planned.row.id.as_str())
            .flag("--receipt", Some(number.to_string())),
        (Goal::Snapshot(id), _) => Words::new("restore")
            .arg(planned.row.id.as_str())
            .flag("--from", Some(id))
            .switch("--patch", !request.lines.is_empty())
            .paths(&paths),
        (Goal::Step(id), _) => Words::new("restore")
            .arg(planned.row.id.as_str())
            .flag("--only-changes-of", Some(id))
            .switch("--patch", !request.lines.is_empty())
            .paths(&paths),
        (Goal::Undo(_), _) => Words::new("undo").arg(planned.row.id.as_str()),
    };
    let how = RestoreOptions {
        json: false,
        json_lines: false,
        yes: true,
        dry_run: false,
        patch: false,
        all: true,
        choosing: Choosing::Nothing,
        question: "",
        identity: None,
        again,
    };
    carry(context, &planned, &how)?;
    Ok(Answer::Done(said.text()))
}

fn told(mut request: Request, planned: &RestorePlan) -> Answer {
    // The last restore is another one when something is restored meanwhile: what is shown is what is meant.
    if let Purpose::Undo(receipt) = planned.proposal.purpose {
        request.goal = Goal::Undo(Some(receipt));
    }
    let does_something = !planned.proposal.is_empty() && refuse_in_use(&planned.proposal).is_ok();
    let document = restore_document(&planned.row, &planned.proposal, None);
    let paths = does_something.then(|| view::plan::changed(&document));
    Answer::Plan(request, text(planned), paths)
}

/// The plan as the command shows it, with what it warns of.
fn text(planned: &RestorePlan) -> String {
    let proposal = &planned.proposal;
    let mut lines = Vec::new();
    let mut warn = |text: &str| lines.push(style::paint(Role::Warning, text));
    if let Some(lacks) = gaps(proposal) {
        warn(&lacks);
    }
    if let Some(changed) = ChangedMeanwhileDocument::of(&proposal.target) {
        warn(&changed.line());
    }
    if let Err(refused) = refuse_in_use(proposal) {
        warn(&format!(
            "would be refused now: {}",
            CliError::from(refused).message
        ));
    }
    let keys = match flags(proposal) {
        (false, false) => None,
        (true, false) => Some("`o` overwrites later edits"),
        (false, true) => Some("`d` deletes later files"),
        (true, true) => Some("`o` overwrites later edits, `d` deletes later files"),
    };
    if let Some(keys) = keys {
        warn(&format!("later edits stay; {keys}"));
    }
    lines.push(view::plan::plan(
        &restore_document(&planned.row, proposal, None),
        super::WIDEST,
        Listed::All,
    ));
    lines.join("\n")
}
