//! `restore --to`: a snapshot into a directory of its own. Nothing that is there already is touched.

use super::RestoreArgs;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::suggested_command::Words;
use crate::cli::view;
use crate::cli::written_snapshot::{
    print_changed_meanwhile, print_encrypted, print_outside_git, print_problems, print_sockets, to_write,
};
use crate::recovery::{IncompleteDatabase, MissingClaim, OutputPlan};
use crate::report::{
    Head, HostPathDocument, NewClaimDocument, OutsideGitDocument, PathDocument, ReasonDocument,
    RestoreOutcome, RestoreToDocument, not_opened, not_sockets, problems,
};
use crate::terminal::{sanitize, size};

pub(super) fn to_directory(
    context: &Context<'_>,
    planned: &OutputPlan,
    args: &RestoreArgs,
    again: &Words,
) -> Result<Status, CliError> {
    let OutputPlan {
        row,
        target,
        directory,
        paths: count,
        new_claim: new,
        encrypted,
        sockets,
        also,
        incomplete,
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
        complete: target.complete && encrypted.is_empty(),
        new_claim: new.as_ref().map(claim_document),
        paths,
        failed,
        left_out: not_written(planned),
        also: also
            .iter()
            .map(|(coverage, path)| PathDocument::new(coverage, path))
            .collect(),
        outside_git: Vec::new(),
    };
    let lacks = args.require_complete || encrypted.iter().any(|file| file.is_named);
    let lacks = lacks && !encrypted.is_empty() || sockets.iter().any(|socket| socket.is_named);
    // A directory that was written is no place for a second copy.
    let propose = |is_written: bool| {
        if encrypted.is_empty() || args.json.is_json() {
            return;
        }
        let words = match is_written {
            true => again.clone().plain("--to NEW-DIRECTORY"),
            false => again.clone().flag("--to", args.to.as_ref()),
        };
        context.propose(to_write(encrypted), &words.plain("--identity FILE").text());
    };
    let shown = sanitize::path(directory);
    let mut plan = vec![format!(
        "{} of the {} snapshot {} to write into {shown}",
        size::counted(count, "path", "paths"),
        target.kind.word(),
        target.id
    )];
    plan.extend(new.as_ref().map(claim_words));
    let paths = also.iter().map(|(_, path)| view::changes::path(path, None));
    view::plan::list(&mut plan, view::plan::ALSO, paths);
    let plan = plan.join("\n");
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
    print_changed_meanwhile(context, target);
    if !args.json.is_json() {
        print_encrypted(context, encrypted);
        print_sockets(context, sockets);
        for of in incomplete {
            let path = view::changes::path(&of.excluded, None);
            terminal.warn(&format!("{path} is {}", incomplete_words(of)));
        }
    }
    let code = |partial: bool| match partial {
        true => ExitCode::Partial.into(),
        false => ExitCode::Done.into(),
    };
    if args.dry_run {
        propose(false);
        return Ok(code(lacks));
    }
    if count == 0 && lacks {
        // Everything that was asked for is encrypted, or a socket.
        if args.json.is_json() {
            terminal.json(&document(RestoreOutcome::Partial, 0, Vec::new()));
        }
        propose(false);
        return Ok(code(lacks));
    }
    confirm(terminal, &context.interrupts, "Write them there?", args.yes)?;
    let written = context.engine().write_output(planned)?;
    print_problems(context, &written, args.json.is_json());
    let outside_git = OutsideGitDocument::all(&written);
    let (paths, problems) = (written.paths, problems(&written));
    let partial = lacks || !problems.is_empty();
    if args.json.is_json() {
        let outcome = if partial {
            RestoreOutcome::Partial
        } else {
            RestoreOutcome::Restored
        };
        terminal.json(&RestoreToDocument {
            outside_git,
            ..document(outcome, paths, problems)
        });
    } else {
        print_outside_git(context, &outside_git);
        let done = if partial { "Done in part" } else { "Done" };
        terminal.out(&format!(
            "{done}: {} written.",
            size::counted(paths, "path", "paths")
        ));
        propose(true);
    }
    Ok(code(partial))
}

/// Returns the files that are missing in the directory, with the reasons.
fn not_written(planned: &OutputPlan) -> Vec<ReasonDocument> {
    let excluded = planned
        .incomplete
        .iter()
        .map(|of| ReasonDocument::new(&of.coverage, &of.excluded, incomplete_words(of)));
    let closed = not_opened(&planned.encrypted).into_iter();
    closed
        .chain(not_sockets(&planned.sockets))
        .chain(excluded)
        .collect()
}

fn incomplete_words(of: &IncompleteDatabase) -> String {
    let database = view::changes::path(&of.database, None);
    format!("excluded: the copy of the database {database} is incomplete")
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
