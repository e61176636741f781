//! `diff`: what changed between two snapshots, or between a snapshot and now.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use clap::{ArgGroup, Args, ValueHint};

use crate::cli::args::{Check, Example, Group, Unlock, number, some_path, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::session_arg::{Asking, SessionPathsArg, earlier_session};
use crate::cli::view::Reader;
use crate::cli::{html, view};
use crate::model::{RelPath, SnapshotKind};
use crate::recovery::{
    DiffRequest, Differences, InstanceRow, SessionDiff, Store, Until, Wanted, holds_login,
};
use crate::report::{
    ChangeKind, Contents, DiffDocument, FoldedLine, LogDocument, MountDiff, PatchOptions, SessionReport,
    Sources, contents, diff_document,
};
use crate::terminal::{sanitize, size};

use crate::cli::identity_arg::identities;
use crate::cli::json_output::JsonForm;
use crate::cli::named_file::{Kind, Output};
use crate::cli::snapshot_arg::{SettledWithOptions, SnapshotRange, settle_with};
use crate::cli::suggested_command::{Words, anywhere};
use crate::cli::tool::{PrivateDirectory, READ_ONLY, run, unwritable};

/// Format in which `diff` shows changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffForm {
    /// The paths alone.
    NameOnly,
    /// One line a path: what happened to it. The default.
    NameStatus,
    /// Print how much changed in each file.
    Stat,
    /// The changed lines.
    Patch,
}

/// Forms of `diff` that are no patch.
const NO_PATCH: [&str; 7] = [
    "name_only",
    "name_status",
    "stat",
    "json",
    "json_lines",
    "html",
    "tool",
];

/// Show what changed since a snapshot
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("form").args(["name_only", "name_status", "stat", "patch", "json", "json_lines", "html", "tool"]))]
pub struct DiffArgs {
    /// Session and paths.
    #[command(flatten)]
    pub subject: SessionPathsArg,
    /// Skip paths that match this glob, in gitignore syntax (may be repeated)
    #[arg(long, value_name = "GLOB", value_parser = some_text())]
    pub exclude: Vec<String>,
    /// Print only the paths, one per line
    #[arg(long)]
    pub name_only: bool,
    /// Print each path with the kind of its change; unlike the default, fold no directories
    #[arg(long)]
    pub name_status: bool,
    /// List every path instead of folding whole directories
    #[arg(long)]
    pub all: bool,
    /// Print how much changed in each file
    #[arg(long)]
    pub stat: bool,
    /// Print a patch for `git apply`; lines that begin with # describe what git cannot express
    #[arg(long)]
    pub patch: bool,
    /// Show N unchanged lines around each change [default: 3]; implies --patch
    #[arg(short = 'U', long, value_name = "N", value_parser = number::<usize>, conflicts_with_all = NO_PATCH)]
    pub unified: Option<usize>,
    /// Mark changed words as [-old-] and {+new+}; implies --patch, but is not for `git apply`
    #[arg(long, conflicts_with_all = NO_PATCH)]
    pub word_diff: bool,
    /// Include binary files as git encodes them; implies --patch
    #[arg(long, conflicts_with_all = NO_PATCH, conflicts_with = "word_diff")]
    pub binary: bool,
    /// End each path with NUL and print it unquoted, with --name-only or --name-status; not to a terminal
    #[arg(short = 'z', conflicts_with_all = ["stat", "patch", "json", "json_lines", "html", "tool", "unified", "word_diff", "binary"])]
    pub nul: bool,
    /// Forms of JSON.
    #[command(flatten)]
    pub json: JsonForm,
    /// Write a self-contained HTML page to FILE (- for stdout); replaces only an earlier page
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath)]
    pub html: Option<OsString>,
    /// Run this command on two private directories with the files of both sides, such as 'meld'
    #[arg(long, value_name = "COMMAND", value_parser = some_text())]
    pub tool: Option<String>,
    /// The earlier snapshot: a kind, `latest`, a checkpoint's name or number, or an id or its prefix [default: the baseline]
    #[arg(long, value_name = "SNAP", value_parser = some_text())]
    pub from: Option<String>,
    /// The later snapshot, or `now` for the current files [default: the closing snapshot; now while the session
    /// is active]
    #[arg(long, value_name = "SNAP|now")]
    pub to: Option<Until>,
    /// Compare with the current files, as `restore` does
    #[arg(long, conflicts_with = "to")]
    pub now: bool,
    /// Show a renamed file as one deleted and one added
    #[arg(long)]
    pub no_renames: bool,
    /// Exit with 1 if there are differences, like diff(1)
    #[arg(long)]
    pub exit_code: bool,
    /// Show likely secrets: values of settings and, with --patch, file contents
    #[arg(long)]
    pub show_secrets: bool,
    /// Private key for encrypted content.
    #[command(flatten)]
    pub unlock: Unlock,
    /// Choose how to find changes: `content` reads every file instead of trusting size and times
    #[arg(long, value_enum, value_name = "HOW", hide_possible_values = true)]
    pub check: Option<Check>,
}

impl Command for DiffArgs {
    const NAME: &'static str = "diff";
    const GROUP: Option<Group> = Some(Group::Daily);
    const LONG: &'static str = "\
        Compares the baseline with the closing snapshot, or with the current files while the session is active. With \
        --now, shows exactly what a restore would change. A directory that was added, deleted or renamed with \
        everything below it is one line, and so is .git; --all, --name-status, --name-only and --json list every path. \
        A..B as INSTANCE compares two snapshots, also of two sessions on the same directories: each is INSTANCE:SNAP, \
        :SNAP for the latest session here, or INSTANCE for its newest snapshot; A.. compares with the current files, and \
        ..B begins at the baseline. --tool runs a command, such as meld, with two directories that only you can enter; they \
        hold the files of both sides, and are removed when it ends. A quoted glob as PATH, in gitignore syntax, means the changed paths that it matches, \
        unless a path has that very name. \
        Control characters in names and contents are escaped.";
    const EXAMPLES: &'static [Example] = &[
        (
            "What the latest session here changed, path by path:",
            "jackin recovery diff",
        ),
        (
            "Line by line, in one directory:",
            "jackin recovery diff --patch src",
        ),
        (
            "Between two snapshots of a session:",
            "jackin recovery diff shop --from before-upgrade --to closing",
        ),
        (
            "What changed between the ends of two sessions:",
            "jackin recovery diff @2..@1",
        ),
        (
            "Only some files:",
            "jackin recovery diff 'src/**/*.rs' --exclude '*_test.rs'",
        ),
        (
            "Put a path that begins with a dash after `--`:",
            "jackin recovery diff -- ./-odd-name",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[
        Document::of::<DiffDocument<'static>>("diff"),
        Document::lines_of::<DiffDocument<'static>>("diff-lines"),
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
        if args.nul && context.terminal.is_tty_out() {
            let error = CliError::new(
                ErrorKind::Usage,
                "-z prints unquoted names, which is unsafe on a terminal",
            );
            return Err(error.hint("omit -z, or redirect the output to a program or a file"));
        }
        if args.nul && !args.name_only && !args.name_status {
            let error = CliError::new(ErrorKind::Usage, "-z needs --name-only or --name-status");
            return Err(error.hint("add --name-only"));
        }
        let page = args.html.as_ref();
        let page = page
            .map(|file| Output::settle(context, file, Kind::Page))
            .transpose()?;
        let engine = context.engine();
        let asking = Asking {
            names_earlier: args.is_latest(),
            ..Asking::any(args.json.is_json() || args.nul)
        };
        let range = args.range(context)?;
        let (session, paths, args) = match &range {
            Some(range) => (range.session.clone(), args.subject.sure_paths(), args.clone()),
            None => args.settle(context, asking)?,
        };
        let args = &args;
        let keys = || identities(context, &args.unlock);
        let compared = engine.diff(&DiffRequest {
            session: &session,
            from: range
                .as_ref()
                .map(|range| range.from.as_str())
                .or(args.from.as_deref()),
            later_session: range.as_ref().and_then(|range| range.later.as_deref()),
            to: range.as_ref().map(|range| &range.to).or(args.to.as_ref()),
            now: args.now || args.check.is_some(),
            paths: &paths,
            excluded: &args.exclude,
            check_content: args.check == Some(Check::Content),
            show_secrets: args.show_secrets,
            pairs_renames: !args.no_renames,
            keys: &keys,
        })?;
        let SessionDiff {
            store, row, found, ..
        } = &compared;
        let code = if args.exit_code && found.are_any() {
            ExitCode::Failed
        } else {
            ExitCode::Done
        };
        if let Some(file) = &page {
            let known = SessionReport::of(store, row, None)?;
            let log = LogDocument::until_break(store, Some(&row.id))?;
            // The page may be read anywhere: the session is named.
            let from = (found.from.kind != SnapshotKind::Baseline).then(|| found.from.id.to_string());
            let restore = |chosen: Option<Vec<OsString>>| {
                let words = Words::new("restore").arg(row.id.as_str());
                let words = words
                    .flag("--from", from.as_ref())
                    .flag("--identity", args.unlock.identity.as_ref());
                let words = match chosen {
                    Some(chosen) => words.paths(&chosen),
                    None => {
                        let paths: Vec<_> = paths.iter().map(|path| anywhere(context, path)).collect();
                        words.flags("--exclude", &args.exclude).paths(&paths)
                    }
                };
                context.command(&words.text())
            };
            let shown = html::Shown {
                found: &diff_document(row, found),
                sources: Sources::of(found, !args.show_secrets),
                show_secrets: args.show_secrets,
                restore: &restore,
            };
            let page = html::page(&known, &log, Some(&shown), context.now())?;
            file.write_page(context, &page)?;
            return Ok(code.into());
        }
        if let Some(tool) = &args.tool {
            let ended = open(context, args, compared, tool)?;
            return Ok(match code {
                ExitCode::Done => ended,
                code => code.into(),
            });
        }
        if args.json.is_json() {
            args.json.print(context, &diff_document(row, found))?;
        } else {
            if range.is_some() {
                let later = found
                    .later()
                    .map(|later| format!("{}:{}", later.instance, later.id));
                let later = later.unwrap_or_else(|| found.to());
                let earlier = format!("{}:{}", row.id, found.from.id);
                context.terminal.note(&format!("from {earlier} to {later}"));
            }
            tell(context, store, row, found, (args, &paths), range.is_some());
            if args.is_latest()
                && !found.are_any()
                && let Some(earlier) = earlier_session(context, store, row, "diff")?
            {
                context.terminal.note(&earlier);
            }
        }
        Ok(code.into())
    }
}

/// Largest content that a tool gets, in bytes.
const LARGEST: u64 = 256 << 20;

/// Writes both sides into a private directory, and runs a tool on them.
fn open(
    context: &Context<'_>,
    args: &DiffArgs,
    compared: SessionDiff,
    tool: &str,
) -> Result<Status, CliError> {
    let options = PatchOptions {
        context: 0,
        show_secrets: args.show_secrets,
        hides: false,
    };
    let directory = PrivateDirectory::make(context)?;
    let sides = [Path::new("old"), Path::new("new")];
    let paths = sides.map(|side| directory.directory(side));
    let (mut written, mut hidden, mut lacking) = (0_u64, 0_u64, 0_u64);
    let report = diff_document(&compared.row, &compared.found);
    let sources = Sources::of(
        &compared.found,
        compared.store.is_unlocked() && !args.show_secrets,
    );
    let several = report.mounts().len() > 1;
    for mount in report.mounts() {
        for change in mount.exact {
            if context.interrupts.requested() {
                return Err(CliError::new(ErrorKind::Interrupted, "interrupted"));
            }
            let (old, new) = match contents(mount.coverage, change, &sources, options, LARGEST) {
                Contents::Nothing => continue,
                Contents::Hidden | Contents::Masked(..) => {
                    hidden += 1;
                    continue;
                }
                Contents::Unavailable(_) | Contents::Large(..) => {
                    lacking += 1;
                    continue;
                }
                Contents::Both(old, new) => (old, new),
            };
            if !args.show_secrets && (holds_login(&old) || holds_login(&new)) {
                hidden += 1;
                continue;
            }
            let from = change.from_path.as_ref().unwrap_or(&change.path);
            let both = [(&change.from, from, old), (&change.to, &change.path, new)];
            for (side, (entry, path, bytes)) in sides.iter().zip(both) {
                if entry.as_ref().is_none_or(|entry| entry.is_dir()) {
                    continue;
                }
                let place = match several {
                    true => side.join(&mount.coverage.label),
                    false => side.to_path_buf(),
                };
                let (mut file, _) = directory.file(&place.join(path.as_path()), READ_ONLY)?;
                file.write_all(&bytes).map_err(unwritable)?;
            }
            written += 1;
        }
    }
    for (count, why) in [
        (hidden, "likely to hold secrets and not shown (--show-secrets)"),
        (lacking, "not shown: the content is too large or cannot be read"),
    ] {
        if count > 0 {
            let files = size::counted(count, "file is", "files are");
            context.terminal.note(&format!("{files} {why}"));
        }
    }
    if written == 0 {
        context.terminal.note("no contents differ");
        return Ok(ExitCode::Done.into());
    }
    let [old, new] = paths;
    let paths = [old?, new?];
    // Snapshots can be deleted while the operator reads.
    drop(report);
    drop(compared);
    run(context, tool.into(), &directory, &paths)
}

impl DiffArgs {
    /// Returns the two snapshots if the first word names both.
    fn range(&self, context: &Context<'_>) -> Result<Option<SnapshotRange>, CliError> {
        let Some(word) = &self.subject.instance else {
            return Ok(None);
        };
        let range = SnapshotRange::of_word(context, word, self.subject.any)?;
        let is_named = self.from.is_some() || self.to.is_some() || self.now;
        if range.is_some() && is_named {
            let error = CliError::new(ErrorKind::Usage, "A..B names both snapshots");
            return Err(error.hint("omit --from, --to and --now"));
        }
        Ok(range)
    }

    /// Returns the id of the session, the paths, and the arguments with snapshots that name no session.
    fn settle(
        &self,
        context: &Context<'_>,
        asking: Asking,
    ) -> Result<(String, Vec<OsString>, Self), CliError> {
        let to = match &self.to {
            Some(Until::Snapshot(name)) => Some(name.as_str()),
            Some(Until::Now) | None => None,
        };
        let options = [("--from", self.from.as_deref()), ("--to", to)];
        let SettledWithOptions {
            session,
            paths,
            snapshots: [from, to],
        } = settle_with(&self.subject, context, asking, options)?;
        let to = to.map(|name| match name.as_str() {
            "now" => Until::Now,
            _ => Until::Snapshot(name),
        });
        let args = Self {
            from,
            to: to.or_else(|| self.to.clone()),
            ..self.clone()
        };
        Ok((session, paths, args))
    }

    /// Returns true if no argument chooses a session, a snapshot or paths, and the changes are printed.
    fn is_latest(&self) -> bool {
        let is_listing = self.html.is_none() && self.tool.is_none() && !self.now && self.check.is_none();
        self.subject.is_default() && self.from.is_none() && self.to.is_none() && is_listing
    }

    /// Returns true if the listing folds nothing.
    fn lists_all(&self) -> bool {
        self.all || self.name_status
    }

    /// Format of the changes for people.
    #[must_use]
    pub fn form(&self) -> DiffForm {
        let is_patch = self.patch || self.word_diff || self.binary || self.unified.is_some();
        match (self.name_only, self.stat, is_patch) {
            (true, _, _) => DiffForm::NameOnly,
            (_, true, _) => DiffForm::Stat,
            (_, _, true) => DiffForm::Patch,
            _ => DiffForm::NameStatus,
        }
    }
}

fn tell(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
    found: &Differences,
    (args, paths): (&DiffArgs, &[OsString]),
    is_range: bool,
) {
    let options = PatchOptions {
        context: args.unified.unwrap_or(3),
        show_secrets: args.show_secrets,
        hides: false,
    };
    let report = diff_document(row, found);
    let sources = Sources::of(found, store.is_unlocked() && !args.show_secrets);
    // What agents may do now is wanted first, whatever else changed.
    for mount in report.mounts().filter(|mount| !mount.settings.is_empty()) {
        let width = context.terminal.width_out();
        aside(
            context,
            args,
            &view::settings::settings(mount.settings, width, Reader::Operator),
        );
    }
    let mut lacking = 0;
    for mount in report.mounts() {
        lacking += show(
            context,
            args,
            &mount,
            &sources,
            options,
            report.mounts().len() > 1,
        );
    }
    if lacking > 0 {
        let paths = size::counted(lacking, "path is", "paths are");
        context.terminal.note(&format!(
            "{paths} not in the patch; the lines that begin with # say why"
        ));
    }
    if !found.are_any() {
        context.terminal.note("no differences");
    }
    let is_listing = args.form() == DiffForm::NameStatus && !args.nul;
    let mut mounts = report.mounts();
    if is_listing && !args.lists_all() && mounts.any(|mount| mount.folded().len() < mount.exact.len()) {
        let later = args.to.as_ref().map(|to| match to {
            Until::Now => "now",
            Until::Snapshot(name) => name,
        });
        let words = match args.subject.instance.as_ref().filter(|_| is_range) {
            Some(range) => Words::new("diff").arg(range),
            None => Words::new("diff").session(context, &row.id, Wanted::Any),
        };
        let words = words
            .switch("--all", true)
            .switch("--now", args.now)
            .switch("--no-renames", args.no_renames)
            .flag("--from", args.from.as_ref())
            .flag("--to", later)
            .flags("--exclude", &args.exclude)
            .flag("--identity", args.unlock.identity.as_ref());
        context.propose("details", &words.paths(paths).text());
    }
    if !is_range {
        propose(context, store, row, found, (args, paths));
    }
}

/// Suggests the next commands, if they would do anything.
fn propose(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
    found: &Differences,
    (args, paths): (&DiffArgs, &[OsString]),
) {
    // Of two snapshots that were named no restore is meant, and nothing is restored while the session lives.
    if args.to.as_ref().is_some_and(|to| *to != Until::Now)
        || row.ended_at.is_none() && context.engine().is_active(store, row)
    {
        return;
    }
    if row.is_imported() {
        return context.propose("to write its files", &format!("fork {}", row.id));
    }
    let with_paths = |words: Words| {
        words
            .flags("--exclude", &args.exclude)
            .flag("--identity", args.unlock.identity.as_ref())
            .paths(paths)
    };
    let from = |verb: &str| {
        Words::new(verb)
            .session(context, &row.id, Wanted::Any)
            .flag("--from", args.from.as_ref())
    };
    let (left, others) = (found.left_to_undo(), found.edited_elsewhere());
    if found.are_any() && left {
        context.propose("to undo", &with_paths(from("restore")).text());
    }
    if found.edited() || others > 0 {
        if others > 0 {
            let paths = size::counted(others, "other path", "other paths");
            context
                .terminal
                .note(&format!("{paths} changed since the session ended"));
        }
        context.propose(
            "to compare with the files as they are",
            &with_paths(from("diff").plain("--now")).text(),
        );
    }
}

/// Prints what stands before the paths: as a remark in a patch, beside the result where that is for a program.
fn aside(context: &Context<'_>, args: &DiffArgs, text: &str) {
    match args.form() {
        DiffForm::Patch => context.terminal.out(&view::git_patch::remark(text)),
        DiffForm::NameOnly => context.terminal.note(text),
        _ if args.nul => context.terminal.note(text),
        DiffForm::NameStatus | DiffForm::Stat => context.terminal.out(text),
    }
}

/// Prints one mount. Gives how many paths a patch lacks.
fn show(
    context: &Context<'_>,
    args: &DiffArgs,
    mount: &MountDiff<'_>,
    sources: &Sources<'_>,
    options: PatchOptions,
    several: bool,
) -> u64 {
    let terminal = context.terminal;
    let changes = mount.exact;
    let for_programs = args.nul || args.form() == DiffForm::NameOnly;
    if several && !changes.is_empty() && !for_programs {
        aside(context, args, &view::changes::host(mount.coverage));
    }
    for change in mount.repositories {
        let text = view::repository::change(change, terminal.width_out(), Reader::Operator);
        aside(context, args, &text);
    }
    let mut lacking = 0;
    match args.form() {
        form if args.nul => terminal.names(&names(mount, form, several)),
        DiffForm::NameOnly => {
            for change in changes {
                terminal.out(&sanitize::name(&named(mount, &change.path, several)));
            }
        }
        DiffForm::NameStatus => {
            for line in listing(mount, args.lists_all()) {
                if terminal.out_is_closed() {
                    break;
                }
                terminal.out(&line);
            }
        }
        DiffForm::Stat => terminal.out(&view::patch::stat(mount, sources, terminal.width_out())),
        DiffForm::Patch => {
            let form = view::git_patch::Form {
                options,
                binary: args.binary,
                words: args.word_diff,
                exact: !terminal.is_tty_out() && !args.word_diff,
            };
            for (told, change) in mount.pairs() {
                if terminal.out_is_closed() {
                    break;
                }
                if let Some(word) = view::changes::since(told) {
                    let path = view::changes::path(&change.path, None);
                    terminal.out(&view::git_patch::remark(&format!("{path}: {word}")));
                }
                let shown = view::git_patch::change(mount.coverage, change, sources, form);
                lacking += u64::from(shown.lacks);
                if !shown.text.is_empty() {
                    terminal.out(&shown.text);
                }
            }
        }
    }
    for change in mount.withheld {
        let told = view::changes::withheld(change);
        let where_it_is = match mount.coverage.recipients.as_slice() {
            [] => "; no snapshot has it",
            // What the given key does not show cannot be read at all.
            _ if sources.hides_private => "",
            _ => "; the old content is encrypted: use --identity FILE",
        };
        terminal.note(&format!("{told}{where_it_is}"));
    }
    if !mount.not_covered.is_empty() {
        terminal.note(&view::patch::not_covered(mount.not_covered));
    }
    lacking
}

/// The lines of a mount: one for each path, or for each directory that was changed as a whole.
fn listing(mount: &MountDiff<'_>, all: bool) -> Vec<String> {
    if all {
        let marked = |(told, change)| view::changes::marked(change, told);
        return mount.pairs().map(marked).collect();
    }
    let kinds: Vec<ChangeKind> = mount.exact.iter().map(|change| change.kind).collect();
    let line = |line: FoldedLine| match line {
        FoldedLine::One(at) => {
            let (told, change) = (mount.changes.get(at)?, mount.exact.get(at)?);
            Some(view::changes::marked(change, told))
        }
        FoldedLine::Fold(fold) => Some(view::folded::line(&fold, &kinds)),
    };
    mount.folded().into_iter().filter_map(line).collect()
}

/// A path below the mount; of several mounts on the host.
fn named(mount: &MountDiff<'_>, path: &RelPath, several: bool) -> Vec<u8> {
    match several {
        true => path
            .on_host(&mount.coverage.root.to_path())
            .into_os_string()
            .into_vec(),
        false if path.is_root() => b".".to_vec(),
        false => path.as_bytes().to_vec(),
    }
}

/// The paths with a NUL behind each; before them the letter, and of a rename both paths.
fn names(mount: &MountDiff<'_>, form: DiffForm, several: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for change in mount.exact {
        let mut parts = Vec::new();
        if form == DiffForm::NameStatus {
            parts.push(view::changes::letter(change.kind).0.as_bytes().to_vec());
            parts.extend(change.from_path.iter().map(|path| named(mount, path, several)));
        }
        parts.push(named(mount, &change.path, several));
        for part in parts {
            text.extend(part);
            text.push(0);
        }
    }
    text
}
