//! `import`: a session from a file that `export` wrote, on this machine or another.

use std::io;
use std::path::Path;

use crate::cli::args::ImportArgs;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::document::{
    DroppedDocument, Head, HostPathDocument, ImportDocument, ImportOutcome, OriginDocument,
};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::view;
use crate::config::settle_path;
use crate::model::SnapshotRecord;
use crate::session::{Allowed, ImportRequest, ensure_outside_session, import};
use crate::terminal::sanitize;
use crate::transfer::Incoming;

mod copy;

pub(super) fn run(context: &Context<'_>, args: &ImportArgs) -> Result<Status, CliError> {
    if let Some(store) = context.store_for_reading()? {
        ensure_outside_session(&store, context.environment, Allowed::Nothing)?;
    }
    if let Some(from) = &args.from {
        return copy::run(context, args, from);
    }
    let Some(file) = &args.file else {
        return Err(CliError::new(ErrorKind::Usage, "no file was named"));
    };
    let file = settle_path(context.environment, file.as_ref());
    if !file.is_file() {
        let shown = sanitize::path(&file);
        let message = match file.symlink_metadata() {
            Ok(_) => format!("{shown} is no regular file"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => format!("there is no file {shown}"),
            Err(error) => format!("{shown} cannot be looked at: {error}"),
        };
        return Err(CliError::new(ErrorKind::Usage, message)
            .hint("import takes a file that `export` wrote, here or on another machine"));
    }
    let world = context.world();
    let mut incoming = Incoming::read(&file, world.observer)?;
    if !args.trust {
        let operator = context.environment.operator;
        incoming.strip(operator.map_or_else(handle_fs::own_ids, |owner| (owner.uid, owner.gid)));
    }
    let shown = view::import::shown(&incoming, &file, args.trust);
    match (args.json, args.dry_run) {
        (true, true) => tell(context, args, &incoming, &file, None),
        (false, _) => context.terminal.out(&shown),
        (true, false) if !args.yes && context.terminal.can_ask() => context.terminal.err(&shown),
        (true, false) => {}
    }
    if args.dry_run {
        return Ok(ExitCode::Done.into());
    }
    confirm(
        context.terminal,
        &context.interrupts,
        "Take it over as a new session?",
        args.yes,
    )?;
    let store = context.store_for_writing()?;
    let _needed = store.share()?;
    let request = ImportRequest {
        incoming: &incoming,
        file: &file,
        trusted: args.trust,
    };
    let record = import(&store, world, &request)?;
    if args.json {
        tell(context, args, &incoming, &file, Some(&record));
    } else {
        context.terminal.out(&format!(
            "imported as {}, snapshot {}",
            record.instance, record.id
        ));
        context.propose("have its files", &format!("fork {}", record.instance));
    }
    Ok(ExitCode::Done.into())
}

fn tell(
    context: &Context<'_>,
    args: &ImportArgs,
    incoming: &Incoming,
    file: &Path,
    record: Option<&SnapshotRecord>,
) {
    let place = HostPathDocument::new(file);
    let (size, digest) = incoming.whole();
    let (entries, bytes) = incoming.totals();
    let dropped = incoming.dropped();
    context.terminal.json(&ImportDocument {
        head: Head::default(),
        outcome: match record {
            Some(_) => ImportOutcome::Imported,
            None => ImportOutcome::Planned,
        },
        file: place.path,
        file_bytes: place.path_bytes,
        size,
        digest: digest.to_string(),
        origin: OriginDocument::new(incoming.note()),
        entries,
        bytes,
        trusted: args.trust,
        dropped: dropped.paths,
        owners: dropped.owners,
        dropped_paths: dropped.named.iter().map(DroppedDocument::new).collect(),
        instance: record.map(|record| record.instance.to_string()),
        snapshot: record.map(|record| record.id.to_string()),
    });
}
