//! `verify`: is the store whole?

use super::unlock::identities;
use crate::cli::args::VerifyArgs;
use crate::cli::context::Context;
use crate::cli::document::{DamageDocument, Head, VerifyDocument, VerifyOutcome};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::store::Verified;
use crate::terminal::{sanitize, size, width};

pub(super) fn run(context: &Context<'_>, args: &VerifyArgs) -> Result<Status, CliError> {
    let verified = match context.store_for_reading()? {
        Some(store) => store
            .unlocked_by(identities(context, &args.unlock)?)
            .verify(args.read_data, context.world().observer)?,
        None => Verified::default(),
    };
    if verified.interrupted {
        return Err(CliError::new(
            ErrorKind::Interrupted,
            "interrupted before everything was checked",
        ));
    }
    let whole = verified.findings.is_empty();
    if args.json {
        context.terminal.json(&VerifyDocument {
            head: Head::default(),
            outcome: if whole {
                VerifyOutcome::Whole
            } else {
                VerifyOutcome::Damaged
            },
            read_data: args.read_data,
            snapshots: verified.snapshots,
            archives: verified.archives,
            receipts: verified.receipts,
            bytes: verified.bytes,
            findings: verified.findings.iter().map(DamageDocument::from).collect(),
        });
    } else {
        tell(context, &verified, args.read_data);
    }
    Ok(if whole {
        ExitCode::Done
    } else {
        ExitCode::Integrity
    }
    .into())
}

fn tell(context: &Context<'_>, verified: &Verified, read_data: bool) {
    let terminal = context.terminal;
    for finding in &verified.findings {
        let mut object = Vec::new();
        object.extend(finding.snapshot.as_ref().map(|id| format!("snapshot {id}")));
        object.extend(finding.archive.as_ref().map(|id| format!("archive {id}")));
        object.extend(finding.path.as_ref().map(|(mount, path)| {
            format!(
                "{} in {}",
                sanitize::name(path.as_bytes()),
                sanitize::name(mount.as_bytes())
            )
        }));
        let object = if object.is_empty() {
            "store".to_owned()
        } else {
            object.join(", ")
        };
        let line = format!("{object}: {}", sanitize::text(&finding.what));
        terminal.out(&width::wrap(&line, terminal.width_out()).join("\n  "));
    }
    let snapshots = size::counted(verified.snapshots, "snapshot", "snapshots");
    let receipts = size::counted(verified.receipts, "receipt", "receipts");
    let read = if read_data {
        format!(", {} of content read", size::bytes(verified.bytes))
    } else {
        String::new()
    };
    let found = verified.findings.len() as u64;
    let result = if found == 0 {
        "whole".to_owned()
    } else {
        size::counted(found, "thing is hurt", "things are hurt")
    };
    terminal.out(&format!("{snapshots}, {receipts}{read}: {result}"));
    if !read_data && found == 0 {
        context.propose("check every byte too", "verify --read-data");
    }
}
