//! `log`: the chain of receipts, whether it holds, and what to keep elsewhere to find out later; or the changes of one file.

use std::ffi::{OsStr, OsString};

use clap::Args;

use crate::cli::args::{Example, Group, some_path};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::json_output::JsonForm;
use crate::cli::schema::Document;
use crate::cli::session_arg::{EscapedPaths, SessionArg, SessionPathsArg};
use crate::cli::view;
use crate::recovery::{Anchor, BlameRequest, Log, Wanted};
use crate::report::{AnchorDocument, LogDocument, PathLogDocument};
use crate::terminal::size;

/// Show the log of all operations, or the changes of a file
#[derive(Clone, Debug, Args)]
pub struct LogArgs {
    /// The session: an id or its prefix, a name, a workspace, a container, or @latest or @1, @2 to count back [default:
    /// the latest that covers the current directory]
    #[arg(value_name = "INSTANCE", value_parser = some_path())]
    pub instance: Option<OsString>,
    /// Show the changes of this file, which need not exist any more
    #[arg(value_name = "PATH", value_parser = some_path(), value_hint = clap::ValueHint::AnyPath)]
    pub path: Option<OsString>,
    /// Words behind `--`, which are paths whatever else they name.
    #[command(flatten)]
    pub escaped: EscapedPaths,
    /// Show the operations of all sessions
    #[arg(long)]
    pub any: bool,
    /// Check that no receipt was changed, removed or moved
    #[arg(long)]
    pub verify: bool,
    /// Print the fingerprint of the log to keep elsewhere; with HEAD, check that the log continues it
    #[arg(long, value_name = "HEAD", num_args = 0..=1, default_missing_value = "", require_equals = false)]
    pub anchor: Option<String>,
    /// Forms of JSON.
    #[command(flatten)]
    pub json: JsonForm,
}

impl Command for LogArgs {
    const NAME: &'static str = "log";
    const GROUP: Option<Group> = Some(Group::Store);
    const LONG: &'static str = "\
        In a directory that a session covers, shows the operations of the latest one there; elsewhere and with --any, those of \
        all sessions. Each operation writes a receipt, which holds the hash of the one before. The newest comes first. Receipts \
        stay when their snapshots are deleted. With PATH, shows the changes of one file instead, newest first, with the tool call \
        or the turn that made each, from all sessions that cover it or from INSTANCE. Anyone who can write to the store can forge the log: keep the output \
        of --anchor elsewhere to detect that.";
    const EXAMPLES: &'static [Example] = &[
        (
            "All operations, wherever this is typed:",
            "jackin recovery log --any",
        ),
        ("", "jackin recovery log --verify"),
        ("The changes of one file:", "jackin recovery log src/main.rs"),
        (
            "Print the fingerprint to keep elsewhere, to detect a forged log:",
            "jackin recovery log --anchor",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[
        Document::of::<LogDocument>("log"),
        Document::lines_of::<LogDocument>("log-lines"),
        Document::of::<AnchorDocument>("log-anchor"),
        Document::of::<PathLogDocument>("log-path"),
        Document::lines_of::<PathLogDocument>("log-path-lines"),
    ];
    const IS_READ: bool = true;

    fn json(&self) -> bool {
        self.json.is_json()
    }

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let subject = SessionPathsArg {
            instance: args.instance.clone(),
            paths: args.path.iter().cloned().collect(),
            escaped: args.escaped.clone(),
            any: args.any,
        };
        let words = subject.split(context)?;
        if let Some((path, more)) = words.paths.split_first() {
            return self.path_log(context, words.named.as_deref(), (path, more));
        }
        let session = SessionArg {
            instance: words.named,
            any: args.any,
        };
        let known = args.anchor.as_deref().filter(|given| !given.is_empty());
        let known = known.map(parse).transpose()?;
        let engine = context.engine();
        // Reading the chain checks every link; the error names the first that does not hold.
        let mut log = engine.log()?;
        let only_checked = args.verify || args.anchor.is_some();
        if let Some(broken) = log.broken.take_if(|_| only_checked) {
            return Err(broken.into());
        }
        if let Some(known) = &known {
            log.check(known)?;
        }
        let only = match only_checked || session.any && session.instance.is_none() {
            true => None,
            false => session.settle_here(context, Wanted::Any)?,
        };
        let only = only.map(|id| engine.session_of_log(&log, &id)).transpose()?;
        let Log {
            store,
            receipts,
            head,
            broken,
        } = log;
        let terminal = context.terminal;
        let count = size::counted(receipts.len() as u64, "receipt", "receipts");
        if args.anchor.is_some() && known.is_none() {
            if args.json.is_json() {
                args.json.print(context, &AnchorDocument::new(head))?;
            } else {
                terminal.out(&head.to_string());
                context.propose("to check the log later", &format!("log --verify --anchor {head}"));
            }
        } else if args.json.is_json() {
            let document = LogDocument::of(receipts, head, broken.as_ref(), &[], only.as_ref());
            args.json.print(context, &document)?;
        } else if args.verify || known.is_some() {
            let as_before = match &known {
                Some(known) => format!(
                    ", and the first {} are those of the anchor",
                    size::count(known.number)
                ),
                None => String::new(),
            };
            terminal.out(&format!("{count}: every hash is valid{as_before}"));
        } else if receipts.is_empty() {
            if broken.is_none() {
                terminal.note("no receipts yet");
            }
        } else {
            let snapshots = match &store {
                Some(store) => store.catalog().all_snapshots()?,
                None => Vec::new(),
            };
            let log = LogDocument::of(receipts, head, broken.as_ref(), &snapshots, only.as_ref());
            let table = view::receipt::table(&log, context.now(), terminal.width_out());
            terminal.out(&table);
        }
        match broken {
            // What can be read was shown.
            Some(broken) => Err(broken.into()),
            None => Ok(ExitCode::Done.into()),
        }
    }
}

impl LogArgs {
    /// Shows the changes of a file.
    fn path_log(
        &self,
        context: &Context<'_>,
        session: Option<&str>,
        (path, more): (&OsStr, &[OsString]),
    ) -> Result<Status, CliError> {
        let wrong = |message: &str| Err(CliError::new(ErrorKind::Usage, message));
        if self.verify || self.anchor.is_some() {
            return wrong("--verify and --anchor check the whole log, and take no PATH");
        }
        if !more.is_empty() {
            return wrong("log shows the changes of one PATH at a time");
        }
        let found = context.engine().blame(&BlameRequest { session, path })?;
        let report = PathLogDocument::of(&found);
        if self.json.is_json() {
            self.json.print(context, &report)?;
        } else {
            let home = context.environment.home.as_deref();
            let home = home.filter(|_| context.terminal.is_tty_out());
            let width = context.terminal.width_out();
            let table = view::blame::history(&report, context.now(), width, home);
            context.terminal.out(&table);
            if let Some(warning) = view::blame::passed_over(report.unreadable) {
                context.terminal.warn(&warning);
            }
        }
        Ok(ExitCode::Done.into())
    }
}

fn parse(given: &str) -> Result<Anchor, CliError> {
    Anchor::parse(given).ok_or_else(|| {
        CliError::new(
            ErrorKind::Usage,
            format!("{given:?} is not a fingerprint of a log"),
        )
        .command("to print it", "log --anchor")
    })
}
