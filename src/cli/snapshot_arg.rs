//! Words that name a snapshot: `INSTANCE:SNAP`, and two of them as `A..B`.

use std::ffi::{OsStr, OsString};

use clap::Args;

use super::args::some_path;
use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::session_arg::{
    Asking, EscapedPaths, SessionPathsArg, refuse_ambiguous, settle, settle_with_paths,
};
use crate::recovery::{NamedSession, PathGlob, Until};

/// A snapshot, or none for one of the latest session here, before files.
#[derive(Clone, Debug, Default, Args)]
pub struct SnapshotPathsArg {
    /// A session, a colon and a snapshot: a kind, `latest`, a checkpoint's name or number, or an id or its prefix. Either part may be
    /// missing [default: the baseline of the latest session here]
    #[arg(value_name = "INSTANCE[:SNAP]", value_parser = some_path())]
    pub instance: Option<OsString>,
    /// Files, or quoted globs
    #[arg(value_name = "PATH", value_parser = some_path(), value_hint = clap::ValueHint::AnyPath)]
    pub paths: Vec<OsString>,
    /// Words behind `--`, which are paths whatever else they name.
    #[command(flatten)]
    pub escaped: EscapedPaths,
    /// Choose among the sessions of all directories
    #[arg(long)]
    pub any: bool,
}

/// A session and one of its snapshots, as far as they are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SnapshotWord {
    pub(super) session: Option<String>,
    pub(super) snapshot: Option<String>,
}

impl SnapshotWord {
    /// Reads `INSTANCE`, `INSTANCE:SNAP` or `:SNAP`; `None` for a word that can be neither.
    fn parse(word: &str) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
        if !word.chars().all(is_plain) {
            return None;
        }
        let (session, snapshot) = match word.rsplit_once(':') {
            Some((_, "")) => return None,
            Some((session, snapshot)) => (session, Some(snapshot)),
            None => (word, None),
        };
        Some(Self {
            session: (!session.is_empty()).then(|| session.to_owned()),
            snapshot: snapshot.map(str::to_owned),
        })
    }
}

impl SnapshotWord {
    /// Reads the value of an option such as `--from`: a snapshot of the session that the command is about, or a word with a colon or `@`,
    /// as [`SnapshotPathsArg`] takes it.
    fn of_option(value: &str) -> Self {
        let is_word = value.starts_with('@') || value.contains(':');
        let word = is_word.then(|| Self::parse(value)).flatten();
        word.unwrap_or_else(|| Self {
            session: None,
            snapshot: Some(value.to_owned()),
        })
    }
}

/// Reads the values of options such as `--from`, each with the option's name. Returns the word for the session if one names it, which
/// stands for INSTANCE, and the snapshots.
///
/// Fails if they name another session than `instance`, or several.
pub(super) fn named_by_options<const N: usize>(
    context: &Context<'_>,
    instance: Option<&str>,
    any: bool,
    options: [(&str, Option<&str>); N],
) -> Result<(Option<String>, [Option<String>; N]), CliError> {
    let id = |named: &str| settle(context, Some(named), any, Asking::any(true));
    let mut session: Option<String> = None;
    let mut snapshots = [const { None }; N];
    for ((option, value), snapshot) in options.into_iter().zip(&mut snapshots) {
        let Some(value) = value else { continue };
        let word = SnapshotWord::of_option(value);
        if let Some(named) = word.session {
            let (own, others) = (id(&named)?, session.as_deref().or(instance));
            if let Some(other) = others.map(id).transpose()?.filter(|other| *other != own) {
                let message = format!("{option} {value} is a snapshot of {own}, not of {other}");
                return Err(CliError::new(ErrorKind::Usage, message).hint("name one session"));
            }
            session.get_or_insert(named);
        }
        // As in `A..B`.
        let side = if option == "--to" { "latest" } else { "baseline" };
        *snapshot = Some(word.snapshot.unwrap_or_else(|| side.to_owned()));
    }
    Ok((session, snapshots))
}

/// The subject of a command whose options may name the session.
pub(super) struct SettledWithOptions<const N: usize> {
    /// Id of the session.
    pub(super) session: String,
    pub(super) paths: Vec<OsString>,
    /// Snapshots that the options name, without the session.
    pub(super) snapshots: [Option<String>; N],
}

/// Returns the session, the paths, and the snapshots that options name: see [`named_by_options`].
pub(super) fn settle_with<const N: usize>(
    subject: &SessionPathsArg,
    context: &Context<'_>,
    asking: Asking,
    options: [(&str, Option<&str>); N],
) -> Result<SettledWithOptions<N>, CliError> {
    let split = subject.split(context)?;
    let (named, snapshots) = named_by_options(context, split.named.as_deref(), subject.any, options)?;
    let (session, paths) = match named {
        Some(named) => (settle(context, Some(&named), subject.any, asking)?, split.paths),
        None => subject.settle(context, asking)?,
    };
    Ok(SettledWithOptions {
        session,
        paths,
        snapshots,
    })
}

impl SnapshotPathsArg {
    /// Returns the id of the session, the snapshot if one is named, and the paths.
    pub(super) fn settle(
        &self,
        context: &Context<'_>,
    ) -> Result<(String, Option<String>, Vec<OsString>), CliError> {
        let (named, paths) = self.split(context)?;
        let asking = Asking::any(true);
        let session = settle_with_paths(context, (named.session.as_deref(), self.any), asking, &paths)?;
        Ok((session, named.snapshot, paths))
    }

    /// Decides whether the first word is a snapshot or a path. A single word is a path.
    fn split(&self, context: &Context<'_>) -> Result<(SnapshotWord, Vec<OsString>), CliError> {
        let escaped = &self.escaped.paths;
        let Some(first) = &self.instance else {
            return match escaped.is_empty() {
                true => Err(CliError::new(ErrorKind::Usage, "no PATH was given").hint("name a file")),
                false => Ok((SnapshotWord::default(), escaped.clone())),
            };
        };
        let rest = self.escaped.behind(&self.paths);
        let all = || std::iter::once(first).chain(&rest).cloned().collect();
        if rest.is_empty() {
            let text = first.to_str().unwrap_or_default();
            let is_snapshot = text.starts_with([':', '@']) && SnapshotWord::parse(text).is_some();
            if is_snapshot && !context.engine().could_be_path(first)? {
                let error = CliError::new(ErrorKind::Usage, format!("no PATH was given after {text}"));
                return Err(error.hint("name a file of the snapshot"));
            }
            return Ok((SnapshotWord::default(), all()));
        }
        let text = first.to_str().filter(|text| text.contains(':'));
        let Some(word) = text.and_then(SnapshotWord::parse) else {
            let split = SessionPathsArg {
                instance: self.instance.clone(),
                paths: self.paths.clone(),
                escaped: self.escaped.clone(),
                any: self.any,
            };
            let split = split.split(context)?;
            let named = SnapshotWord {
                session: split.named,
                snapshot: None,
            };
            return Ok((named, split.paths));
        };
        let engine = context.engine();
        let is_session = match &word.session {
            Some(session) => {
                session.starts_with("rc-") || engine.named_session(session)? != NamedSession::None
            }
            None => true,
        };
        if is_session {
            refuse_ambiguous(context, first)?;
            return Ok((word, rest));
        }
        Ok((SnapshotWord::default(), all()))
    }
}

/// Two snapshots that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SnapshotRange {
    /// Session of the earlier one.
    pub(super) session: String,
    /// The earlier one.
    pub(super) from: String,
    /// Session of the later one, if it is another one.
    pub(super) later: Option<String>,
    /// The later one.
    pub(super) to: Until,
}

impl SnapshotRange {
    /// Reads `A..B`. A session alone is its newest snapshot, no word before the dots the baseline of the other's session, and no word
    /// after them the current files. `None` for any other word, and for one that names a path.
    pub(super) fn of_word(context: &Context<'_>, word: &OsStr, any: bool) -> Result<Option<Self>, CliError> {
        let sides = word.to_str().and_then(|word| word.split_once(".."));
        let Some((left, right)) = sides.filter(|sides| *sides != ("", "")) else {
            return Ok(None);
        };
        let side = |word: &str| match word {
            "" => Some(SnapshotWord::default()),
            word => SnapshotWord::parse(word).filter(|_| !word.starts_with('.')),
        };
        let (Some(earlier), Some(later)) = (side(left), side(right)) else {
            return Ok(None);
        };
        let is_glob = word.to_str().is_some_and(PathGlob::is_glob);
        if is_glob || context.engine().could_be_path(word)? {
            return Ok(None);
        }
        let id = |named: &SnapshotWord| settle(context, named.session.as_deref(), any, Asking::any(true));
        let snapshot = |named: SnapshotWord| named.snapshot.unwrap_or_else(|| "latest".to_owned());
        let is_now = right.is_empty() || right == "now" || right == ":now";
        let (session, from) = match left.is_empty() {
            true if is_now => (id(&earlier)?, "baseline".to_owned()),
            true => (id(&later)?, "baseline".to_owned()),
            false => (id(&earlier)?, snapshot(earlier)),
        };
        if is_now {
            return Ok(Some(Self {
                session,
                from,
                later: None,
                to: Until::Now,
            }));
        }
        let other = id(&later)?;
        Ok(Some(Self {
            later: (other != session).then_some(other),
            session,
            from,
            to: Until::Snapshot(snapshot(later)),
        }))
    }
}
