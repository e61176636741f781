//! `restore --to`: a snapshot into a directory of its own. Nothing that is there already is touched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::target;
use crate::capture::{Note, Reveal};
use crate::cli::args::RestoreArgs;
use crate::cli::commands::paths;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::document::{Head, HostPathDocument, ReasonDocument, RestoreOutcome, RestoreToDocument};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::clock::random;
use crate::git::Repositories;
use crate::restore::{Fresh, RestoreError, Scope, write_to};
use crate::snapshot::{Coverage, Kind, Manifest, MountRecord, RelPath, SnapshotRecord};
use crate::store::{Blobs, InstanceRow, Store};
use crate::terminal::{sanitize, shell, size};

/// One mount, and which of its paths are wanted.
struct Part<'a> {
    mount: &'a MountRecord,
    manifest: Manifest,
    scope: Scope,
    reveal: Reveal,
    notes: Vec<Note>,
}

pub(super) fn to_directory(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
    args: &RestoreArgs,
    directory: PathBuf,
) -> Result<Status, CliError> {
    let (target, _) = target(store, row, args)?;
    let parts = parts(context, store, &target, args)?;
    // Before anybody is asked: what cannot be done is no question.
    check(&directory)?;
    let count = parts.iter().map(|part| wanted(&part.manifest, &part.scope)).sum();
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
    let (paths, problems) = write(context, store, &target, &parts, &directory, args.json)?;
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

fn parts<'a>(
    context: &Context<'_>,
    store: &Store,
    target: &'a SnapshotRecord,
    args: &RestoreArgs,
) -> Result<Vec<Part<'a>>, CliError> {
    let coverages: Vec<Coverage> = target.mounts.iter().map(|mount| mount.coverage.clone()).collect();
    let scopes = paths::scopes(context.environment, &coverages, &args.paths)?;
    let mut parts = Vec::new();
    for (mount, scope) in target.mounts.iter().zip(scopes) {
        // With what nobody has but the place that it came from, nothing is written elsewhere.
        let mut reveal = Reveal::elsewhere(store);
        let (manifest, notes) = reveal.stored_manifest(store, target, mount)?;
        let Some(manifest) = manifest else { continue };
        let known = paths::Known {
            sides: &[Some(&manifest)],
            elsewhere: &[],
            described: &format!("is not in the {} snapshot", target.kind.word()),
        };
        known.check(&mount.coverage, &scope, target.instance.as_str())?;
        let scope = if args.files_only {
            without_repositories(&manifest, &scope)
        } else {
            scope
        };
        parts.push(Part {
            mount,
            manifest,
            scope,
            reveal,
            notes,
        });
    }
    Ok(parts)
}

/// What `--files-only` takes.
fn without_repositories(manifest: &Manifest, scope: &Scope) -> Scope {
    let own = Repositories::of([manifest]);
    let entries = manifest.entries().map(|(path, _)| path);
    Scope::Exactly(
        entries
            .filter(|path| scope.holds(path) && own.holding(path).is_none())
            .collect(),
    )
}

/// How many paths will be written: those in the scope and the directories above them, but no sockets.
fn wanted(manifest: &Manifest, scope: &Scope) -> u64 {
    let files = manifest
        .entries()
        .filter(|(path, entry)| scope.holds(path) && entry.kind != Kind::Socket);
    let mut needed: BTreeSet<RelPath> = BTreeSet::new();
    for (path, _) in files {
        needed.extend(path.ancestors());
        needed.insert(path);
    }
    needed.remove(&RelPath::root());
    needed.len() as u64
}

/// It must be absent or an empty directory, in a directory that is there.
fn check(directory: &Path) -> Result<(), CliError> {
    let shown = sanitize::path(directory);
    let usage = |text: String| CliError::new(ErrorKind::Usage, text);
    match std::fs::symlink_metadata(directory) {
        Ok(found) if !found.is_dir() => {
            Err(usage(format!("{shown} is there already, and is not a directory"))
                .hint("--to takes a directory that is absent or empty"))
        }
        Ok(_) => match std::fs::read_dir(directory).map(|mut names| names.next().is_none()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(RestoreError::NotEmpty(directory.to_path_buf()).into()),
            Err(error) => {
                Err(CliError::new(ErrorKind::Io, format!("{shown} cannot be read")).because(&error))
            }
        },
        Err(_) => match directory.parent() {
            Some(parent) if !parent.is_dir() => {
                let above = sanitize::path(parent);
                Err(
                    usage(format!("{shown} cannot be made: there is no directory {above}")).hint(format!(
                        "make it first:\n  mkdir -p {}",
                        shell::word(parent.as_os_str())
                    )),
                )
            }
            _ => Ok(()),
        },
    }
}

fn write(
    context: &Context<'_>,
    store: &Store,
    target: &SnapshotRecord,
    parts: &[Part<'_>],
    directory: &Path,
    json: bool,
) -> Result<(u64, Vec<ReasonDocument>), CliError> {
    let private = parts.iter().map(|part| part.reveal.lent());
    let blobs = private.fold(store.contents(target), Blobs::lending);
    let several = target.mounts.len() > 1;
    let world = context.world();
    let fresh = Fresh::make(directory, random(world.entropy))?;
    let mut paths = 0;
    let mut problems = Vec::new();
    for part in parts {
        let coverage = &part.mount.coverage;
        let within = |top: &Path| match several {
            true => top.join(&coverage.label),
            false => top.to_path_buf(),
        };
        let (part_path, place) = (within(fresh.path()), within(directory));
        let written = write_to(&part_path, &part.manifest, &part.scope, &blobs, world.observer)?;
        paths += written.paths.len() as u64;
        for note in part.notes.iter().filter(|note| part.scope.holds(&note.path)) {
            let host = sanitize::path(&note.path.on_host(&place));
            let key = sanitize::text(&note.key.join("."));
            context.terminal.note(&format!("{host}: {key}: {}", note.words()));
        }
        for (path, reason) in written.problems {
            if !json {
                let host = sanitize::path(&path.on_host(&place));
                context.terminal.warn(&format!("{host}: {reason}"));
            }
            problems.push(ReasonDocument::new(coverage, &path, reason));
        }
    }
    fresh.finish()?;
    Ok((paths, problems))
}
