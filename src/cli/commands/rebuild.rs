//! `rebuild`: the catalog anew from records and receipts.

use clap::Args;

use crate::cli::args::{Example, Group};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::model::Operation;
use crate::report::{Head, HostPathDocument, RebuildDocument};
use crate::session::{Allowed, ensure_outside_session};
use crate::store::{LostRecord, Mended, Store, StoreError, mend_chain};
use crate::terminal::{sanitize, size};

/// Rebuild the catalog from snapshots and receipts
#[derive(Clone, Debug, Args)]
pub struct RebuildArgs {
    /// Continue although receipts or records are damaged or missing and no copy exists: keep the valid ones, discard the rest
    #[arg(long)]
    pub accept_loss: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for RebuildArgs {
    const NAME: &'static str = "rebuild";
    const GROUP: Option<Group> = Some(Group::Store);
    const LONG: &'static str =
        "The catalog is only an index of the snapshots and receipts, which are not changed.";
    const EXAMPLES: &'static [Example] = &[("", "jackin recovery rebuild")];
    const DOCUMENTS: &'static [Document] = &[Document::of::<RebuildDocument>("rebuild")];

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        // Where there is no store none is made.
        let Some(reading) = Store::open_read(context.layout()?)? else {
            tell(context, args, 0, &Found::default());
            return Ok(ExitCode::Done.into());
        };
        ensure_outside_session(&reading, context.environment, Allowed::Nothing)?;
        drop(reading);
        let mended = mend_chain(&context.layout()?, args.accept_loss).map_err(|error| match error {
            StoreError::Chain { number, .. } => {
                let message = format!("{error}; but not of all receipts from there on");
                CliError::new(ErrorKind::Integrity, message)
                    .hint("if you have a backup of receipts.log, copy it there")
                    .command(
                        format!(
                            "or to continue with the {} before it; the damaged log is moved aside",
                            number - 1
                        ),
                        "rebuild --accept-loss",
                    )
            }
            other => other.into(),
        })?;
        let store = context.store_for_writing()?;
        ensure_outside_session(&store, context.environment, Allowed::Nothing)?;
        let found = Found {
            given_up: accept_loss(context, &store, args, mended.as_ref())?,
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
}

/// Damage found in the store, and its repair.
#[derive(Default)]
struct Found {
    /// Records that cannot be read.
    unread: Vec<StoreError>,
    /// Records that are gone.
    lost: Vec<LostRecord>,
    /// Records that are gone, and are not missed any more.
    given_up: Vec<LostRecord>,
    /// The chain was broken.
    mended: Option<Mended>,
}

/// A chain that holds may lack receipts that were in it, and may tell of records that are gone. That they are discarded is said in the
/// chain, so that it is not found again. Gives the records.
fn accept_loss(
    context: &Context<'_>,
    store: &Store,
    args: &RebuildArgs,
    mended: Option<&Mended>,
) -> Result<Vec<LostRecord>, CliError> {
    if !args.accept_loss {
        store.check_told()?;
        return Ok(Vec::new());
    }
    let (snapshots, given_up) = (store.untold()?, store.lost_records()?);
    if !snapshots.is_empty() || !given_up.is_empty() || mended.is_some_and(|mended| mended.lost) {
        let world = context.world();
        let acting = world.acting();
        let records = given_up.iter().map(|lost| lost.snapshot.clone()).collect();
        let act = Operation::AcceptLoss { snapshots, records };
        store.append(acting.now, acting.uid, None, act)?;
    }
    Ok(given_up)
}

fn ids(lost: &[LostRecord]) -> Vec<String> {
    lost.iter().map(|lost| lost.snapshot.to_string()).collect()
}

fn tell(context: &Context<'_>, args: &RebuildArgs, instances: u64, found: &Found) {
    let mended = found.mended.as_ref();
    if args.json {
        let unreadable = found.unread.iter().map(ToString::to_string).collect();
        context.terminal.json(&RebuildDocument {
            head: Head::default(),
            instances,
            unreadable,
            lost: ids(&found.lost),
            given_up: ids(&found.given_up),
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
            "{lost} is lost: receipt {} names it, and its record is missing; copy snapshots/{}.json from a backup, \
            or discard it with `rebuild --accept-loss`",
            lost.receipt, lost.snapshot
        ));
    }
    for lost in &found.given_up {
        context.terminal.note(&format!("{lost} is discarded"));
    }
    if let Some(mended) = mended {
        let aside = sanitize::path(&mended.aside);
        let regained = size::counted(mended.regained, "receipt", "receipts");
        context.terminal.note(&format!(
            "the log was damaged: it has {} receipts again, {regained} from the catalog's copy; the damaged file is \
            {aside}",
            size::count(mended.links)
        ));
    }
    let sessions = size::counted(instances, "session", "sessions");
    context
        .terminal
        .out(&format!("the catalog was rebuilt: {sessions}"));
}
