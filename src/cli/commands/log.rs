//! `log`: the chain of receipts, whether it holds, and what to keep elsewhere to find out later.

use crate::cli::args::LogArgs;
use crate::cli::context::Context;
use crate::cli::document::{AnchorDocument, LogDocument};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::view::{self, receipt::Telling};
use crate::model::Receipt;
use crate::recovery::Log;
use crate::store::Anchor;
use crate::terminal::size;

pub(super) fn run(context: &Context<'_>, args: &LogArgs) -> Result<Status, CliError> {
    let known = args.anchor.as_deref().filter(|given| !given.is_empty());
    let known = known.map(parse).transpose()?;
    let engine = context.engine();
    // Reading the chain checks every link; the error names the first that does not hold.
    let mut log = engine.log()?;
    let only_checked = args.verify || args.anchor.is_some();
    if let Some(broken) = log.broken.take_if(|_| only_checked) {
        return Err(broken.into());
    }
    if let Some(known) = &known {
        log.check(known)?;
    }
    let only = match &args.instance {
        Some(wanted) => Some(engine.session_of_log(&log, wanted)?),
        None => None,
    };
    let Log {
        store,
        receipts,
        head,
        broken,
    } = log;
    let is_meant = |receipt: &&Receipt| only.is_none() || receipt.instance == only;
    let terminal = context.terminal;
    let shown = receipts.iter().rev().filter(is_meant);
    if args.anchor.is_some() && known.is_none() {
        if args.json {
            terminal.json(&AnchorDocument::new(head));
        } else {
            terminal.out(&head.to_string());
            context.propose(
                "keep it elsewhere, and compare later",
                &format!("log --verify --anchor {head}"),
            );
        }
    } else if args.json {
        let undone = view::receipt::undone(&receipts).collect();
        terminal.json(&LogDocument::new(
            shown.collect(),
            &undone,
            head,
            broken.is_none(),
        ));
    } else if args.verify || known.is_some() {
        let count = size::counted(receipts.len() as u64, "receipt", "receipts");
        let as_before = match &known {
            Some(known) => format!(
                ", and the first {} are those of the anchor",
                size::count(known.number)
            ),
            None => String::new(),
        };
        terminal.out(&format!("{count}: every link holds{as_before}"));
    } else if receipts.is_empty() {
        if broken.is_none() {
            terminal.note("nothing was recorded yet");
        }
    } else {
        let snapshots = match &store {
            Some(store) => store.catalog().all_snapshots()?,
            None => Vec::new(),
        };
        let telling = Telling::of(&receipts, &snapshots);
        let table = view::receipt::table(shown, &telling, context.now(), terminal.width_out());
        terminal.out(&table);
    }
    match broken {
        // What can be read was shown.
        Some(broken) => Err(broken.into()),
        None => Ok(ExitCode::Done.into()),
    }
}

fn parse(given: &str) -> Result<Anchor, CliError> {
    Anchor::parse(given).ok_or_else(|| {
        CliError::new(
            ErrorKind::Usage,
            format!("{given:?} is not the head of a chain of receipts"),
        )
        .command("what it looks like", "log --anchor")
    })
}
