//! `restore --to`: a snapshot into a directory of its own. Nothing that is there already is touched.

use std::path::{Path, PathBuf};

use super::RestoreArgs;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::write_snapshot::{Done, Job, bytes, check, count, parts, write};
use crate::clock::random;
use crate::environment::SnapshotPrograms;
use crate::model::SnapshotRecord;
use crate::process::{Freezer, NewClaim};
use crate::recovery::{RestoreRequest, restore_target};
use crate::report::{Head, HostPathDocument, NewClaimDocument, RestoreOutcome, RestoreToDocument};
use crate::restore::OutputDir;
use crate::store::{InstanceRow, Store};
use crate::terminal::{sanitize, size};
use handle_fs::NativeKind;
use handle_fs::remote::{Address, Spot};

pub(super) fn to_directory(
    context: &Context<'_>,
    (store, row): (&Store, &InstanceRow),
    request: &RestoreRequest<'_>,
    args: &RestoreArgs,
    directory: PathBuf,
) -> Result<Status, CliError> {
    let (target, _) = restore_target(store, row, request)?;
    let parts = parts(context, store, &target, &args.paths, args.files_only)?;
    // Before anybody is asked: what cannot be done is no question.
    let new = new_claim(
        &context.environment.snapshot_programs,
        &target,
        &directory,
        bytes(&parts),
    )?;
    if new.is_none() {
        check(&context.environment.transports, &directory)?;
    }
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
        new_claim: new.as_ref().map(New::document),
        paths,
        failed,
    };
    let shown = sanitize::path(&directory);
    let mut plan = format!(
        "{} of the {} snapshot {} to write into {shown}",
        size::counted(count, "path", "paths"),
        target.kind.word(),
        target.id
    );
    if let Some(new) = &new {
        plan.push_str(&format!("\n{}", new.told()));
    }
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
    if let Some(new) = &new {
        let kubectl = new.freezer.claims().make_claim(&new.spot, &new.claim);
        kubectl.map_err(|why| {
            CliError::new(
                ErrorKind::Io,
                format!("{shown} cannot be made: {}", sanitize::text(&why)),
            )
        })?;
        check(&context.environment.transports, &directory)
            .map_err(|error| error.hint(format!("the claim {} is made, and is empty", new.spot.name)))?;
    }
    let fresh = OutputDir::make(store.transports(), &directory, random(context.world().entropy))?;
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

/// A claim that is not there yet.
struct New {
    freezer: Freezer,
    spot: Spot,
    claim: NewClaim,
}

impl New {
    fn document(&self) -> NewClaimDocument {
        NewClaimDocument {
            storage_class: self.claim.class.clone(),
            storage: self.claim.size.clone(),
            like: self.claim.like.clone(),
        }
    }

    fn told(&self) -> String {
        let NewClaim {
            class, size, like, ..
        } = &self.claim;
        let class = match class.as_deref() {
            Some(class) => format!("of the class {}", sanitize::text(class)),
            None => "of the cluster's default class".to_owned(),
        };
        let like = like
            .as_ref()
            .map(|like| format!(", like {}", sanitize::text(like)));
        format!(
            "The claim {} is not there, and is made first: {} {class}{}.",
            self.spot.name,
            sanitize::text(size),
            like.unwrap_or_default()
        )
    }
}

/// The claim that has to be made before anything can be written there, when it is one and is not there.
fn new_claim(
    programs: &SnapshotPrograms,
    target: &SnapshotRecord,
    directory: &Path,
    bytes: u64,
) -> Result<Option<New>, CliError> {
    let spot = match Address::split(directory) {
        Some((Address::Claim(spot), inner)) if spot.snapshot().is_none() && inner == Path::new("/") => spot,
        _ => return Ok(None),
    };
    let freezer = Freezer::find(programs, NativeKind::Volume, &[])
        .ok_or_else(|| CliError::new(ErrorKind::Io, NativeKind::Volume.missing()))?;
    let like = target.mounts.iter().find_map(|mount| {
        let (address, _) = Address::split(&mount.coverage.root.to_path())?;
        match address {
            Address::Claim(spot) => Some(spot),
            _ => None,
        }
    });
    let planned = freezer
        .claims()
        .plan_claim(&spot, like.as_ref(), bytes)
        .map_err(|why| {
            let shown = sanitize::path(directory);
            let why = sanitize::text(&why);
            CliError::new(
                ErrorKind::Io,
                format!("{shown} cannot be written into, nor made: {why}"),
            )
            .hint("make the claim yourself, when it has to be another one")
        })?;
    Ok(planned.map(|claim| New { freezer, spot, claim }))
}
