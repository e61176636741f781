//! `import`: a session from a file that `export` wrote, on this machine or another.

use std::ffi::OsString;
use std::io;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, some_path, some_text};
use crate::cli::command::Command;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::view;
use crate::config::{settle, settle_path};
use crate::report::{AdoptDocument, ImportDocument};
use crate::terminal::sanitize;

mod copy;

/// Import a snapshot from a file or a replica
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// The file that `export` wrote
    #[arg(
        value_name = "FILE",
        value_parser = some_path(),
        value_hint = ValueHint::FilePath,
        required_unless_present = "from",
        conflicts_with = "from"
    )]
    pub file: Option<OsString>,
    /// Import all sessions from a replica: s3://bucket/prefix, as in `replicate`
    #[arg(long, value_name = "PLACE", value_parser = some_text(), requires = "identity")]
    pub from: Option<String>,
    /// Private key (age or ssh) of one of the recipients of the replica
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath, requires = "from")]
    pub identity: Option<OsString>,
    /// Store to import, if the bucket holds several
    #[arg(long, value_name = "STORE", value_parser = some_text(), requires = "from")]
    pub store: Option<String>,
    /// Refuse a replica whose log does not continue HEAD, the output of `log --anchor` on the other machine
    #[arg(long, value_name = "HEAD", value_parser = some_text(), requires = "from")]
    pub anchor: Option<String>,
    /// Keep owners, set-user-id and set-group-id bits, capabilities and other attributes, inode flags and
    /// devices; with --from, import the sessions as this machine's own
    #[arg(long)]
    pub trust: bool,
    /// Print the contents and what would be dropped, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for ImportArgs {
    const NAME: &'static str = "import";
    const GROUP: Option<Group> = Some(Group::Store);
    const LONG: &'static str = "\
        Treats the file as untrusted: checks every digest, prints what it holds, asks, and stores it as a new \
        session with one snapshot. You become the owner. Set-user-id and set-group-id bits, capabilities and all \
        attributes but `user.…`, ACLs, inode flags and devices are dropped and listed, unless --trust is given. A \
        file that is damaged or from a newer version is refused (exit code 7), and nothing is stored. `restore` \
        refuses the session because its paths are another machine's; use `fork` or `restore --to` to get its files.";
    const EXAMPLES: &'static [Example] = &[
        (
            "Preview the contents and what would be dropped:",
            "jackin recovery import before.tar.zst --dry-run",
        ),
        ("Take it over:", "jackin recovery import before.tar.zst"),
    ];
    const DOCUMENTS: &'static [Document] = &[
        Document::of::<ImportDocument>("import"),
        Document::of::<AdoptDocument>("import-from"),
    ];

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        !self.dry_run
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let engine = context.engine();
        engine.ensure_outside()?;
        if let Some(from) = &args.from {
            return copy::run(context, args, from);
        }
        let Some(file) = &args.file else {
            return Err(CliError::new(ErrorKind::Usage, "no file was given"));
        };
        let file = settle_path(context.environment, file.as_ref());
        if !file.is_file() {
            let shown = sanitize::path(&file);
            let message = match file.symlink_metadata() {
                Ok(_) => format!("{shown} is not a regular file"),
                Err(error) if error.kind() == io::ErrorKind::NotFound => format!("{shown} not found"),
                Err(error) => format!("{shown} cannot be read: {error}"),
            };
            return Err(
                CliError::new(ErrorKind::Usage, message).hint("import reads a file that `export` wrote")
            );
        }
        // The operator named what a link leads to.
        let file = settle(&file);
        let incoming = engine.read_export(&file, args.trust)?;
        let document = |record| ImportDocument::of(&incoming, &file, args.trust, record);
        let found = document(None);
        let shown = view::import::shown(&found);
        match (args.json, args.dry_run) {
            (true, true) => context.terminal.json(&found),
            (false, _) => context.terminal.out(&shown),
            (true, false) if !args.yes && context.terminal.can_ask() => context.terminal.err(&shown),
            (true, false) => {}
        }
        if args.dry_run {
            return Ok(ExitCode::Done.into());
        }
        confirm(
            context.terminal,
            &context.interrupts,
            "Import it as a new session?",
            args.yes,
        )?;
        let record = engine.import(&incoming, &file, args.trust)?;
        if args.json {
            context.terminal.json(&document(Some(&record)));
        } else {
            context.terminal.out(&format!(
                "imported as {}, snapshot {}",
                record.instance, record.id
            ));
            context.propose("to write its files", &format!("fork {}", record.instance));
        }
        Ok(ExitCode::Done.into())
    }
}
