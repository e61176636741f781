//! Shell completion at the cursor: commands and flags from the definition of the command line, ids and names from the store and
//! the configuration. Sources that cannot be read at once are skipped silently: pressing a key must not print an error.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use clap::builder::StyledStr;
use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};

use super::args::{CalledAs, CommandSet, command_for};
use crate::config::Config;
use crate::environment::Environment;
use crate::model::Time;
use crate::session::{find_called, without_forgotten};
use crate::store::{InstanceRow, Layout, SnapshotRow, Store};
use crate::terminal::{sanitize, size};

/// Completion that is left to the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shell {
    /// Any path.
    Files,
    /// A directory.
    Directories,
    /// A program, and behind it what that program takes.
    Command,
}

impl Shell {
    /// The line that asks for it, in the language that the committed scripts understand.
    pub(super) fn line(self) -> &'static str {
        match self {
            Self::Files => ":files",
            Self::Directories => ":directories",
            Self::Command => ":command",
        }
    }

    fn of_line(line: &str) -> Option<Self> {
        let mut all = [Self::Files, Self::Directories, Self::Command].into_iter();
        all.find(|shell| shell.line() == line)
    }
}

/// Candidates for the word at the cursor.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Words with what they are, best first.
    pub(super) words: Vec<(String, String)>,
    /// Completion that the shell adds; `None` if it adds nothing.
    pub(super) shell: Option<Shell>,
}

/// Completes the word `index` of a command line whose word 0 is the program.
pub(super) fn candidates<V: CommandSet>(
    environment: &Environment,
    called_as: CalledAs,
    words: Vec<OsString>,
    index: usize,
    now: Time,
) -> Candidates {
    let definition = command_for::<V>(called_as, 80);
    let before = words.get(..index).unwrap_or_default();
    let line = Line::of(&definition, called_as, before);
    if line.is_escaped && line.runs_command {
        return Candidates {
            words: Vec::new(),
            shell: Some(Shell::Command),
        };
    }
    let source = Arc::new(Source {
        environment: environment.clone(),
        line,
        now,
    });
    let current = words.get(index).map(|word| word.to_string_lossy().into_owned());
    let is_begun = current.as_ref().is_some_and(|word| !word.is_empty());
    let is_escaped = words.iter().take(index).any(|word| word == "--");
    let is_flag = !is_escaped && current.is_some_and(|word| word.starts_with('-'));
    let mut command = attach(definition, &source);
    let found = complete(&mut command, words, index, Some(&environment.current)).unwrap_or_default();
    let mut made = Candidates::default();
    for candidate in found {
        let Some(word) = candidate.get_value().to_str() else {
            continue;
        };
        let asked = [Shell::Files, Shell::Directories, Shell::Command]
            .into_iter()
            .find(|shell| word == shell.line() || word.ends_with(&format!("={}", shell.line())));
        if asked.is_some() {
            // What begins with a dash is no path, unless it is the value of a flag or stands behind `--`.
            made.shell = asked.filter(|_| !is_flag || word.contains('='));
        } else if is_plain(word) {
            let help = candidate.get_help().map(StyledStr::to_string).unwrap_or_default();
            let first = help.lines().next().unwrap_or_default();
            made.words.push((word.to_owned(), sanitize::text(first)));
        }
    }
    // Flags are many; they are offered once a dash is typed, or when nothing else fits.
    let flag = |(word, _): &(String, String)| word.starts_with('-');
    if !is_begun && (made.shell.is_some() || !made.words.iter().all(flag)) {
        made.words.retain(|word| !flag(word));
    }
    made
}

/// A word that needs no quotes in any shell, so that what is inserted is what is meant.
fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "-_.@/=:+%".contains(c);
    !word.is_empty() && word.chars().all(plain)
}

/// Gives every argument that takes an id, a name or a path its own candidates. What an argument takes is told by the
/// name of its value, which is the same in every command.
fn attach(command: Command, source: &Arc<Source>) -> Command {
    let command = command.mut_args(|arg| {
        let kind = arg
            .get_value_names()
            .and_then(|names| names.first())
            .map(ToString::to_string);
        let hint = arg.get_value_hint();
        let own = |complete: fn(&Source, &str) -> Vec<CompletionCandidate>| {
            let source = Arc::clone(source);
            ArgValueCompleter::new(move |current: &OsStr| {
                let current = current.to_string_lossy();
                let fitting = complete(&source, &current).into_iter();
                let fits = |one: &CompletionCandidate| {
                    let value = one.get_value().to_string_lossy();
                    Shell::of_line(&value).is_some() || value.starts_with(&*current)
                };
                fitting.filter(fits).collect::<Vec<_>>()
            })
        };
        match (kind.as_deref(), hint) {
            (Some("INSTANCE"), _) => arg.add(own(Source::instances)),
            (Some("INSTANCE[:SNAP]"), _) => arg.add(own(Source::instances_and_snapshots)),
            (Some("SNAP"), _) => arg.add(own(Source::snapshots)),
            (Some("SNAP|now"), _) => arg.add(own(Source::snapshots_and_now)),
            (Some("TARGET"), _) => arg.add(own(Source::targets)),
            (Some("N"), _) => arg.add(own(Source::restores)),
            (_, ValueHint::AnyPath | ValueHint::FilePath) => arg.add(own(|_, _| asks(Shell::Files))),
            (_, ValueHint::DirPath) => arg.add(own(|_, _| asks(Shell::Directories))),
            (_, ValueHint::CommandWithArguments) => arg.add(own(|_, _| asks(Shell::Command))),
            _ => arg,
        }
    });
    command.mut_subcommands(|command| attach(command, source))
}

fn asks(shell: Shell) -> Vec<CompletionCandidate> {
    vec![CompletionCandidate::new(shell.line())]
}

fn candidate(word: impl Into<OsString>, help: String) -> CompletionCandidate {
    CompletionCandidate::new(word).help(Some(help.into()))
}

/// Parts of the command line before the cursor.
#[derive(Debug, Default)]
struct Line {
    verb: Option<String>,
    /// The command's first argument that is no flag: the session, where it takes one.
    session: Option<String>,
    /// The word is behind `--`.
    is_escaped: bool,
    /// True for a command that runs the words behind `--`.
    runs_command: bool,
}

impl Line {
    fn of(definition: &Command, called_as: CalledAs, before: &[OsString]) -> Self {
        let is_escaped = before.iter().any(|word| word == "--");
        let mut words = before
            .iter()
            .skip(1)
            .take_while(|word| *word != "--")
            .map(|word| word.to_string_lossy());
        let recovery = match called_as {
            CalledAs::JackinRecovery => Some(definition),
            CalledAs::Jackin => {
                words.next();
                definition.find_subcommand("recovery")
            }
        };
        let mut line = Self {
            is_escaped,
            ..Self::default()
        };
        let Some(mut command) = recovery else { return line };
        while let Some(word) = words.next() {
            if let Some(flag) = word.strip_prefix("--") {
                let takes_value =
                    |arg: &&Arg| arg.get_long() == Some(flag) && arg.get_action().takes_values();
                let mut known = recovery
                    .into_iter()
                    .chain([command])
                    .flat_map(Command::get_arguments);
                if known.any(|arg| takes_value(&arg)) {
                    words.next();
                }
            } else if let Some(flag) = word.strip_prefix('-') {
                let takes_value = |arg: &Arg| {
                    arg.get_short().is_some_and(|short| flag == short.to_string())
                        && arg.get_action().takes_values()
                };
                if command.get_arguments().any(takes_value) {
                    words.next();
                }
            } else if line.verb.is_none() {
                command = command.find_subcommand(&*word).unwrap_or(command);
                line.runs_command = command
                    .get_arguments()
                    .any(|arg| arg.is_last_set() && arg.get_value_hint() == ValueHint::CommandWithArguments);
                line.verb = Some(word.into_owned());
            } else {
                line.session = Some(word.into_owned());
                return line;
            }
        }
        line
    }
}

/// Source of candidates. The store is opened only if a candidate needs it.
struct Source {
    environment: Environment,
    line: Line,
    now: Time,
}

impl Source {
    fn store(&self) -> Option<Store> {
        let layout = Layout::of(self.environment.store_directory()?, &self.environment);
        Store::open_nonblocking(layout).ok()?
    }

    fn rows(&self) -> Vec<InstanceRow> {
        let found = self.store().and_then(|store| {
            let rows = store.catalog().instances().ok()?;
            without_forgotten(&store, rows).ok()
        });
        found.unwrap_or_default()
    }

    /// Ids, newest first; where a command needs a session that has not ended, only those.
    fn instances(&self, current: &str) -> Vec<CompletionCandidate> {
        if self.line.is_escaped {
            return asks(Shell::Files);
        }
        let open = matches!(self.line.verb.as_deref(), Some("end" | "checkpoint"));
        let rows = self.rows();
        let fitting = rows.iter().filter(|row| !open || row.ended_at.is_none());
        let mut all: Vec<CompletionCandidate> = fitting
            .map(|row| candidate(row.id.as_str(), self.about(row)))
            .collect();
        if !all.is_empty() {
            all.push(candidate("@latest", "the latest session here".to_owned()));
        }
        let mut names: Vec<&str> = Vec::new();
        for row in rows.iter().filter(|row| !open || row.ended_at.is_none()) {
            if let Some(name) = row.title.name.as_deref().filter(|name| !names.contains(name)) {
                names.push(name);
                all.push(candidate(name, self.about(row)));
            }
        }
        let mut workspaces: Vec<&str> = Vec::new();
        for name in rows.iter().filter_map(|row| row.workspace.as_deref()) {
            if !open && !workspaces.contains(&name) {
                workspaces.push(name);
            }
        }
        let latest = |name: &str| candidate(name, "the latest session of this workspace".to_owned());
        all.extend(workspaces.into_iter().map(latest));
        // Without a session the first word is a path.
        let may_be_path = !current.starts_with("rc") && !current.starts_with('@');
        match self.line.verb.as_deref().filter(|_| may_be_path) {
            Some("restore" | "diff" | "cat" | "edit") => all.extend(asks(Shell::Files)),
            Some("fork") => all.extend(asks(Shell::Directories)),
            _ => {}
        }
        all
    }

    /// Returns the session that the line names; the latest one here if it names none, or a path.
    fn session(&self, store: &Store) -> Option<InstanceRow> {
        let named = self.line.session.as_deref();
        let named = named.and_then(|name| find_called(store, &self.environment, name).ok());
        named.or_else(|| find_called(store, &self.environment, "@latest").ok())
    }

    fn about(&self, row: &InstanceRow) -> String {
        let began = size::age(row.started_at, self.now);
        let ended = if row.ended_at.is_some() { "" } else { ", not ended" };
        match row.mounts.first() {
            Some(mount) => format!("{began}{ended}, {}", sanitize::name(&mount.root.0)),
            None => format!("{began}{ended}"),
        }
    }

    /// Snapshots of the session that stands on the line.
    fn own_snapshots(&self) -> Option<Vec<SnapshotRow>> {
        let store = self.store()?;
        let row = self.session(&store)?;
        store.catalog().snapshots(&row.id).ok()
    }

    /// Sessions; after a colon the snapshots of the session before it.
    fn instances_and_snapshots(&self, current: &str) -> Vec<CompletionCandidate> {
        let Some((session, _)) = current.rsplit_once(':').filter(|_| !self.line.is_escaped) else {
            return self.instances(current);
        };
        let called = if session.is_empty() { "@latest" } else { session };
        let snapshots = self.store().and_then(|store| {
            let row = find_called(&store, &self.environment, called).ok()?;
            store.catalog().snapshots(&row.id).ok()
        });
        let Some(snapshots) = snapshots else {
            return asks(Shell::Files);
        };
        let whole = |one: &CompletionCandidate| {
            let word = format!("{session}:{}", one.get_value().to_string_lossy());
            // What the shell would take as an order is left to the operator to type.
            let is_plain = Shell::of_line(&word).is_none();
            is_plain.then(|| CompletionCandidate::new(word).help(one.get_help().cloned()))
        };
        self.listed(&snapshots).iter().filter_map(whole).collect()
    }

    fn snapshots(&self, _: &str) -> Vec<CompletionCandidate> {
        self.listed(&self.own_snapshots().unwrap_or_default())
    }

    /// Kinds and names first: they are what people type; then ids.
    fn listed(&self, rows: &[SnapshotRow]) -> Vec<CompletionCandidate> {
        let about = |row: &SnapshotRow| {
            let age = size::age(row.taken_at, self.now);
            match row.message.as_deref().filter(|message| !message.is_empty()) {
                Some(message) => format!("{}, {age}: {}", row.kind.word(), sanitize::text(message)),
                None => format!("{}, {age}", row.kind.word()),
            }
        };
        let mut all = Vec::new();
        let mut kinds = Vec::new();
        for row in rows {
            if !kinds.contains(&row.kind) {
                kinds.push(row.kind);
                all.push(candidate(row.kind.word(), about(row)));
            }
        }
        let named = rows.iter().filter_map(|row| Some((row.name.as_deref()?, row)));
        all.extend(named.map(|(name, row)| candidate(name, about(row))));
        all.extend(rows.iter().map(|row| candidate(row.id.as_str(), about(row))));
        all
    }

    fn snapshots_and_now(&self, current: &str) -> Vec<CompletionCandidate> {
        let mut all = vec![candidate("now", "the files as they are".to_owned())];
        all.extend(self.snapshots(current));
        all
    }

    /// Workspaces, and directories once it looks like one: a plain word is never a directory.
    fn targets(&self, current: &str) -> Vec<CompletionCandidate> {
        let config = Config::load(&self.environment).ok();
        let names = config.and_then(|config| config.workspace_names().ok());
        let workspace = |name: String| candidate(name, "workspace".to_owned());
        let mut all: Vec<CompletionCandidate> =
            names.unwrap_or_default().into_iter().map(workspace).collect();
        if current.contains('/') || current.starts_with(['.', '~']) {
            all.extend(asks(Shell::Directories));
        } else if current.is_empty() {
            let here = sanitize::path(Path::new(&self.environment.current));
            all.push(candidate(".", format!("this directory, {here}")));
        }
        all
    }

    /// Receipts of restores, newest first; of the session that stands on the line, or of all.
    fn restores(&self, _: &str) -> Vec<CompletionCandidate> {
        let Some(store) = self.store() else {
            return Vec::new();
        };
        let rows = match self.line.session {
            Some(_) => self.session(&store).into_iter().collect(),
            None => self.rows(),
        };
        let mut restores: Vec<_> = rows
            .iter()
            .filter_map(|row| store.catalog().restores(&row.id).ok())
            .flatten()
            .collect();
        restores.sort_by_key(|restore| std::cmp::Reverse(restore.number));
        restores
            .iter()
            .map(|restore| {
                let paths = size::counted(restore.paths(), "path", "paths");
                candidate(
                    restore.number.to_string(),
                    format!("{paths}, {}", size::age(restore.at, self.now)),
                )
            })
            .collect()
    }
}
