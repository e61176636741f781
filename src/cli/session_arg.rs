//! The argument that names a session, or the default: the latest session that covers the current directory.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Args;

use super::args::{some_path, some_text};
use super::choose::{Chosen, chosen_session};
use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::suggested_command::Words;
use super::view;
use crate::config::settle_path;
use crate::environment::Environment;
use crate::model::InstanceId;
use crate::process::INSTANCE_VARIABLE;
use crate::recovery::{
    EarlierSession, InstanceRow, NamedSession, PathGlob, Recovery, RecoveryError, SessionChoice, Store,
    Wanted,
};
use crate::report::InstanceDocument;
use crate::terminal::{Verbosity, size, width};

/// A session, or none for the latest one here.
#[derive(Clone, Debug, Default, Args)]
pub struct SessionArg {
    /// The session: an id or its prefix, a name, a workspace, a container, or @latest or @1, @2 to count back [default:
    /// the latest that covers the current directory]
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// Choose among the sessions of all directories
    #[arg(long)]
    pub any: bool,
}

/// A session, or none for the latest one here, before paths: a first word that names no session is a path.
#[derive(Clone, Debug, Default, Args)]
pub struct SessionPathsArg {
    /// The session: an id or its prefix, a name, a workspace, a container, or @latest or @1, @2 to count back [default:
    /// the latest that covers the current directory]
    #[arg(value_name = "INSTANCE", value_parser = some_path())]
    pub instance: Option<OsString>,
    /// Only these paths and everything below them, or the paths that a quoted glob matches: 'src/**/*.rs'
    #[arg(value_name = "PATH", value_parser = some_path(), value_hint = clap::ValueHint::AnyPath)]
    pub paths: Vec<OsString>,
    /// Words behind `--`, which are paths whatever else they name.
    #[command(flatten)]
    pub escaped: EscapedPaths,
    /// Choose among the sessions of all directories
    #[arg(long)]
    pub any: bool,
}

/// Paths behind `--`. None of them is taken for a session.
#[derive(Clone, Debug, Default, Args)]
pub struct EscapedPaths {
    /// Only these paths, whatever else they name
    #[arg(id = "escaped", value_name = "PATH", value_parser = some_path(), last = true, hide = true,
          value_hint = clap::ValueHint::AnyPath)]
    pub paths: Vec<OsString>,
}

impl EscapedPaths {
    /// Returns all paths of a command line, of which `before` stand before `--`.
    pub(super) fn behind(&self, before: &[OsString]) -> Vec<OsString> {
        [before, &self.paths].concat()
    }
}

impl SessionPathsArg {
    /// Returns true if no word and no flag chooses a session or paths.
    pub(super) fn is_default(&self) -> bool {
        self.instance.is_none() && self.escaped.paths.is_empty() && !self.any
    }

    /// Returns the words that can only be paths: those behind the first word or `--`.
    pub(super) fn sure_paths(&self) -> Vec<OsString> {
        self.escaped.behind(&self.paths)
    }
}

/// A file, after a session or none for all sessions that cover the file. A single word is the file.
#[derive(Clone, Debug, Args)]
pub struct SessionPathArg {
    /// Only this session: an id or its prefix, a name, a workspace, a container, or @latest or @1, @2 to count back [default:
    /// all that cover PATH]
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// The file, which need not exist any more
    #[arg(value_name = "PATH", value_parser = some_path(), value_hint = clap::ValueHint::AnyPath)]
    pub path: OsString,
}

/// The way in which a command asks for its session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    /// Requirement for a session that is not named.
    pub(super) wanted: Wanted,
    /// True if the operator must not be asked, because the answer would not be seen or was given with `--yes`.
    pub(super) is_silent: bool,
    /// Sessions that are reported.
    pub(super) reported: Reported,
    /// True if the command prints [`earlier_session`] when it has nothing to do.
    pub(super) names_earlier: bool,
}

/// Sessions that a command reports before it goes on, so that a wrong one is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reported {
    /// None: the output is for a program, or names the session itself.
    None,
    /// One that was not named in full.
    Chosen,
    /// Any.
    All,
}

impl Asking {
    /// Asks for any session; `is_silent` for a command that prints JSON or was given `--yes`.
    pub(super) fn any(is_silent: bool) -> Self {
        Self {
            wanted: Wanted::Any,
            is_silent,
            reported: match is_silent {
                true => Reported::None,
                false => Reported::Chosen,
            },
            names_earlier: false,
        }
    }

    /// Asks for the session of a command that changes files: any session is reported, also with `--yes`, unless the output is JSON.
    pub(super) fn to_change_files(wanted: Wanted, is_json: bool, is_yes: bool) -> Self {
        Self {
            wanted,
            is_silent: is_json || is_yes,
            reported: match is_json {
                true => Reported::None,
                false => Reported::All,
            },
            names_earlier: false,
        }
    }
}

impl SessionArg {
    /// Returns the id of the session, and reports which one it is unless it was named.
    pub(super) fn settle(&self, context: &Context<'_>, asking: Asking) -> Result<String, CliError> {
        let named = self.instance.as_deref();
        settle(context, named, self.any, asking).map_err(|error| match named {
            Some(word) => of_snapshot(context, word, error, false),
            None => error,
        })
    }

    /// Returns the id of the session, or the word for a fork, which names a session with its fork: the line that `fork` printed, or, if no
    /// session is called so, the fork's id or branch.
    pub(super) fn settle_or_fork(&self, context: &Context<'_>, asking: Asking) -> Result<String, CliError> {
        let Some(given) = &self.instance else {
            return self.settle(context, asking);
        };
        if given.trim_start().starts_with('{') {
            return Ok(given.clone());
        }
        match self.settle(context, asking) {
            Err(error) if error.kind == ErrorKind::UnknownInstance && context.engine().is_fork(given)? => {
                Ok(given.clone())
            }
            settled => settled,
        }
    }

    /// Returns the id of the session, or `None` if the command was given no name and no session covers the current directory.
    pub(super) fn settle_here(
        &self,
        context: &Context<'_>,
        wanted: Wanted,
    ) -> Result<Option<String>, CliError> {
        if self.instance.is_some() {
            let asking = Asking {
                wanted,
                is_silent: true,
                reported: Reported::None,
                names_earlier: false,
            };
            return self.settle(context, asking).map(Some);
        }
        let choice = SessionChoice {
            named: None,
            any: self.any,
            wanted,
        };
        match context.engine().choose(&choice) {
            Ok(row) => Ok(Some(row.id.to_string())),
            Err(RecoveryError::NotHere { .. } | RecoveryError::NothingRecorded) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl SessionPathsArg {
    /// Returns the id of the session, and the paths. Reports which session it is unless it was named.
    pub(super) fn settle(
        &self,
        context: &Context<'_>,
        asking: Asking,
    ) -> Result<(String, Vec<OsString>), CliError> {
        let split = self.split(context)?;
        let settled = settle_with_paths(context, (split.named.as_deref(), self.any), asking, &split.paths);
        let settled = settled.map_err(|error| match split.is_doubtful {
            true => neither(context, split.named.as_deref().unwrap_or_default(), error),
            false => error,
        })?;
        Ok((settled, split.paths))
    }

    /// Decides whether the first word is a session or a path, and looks no session up that was not named.
    pub(super) fn split(&self, context: &Context<'_>) -> Result<SplitWords, CliError> {
        let Some(word) = &self.instance else {
            return Ok(SplitWords {
                named: None,
                is_doubtful: false,
                paths: self.sure_paths(),
            });
        };
        if let Some(name) = word.to_str().filter(|_| !is_path(word)) {
            let engine = context.engine();
            let session = engine.named_session(name)?;
            let is_id = InstanceId::parse(name).is_ok();
            let is_meant = match session {
                NamedSession::Here => true,
                // A name gives way to a path here, an id or its beginning does not.
                NamedSession::Elsewhere => name.starts_with("rc-"),
                NamedSession::None => false,
            };
            if is_meant {
                refuse_ambiguous(context, word)?;
            }
            if is_meant || is_id || !engine.could_be_path(word)? {
                return Ok(SplitWords {
                    named: Some(name.to_owned()),
                    is_doubtful: session == NamedSession::None
                        && !is_id
                        && (!name.starts_with('@') || name.contains(':')),
                    paths: self.sure_paths(),
                });
            }
        }
        let before: Vec<OsString> = std::iter::once(word).chain(&self.paths).cloned().collect();
        Ok(SplitWords {
            named: None,
            is_doubtful: false,
            paths: self.escaped.behind(&before),
        })
    }
}

/// Words of a command line: a session, and paths.
pub(super) struct SplitWords {
    /// The session, if one is named.
    pub(super) named: Option<String>,
    /// True if the name is neither a session's nor a path's, as far as is known.
    is_doubtful: bool,
    /// The paths.
    pub(super) paths: Vec<OsString>,
}

impl SessionPathArg {
    /// Returns the id of the session, if one is named, and the path.
    pub(super) fn settle(
        &self,
        context: &Context<'_>,
        is_silent: bool,
    ) -> Result<(Option<String>, OsString), CliError> {
        let named = self.instance.as_deref();
        let settled = named.map(|name| settle(context, Some(name), false, Asking::any(is_silent)));
        Ok((settled.transpose()?, self.path.clone()))
    }
}

/// Returns the latest session that covers the first path, and reports it.
fn session_of_paths(context: &Context<'_>, paths: &[OsString], asking: Asking) -> Option<String> {
    let environment = Environment {
        // It need not exist any more, nor be a directory.
        current: settle_path(context.environment, Path::new(paths.first()?)),
        ..context.environment.clone()
    };
    let there = SessionChoice {
        named: None,
        any: false,
        wanted: asking.wanted,
    };
    let row = Recovery::open(&environment).choose(&there).ok()?;
    if asking.reported != Reported::None {
        say_which(context, &row);
    }
    Some(row.id.to_string())
}

/// Adds to the error for a word that names no session that it names no path either.
fn neither(context: &Context<'_>, word: &str, error: CliError) -> CliError {
    let error = of_snapshot(context, word, error, true);
    let here = SessionChoice {
        named: None,
        any: false,
        wanted: Wanted::Any,
    };
    let engine = context.engine();
    match engine.choose(&here) {
        Ok(_)
            if error.kind == ErrorKind::UnknownInstance
                && let Some(excluded) = engine.excluded_here(OsStr::new(word)) =>
        {
            excluded.into()
        }
        Ok(row) if error.kind == ErrorKind::UnknownInstance => CliError {
            message: format!(
                "{}, and there is no such path, now or in {}",
                error.message, row.id
            ),
            ..error
        },
        _ => error,
    }
}

/// Adds to the error for a word that names no session that it names a snapshot of one. `takes_from` is true for a command with `--from`.
fn of_snapshot(context: &Context<'_>, word: &str, error: CliError, takes_from: bool) -> CliError {
    let snapshot = word.rsplit_once(':').map_or(word, |(_, snapshot)| snapshot);
    if error.kind != ErrorKind::UnknownInstance || snapshot.is_empty() || snapshot == "latest" {
        return error;
    }
    let Ok(Some(id)) = context.engine().session_with_snapshot(snapshot) else {
        return error;
    };
    let shown = crate::terminal::sanitize::text(snapshot);
    let mut made = error;
    let hint = match takes_from {
        true => format!("`{shown}` is a snapshot: write {id} --from {shown}"),
        false => format!("`{shown}` is a snapshot of {id}"),
    };
    made.hints.insert(0, hint);
    made
}

/// Returns true for a word that can only be a path.
fn is_path(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    let is_glob = word.to_str().is_some_and(PathGlob::is_glob);
    is_glob || bytes.contains(&b'/') || bytes == b"." || bytes == b".."
}

/// Length of an id without its label.
const SHORT_ID: usize = "rc-".len() + 8;

/// Refuses a word that names a session and a path, for a file may be called so to have another session chosen.
pub(super) fn refuse_ambiguous(context: &Context<'_>, word: &OsStr) -> Result<(), CliError> {
    if !is_path_too(context, word)? {
        return Ok(());
    }
    let shown = crate::terminal::sanitize::name(word.as_encoded_bytes());
    let id = context.engine().choose(&SessionChoice {
        named: word.to_str(),
        any: false,
        wanted: Wanted::Any,
    });
    let error = CliError::new(
        ErrorKind::Usage,
        format!("{shown} names both a session and a path"),
    )
    .hint(format!("for the path, write ./{shown}"));
    let id = id.map(|row| row.id.to_string()).unwrap_or_default();
    // Without its label it names the session as well.
    let names = [Some(id.as_str()).filter(|id| !id.is_empty()), id.get(..SHORT_ID)];
    let is_free = |name: &&str| !is_path_too(context, OsStr::new(*name)).unwrap_or(true);
    Err(match names.into_iter().flatten().find(is_free) {
        Some(name) => error.hint(format!("for the session, write {name}")),
        // A file is called like each of its names.
        None => error.hint(
            "for the session, run the command in another directory, or omit it for the latest one here",
        ),
    })
}

/// Returns true if a word that names a session could be a path. Of an id only the current directory is asked: it is random, and a file
/// that is called so was made for it.
fn is_path_too(context: &Context<'_>, word: &OsStr) -> Result<bool, CliError> {
    let is_id = word.to_str().is_some_and(|word| InstanceId::parse(word).is_ok());
    Ok(match is_id {
        true => {
            let path = context.environment.absolute(Path::new(word));
            path.symlink_metadata().is_ok()
        }
        false => context.engine().could_be_path(word)?,
    })
}

/// Returns the id of a named session, or of the latest here.
pub(super) fn settle(
    context: &Context<'_>,
    named: Option<&str>,
    any: bool,
    asking: Asking,
) -> Result<String, CliError> {
    settle_with_paths(context, (named, any), asking, &[])
}

/// Returns the id of a named session, or of the latest here; if there is none, of the latest that covers the first of `paths`.
pub(super) fn settle_with_paths(
    context: &Context<'_>,
    (named, any): (Option<&str>, bool),
    asking: Asking,
    paths: &[OsString],
) -> Result<String, CliError> {
    // What is to be done finds a whole id itself, in a store that it opens anyway.
    if let Some(id) = named.filter(|name| InstanceId::parse(name).is_ok())
        && asking.reported != Reported::All
    {
        return Ok(id.to_owned());
    }
    let choice = SessionChoice {
        named,
        any,
        wanted: asking.wanted,
    };
    let found = context.engine().choose(&choice);
    if matches!(found, Err(RecoveryError::NotHere { .. }))
        && let Some(session) = session_of_paths(context, paths, asking)
    {
        return Ok(session);
    }
    match found {
        Ok(row) => {
            let is_chosen = named.is_none_or(|name| name.starts_with('@'));
            match asking.reported {
                Reported::Chosen if !is_chosen => {}
                Reported::Chosen | Reported::All => say_which(context, &row),
                Reported::None => {}
            }
            if named.is_none() && !any && asking.reported != Reported::None && asking.wanted == Wanted::Any {
                print_outlasting(context, &row, asking.names_earlier)?;
            }
            Ok(row.id.to_string())
        }
        Err(error @ RecoveryError::NotHere { .. }) if !asking.is_silent => {
            match chosen_session(context, asking.wanted) {
                Chosen::Session(id) => Ok(id),
                Chosen::Cancelled => Err(CliError::cancelled()),
                Chosen::NotAsked => Err(with_table(context, error)),
            }
        }
        Err(error) => {
            let error = CliError::from(error);
            let is_of_variable = named.is_none()
                && error.kind == ErrorKind::UnknownInstance
                && context.environment.get(INSTANCE_VARIABLE).is_some();
            Err(match is_of_variable {
                true => error.hint(format!("the variable {INSTANCE_VARIABLE} names it")),
                false => error,
            })
        }
    }
}

/// Returns the error for a directory that no session covers, with the sessions that there are as `list` shows them.
fn with_table(context: &Context<'_>, error: RecoveryError) -> CliError {
    /// Maximum number of sessions that are shown.
    const SHOWN: usize = 5;
    let ids: Vec<InstanceId> = match &error {
        RecoveryError::NotHere { sessions, .. } => {
            sessions.iter().map(|session| session.id.clone()).collect()
        }
        _ => Vec::new(),
    };
    let made = CliError::from(error);
    let store = context.engine().store_for_reading().ok().flatten();
    let row = |id: &InstanceId| store.as_ref()?.catalog().instance(id).ok()?;
    let shown = ids.iter().take(SHOWN).filter_map(row);
    let known: Vec<InstanceDocument> = shown.map(|row| InstanceDocument::brief(&row)).collect();
    let Some(advice) = made.hints.last().cloned().filter(|_| !known.is_empty()) else {
        return made;
    };
    let home = context.environment.home.as_deref();
    let home = home.filter(|_| context.terminal.is_tty_err());
    let shown = known.iter().collect::<Vec<_>>();
    let mut table = view::instances::brief(&shown, context.now(), home);
    if let Some(more) = ids.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let more = size::count(more as u64);
        table.push_str(&format!("\n{more} more: {}", context.command("list")));
    }
    let table: Vec<String> = table.lines().map(|line| format!("  {line}")).collect();
    let hints = vec![format!("the sessions elsewhere:\n{}", table.join("\n")), advice];
    CliError { hints, ..made }
}

/// Prints a session here that began earlier and ended later, for it may be the one that is meant. With `names_earlier`, not the one that
/// [`earlier_session`] names.
fn print_outlasting(context: &Context<'_>, row: &InstanceRow, names_earlier: bool) -> Result<(), CliError> {
    let engine = context.engine();
    if let Some((other, number)) = engine.outlasting(row)? {
        if names_earlier && let Some(store) = engine.store_for_reading()? {
            let earlier = engine.earlier_session(&store, row)?;
            if earlier.is_some_and(|earlier| earlier.row.id == other.id) {
                return Ok(());
            }
        }
        let end = match other.ended_at {
            Some(_) => "ended later",
            None => "has not ended",
        };
        let id = &other.id;
        context.terminal.note(&format!(
            "{id} began before it and {end}; @{number} means that one"
        ));
    }
    Ok(())
}

/// Returns the line about the latest earlier session that changed something and was not restored, with the command `verb` for it, if
/// `row` changed nothing. Without it, an agent that was started once more would make the changes look undone.
pub(super) fn earlier_session(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
    verb: &str,
) -> Result<Option<String>, CliError> {
    let Some(earlier) = context.engine().earlier_session(store, row)? else {
        return Ok(None);
    };
    let EarlierSession { row, number, counts } = earlier;
    let words = Words::new(verb).arg(format!("@{number}"));
    let purpose = format!(
        "{} began before it and changed {} ({}; {})",
        row.id,
        size::counted(counts.known(), "path", "paths"),
        view::changes::counted(counts).join(", "),
        size::age(row.started_at, context.now()),
    );
    Ok(Some(context.proposal(
        &purpose,
        &words.text(),
        context.terminal.width_err(),
    )))
}

/// Reports the session that was chosen, so that a wrong one is seen. In a pager it is the first line.
pub(super) fn say_which(context: &Context<'_>, row: &InstanceRow) {
    let home = context.environment.home.as_deref();
    let line = view::instances::chosen(&InstanceDocument::brief(row), context.now(), home);
    let terminal = context.terminal;
    match terminal.is_paged() && terminal.verbosity() != Verbosity::Quiet {
        true => terminal.out(&width::wrap(&line, terminal.width_out()).join("\n")),
        false => terminal.note(&line),
    }
}
