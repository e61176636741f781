//! `undo`: takes back a restore, limited to what that restore touched. It is a restore itself.

use crate::cli::args::UndoArgs;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::Status;
use crate::cli::identity_arg::identities;
use crate::cli::restore_flow::{RestoreOptions, carry_out};
use crate::cli::suggested_command::Words;
use crate::recovery::UndoRequest;
use crate::restore::{Allow, Purpose};

pub(super) fn run(context: &Context<'_>, args: &UndoArgs) -> Result<Status, CliError> {
    let keys = || identities(context, &args.unlock);
    let planned = context.engine().plan_undo(&UndoRequest {
        session: args.instance.as_deref(),
        receipt: args.receipt,
        allow: Allow {
            overwrite_later: args.overwrite_later_edits,
            delete_later: args.delete_later_files,
            files_only: false,
        },
        keys: &keys,
        dry_run: args.dry_run,
    })?;
    let receipt = match planned.proposal.purpose {
        Purpose::Undo(number) => Some(number.to_string()),
        Purpose::Restore | Purpose::Step(_) => None,
    };
    let how = RestoreOptions {
        json: args.json,
        yes: args.yes,
        dry_run: args.dry_run,
        patch: false,
        question: "Take this restore back?",
        identity: args.unlock.identity.clone(),
        again: Words::new("undo")
            .arg(planned.row.id.as_str())
            .flag("--receipt", receipt)
            .flag("--identity", args.unlock.identity.as_ref()),
    };
    carry_out(context, &planned, &how)
}
