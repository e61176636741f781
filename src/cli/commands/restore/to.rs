//! `restore --to`: a snapshot into a directory of its own. Nothing that is there already is touched.

use super::RestoreArgs;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::written_snapshot::print_problems;
use crate::recovery::{MissingClaim, OutputPlan};
use crate::report::{Head, HostPathDocument, NewClaimDocument, RestoreOutcome, RestoreToDocument, problems};
use crate::terminal::{sanitize, size};

pub(super) fn to_directory(
    context: &Context<'_>,
    planned: &OutputPlan,
    args: &RestoreArgs,
) -> Result<Status, CliError> {
    let OutputPlan {
        row,
        target,
        directory,
        paths: count,
        new_claim: new,
        ..
    } = planned;
    let count = *count;
    let terminal = context.terminal;
    let place = HostPathDocument::new(directory);
    let document = |outcome, paths, failed| RestoreToDocument {
        head: Head::default(),
        instance: row.id.to_string(),
        outcome,
        target: target.id.to_string(),
        directory: place.path.clone(),
        directory_bytes: place.path_bytes.clone(),
        complete: target.complete,
        new_claim: new.as_ref().map(claim_document),
        paths,
        failed,
    };
    let shown = sanitize::path(directory);
    let mut plan = format!(
        "{} of the {} snapshot {} to write into {shown}",
        size::counted(count, "path", "paths"),
        target.kind.word(),
        target.id
    );
    if let Some(new) = new {
        plan.push_str(&format!("\n{}", claim_words(new)));
    }
    match (args.json.is_json(), args.dry_run) {
        (true, true) => terminal.json(&document(RestoreOutcome::Planned, count, Vec::new())),
        (false, _) => terminal.out(&plan),
        (true, false) if !args.yes && terminal.can_ask() => terminal.err(&plan),
        (true, false) => {}
    }
    if !target.complete {
        terminal.warn(&format!(
            "the snapshot is incomplete; `show {}` lists what is missing",
            row.id
        ));
    }
    if args.dry_run {
        return Ok(ExitCode::Done.into());
    }
    confirm(terminal, &context.interrupts, "Write them there?", args.yes)?;
    let written = context.engine().write_output(planned)?;
    print_problems(context, &written, args.json.is_json());
    let (paths, problems) = (written.paths, problems(&written));
    let partial = !problems.is_empty();
    if args.json.is_json() {
        let outcome = if partial {
            RestoreOutcome::Partial
        } else {
            RestoreOutcome::Restored
        };
        terminal.json(&document(outcome, paths, problems));
    } else {
        let done = if partial { "Done in part" } else { "Done" };
        terminal.out(&format!(
            "{done}: {} written.",
            size::counted(paths, "path", "paths")
        ));
    }
    Ok(if partial {
        ExitCode::Partial
    } else {
        ExitCode::Done
    }
    .into())
}

fn claim_document(new: &MissingClaim) -> NewClaimDocument {
    NewClaimDocument {
        storage_class: new.claim.class.clone(),
        storage: new.claim.size.clone(),
        like: new.claim.like.clone(),
    }
}

fn claim_words(new: &MissingClaim) -> String {
    let claim = &new.claim;
    let class = match claim.class.as_deref() {
        Some(class) => format!("of the class {}", sanitize::text(class)),
        None => "of the cluster's default class".to_owned(),
    };
    let like = claim
        .like
        .as_ref()
        .map(|like| format!(", like {}", sanitize::text(like)));
    format!(
        "The claim {} is not there, and is made first: {} {class}{}.",
        new.name(),
        sanitize::text(&claim.size),
        like.unwrap_or_default()
    )
}
