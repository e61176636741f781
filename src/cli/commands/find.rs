//! `find`: paths by name in all snapshots, and lines in their contents.

use std::ffi::OsString;

use clap::{Args, ValueEnum, ValueHint};

use crate::cli::args::{Example, Group, some_path, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::json_output::JsonForm;
use crate::cli::schema::Document;
use crate::cli::suggested_command::{Words, literal};
use crate::cli::view;
use crate::recovery::{FindRequest, FoundPaths};
use crate::report::{FindDocument, FindSummary, FoundDocument, PresenceWord};
use crate::terminal::size;

/// Place in which `find` looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// All paths in the snapshots
    #[default]
    Snapshots,
    /// Only missing paths
    Deleted,
}

/// Find paths in all snapshots
#[derive(Clone, Debug, Args)]
pub struct FindArgs {
    /// A name, or a quoted glob of names; with a slash a path or a glob of paths
    #[arg(value_name = "PATTERN", value_parser = some_path(), value_hint = ValueHint::AnyPath, required_unless_present_any = ["content", "place"])]
    pub pattern: Option<OsString>,
    /// Where to look: `snapshots`, or `deleted` for missing paths only
    #[arg(
        long = "in",
        value_enum,
        value_name = "WHERE",
        hide_possible_values = true,
        default_value_t
    )]
    pub place: Place,
    /// Only files with a line that matches this regular expression in any version
    #[arg(long, value_name = "REGEX", value_parser = some_text())]
    pub content: Option<String>,
    /// Look in the sessions of all directories
    #[arg(long)]
    pub any: bool,
    /// Search files that are likely to hold secrets
    #[arg(long, requires = "content")]
    pub show_secrets: bool,
    /// Forms of JSON.
    #[command(flatten)]
    pub json: JsonForm,
}

impl Command for FindArgs {
    const NAME: &'static str = "find";
    const GROUP: Option<Group> = Some(Group::Sessions);
    const LONG: &'static str = "\
        Looks in the snapshots of all sessions that cover the current directory, and prints the newest change first. \
        SNAPSHOT has the newest version, in the form that `cat` takes; NOW says whether the path exists, and which session \
        deleted it. The syntax of globs is that of gitignore: *.rs matches at any depth, src/**/*.rs from the current \
        directory on. A path whose name is exactly the pattern always matches. With --content, prints the matching lines of the newest \
        version that has any, as they are found; the expression is a regular expression of Rust, and matches within a \
        line. Binary files are not searched, nor are files that are likely to hold secrets.";
    const EXAMPLES: &'static [Example] = &[
        (
            "A file by its name, at any depth:",
            "jackin recovery find config.toml",
        ),
        ("All deleted files:", "jackin recovery find --in deleted"),
        (
            "A line that vanished:",
            "jackin recovery find --content 'parse_(date|time)' '*.rs'",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[
        Document::of::<FindDocument>("find"),
        Document::lines_of::<FindDocument>("find-lines"),
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
        let found = context.engine().find(&FindRequest {
            pattern: args.pattern.as_deref(),
            deleted: args.place == Place::Deleted,
            any: args.any,
        })?;
        let (paths, summary) = match &args.content {
            Some(regex) => args.search(context, &found, regex)?,
            None => {
                let paths = found.paths.iter().map(|path| FoundDocument::of(path, None));
                (paths.collect(), FindSummary::default())
            }
        };
        let summary = FindSummary {
            snapshots: found.snapshots,
            unreadable: found.unreadable,
            ..summary
        };
        let terminal = context.terminal;
        if args.json.is_json() {
            // With lines, those of a search were printed as they were found.
            let paths = match args.json.json_lines && args.content.is_some() {
                true => Vec::new(),
                false => paths,
            };
            args.json.print(context, &FindDocument::of(paths, summary))?;
            return Ok(ExitCode::Done.into());
        }
        let current = &context.environment.current;
        if args.content.is_none() && !paths.is_empty() {
            let table = view::find::table(&paths, context.now(), terminal.width_out(), current);
            terminal.out(&table);
        }
        if let Some(text) = view::find::damage(&summary) {
            terminal.warn(&text);
        }
        if let Some(text) = view::find::passed_over(&summary) {
            terminal.note(&text);
        }
        match paths.first() {
            Some(first) => propose(context, first, args.show_secrets),
            None => {
                let snapshots = size::counted(summary.snapshots, "snapshot", "snapshots");
                terminal.note(&format!("nothing found in {snapshots}"));
                if !args.any {
                    context.propose(
                        "to look in the sessions of all directories",
                        &args.of_all().text(),
                    );
                }
            }
        }
        Ok(ExitCode::Done.into())
    }
}

impl FindArgs {
    /// Returns the same search in the sessions of all directories.
    fn of_all(&self) -> Words {
        let place = (self.place == Place::Deleted).then_some("deleted");
        Words::new("find")
            .switch("--any", true)
            .flag("--in", place)
            .flag("--content", self.content.as_deref())
            .switch("--show-secrets", self.show_secrets)
            .paths(self.pattern.as_slice())
    }

    /// Searches contents; for a person, prints the lines as they are found.
    fn search(
        &self,
        context: &Context<'_>,
        found: &FoundPaths,
        regex: &str,
    ) -> Result<(Vec<FoundDocument>, FindSummary), CliError> {
        let terminal = context.terminal;
        let width = match terminal.is_tty_out() {
            true => terminal.width_out(),
            false => usize::MAX,
        };
        let current = &context.environment.current;
        let is_stopped = || context.interrupts.requested();
        let mut search = found.search(regex, self.show_secrets, &is_stopped)?;
        let mut paths = Vec::new();
        for path in &found.paths {
            if is_stopped() || terminal.out_is_closed() {
                break;
            }
            let Some(matches) = search.of(path) else {
                continue;
            };
            let document = FoundDocument::of(path, Some(&matches));
            if self.json.json_lines {
                self.json.print_item(context, "paths", &document)?;
            } else if !self.json.json {
                for line in view::find::matches(&document, width, current) {
                    terminal.out(&line);
                }
            }
            paths.push(document);
        }
        if is_stopped() {
            return Err(CliError::new(ErrorKind::Interrupted, "interrupted"));
        }
        let summary = FindSummary {
            binary: search.binary,
            secret: search.secret,
            unreadable_files: search.unreadable,
            ..FindSummary::default()
        };
        Ok((paths, summary))
    }
}

/// Suggests how to print and to restore the first path.
fn propose(context: &Context<'_>, first: &FoundDocument, shows_secrets: bool) {
    let current = &context.environment.current;
    let source = first.source();
    let path = [literal(&[], &first.below(current))];
    if first.is_printed() {
        let snapshot = format!("{}:{}", source.instance, source.snapshot);
        let words = Words::new("cat").switch("--show-secrets", shows_secrets);
        let words = words.arg(snapshot).paths(&path);
        context.propose("to print the first", &words.text());
    }
    // Of another machine's file it is unknown whether it is there.
    let elsewhere = (first.now == PresenceWord::Unknown).then_some("DIR");
    let words = Words::new("restore")
        .arg(&source.instance)
        .flag("--from", Some(&source.snapshot))
        .flag("--to", elsewhere)
        .paths(&path);
    context.propose("to restore it", &words.text());
}
