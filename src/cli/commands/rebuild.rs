//! `rebuild`: the catalog anew from records and receipts.

use crate::cli::args::RebuildArgs;
use crate::cli::context::Context;
use crate::cli::document::{Head, HostPathDocument, RebuildDocument};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::session::{Allowed, refuse_inside};
use crate::snapshot::Act;
use crate::store::{LostRecord, Mended, Store, StoreError, mend_chain};
use crate::terminal::{sanitize, size};

/// What was wrong with the store.
#[derive(Default)]
struct Found {
    /// Records that cannot be read.
    unread: Vec<StoreError>,
    /// Records that are gone.
    lost: Vec<LostRecord>,
    /// The chain was broken.
    mended: Option<Mended>,
}

pub(super) fn run(context: &Context<'_>, args: &RebuildArgs) -> Result<Status, CliError> {
    // Where there is no store none is made.
    let Some(reading) = Store::open_read(context.layout()?)? else {
        tell(context, args, 0, &Found::default());
        return Ok(ExitCode::Done.into());
    };
    refuse_inside(&reading, context.environment, Allowed::Nothing)?;
    drop(reading);
    let mended = mend_chain(&context.layout()?, args.accept_loss).map_err(|error| match error {
        StoreError::Chain { number, .. } => {
            let message = format!("{error}; but not of all of them from there on");
            CliError::new(ErrorKind::Integrity, message)
                .hint("if you have a copy of receipts.log, put it back")
                .command(
                    format!(
                        "or go on with the {} before it; the damaged log is laid aside",
                        number - 1
                    ),
                    "rebuild --accept-loss",
                )
        }
        other => other.into(),
    })?;
    let store = context.store_for_writing()?;
    refuse_inside(&store, context.environment, Allowed::Nothing)?;
    accept_loss(context, &store, args, mended.as_ref())?;
    let found = Found {
        unread: store.rebuild()?,
        lost: store.lost_records()?,
        mended,
    };
    let sessions = store.catalog().instances()?.len() as u64;
    tell(context, args, sessions, &found);
    Ok(if found.unread.is_empty() && found.lost.is_empty() {
        ExitCode::Done
    } else {
        ExitCode::Integrity
    }
    .into())
}

/// A chain that holds may lack receipts that were in it. That they are given up is said in the chain, so that it is not found again.
fn accept_loss(
    context: &Context<'_>,
    store: &Store,
    args: &RebuildArgs,
    mended: Option<&Mended>,
) -> Result<(), CliError> {
    if !args.accept_loss {
        return Ok(store.check_told()?);
    }
    let snapshots = store.untold()?;
    if !snapshots.is_empty() || mended.is_some_and(|mended| mended.lost) {
        let world = context.world();
        let acting = world.acting();
        store.append(acting.now, acting.uid, None, Act::AcceptLoss { snapshots })?;
    }
    Ok(())
}

fn tell(context: &Context<'_>, args: &RebuildArgs, instances: u64, found: &Found) {
    let mended = found.mended.as_ref();
    if args.json {
        let unreadable = found.unread.iter().map(ToString::to_string).collect();
        context.terminal.json(&RebuildDocument {
            head: Head::default(),
            instances,
            unreadable,
            lost: found.lost.iter().map(|lost| lost.snapshot.to_string()).collect(),
            regained: mended.map(|mended| mended.regained),
            damaged_log: mended.map(|mended| HostPathDocument::new(&mended.aside)),
        });
        return;
    }
    for error in &found.unread {
        context.terminal.warn(&error.to_string());
    }
    for lost in &found.lost {
        context.terminal.warn(&format!(
            "{lost} stays lost: receipt {} tells of it, and its record is gone; put snapshots/{}.json back from a copy",
            lost.receipt, lost.snapshot
        ));
    }
    if let Some(mended) = mended {
        let aside = sanitize::path(&mended.aside);
        let regained = size::counted(mended.regained, "receipt", "receipts");
        context.terminal.note(&format!(
            "the chain of receipts was broken: it has {} links again, {regained} from the catalog's copy; the damaged log is {aside}",
            size::count(mended.links)
        ));
    }
    let sessions = size::counted(instances, "session", "sessions");
    context
        .terminal
        .out(&format!("the catalog was made anew: {sessions}"));
}
