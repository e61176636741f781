//! `restore`: plan, confirm, emergency snapshot, apply, verify.

mod to;

use std::ffi::OsString;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, Mtimes, Unlock, some_path, some_text};
use crate::cli::choose_point::chosen_snapshot_before;
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::Status;
use crate::cli::identity_arg::identities;
use crate::cli::json_output::JsonForm;
use crate::cli::restore_flow::{Choosing, RestoreOptions, carry_out};
use crate::cli::schema::Document;
use crate::cli::session_arg::{Asking, SessionPathsArg, earlier_session};
use crate::cli::snapshot_arg::{SettledWithOptions, settle_with};
use crate::cli::suggested_command::Words;
use crate::cli::view;
use crate::recovery::{
    Allow, ChosenPaths, EarlierChange, InstanceRow, Merging, RecoveryError, RestoreRequest, Wanted,
};
use crate::report::{InstanceDocument, RestoreDocument, RestoreToDocument};

/// Restore files from a snapshot
#[derive(Clone, Debug, Args)]
pub struct RestoreArgs {
    /// Session and paths.
    #[command(flatten)]
    pub subject: SessionPathsArg,
    /// Skip paths that match this glob, in gitignore syntax (may be repeated)
    #[arg(long, value_name = "GLOB", value_parser = some_text())]
    pub exclude: Vec<String>,
    /// Print the plan and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Choose hunks one by one before the question; with --dry-run, show the lines that would be reverted
    #[arg(short, long, conflicts_with_all = ["json", "json_lines", "to", "yes", "interactive"])]
    pub patch: bool,
    /// List every path in the plan instead of folding whole directories
    #[arg(long, conflicts_with = "to")]
    pub all: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Choose the paths from a list before the question
    #[arg(short, long, conflicts_with_all = ["dry_run", "yes", "json", "json_lines", "to"])]
    pub interactive: bool,
    /// The snapshot to restore: a kind, `latest`, a checkpoint's name or number, or an id or its prefix [default: the baseline]
    #[arg(long, value_name = "SNAP", value_parser = some_text())]
    pub from: Option<String>,
    /// The snapshot right before a prompt or tool call of the agent, by a part of its text; without TEXT, choose from a list
    #[arg(long, value_name = "TEXT", value_parser = some_text(), num_args = 0..=1,
          conflicts_with_all = ["from", "only_changes_of"])]
    #[expect(
        clippy::option_option,
        reason = "the flag may be given with a text or without one"
    )]
    pub before: Option<Option<String>>,
    /// Revert one step: the changes between the previous snapshot and this one; later steps stay
    #[arg(long, value_name = "SNAP", value_parser = some_text(), conflicts_with_all = ["from", "to"])]
    pub only_changes_of: Option<String>,
    /// Write to this directory instead, absent or empty, or to a claim or volume (k8s-pvc://…, created if
    /// missing; docker-volume://…)
    #[arg(long, value_name = "DIR", value_parser = some_path(), value_hint = ValueHint::DirPath,
          conflicts_with_all = ["overwrite_later_edits", "delete_later_files", "set_aside_excluded"])]
    pub to: Option<OsString>,
    /// Overwrite files edited since the session
    #[arg(long)]
    pub overwrite_later_edits: bool,
    /// Undo the session's change in files edited since, and keep those edits (three-way merge)
    #[arg(long, conflicts_with_all = ["overwrite_later_edits", "to"])]
    pub merge: bool,
    /// With --merge: mark overlapping changes with conflict markers (diff3 style)
    #[arg(long, requires = "merge")]
    pub conflict_markers: bool,
    /// Delete files created since the session, or created by it and edited since
    #[arg(long)]
    pub delete_later_files: bool,
    /// Move this excluded directory aside: no snapshot has it; `undo` moves it back (may be repeated)
    #[arg(long, value_name = "DIR", value_parser = some_path(), value_hint = ValueHint::DirPath)]
    pub set_aside_excluded: Vec<OsString>,
    /// Do not restore .git: HEAD, branches, index, hooks, configuration, objects
    #[arg(long)]
    pub files_only: bool,
    /// Set the times of restored files: `now`, so that build tools notice, or `exact`, as recorded
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        hide_possible_values = true,
        default_value_t
    )]
    pub mtimes: Mtimes,
    /// Private key for encrypted content.
    #[command(flatten)]
    pub unlock: Unlock,
    /// Fail if the snapshot is incomplete
    #[arg(long)]
    pub require_complete: bool,
    /// Forms of JSON.
    #[command(flatten)]
    pub json: JsonForm,
}

impl Command for RestoreArgs {
    const NAME: &'static str = "restore";
    const GROUP: Option<Group> = Some(Group::Daily);
    const LONG: &'static str = "\
        Prints the plan, asks, takes an emergency snapshot of the current files, and restores; `undo` reverts that. \
        The question also takes letters: d shows the lines that would be undone, p the plan with every path, and i \
        lets you choose some of the paths. \
        It deletes only files that are proved to be new, and keeps later edits: it lists them as conflicts and exits \
        with 6. A quoted glob as PATH, in gitignore syntax, means the changed paths that it matches, unless a path has that \
        very name; with --to, the stored paths. Excluded paths are in no snapshot and stay as they are; --set-aside-excluded moves an excluded \
        directory aside as a whole, and `undo` moves it back.";
    const EXAMPLES: &'static [Example] = &[
        ("Preview the changes:", "jackin recovery restore --dry-run"),
        ("One directory only:", "jackin recovery restore src"),
        (
            "The Rust files below src, but no tests:",
            "jackin recovery restore 'src/**/*.rs' --exclude '*_test.rs'",
        ),
        ("Choose paths from a list:", "jackin recovery restore -i"),
        (
            "Choose hunks of the files in src:",
            "jackin recovery restore -p src",
        ),
        (
            "Keep edits made since the session:",
            "jackin recovery restore --merge",
        ),
        (
            "From the session before the latest:",
            "jackin recovery restore @2",
        ),
        (
            "Also move a build directory aside, which no snapshot has:",
            "jackin recovery restore --set-aside-excluded target",
        ),
        (
            "Back to the moment before the agent ran a command:",
            "jackin recovery restore --before rm",
        ),
        (
            "Choose the prompt or command from a list:",
            "jackin recovery restore --before",
        ),
        (
            "Write to a new directory instead:",
            "jackin recovery restore shop --to /tmp/before",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[
        Document::of::<RestoreDocument<'static>>("restore"),
        Document::lines_of::<RestoreDocument<'static>>("restore-lines"),
        Document::of::<RestoreToDocument>("restore-to"),
    ];

    fn json(&self) -> bool {
        self.json.is_json()
    }

    fn changes_something(&self) -> bool {
        !self.dry_run
    }

    fn tells_pending(&self) -> bool {
        // Into its own place it is refused.
        self.to.is_some()
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        if args.patch && !args.dry_run {
            refuse_hunks(context, args)?;
        }
        if args.json.json_lines && (!args.dry_run || args.to.is_some()) {
            let error = CliError::new(ErrorKind::Usage, "--json-lines needs --dry-run");
            return Err(error.hint("add --dry-run, or use --json"));
        }
        let engine = context.engine();
        let keys = || identities(context, &args.unlock);
        let asking = Asking {
            names_earlier: args.is_latest(),
            ..Asking::to_change_files(Wanted::Any, args.json.is_json(), args.yes)
        };
        let options = [
            ("--from", args.from.as_deref()),
            ("--only-changes-of", args.only_changes_of.as_deref()),
        ];
        let SettledWithOptions {
            session,
            paths,
            snapshots: [from, only_changes_of],
        } = settle_with(&args.subject, context, asking, options)?;
        let args = &Self {
            from,
            only_changes_of,
            ..args.clone()
        };
        let before = match &args.before {
            None => None,
            Some(Some(text)) => Some(engine.snapshot_before(&session, text)?.to_string()),
            Some(None) => Some(chosen_snapshot_before(
                context,
                &session,
                args.json.is_json() || args.yes,
            )?),
        };
        let from = before.as_ref().or(args.from.as_ref());
        let request = RestoreRequest {
            session: &session,
            paths: &paths,
            excluded: &args.exclude,
            chosen: None,
            from: from.map(String::as_str),
            only_changes_of: args.only_changes_of.as_deref(),
            allow: Allow {
                overwrite_later: args.overwrite_later_edits,
                delete_later: args.delete_later_files,
                files_only: args.files_only,
                merging: match (args.merge, args.conflict_markers) {
                    (false, _) => Merging::Off,
                    (true, false) => Merging::Clean,
                    (true, true) => Merging::Marked,
                },
            },
            set_aside: &args.set_aside_excluded,
            require_complete: args.require_complete,
            exact_mtimes: args.mtimes == Mtimes::Exact,
            keys: &keys,
            dry_run: args.dry_run,
            shows_refused: args.dry_run,
        };
        let is_elsewhere = args.to.is_some() || args.unlock.identity.is_some();
        let subject = engine.restore_subject(&request, is_elsewhere)?;
        if let Some(directory) = &args.to {
            let planned = engine.plan_output(subject, &request, directory.as_ref())?;
            let again = how(context, args, (&paths, from), &planned.row).again;
            return to::to_directory(context, &planned, args, &again);
        }
        let planned = match engine.plan_of(subject, &request) {
            Err(error @ RecoveryError::Nowhere { .. }) => return Err(with_earlier(context, error, &paths)),
            planned => planned?,
        };
        let how = how(context, args, (&paths, from), &planned.row);
        let is_whole = from.is_none() && args.only_changes_of.is_none();
        let is_idle = planned.proposal.is_empty();
        let earlier_session = match args.is_latest() && !args.json.is_json() && is_idle {
            true => earlier_session(context, &planned.store, &planned.row, "restore")?,
            false => None,
        };
        let earlier = match is_whole && !args.json.is_json() && planned.is_idle() && !paths.is_empty() {
            true => engine.earlier_change(&planned.store, &planned.row, &paths)?,
            false => None,
        };
        let narrow = |chosen: &ChosenPaths| {
            let chosen = Some(chosen);
            let request = RestoreRequest {
                chosen,
                ..request.clone()
            };
            Ok(engine.plan(&request)?)
        };
        let status = carry_out(context, planned, &how, Some(&narrow))?;
        if let Some(earlier) = earlier {
            print_earlier(context, &earlier, &paths);
        }
        if let Some(earlier) = earlier_session {
            context.terminal.caution(&earlier);
        }
        Ok(status)
    }
}

impl RestoreArgs {
    /// Returns true if no argument chooses a session, a snapshot or paths: all changes of the latest session are to be reverted in place.
    fn is_latest(&self) -> bool {
        let is_placed = self.from.is_some() || self.before.is_some() || self.only_changes_of.is_some();
        let goes_beyond =
            self.overwrite_later_edits || self.delete_later_files || !self.set_aside_excluded.is_empty();
        self.subject.is_default() && !is_placed && self.to.is_none() && !goes_beyond
    }
}

/// Fails if hunks cannot be asked for.
fn refuse_hunks(context: &Context<'_>, args: &RestoreArgs) -> Result<(), CliError> {
    if args.merge {
        let message = "--patch and --merge cannot be used together: a merge has no hunks to choose from";
        return Err(
            CliError::new(ErrorKind::Usage, message).hint("merge first, then choose hunks of the rest")
        );
    }
    if context.terminal.can_ask() {
        return Ok(());
    }
    let message = "--patch asks for each hunk on a terminal, and there is none";
    let words = Words::new("restore").arg("PATH");
    Err(CliError::new(ErrorKind::Usage, message).command("to restore whole files", words.text()))
}

/// Purpose of the command that restores paths from an earlier session.
const FROM_EARLIER: &str = "to restore what it changed";

/// Prints the session that changed the paths last, and the command that restores them from it.
fn print_earlier(context: &Context<'_>, earlier: &EarlierChange, paths: &[OsString]) {
    let (session, words) = earlier_words(context, earlier, paths);
    context.terminal.note(&session);
    context.propose(FROM_EARLIER, &words);
}

/// Adds the session that changed the paths last to the error for paths that the session has not.
fn with_earlier(context: &Context<'_>, error: RecoveryError, paths: &[OsString]) -> CliError {
    let engine = context.engine();
    let found = match &error {
        RecoveryError::Nowhere { instance, .. } => {
            engine.store_for_reading().ok().flatten().and_then(|store| {
                let row = store.catalog().instance(instance).ok()??;
                engine.earlier_change(&store, &row, paths).ok()?
            })
        }
        _ => None,
    };
    let error = CliError::from(error);
    match found {
        Some(earlier) => {
            let (session, words) = earlier_words(context, &earlier, paths);
            error.hint(session).command(FROM_EARLIER, words)
        }
        None => error,
    }
}

/// Returns the words that name an earlier session, and the command that restores from it.
fn earlier_words(context: &Context<'_>, earlier: &EarlierChange, paths: &[OsString]) -> (String, String) {
    let home = context.environment.home.as_deref();
    let session = view::instances::chosen(&InstanceDocument::brief(&earlier.row), context.now(), home);
    let what = match paths.len() {
        1 => "this path",
        _ => "these paths",
    };
    let words = Words::new("restore")
        .arg(format!("@{}", earlier.number))
        .paths(paths);
    (
        format!("an earlier session changed {what}: {session}"),
        words.text(),
    )
}

fn how(
    context: &Context<'_>,
    args: &RestoreArgs,
    (paths, from): (&[OsString], Option<&String>),
    row: &InstanceRow,
) -> RestoreOptions {
    // What was set aside once is not there for the commands that follow.
    let aside: &[OsString] = if args.dry_run {
        &args.set_aside_excluded
    } else {
        &[]
    };
    RestoreOptions {
        json: args.json.is_json(),
        json_lines: args.json.json_lines,
        yes: args.yes,
        dry_run: args.dry_run,
        patch: args.patch,
        all: args.all,
        choosing: match (args.interactive, args.patch && !args.dry_run) {
            (_, true) => Choosing::Hunks,
            (true, false) => Choosing::Paths,
            (false, false) => Choosing::Nothing,
        },
        question: "Restore these files?",
        identity: args.unlock.identity.clone(),
        again: Words::new("restore")
            .session(context, &row.id, Wanted::Any)
            .flags("--set-aside-excluded", aside)
            .flags("--exclude", &args.exclude)
            .flag("--from", from)
            .flag("--only-changes-of", args.only_changes_of.as_ref())
            .flag("--mtimes", (args.mtimes == Mtimes::Exact).then_some("exact"))
            .switch("--files-only", args.files_only)
            .switch("--require-complete", args.require_complete)
            .flag("--identity", args.unlock.identity.as_ref())
            .paths(paths),
    }
}
