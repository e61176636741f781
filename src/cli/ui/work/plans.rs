//! Plans, and carrying them out: by the verbs `restore` and `undo`, which refuse what they refuse elsewhere.

use super::super::data::{Answer, Goal, Request};
use crate::cli::args::{Mtimes, RestoreArgs, UndoArgs, Unlock};
use crate::cli::commands::restore::Planned;
use crate::cli::commands::{restore, undo};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::view;
use crate::restore::{Purpose, refuse_locked};
use crate::terminal::recorded::Recording;
use crate::terminal::{Role, style};

/// The verb that a request stands for.
enum Wanted {
    Restore(RestoreArgs),
    Undo(UndoArgs),
}

impl Wanted {
    /// The arguments, to look or to act.
    fn of(request: &Request, dry_run: bool) -> Self {
        let (instance, yes) = (request.instance.clone(), !dry_run);
        let (from, only_changes_of) = match &request.goal {
            Goal::Undo(receipt) => {
                return Self::Undo(UndoArgs {
                    instance: Some(instance),
                    receipt: *receipt,
                    dry_run,
                    yes,
                    overwrite_later_edits: request.overwrite_later,
                    delete_later_files: request.delete_later,
                    unlock: Unlock::default(),
                    json: false,
                });
            }
            Goal::Snapshot(id) => (Some(id.clone()), None),
            Goal::Step(id) => (None, Some(id.clone())),
        };
        Self::Restore(RestoreArgs {
            instance,
            paths: request.paths.clone(),
            dry_run,
            patch: false,
            yes,
            from,
            only_changes_of,
            to: None,
            overwrite_later_edits: request.overwrite_later,
            delete_later_files: request.delete_later,
            set_aside_excluded: Vec::new(),
            files_only: false,
            mtimes: Mtimes::Now,
            unlock: Unlock::default(),
            require_complete: false,
            json: false,
        })
    }

    fn plan(&self, context: &Context<'_>) -> Result<Planned, CliError> {
        match self {
            Self::Restore(args) => restore::plan(context, args),
            Self::Undo(args) => undo::plan(context, args),
        }
    }
}

/// Returns the plan of a restore. Nothing is locked while the operator reads it.
pub(super) fn plan(context: &Context<'_>, request: Request) -> Result<Answer, CliError> {
    let planned = Wanted::of(&request, true).plan(context)?;
    Ok(told(request, &planned))
}

/// Plans again, now with the locks held; what was agreed to is done, anything else is shown first.
pub(super) fn act(
    context: &Context<'_>,
    request: Request,
    agreed: &str,
    said: &Recording,
) -> Result<Answer, CliError> {
    let planned = Wanted::of(&request, false).plan(context)?;
    if text(&planned) != agreed {
        return Ok(told(request, &planned));
    }
    restore::carry(context, &planned)?;
    Ok(Answer::Done(said.text()))
}

fn told(mut request: Request, planned: &Planned) -> Answer {
    // The last restore is another one when something is restored meanwhile: what is shown is what is meant.
    if let Purpose::Undo(receipt) = planned.proposal.purpose {
        request.goal = Goal::Undo(Some(receipt));
    }
    let does_something = !planned.proposal.is_empty() && refuse_locked(&planned.proposal).is_ok();
    Answer::Plan(request, text(planned), does_something)
}

/// The plan as the verb shows it, with what it warns of.
fn text(planned: &Planned) -> String {
    let proposal = &planned.proposal;
    let mut lines = Vec::new();
    let mut warn = |text: &str| lines.push(style::paint(Role::Warning, text));
    if let Some(lacks) = restore::gaps(proposal) {
        warn(&lacks);
    }
    if let Err(refused) = refuse_locked(proposal) {
        warn(&format!("as it is now, it would be refused: {refused}"));
    }
    let keys = match restore::flags(proposal) {
        (false, false) => None,
        (true, false) => Some("`o` overwrites later edits"),
        (false, true) => Some("`d` deletes later files"),
        (true, true) => Some("`o` overwrites later edits, `d` deletes later files"),
    };
    if let Some(keys) = keys {
        warn(&format!("later work is in the way, and stays; {keys}"));
    }
    lines.push(view::plan::plan(proposal, super::WIDEST));
    lines.join("\n")
}
