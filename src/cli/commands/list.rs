//! `list`: instances and their snapshots, newest first, and beside them jackin's own.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, positive, some_path, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::suggested_command::Words;
use crate::cli::view;
use crate::config::settle_path;
use crate::model::{InstanceId, PathCounts};
use crate::recovery::{NamedSession, Store, Wanted};
use crate::report::{ListDocument, Status as Life};
use crate::terminal::{self, Role, sanitize, shell, size, style};

/// List sessions and their snapshots
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// Only the sessions that cover this path
    #[arg(value_name = "PATH", value_parser = some_path(), value_hint = ValueHint::AnyPath)]
    pub path: Option<OsString>,
    /// Only the N newest sessions
    #[arg(short = 'n', value_name = "N", value_parser = positive::<u64>)]
    pub newest: Option<u64>,
    /// Only active sessions
    #[arg(long)]
    pub active: bool,
    /// Only sessions that changed something
    #[arg(long)]
    pub changed: bool,
    /// Only the sessions of this conversation, by the id that the agent gave it
    #[arg(long, value_name = "ID", value_parser = some_text())]
    pub conversation: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for ListArgs {
    const NAME: &'static str = "list";
    const GROUP: Option<Group> = Some(Group::Daily);
    const LONG: &'static str = "\
        The newest comes first. A session is active while any of its processes runs. CHANGED counts the paths that differ \
        between its first and its last snapshot: + added, ~ changed, - deleted, R renamed. `sh …` in COMMAND had arguments, \
        which `command = \"full\"` in [recovery] records. A name means the newest session that has it; older ones are listed \
        by id. A conversation with an agent that was resumed has several sessions, which a line below the table lists. \
        `show` has the snapshots and their sizes.";
    const EXAMPLES: &'static [Example] = &[
        ("", "jackin recovery list"),
        (
            "The five newest of this directory:",
            "jackin recovery list . -n 5",
        ),
        ("What agents changed anywhere:", "jackin recovery list --changed"),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<ListDocument>("list")];
    const IS_READ: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        if let Some(path) = &args.path {
            refuse_unknown(context, path)?;
        }
        let store = context.store_for_reading()?;
        let mut found = ListDocument::of(store.as_ref(), context.environment, args.json)?;
        let is_filtered = args.is_filtered();
        args.filter(context, store.as_ref(), &mut found)?;
        if args.json {
            context.terminal.json(&found);
            return Ok(ExitCode::Done.into());
        }
        let width = context.terminal.width_out();
        let all = found.instances.len();
        // What nothing is left of is told by `log`; here it would bury what there is.
        let shown: Vec<_> = found
            .instances
            .iter()
            .filter(|session| !session.is_gone)
            .collect();
        if all == 0 && is_filtered {
            match &self.conversation {
                Some(id) => {
                    let note = format!("no session of the conversation {}", sanitize::text(id));
                    context.terminal.note(&note);
                }
                None => context.terminal.note(&args.none_found()),
            }
        } else if all == 0 {
            context.terminal.note("no sessions yet");
        } else {
            let home = context
                .environment
                .home
                .as_deref()
                .filter(|_| context.terminal.is_tty_out());
            let table = view::instances::list(&shown, context.now(), width, home);
            context.terminal.out(&table);
            for session in &shown {
                if let Some(reason) = &session.closing_error {
                    let told = view::instances::no_closing(reason);
                    let told = terminal::width::wrap(&format!("{}: {told}", session.id), width).join("\n");
                    context.terminal.out(&style::paint(Role::Warning, &told));
                }
                if session.is_interrupted_import() {
                    let mut told = format!(
                        "{}: its import was interrupted; import its file again",
                        session.id
                    );
                    if session.tally.snapshots > 0 {
                        let command = context.command(&format!("forget {}", session.id));
                        told = format!("{told}, and delete this one: {command}");
                    }
                    let told = terminal::width::wrap(&told, width).join("\n");
                    context.terminal.out(&style::paint(Role::Warning, &told));
                }
                if let (Some(name), Some(newer)) = (&session.name, &session.name_taken_by) {
                    let name = sanitize::name(name.as_bytes());
                    let told = format!("{}: its name {name} now means {newer}", session.id);
                    let told = terminal::width::wrap(&told, width).join("\n");
                    context.terminal.out(&style::paint(Role::Dim, &told));
                }
                if let Some(fork) = &session.origin {
                    let origin = view::forks::origin(fork);
                    let told = format!("{} began in the fork {origin}", session.id);
                    context
                        .terminal
                        .out(&terminal::width::wrap(&told, width).join("\n"));
                }
            }
        }
        for resumed in view::conversation::resumed(&shown) {
            let told = terminal::width::wrap(&resumed, width).join("\n");
            context.terminal.out(&style::paint(Role::Dim, &told));
        }
        let gone = found.instances.iter().filter(|session| session.is_gone);
        let (repeated, gone): (Vec<_>, Vec<_>) = gone.partition(|session| session.is_repeated);
        let (forgotten, pruned): (Vec<_>, Vec<_>) =
            gone.into_iter().partition(|session| session.forgotten.is_some());
        for (number, fate) in [
            (pruned.len(), "whose snapshots were all pruned"),
            (forgotten.len(), "forgotten"),
            (repeated.len(), "whose import was interrupted and then repeated"),
        ] {
            if number > 0 {
                let sessions = size::counted(number as u64, "session", "sessions");
                context
                    .terminal
                    .note(&format!("{sessions} more, {fate} (see `log --any`)"));
            }
        }
        if is_filtered {
            return Ok(ExitCode::Done.into());
        }
        if !found.forks.is_empty() {
            let table = view::forks::list(&found.forks, context.now(), width);
            context.terminal.out(&format!("\nforks:\n{table}"));
        }
        if !found.jackin.is_empty() {
            let table = view::instances::jackin(&found.jackin, width);
            context.terminal.out(&format!("\njackin's own:\n{table}"));
        }
        for unread in &found.jackin_unread {
            let path = sanitize::path(&unread.path.to_path());
            context.terminal.warn(&format!(
                "{path} cannot be read: {}",
                sanitize::text(&unread.reason)
            ));
        }
        match shown.first() {
            Some(latest) => context.propose("details", &show(context, &latest.id).text()),
            None => context.propose("to start", "launch -- COMMAND"),
        }
        Ok(ExitCode::Done.into())
    }
}

/// Returns `show` for a session, without its id if a command typed here means that session.
fn show(context: &Context<'_>, id: &str) -> Words {
    let words = Words::new("show");
    match InstanceId::parse(id) {
        Ok(id) => words.session(context, &id, Wanted::Any),
        Err(_) => words.arg(id),
    }
}

/// Refuses a path that neither exists nor was deleted here: a misspelled one, or the name of a session.
fn refuse_unknown(context: &Context<'_>, path: &OsStr) -> Result<(), CliError> {
    let there = context.environment.absolute(Path::new(path));
    let engine = context.engine();
    let is_word = !path.as_encoded_bytes().contains(&b'/');
    if there.symlink_metadata().is_ok() || !is_word || engine.some_session_has(path)? {
        return Ok(());
    }
    let shown = sanitize::os(path);
    let name = path.to_str().filter(|name| !name.is_empty());
    if let Some(name) = name.filter(|name| {
        engine
            .named_session(name)
            .is_ok_and(|found| found != NamedSession::None)
    }) {
        let error = CliError::new(ErrorKind::Usage, format!("{shown} is a session and not a path"));
        return Err(error.command(
            "for this session",
            format!("show {}", shell::word(OsStr::new(name))),
        ));
    }
    let error = CliError::new(
        ErrorKind::UnknownInstance,
        format!("{shown} not found: no path and no session"),
    );
    Err(error.command("to list all sessions", "list"))
}

impl ListArgs {
    /// Returns true if only some sessions are asked for; then nothing but sessions is listed.
    fn is_filtered(&self) -> bool {
        self.path.is_some()
            || self.newest.is_some()
            || self.active
            || self.changed
            || self.conversation.is_some()
    }

    /// Returns the note for an empty list: the condition that no session meets, if it is one.
    fn none_found(&self) -> String {
        match (&self.path, self.active, self.changed) {
            (Some(path), false, false) => format!("no session covers {}", sanitize::os(path)),
            (None, true, false) => "no session is active".to_owned(),
            (None, false, true) => "no session changed anything".to_owned(),
            _ => "no such session".to_owned(),
        }
    }

    /// Removes the sessions that are not asked for.
    fn filter(
        &self,
        context: &Context<'_>,
        store: Option<&Store>,
        found: &mut ListDocument,
    ) -> Result<(), CliError> {
        let covering = match (&self.path, store) {
            (Some(path), Some(store)) => {
                let path = settle_path(context.environment, Path::new(path));
                Some(context.engine().sessions_at(store, &path)?)
            }
            _ => None,
        };
        found.instances.retain(|session| {
            let is_there = |ids: &Vec<InstanceId>| ids.iter().any(|id| id.as_str() == session.id);
            let is_of = |id: &String| session.conversation.as_ref().is_some_and(|of| of.id == *id);
            covering.as_ref().is_none_or(is_there)
                && self.conversation.as_ref().is_none_or(is_of)
                && (!self.active || session.status == Life::Active)
                && (!self.changed || session.changed.is_some_and(PathCounts::are_any))
        });
        let newest = self.newest.and_then(|newest| usize::try_from(newest).ok());
        found.instances.truncate(newest.unwrap_or(usize::MAX));
        Ok(())
    }
}
