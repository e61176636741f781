//! `restore`: plan, confirm, emergency snapshot, apply, verify.

mod to;

use std::ffi::OsString;

use crate::cli::args::{Mtimes, RestoreArgs};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::Status;
use crate::cli::identity_arg::identities;
use crate::cli::restore_flow::{RestoreOptions, carry_out};
use crate::cli::suggested_command::Words;
use crate::config::settle_path;
use crate::recovery::RestoreRequest;
use crate::restore::Allow;
use crate::store::InstanceRow;

pub(super) fn run(context: &Context<'_>, args: &RestoreArgs) -> Result<Status, CliError> {
    let engine = context.engine();
    let keys = || identities(context, &args.unlock);
    let request = RestoreRequest {
        session: &args.instance,
        paths: &args.paths,
        from: args.from.as_deref(),
        only_changes_of: args.only_changes_of.as_deref(),
        allow: Allow {
            overwrite_later: args.overwrite_later_edits,
            delete_later: args.delete_later_files,
            files_only: args.files_only,
        },
        set_aside: &args.set_aside_excluded,
        require_complete: args.require_complete,
        exact_mtimes: args.mtimes == Mtimes::Exact,
        keys: &keys,
        dry_run: args.dry_run,
        shows_refused: args.dry_run,
    };
    let is_elsewhere = args.to.is_some() || args.unlock.identity.is_some();
    let subject = engine.restore_subject(&request, is_elsewhere)?;
    if let Some(directory) = &args.to {
        let directory = settle_path(context.environment, directory.as_ref());
        let reading = subject.reading.unlocked_by(keys()?);
        let _needed = reading.share()?;
        return to::to_directory(context, (&reading, &subject.row), &request, args, directory);
    }
    let planned = engine.plan_of(subject, &request)?;
    carry_out(context, &planned, &how(args, &planned.row))
}

fn how(args: &RestoreArgs, row: &InstanceRow) -> RestoreOptions {
    // What was set aside once is not there for the commands that follow.
    let aside: &[OsString] = if args.dry_run {
        &args.set_aside_excluded
    } else {
        &[]
    };
    RestoreOptions {
        json: args.json,
        yes: args.yes,
        dry_run: args.dry_run,
        patch: args.patch,
        question: "Restore these files?",
        identity: args.unlock.identity.clone(),
        again: Words::new("restore")
            .arg(row.id.as_str())
            .flags("--set-aside-excluded", aside)
            .flag("--from", args.from.as_ref())
            .flag("--only-changes-of", args.only_changes_of.as_ref())
            .flag("--mtimes", (args.mtimes == Mtimes::Exact).then_some("exact"))
            .switch("--files-only", args.files_only)
            .switch("--require-complete", args.require_complete)
            .flag("--identity", args.unlock.identity.as_ref())
            .paths(&args.paths),
    }
}
