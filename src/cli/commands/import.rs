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
use crate::config::settle_path;
use crate::report::{AdoptDocument, ImportDocument};
use crate::session::{Allowed, ImportRequest, ensure_outside_session, import};
use crate::terminal::sanitize;
use crate::transfer::Incoming;

mod copy;

/// Import a snapshot from a file or a replica
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// The file, as `export` wrote it
    #[arg(
        value_name = "FILE",
        value_parser = some_path(),
        value_hint = ValueHint::FilePath,
        required_unless_present = "from",
        conflicts_with = "from"
    )]
    pub file: Option<OsString>,
    /// Bring back all sessions from the copy of a store: s3://bucket/prefix, as `replicate` names it
    #[arg(long, value_name = "PLACE", value_parser = some_text(), requires = "identity")]
    pub from: Option<String>,
    /// The private key, of age or ssh, that belongs to one of the recipients of the copy
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath, requires = "from")]
    pub identity: Option<OsString>,
    /// Which store, where several were copied to one place
    #[arg(long, value_name = "STORE", value_parser = some_text(), requires = "from")]
    pub store: Option<String>,
    /// Refuse a copy whose receipts do not continue HEAD, which `log --anchor` printed on the other machine
    #[arg(long, value_name = "HEAD", value_parser = some_text(), requires = "from")]
    pub anchor: Option<String>,
    /// Keep owners, set-user-id and set-group-id bits, capabilities and other attributes, inode flags and devices; with --from the sessions
    /// are this machine's own
    #[arg(long)]
    pub trust: bool,
    /// Print what it is and what would be dropped, and stop
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
        Reads the whole file as a stranger's, checks every digest, shows what it is, asks, and stores it as a new session with one \
        snapshot. Owners become you; set-user-id and set-group-id bits, capabilities and all attributes but `user.…`, ACLs, inode flags \
        and devices are dropped and named, unless --trust is given. What is damaged or comes from a newer version is refused (exit code \
        7), and nothing of it stays. Its paths are another machine's, so `restore` refuses it; `fork` and `restore --to` write its files.";
    const EXAMPLES: &'static [Example] = &[
        (
            "See what is in it, and what would be dropped:",
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
        if let Some(store) = context.store_for_reading()? {
            ensure_outside_session(&store, context.environment, Allowed::Nothing)?;
        }
        if let Some(from) = &args.from {
            return copy::run(context, args, from);
        }
        let Some(file) = &args.file else {
            return Err(CliError::new(ErrorKind::Usage, "no file was named"));
        };
        let file = settle_path(context.environment, file.as_ref());
        if !file.is_file() {
            let shown = sanitize::path(&file);
            let message = match file.symlink_metadata() {
                Ok(_) => format!("{shown} is no regular file"),
                Err(error) if error.kind() == io::ErrorKind::NotFound => format!("there is no file {shown}"),
                Err(error) => format!("{shown} cannot be looked at: {error}"),
            };
            return Err(CliError::new(ErrorKind::Usage, message)
                .hint("import takes a file that `export` wrote, here or on another machine"));
        }
        let world = context.world();
        let mut incoming = Incoming::read(&file, world.observer)?;
        if !args.trust {
            let operator = context.environment.operator;
            incoming.strip(operator.map_or_else(handle_fs::own_ids, |owner| (owner.uid, owner.gid)));
        }
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
            "Take it over as a new session?",
            args.yes,
        )?;
        let store = context.store_for_writing()?;
        let _needed = store.share()?;
        let request = ImportRequest {
            incoming: &incoming,
            file: &file,
            trusted: args.trust,
        };
        let record = import(&store, world, &request)?;
        if args.json {
            context.terminal.json(&document(Some(&record)));
        } else {
            context.terminal.out(&format!(
                "imported as {}, snapshot {}",
                record.instance, record.id
            ));
            context.propose("have its files", &format!("fork {}", record.instance));
        }
        Ok(ExitCode::Done.into())
    }
}
