//! `undo`: undoes a restore, limited to what that restore touched. It is a restore itself.

use std::path::Path;

use clap::Args;

use crate::cli::args::{Example, Group, Unlock, positive};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::Status;
use crate::cli::identity_arg::identities;
use crate::cli::restore_flow::{Choosing, RestoreOptions, carry_out};
use crate::cli::schema::Document;
use crate::cli::session_arg::{Asking, SessionArg, say_which};
use crate::cli::suggested_command::Words;
use crate::cli::view;
use crate::model::InstanceId;
use crate::recovery::{Allow, ChosenPaths, NamedSession, Purpose, UndoRequest, Wanted};
use crate::report::RestoreDocument;
use crate::terminal::sanitize;

/// Undo the last restore
#[derive(Clone, Debug, Args)]
pub struct UndoArgs {
    /// Session.
    #[command(flatten)]
    pub session: SessionArg,
    /// Undo the restore with this number in `log`
    #[arg(long, value_name = "N", value_parser = positive::<u64>)]
    pub receipt: Option<u64>,
    /// Print the plan and stop
    #[arg(long)]
    pub dry_run: bool,
    /// List every path in the plan instead of folding whole directories
    #[arg(long)]
    pub all: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Overwrite files edited since the restore
    #[arg(long)]
    pub overwrite_later_edits: bool,
    /// Delete files created since the restore
    #[arg(long)]
    pub delete_later_files: bool,
    /// Private key for encrypted content.
    #[command(flatten)]
    pub unlock: Unlock,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for UndoArgs {
    const NAME: &'static str = "undo";
    const GROUP: Option<Group> = Some(Group::Daily);
    const LONG: &'static str = "\
        Restores only what the last restore in this directory replaced or deleted. It is a restore itself: a second `undo` undoes the first one.";
    const EXAMPLES: &'static [Example] = &[
        ("The last restore in this directory:", "jackin recovery undo"),
        (
            "An older one, by its number in `log`:",
            "jackin recovery undo --receipt 12",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<RestoreDocument<'static>>("undo")];

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        !self.dry_run
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let keys = || identities(context, &args.unlock);
        let session = match (&args.session.instance, args.receipt) {
            // Receipts are counted over all sessions.
            (None, Some(_)) => None,
            _ => {
                let asking = Asking::to_change_files(Wanted::Restored, args.json, args.yes);
                let settled = args.session.settle(context, asking);
                Some(settled.map_err(|error| self.explained(context, error))?)
            }
        };
        let request = UndoRequest {
            session: session.as_deref(),
            receipt: args.receipt,
            chosen: None,
            allow: Allow {
                overwrite_later: args.overwrite_later_edits,
                delete_later: args.delete_later_files,
                ..Allow::default()
            },
            keys: &keys,
            dry_run: args.dry_run,
        };
        let planned = context.engine().plan_undo(&request);
        let planned = planned.map_err(|error| self.explained(context, error.into()))?;
        if !args.json {
            if session.is_none() {
                say_which(context, &planned.row);
            }
            if let Some(undone) = context.engine().undone_by(&planned)? {
                context.terminal.note(&view::undo::undone(&undone, context.now()));
            }
        }
        let receipt = match planned.proposal.purpose {
            Purpose::Undo(number) => Some(number),
            Purpose::Restore | Purpose::Step(_) => None,
        };
        let row = planned.row.id.to_string();
        let how = RestoreOptions {
            json: args.json,
            json_lines: false,
            yes: args.yes,
            dry_run: args.dry_run,
            patch: false,
            all: args.all,
            choosing: Choosing::Nothing,
            question: "Undo this restore?",
            identity: args.unlock.identity.clone(),
            again: Words::new("undo")
                .arg(&row)
                .flag("--receipt", receipt.map(|number| number.to_string()))
                .flag("--identity", args.unlock.identity.as_ref()),
        };
        let narrow = |chosen: &ChosenPaths| {
            // Another restore may be the last one by now.
            let request = UndoRequest {
                session: Some(&row),
                receipt,
                chosen: Some(chosen),
                ..request.clone()
            };
            Ok(context.engine().plan_undo(&request)?)
        };
        carry_out(context, planned, &how, Some(&narrow))
    }
}

impl UndoArgs {
    /// Adds what can be typed for a path, if the word that names no session is one.
    fn explained(&self, context: &Context<'_>, error: CliError) -> CliError {
        let word = self.session.instance.as_deref();
        let is_concerned = matches!(
            error.kind,
            ErrorKind::UnknownInstance | ErrorKind::NothingToRestore
        );
        let word = word.filter(|word| is_concerned && InstanceId::parse(word).is_err());
        let is_path = |word: &&str| {
            let path = context.environment.absolute(Path::new(word));
            path.symlink_metadata().is_ok() || context.engine().could_be_path(word.as_ref()).unwrap_or(false)
        };
        let is_other = |word: &&str| {
            let session = context.engine().named_session(word);
            session.is_ok_and(|session| session != NamedSession::Here)
        };
        let Some(path) = word.filter(is_path).filter(is_other) else {
            return error;
        };
        let shown = sanitize::name(path.as_bytes());
        let message = format!("{shown} is a path, and `undo` takes a session");
        let restore = Words::new("restore").paths(&[path.into()]);
        CliError::new(error.kind, message)
            .command("to undo what a session did to it", restore.text())
            .hint("to undo the last restore for some paths only, answer i at the question of `undo`")
    }
}
