//! `verify`: is the store whole?

use clap::Args;

use crate::cli::args::{Example, Group, Unlock};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::identity_arg::identities;
use crate::cli::schema::Document;
use crate::recovery::Verified;
use crate::report::{DamageDocument, Head, VerifyDocument, VerifyOutcome};
use crate::terminal::{sanitize, size, width};

/// Check the store for damaged or missing data
#[derive(Clone, Debug, Args)]
pub struct VerifyArgs {
    /// Read and check every stored byte, not only that it exists
    #[arg(long)]
    pub read_data: bool,
    /// Private key for encrypted content.
    #[command(flatten)]
    pub unlock: Unlock,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for VerifyArgs {
    const NAME: &'static str = "verify";
    const GROUP: Option<Group> = Some(Group::Store);
    const LONG: &'static str =
        "Checks that the data of every snapshot exists, and lists each incomplete snapshot.";
    const EXAMPLES: &'static [Example] = &[("", "jackin recovery verify --read-data")];
    const DOCUMENTS: &'static [Document] = &[Document::of::<VerifyDocument>("verify")];
    const TELLS_PENDING: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let keys = || identities(context, &args.unlock);
        let found = context.engine().verify(args.read_data, &keys)?;
        let (verified, whole) = (&found.verified, found.is_whole());
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
            tell(context, verified, args.read_data);
            for instance in &found.lost_restores {
                context.propose(
                    "to discard its restore and keep every path as it is now",
                    &format!("abort {instance} --yes --as-is"),
                );
            }
        }
        Ok(if whole {
            ExitCode::Done
        } else {
            ExitCode::Integrity
        }
        .into())
    }
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
        "all valid".to_owned()
    } else {
        size::counted(found, "item is damaged", "items are damaged")
    };
    terminal.out(&format!("{snapshots}, {receipts}{read}: {result}"));
    if !read_data && found == 0 {
        context.propose("see also", "verify --read-data");
    }
}
