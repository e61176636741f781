//! `rebuild`: the catalog anew from records and receipts.

use clap::Args;

use crate::cli::args::{Example, Group};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::recovery::{LostRecord, Rebuilt};
use crate::report::{Head, HostPathDocument, RebuildDocument};
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
        let found = context.engine().rebuild(args.accept_loss)?;
        tell(context, args, &found);
        Ok(if found.unread.is_empty() && found.lost.is_empty() {
            ExitCode::Done
        } else {
            ExitCode::Integrity
        }
        .into())
    }
}

fn ids(lost: &[LostRecord]) -> Vec<String> {
    lost.iter().map(|lost| lost.snapshot.to_string()).collect()
}

fn tell(context: &Context<'_>, args: &RebuildArgs, found: &Rebuilt) {
    let mended = found.mended.as_ref();
    if args.json {
        let unreadable = found.unread.iter().map(ToString::to_string).collect();
        context.terminal.json(&RebuildDocument {
            head: Head::default(),
            instances: found.sessions,
            unreadable,
            lost: ids(&found.lost),
            given_up: ids(&found.accepted),
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
    for lost in &found.accepted {
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
    let sessions = size::counted(found.sessions, "session", "sessions");
    context
        .terminal
        .out(&format!("the catalog was rebuilt: {sessions}"));
}
