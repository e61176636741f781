//! `edit`: a stored file beside the live one, in the operator's editor.

use std::path::Path;

use clap::Args;

use crate::cli::args::{Example, Group, Unlock, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::Status;
use crate::cli::identity_arg::identities;
use crate::cli::snapshot_arg::SnapshotPathsArg;
use crate::cli::tool::{PrivateDirectory, READ_ONLY, editor, run, unwritable};
use crate::recovery::{FilesRequest, LiveFile};
use crate::terminal::sanitize;

/// Open a stored file beside the current one in your editor
#[derive(Clone, Debug, Args)]
pub struct EditArgs {
    /// Snapshot and file.
    #[command(flatten)]
    pub subject: SnapshotPathsArg,
    /// Run this command instead of the editor, such as 'vimdiff' or 'code --wait --diff'
    #[arg(long, value_name = "COMMAND", value_parser = some_text())]
    pub tool: Option<String>,
    /// Open a file that is likely to hold secrets
    #[arg(long)]
    pub show_secrets: bool,
    /// Private key for encrypted content.
    #[command(flatten)]
    pub unlock: Unlock,
}

impl Command for EditArgs {
    const NAME: &'static str = "edit";
    const GROUP: Option<Group> = Some(Group::Sessions);
    const LONG: &'static str = "\
        Runs VISUAL or EDITOR with two files: a read-only copy of the stored one, and the current one, which you can change. \
        The copy lies in a directory that only you can enter, where the editor also starts, and is removed when the editor \
        ends. If there is no such file now, or only a symbolic link, only the copy is opened. The exit code is that of the editor.";
    const EXAMPLES: &'static [Example] = &[
        ("", "jackin recovery edit src/main.rs"),
        (
            "Copy lines from the version before the previous session:",
            "jackin recovery edit @2 src/main.rs --tool vimdiff",
        ),
    ];

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let tool = editor(context, args.tool.as_deref());
        let tool = tool.ok_or_else(no_editor)?;
        let (session, snapshot, paths) = args.subject.settle(context)?;
        let found = context.engine().stored_files(&FilesRequest {
            session: &session,
            snapshot: snapshot.as_deref(),
            paths: &paths,
            keys: &|| identities(context, &args.unlock),
        })?;
        let [file] = found.files.as_slice() else {
            let count = found.files.len();
            let error = CliError::new(
                ErrorKind::Usage,
                format!("edit opens one file at a time, not {count}"),
            );
            return Err(error.hint("name one file"));
        };
        let shown = sanitize::path(&file.path);
        if !args.show_secrets && found.is_secret(file)? {
            let error = CliError::new(ErrorKind::Usage, format!("{shown} is likely to hold secrets"));
            return Err(error.hint("add --show-secrets to open it"));
        }
        let directory = PrivateDirectory::make(context)?;
        let name = file.path.file_name().unwrap_or_default();
        let below = Path::new(found.target.id.as_str()).join(name);
        let (mut copy, stored) = directory.file(&below, READ_ONLY)?;
        let written = found.write_to(file, &mut copy, &|| !context.interrupts.requested())?;
        if context.interrupts.requested() {
            return Err(CliError::new(ErrorKind::Interrupted, "interrupted"));
        }
        written.and_then(|end| copy.set_len(end)).map_err(unwritable)?;
        let why = match found.live(file) {
            LiveFile::Regular => None,
            LiveFile::Missing => Some("does not exist now"),
            // A link of an agent could lead to any file.
            LiveFile::Other => Some("is not a regular file now"),
            LiveFile::Elsewhere => Some("is on another machine"),
        };
        let opened = match why {
            None => vec![stored, file.path.clone()],
            Some(why) => {
                let note = format!("{shown} {why}, so only the stored file is opened");
                context.terminal.note(&note);
                vec![stored]
            }
        };
        // Snapshots can be deleted while the operator reads.
        drop(found);
        run(context, tool, &directory, &opened)
    }
}

fn no_editor() -> CliError {
    let message = "no editor is known: VISUAL and EDITOR are not set";
    CliError::new(ErrorKind::Usage, message).hint("name a command with --tool")
}
