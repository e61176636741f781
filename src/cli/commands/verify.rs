//! `verify`: is the store whole?

use clap::Args;

use crate::cli::args::{Example, Group, Unlock};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::identity_arg::identities;
use crate::cli::schema::Document;
use crate::cli::view;
use crate::report::{VerifyDocument, VerifyOutcome};

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

    fn json(&self) -> bool {
        self.json
    }

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let keys = || identities(context, &args.unlock);
        let found = VerifyDocument::of(&context.engine().verify(args.read_data, &keys)?, args.read_data);
        let terminal = context.terminal;
        if args.json {
            terminal.json(&found);
        } else {
            terminal.out(&view::verify::result(&found, terminal.width_out()));
            if !args.read_data && found.findings.is_empty() {
                context.propose("see also", "verify --read-data");
            }
            if matches!(found.outcome, VerifyOutcome::Damaged)
                && let Some(replication) = context.engine().replication()
            {
                let place = &replication.place.value;
                terminal.note(&format!(
                    "{place} may have what is damaged here: set JACKIN_HOME_DIR to a new directory and import it there"
                ));
                context.propose("that is", &format!("import --from {place}"));
            }
            for instance in &found.lost_restores {
                context.propose(
                    "to discard its restore and keep every path as it is now",
                    &format!("abort {instance} --yes --as-is"),
                );
            }
        }
        Ok(match found.outcome {
            VerifyOutcome::Whole => ExitCode::Done,
            VerifyOutcome::Damaged => ExitCode::Integrity,
        }
        .into())
    }
}
