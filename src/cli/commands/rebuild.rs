//! `rebuild`: the catalog anew from records and receipts.

use crate::cli::args::RebuildArgs;
use crate::cli::context::Context;
use crate::cli::document::{Head, HostPathDocument, RebuildDocument};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::session::{Allowed, refuse_inside};
use crate::store::{Mended, Store, StoreError, mend_chain};
use crate::terminal::{sanitize, size};

pub(super) fn run(context: &Context<'_>, args: &RebuildArgs) -> Result<Status, CliError> {
    // Where there is no store none is made.
    let Some(reading) = Store::open_read(context.layout()?)? else {
        tell(context, args, 0, &[], None);
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
    let unread = store.rebuild()?;
    let sessions = store.catalog().instances()?.len() as u64;
    tell(context, args, sessions, &unread, mended.as_ref());
    Ok(if unread.is_empty() {
        ExitCode::Done
    } else {
        ExitCode::Integrity
    }
    .into())
}

fn tell(
    context: &Context<'_>,
    args: &RebuildArgs,
    instances: u64,
    unread: &[StoreError],
    mended: Option<&Mended>,
) {
    if args.json {
        let unreadable = unread.iter().map(ToString::to_string).collect();
        context.terminal.json(&RebuildDocument {
            head: Head::default(),
            instances,
            unreadable,
            regained: mended.map(|mended| mended.regained),
            damaged_log: mended.map(|mended| HostPathDocument::new(&mended.aside)),
        });
        return;
    }
    for error in unread {
        context.terminal.warn(&error.to_string());
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
