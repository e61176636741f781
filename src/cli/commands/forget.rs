//! `forget`: plan, show, ask, delete sessions or paths for good.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, age, some_text};
use crate::cli::command::Command;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::replication::print_damaged;
use crate::cli::schema::Document;
use crate::cli::suggested_command::Words;
use crate::cli::view;
use crate::cli::view::plan::Listed;
use crate::config::Replication;
use crate::features::Feature;
use crate::recovery::{ForgetRequest, PlannedForget, ReplicationCare, Stop, Store};
use crate::report::{EarlierReplicaDocument, ForgetDocument, ForgetOutcome};
use crate::terminal::{sanitize, size};

/// Delete a session, or a path from all snapshots, for good
#[derive(Clone, Debug, Args)]
pub struct ForgetArgs {
    /// The session: an id or its prefix, a name, a workspace, a container, or @latest or @1, @2 to count back; with --path, only its snapshots
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// Delete this file or directory from every snapshot that has it; repeatable
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, value_parser = crate::cli::args::some_path())]
    pub path: Vec<OsString>,
    /// With --path, also forget other paths with the same content
    #[arg(long, requires = "path")]
    pub content: bool,
    /// Delete the sessions here that ended longer ago, such as 12h, 7d or 4w
    #[arg(long, value_name = "TIME", value_parser = age, conflicts_with_all = ["instance", "path"])]
    pub older_than: Option<Duration>,
    /// With --older-than: delete the sessions of all directories. With @latest or @1, @2: count the sessions of all directories
    #[arg(long)]
    pub any: bool,
    /// List every session or snapshot of the plan
    #[arg(long)]
    pub all: bool,
    /// Also delete it from the copy in the object store; alone, all that was forgotten before
    #[arg(long)]
    pub replica: bool,
    /// Print what would be deleted and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for ForgetArgs {
    const NAME: &'static str = "forget";
    const GROUP: Option<Group> = Some(Group::Store);
    const LONG: &'static str = "\
        Deletes one session with all of its snapshots, the sessions that cover the current directory and ended some time \
        ago, or one path from every snapshot that has it, such as a file with a leaked secret. No byte of it stays in the store: archives that hold \
        any of it are rewritten. A snapshot that lost a path says so, and a restore leaves that path alone. Pinned and \
        active sessions are refused. The receipt names what was deleted, by digest. Forgetting cannot be undone.";
    const EXAMPLES: &'static [Example] = &[
        ("One session:", "jackin recovery forget shop"),
        (
            "A leaked secret, from all snapshots:",
            "jackin recovery forget --path .env",
        ),
        (
            "Preview which sessions of this directory ended more than a week ago:",
            "jackin recovery forget --older-than 7d --dry-run",
        ),
        (
            "The old sessions of all directories:",
            "jackin recovery forget --older-than 30d --any",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<ForgetDocument>("forget")];

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        !self.dry_run
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        if args.is_replica_alone() && !args.replica {
            return Err(
                CliError::new(ErrorKind::Usage, "no session or path to forget was named")
                    .hint("name a session, or use --path PATH or --older-than TIME")
                    .hint(format!("`{}` lists the sessions", context.command("list"))),
            );
        }
        if args.any && args.instance.is_none() && args.older_than.is_none() {
            return Err(CliError::new(ErrorKind::Usage, "--any has no meaning here")
                .hint("use it with --older-than TIME, or with @latest or @1, @2; else omit it"));
        }
        let replication = match args.replica {
            // A copy that is in use must not be taken for an earlier one.
            true => context.engine().own_replication()?,
            false => context.engine().replication(),
        };
        if args.replica {
            CliError::require(Feature::S3)?;
        }
        let engine = context.engine();
        let store = engine.store_for_care(args.dry_run)?;
        let earlier = match &store {
            Some(store) => engine.earlier_copies(store, replication.as_ref(), None)?,
            None => Vec::new(),
        };
        if args.replica && replication.is_none() && earlier.is_empty() {
            return Err(
                CliError::new(ErrorKind::Config, "replicate is not set, so there is no copy")
                    .hint("omit --replica"),
            );
        }
        let Some(store) = store else {
            return no_store(context, args);
        };
        let mut document = ForgetDocument::nothing();
        document.replica = replication.as_ref().map(|copy| copy.place.value.to_string());
        let mut is_agreed = false;
        if !args.is_replica_alone() {
            let request = ForgetRequest {
                session: args.instance.as_deref(),
                paths: &args.path,
                older_than: args.older_than,
                any: args.any,
                copies: args.content,
            };
            let planned = engine.plan_forget(&store, &request, args.dry_run);
            let planned = planned.map_err(|error| args.explained(context, error.into()))?;
            document = ForgetDocument {
                replica: document.replica,
                ..ForgetDocument::of(&planned)
            };
            document.earlier_replicas = EarlierReplicaDocument::all(earlier, false);
            show(context, args, &document);
            tell_replica(context, args, &document);
            if document.outcome == ForgetOutcome::Planned && !args.dry_run {
                carry_out(context, args, &store, &planned, &mut document)?;
                let earlier = engine.earlier_copies(&store, replication.as_ref(), None)?;
                document.earlier_replicas = having(EarlierReplicaDocument::all(earlier, false));
                is_agreed = true;
            }
        } else {
            document.earlier_replicas = having(EarlierReplicaDocument::all(earlier, false));
        }
        if args.replica {
            if args.is_replica_alone() {
                tell_replica(context, args, &document);
            }
            if !args.dry_run {
                let question = "Delete it there permanently? It cannot be undone.";
                confirm(
                    context.terminal,
                    &context.interrupts,
                    question,
                    args.yes || is_agreed,
                )?;
                if let Some(replication) = replication.clone() {
                    remove_there(context, args, &store, replication, &mut document)?;
                }
                remove_earlier(context, args, &store, replication.as_ref(), &mut document)?;
            }
        }
        finish(context, args, &document);
        let is_kept = args.replica
            && (document.replica_withheld.is_some_and(|withheld| withheld > 0)
                || document.earlier_replicas.iter().any(|copy| copy.failed.is_some()));
        Ok(match is_kept {
            true => ExitCode::Partial,
            false => ExitCode::Done,
        }
        .into())
    }
}

impl ForgetArgs {
    /// Returns true if only the copy in the object store is to lose what was forgotten before.
    fn is_replica_alone(&self) -> bool {
        self.instance.is_none() && self.path.is_empty() && self.older_than.is_none()
    }

    /// Returns the command with its arguments, without those that only say how.
    fn words(&self) -> Words {
        let mut words = Words::new("forget");
        if let Some(session) = &self.instance {
            words = words.arg(session);
        }
        words
            .flags("--path", &self.path)
            .flag("--older-than", self.older_than.map(age_word))
            .switch("--any", self.any)
            .switch("--content", self.content)
            .switch("--replica", self.replica)
    }

    /// Adds what can be typed for a file, if the word that names no session is one.
    fn explained(&self, context: &Context<'_>, error: CliError) -> CliError {
        let word = self.instance.as_deref();
        let word = word.filter(|_| error.kind == ErrorKind::UnknownInstance);
        let is_path = |word: &&str| {
            let path = context.environment.absolute(Path::new(word));
            path.symlink_metadata().is_ok() || context.engine().could_be_path(word.as_ref()).unwrap_or(false)
        };
        let Some(path) = word.filter(is_path) else {
            return error;
        };
        let message = format!("session {path:?} not found, but it is a path");
        let paths = self.path.iter().cloned().chain([path.into()]);
        let words = paths.fold(Words::new("forget"), |words, path| {
            words.flag("--path", Some(path))
        });
        let purpose = match self.path.is_empty() {
            true => "to delete this path from all snapshots",
            false => "for several paths, repeat --path",
        };
        let words = words.switch("--content", self.content);
        CliError::new(error.kind, message).command(purpose, words.text())
    }
}

/// Returns an age with the largest unit that expresses it.
fn age_word(age: Duration) -> String {
    let seconds = age.as_secs();
    let units = [(24 * 3600, 'd'), (3600, 'h')];
    let unit = units
        .into_iter()
        .find(|(unit, _)| seconds >= *unit && seconds.is_multiple_of(*unit));
    let (unit, letter) = unit.unwrap_or((60, 'm'));
    format!("{}{letter}", seconds / unit)
}

fn no_store(context: &Context<'_>, args: &ForgetArgs) -> Result<Status, CliError> {
    if let Some(instance) = &args.instance {
        return Err(crate::recovery::RecoveryError::no_store(instance).into());
    }
    match args.json {
        true => context.terminal.json(&ForgetDocument::nothing()),
        false => context.terminal.note("no sessions yet"),
    }
    Ok(ExitCode::Done.into())
}

/// Prints the plan where the operator sees it before the question.
fn show(context: &Context<'_>, args: &ForgetArgs, document: &ForgetDocument) {
    let terminal = context.terminal;
    let home = context.environment.home.as_deref();
    let form = |columns: usize| view::forget::Form {
        now: context.now(),
        columns,
        listed: match args.all {
            true => Listed::All,
            false => Listed::Folded,
        },
        is_by_age: args.older_than.is_some(),
        home: home.filter(|_| terminal.is_tty_out()),
    };
    if !args.json {
        terminal.out(&view::forget::plan(document, &form(terminal.width_out())));
    } else if !args.yes && !args.dry_run && terminal.can_ask() {
        terminal.err(&view::forget::plan(document, &form(terminal.width_err())));
    }
    if !args.json && document.elsewhere > 0 {
        let number = size::counted(document.elsewhere, "session", "sessions");
        terminal.note(&format!("{number} elsewhere ended as long ago and would stay"));
        let words = args.words().switch("--any", true).switch("--dry-run", true);
        context.propose("to include them", &words.text());
    }
}

/// Says what is deleted in the object store, if anything is.
fn tell_replica(context: &Context<'_>, args: &ForgetArgs, document: &ForgetDocument) {
    let terminal = context.terminal;
    if !args.replica || args.json {
        return;
    }
    let earlier = document.earlier_replicas.iter().map(|copy| &copy.place);
    for place in document.replica.iter().chain(earlier) {
        terminal.out(&view::forget::in_replica(place, terminal.width_out()));
    }
}

/// Returns the copies that have something of what was deleted here.
fn having(mut copies: Vec<EarlierReplicaDocument>) -> Vec<EarlierReplicaDocument> {
    copies.retain(|copy| copy.left > 0);
    copies
}

fn carry_out(
    context: &Context<'_>,
    args: &ForgetArgs,
    store: &Store,
    planned: &PlannedForget,
    document: &mut ForgetDocument,
) -> Result<(), CliError> {
    let question = "Delete this permanently? It cannot be undone.";
    confirm(context.terminal, &context.interrupts, question, args.yes)?;
    let done = context.engine().forget(store, &planned.proposal);
    let done = done.map_err(|error| match error.is_deleted() && args.replica {
        true => CliError::from(error).command(
            "then, to delete it in the object store",
            Words::new("forget").switch("--replica", true).text(),
        ),
        false => error.into(),
    })?;
    for stays in &done.swept.natives {
        context.terminal.warn(&sanitize::text(stays));
    }
    document.outcome = ForgetOutcome::Forgotten;
    document.receipt = Some(done.receipt);
    document.freed = done.freed;
    if !args.json {
        let free = size::bytes(done.freed);
        context
            .terminal
            .out(&format!("Done: {free} freed; receipt {}.", done.receipt));
    }
    Ok(())
}

/// Copies the receipts and the new archives, and deletes what they replace there.
fn remove_there(
    context: &Context<'_>,
    args: &ForgetArgs,
    store: &Store,
    replication: Replication,
    document: &mut ForgetDocument,
) -> Result<(), CliError> {
    let place = replication.place.value.to_string();
    let replication = Replication {
        prune: true,
        ..replication
    };
    let flag = context.interrupts.flag();
    let stop: Stop = Arc::new(move || flag.load(Ordering::Relaxed));
    let done = context
        .engine()
        .replicate(store, &replication, &stop, ReplicationCare::Thorough)?;
    print_damaged(context, &done.copied);
    let again = || {
        format!(
            "the copy may still have it; repeat `{}`",
            context.command("forget --replica")
        )
    };
    if done.is_busy {
        return Err(CliError::new(
            ErrorKind::RefusedActive,
            format!("another process is copying to {place}"),
        )
        .hint(again()));
    }
    if let Err(error) = done.ended {
        return Err(CliError::from(error).hint(again()));
    }
    document.replica = Some(place.clone());
    document.replica_removed = Some(done.copied.removed);
    document.replica_withheld = Some(done.copied.withheld);
    if !args.json {
        let removed = size::counted(done.copied.removed, "object", "objects");
        context.terminal.out(&format!("{removed} deleted in {place}."));
    }
    if done.copied.withheld > 0 {
        let withheld = size::counted(done.copied.withheld, "object stays", "objects stay");
        context.terminal.warn(&format!(
            "{withheld} in {place}: the replacement is damaged here and not copied, or a record here cannot be read"
        ));
        context.propose("to find the damage", "verify --read-data");
        context.propose("then, to delete them", "forget --replica");
    }
    Ok(())
}

/// Deletes in the copies that nothing is uploaded to any more.
fn remove_earlier(
    context: &Context<'_>,
    args: &ForgetArgs,
    store: &Store,
    replication: Option<&Replication>,
    document: &mut ForgetDocument,
) -> Result<(), CliError> {
    let flag = context.interrupts.flag();
    let stop: Stop = Arc::new(move || flag.load(Ordering::Relaxed));
    let copies = context.engine().earlier_copies(store, replication, Some(&stop))?;
    let mut copies = EarlierReplicaDocument::all(copies, true);
    copies.retain(|copy| copy.removed.is_some_and(|removed| removed > 0) || copy.failed.is_some());
    for copy in copies.iter().filter(|copy| copy.failed.is_none() && !args.json) {
        let removed = size::counted(copy.removed.unwrap_or_default(), "object", "objects");
        let place = sanitize::text(&copy.place);
        context.terminal.out(&format!("{removed} deleted in {place}."));
    }
    document.earlier_replicas = copies;
    Ok(())
}

/// Prints the document, and says what still has a copy.
fn finish(context: &Context<'_>, args: &ForgetArgs, document: &ForgetDocument) {
    let terminal = context.terminal;
    if args.json {
        terminal.json(document);
    }
    if args.replica && !args.dry_run {
        for line in view::forget::in_earlier(document, true) {
            terminal.warn(&line);
        }
    }
    if document.outcome == ForgetOutcome::Nothing && !args.is_replica_alone() {
        return;
    }
    for line in view::forget::elsewhere(document) {
        terminal.note(&line);
    }
    let is_certain = document.outcome == ForgetOutcome::Forgotten;
    if !args.replica {
        for line in view::forget::in_earlier(document, is_certain) {
            terminal.note(&line);
        }
    }
    let follows = || context.engine().replication().is_some_and(|copied| copied.prune);
    let copied = document.replica.as_ref().filter(|_| !args.replica);
    if let Some(place) = copied.filter(|_| follows()) {
        let when = "the next copy of the store deletes it there, as prune_replica is set";
        terminal.note(&format!("{place} still has it; {when}"));
        if args.dry_run {
            context.propose("to apply", &args.words().text());
        }
    } else if copied.is_some() || !args.replica && !document.earlier_replicas.is_empty() {
        if let Some(place) = copied {
            terminal.note(&format!("the copy in {place} still has it"));
        }
        let words = match args.dry_run {
            true => args.words(),
            false => Words::new("forget"),
        };
        context.propose("to delete it there", &words.switch("--replica", true).text());
    } else if args.dry_run {
        context.propose("to apply", &args.words().text());
    }
}
