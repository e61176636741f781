//! `restore --to`: a snapshot into a directory of its own. Nothing that is there already is touched.

use std::path::PathBuf;

use super::target;
use crate::cli::args::RestoreArgs;
use crate::cli::commands::elsewhere::{Done, Job, check, count, parts, write};
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::document::{Head, HostPathDocument, RestoreOutcome, RestoreToDocument};
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::clock::random;
use crate::restore::Fresh;
use crate::store::{InstanceRow, Store};
use crate::terminal::{sanitize, size};

pub(super) fn to_directory(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
    args: &RestoreArgs,
    directory: PathBuf,
) -> Result<Status, CliError> {
    let (target, _) = target(store, row, args)?;
    let parts = parts(context, store, &target, &args.paths, args.files_only)?;
    // Before anybody is asked: what cannot be done is no question.
    check(&directory)?;
    let count = count(&parts);
    let terminal = context.terminal;
    let place = HostPathDocument::new(&directory);
    let document = |outcome, paths, failed| RestoreToDocument {
        head: Head::default(),
        instance: row.id.to_string(),
        outcome,
        target: target.id.to_string(),
        directory: place.path.clone(),
        directory_bytes: place.path_bytes.clone(),
        paths,
        failed,
    };
    let shown = sanitize::path(&directory);
    let plan = format!(
        "{} of the {} snapshot {} to write into {shown}",
        size::counted(count, "path", "paths"),
        target.kind.word(),
        target.id
    );
    match (args.json, args.dry_run) {
        (true, true) => terminal.json(&document(RestoreOutcome::Planned, count, Vec::new())),
        (false, _) => terminal.out(&plan),
        (true, false) if !args.yes && terminal.can_ask() => terminal.err(&plan),
        (true, false) => {}
    }
    if args.dry_run {
        return Ok(ExitCode::Done.into());
    }
    confirm(terminal, &context.interrupts, "Write them there?", args.yes)?;
    let fresh = Fresh::make(&directory, random(context.world().entropy))?;
    let job = Job {
        context,
        store,
        target: &target,
        parts: &parts,
        directory: &directory,
        json: args.json,
        verified: false,
    };
    let Done { paths, problems, .. } = write(&job, &fresh)?;
    fresh.finish()?;
    let partial = !problems.is_empty();
    if args.json {
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
