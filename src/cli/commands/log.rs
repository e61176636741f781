//! `log`: the chain of receipts.

use crate::cli::args::LogArgs;
use crate::cli::context::Context;
use crate::cli::document::LogDocument;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::view;
use crate::snapshot::{Act, Ending, Receipt, RestoreKind};
use crate::terminal::table::{Column, Fit, Table};
use crate::terminal::{sanitize, size};

pub(super) fn run(context: &Context<'_>, args: &LogArgs) -> Result<Status, CliError> {
    // Reading the chain checks every link; the error names the first that does not hold.
    let receipts = match context.store_for_reading()? {
        Some(store) => store.receipts()?,
        None => Vec::new(),
    };
    if args.json {
        let receipts = receipts.iter().rev().collect();
        context.terminal.json(&LogDocument::new(receipts));
    } else if args.verify {
        let count = size::counted(receipts.len() as u64, "receipt", "receipts");
        context.terminal.out(&format!("{count}: every link holds"));
    } else {
        show(context, &receipts);
    }
    Ok(ExitCode::Done.into())
}

fn show(context: &Context<'_>, receipts: &[Receipt]) {
    if receipts.is_empty() {
        context.terminal.note("nothing was recorded yet");
        return;
    }
    let now = context.now();
    let mut table = Table::new([
        Column::new("N").right(),
        Column::new("WHEN"),
        Column::new("INSTANCE").fit(Fit::Keep),
        Column::new("ACT").fit(Fit::Wrap),
    ]);
    for receipt in receipts.iter().rev() {
        table.row([
            receipt.number.to_string().into(),
            size::age(receipt.at, now).into(),
            receipt.instance.to_string().into(),
            words(&receipt.act).into(),
        ]);
    }
    context.terminal.out(&table.render(context.terminal.width_out()));
}

fn words(act: &Act) -> String {
    match act {
        Act::Begin { mode, command, .. } => match command {
            Some((program, _)) => format!("began, mode {mode}: {}", sanitize::name(program.as_bytes())),
            None => format!("began, mode {mode}"),
        },
        Act::Capture { snapshot, kind, .. } => format!("{} snapshot {snapshot}", kind.word()),
        Act::CaptureFailed { kind, error } => {
            format!("{} snapshot failed: {}", kind.word(), sanitize::text(error))
        }
        Act::End { ending, .. } => match ending {
            Ending::Status(status) => format!("ended with status {status}"),
            Ending::Signal(signal) => format!("ended by signal {signal}"),
            Ending::Ended => "ended".to_owned(),
            Ending::Unseen => "was found dead; nobody saw its end".to_owned(),
            Ending::Failed(why) => format!("never began: {}", sanitize::text(why)),
        },
        Act::Restore {
            kind,
            changed,
            target,
            aside,
            ..
        } => {
            let word = match kind {
                RestoreKind::Restore => "restored to",
                RestoreKind::Undo => "undone, back to",
            };
            let changed = size::counted(changed.len() as u64, "path", "paths");
            let places = aside.iter().map(view::aside::receipt);
            let told: Vec<String> = std::iter::once(changed).chain(places).collect();
            format!("{word} {target}: {}", told.join("; "))
        }
        Act::Abort { target, as_is, .. } => match as_is {
            false => format!("taken back before it was done: the restore to {target}"),
            true => format!("left as it was in the middle: the restore to {target}"),
        },
    }
}
