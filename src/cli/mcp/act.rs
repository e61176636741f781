//! Actions of the tools: each runs the command of that name for the session that the server is bound to.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt::Display;

use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::bound::{Bound, Found as Session, Reply, no_session};
use super::results::{
    Checkpointed, Differing, Labeled, LabeledList, Listed, MOST, Restored, Snapshot, WentBack,
};
use super::text;
use super::tools::{self, Create, Diff, Fork, Label, Nothing, Restore, Tool, Which};
use crate::agents;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};

use crate::cli::named_session::if_not_active;
use crate::cli::replication::leave;
use crate::cli::restore_flow::act;
use crate::cli::retain::by_the_rules;
use crate::cli::session_begin::{tell_notes, warn_of_unsteady};
use crate::cli::written_snapshot::print_problems;
use crate::model::{SnapshotId, SnapshotKind, SnapshotRecord};
use crate::recovery::{Caller, ForkRequest, Question, RestoreRequest, TakenCheckpoint, Until};
use crate::report::restore_document;
use crate::report::steps;
use crate::report::{CheckpointDocument, ForkDocument, Head};
use crate::report::{Sources, diff_document};
use crate::restore::refuse_in_use;
use crate::session::{Allowed, CheckpointRequest, check_name, ensure_outside_session, find_snapshot};
use crate::store::{CaptureRow, InstanceRow, SnapshotRow, Store};

/// Maximum length of a snapshot's message, in characters: every list repeats it.
const LONGEST_MESSAGE: usize = 1_000;

/// Calls `tool` in the session that was found. The next call may be hours away.
pub(super) fn perform(
    bound: &Bound,
    context: &Context<'_>,
    tool: Tool,
    given: JsonObject,
    found: Option<Session>,
) -> Result<Reply, CliError> {
    let done = call(bound, context, tool, given, found);
    context.environment.transports.disconnect_all();
    done
}

fn call(
    bound: &Bound,
    context: &Context<'_>,
    tool: Tool,
    given: JsonObject,
    found: Option<Session>,
) -> Result<Reply, CliError> {
    match tool {
        Tool::Create => {
            let Create { name, description } = arguments(tool, given)?;
            if let Some(name) = &name {
                check_name(name)?;
            }
            let record = create(bound, context, found, name.as_deref(), description.as_deref())?;
            Reply::new(text::created(&record), &CheckpointDocument::of(&record))
        }
        Tool::SessionCheckpoint => {
            let Label { label } = arguments(tool, given)?;
            let record = create(bound, context, found, None, label.as_deref())?;
            json(&Checkpointed {
                checkpoint_id: record.id.to_string(),
            })
        }
        Tool::List => {
            let Nothing {} = arguments(tool, given)?;
            let listed = list(found)?;
            Reply::new(text::listed(&listed), &listed)
        }
        Tool::SessionCheckpoints => {
            let Nothing {} = arguments(tool, given)?;
            let checkpoints = list(found)?.snapshots.into_iter().map(Labeled::from);
            json(&LabeledList {
                checkpoints: checkpoints.collect(),
            })
        }
        Tool::Diff => compare(context, session(context, found)?, arguments(tool, given)?),
        Tool::Restore => {
            let Restore { name, paths, dry_run } = arguments(tool, given)?;
            if name.is_null() {
                return Err(CliError::new(
                    ErrorKind::Usage,
                    "`name` is missing: name a snapshot",
                ));
            }
            let Session { store, row, .. } = session(context, found)?;
            let target = wanted(context, &store, &row, Some(&name))?;
            drop(store);
            let dry_run = dry_run.unwrap_or(false);
            let restored = go_back(context, &row, &target, only(paths)?, dry_run)?;
            Reply::new(text::restored(&restored, &called_by(&target), dry_run), &restored)
        }
        Tool::SessionRestore => {
            let Which { checkpoint_id } = arguments(tool, given)?;
            let Session { store, row, .. } = session(context, found)?;
            let target = wanted(context, &store, &row, checkpoint_id.as_ref())?;
            drop(store);
            let restored = go_back(context, &row, &target, Vec::new(), false)?;
            let reply = json(&WentBack {
                restored_to: restored.restored_to.clone(),
                files_changed: restored.files_changed,
                not_restored: restored.stayed(),
            })?;
            let stayed = Some(text::stayed(&restored)).filter(|lines| !lines.is_empty());
            Ok(Reply {
                beside: stayed.map(|lines| lines.join("\n")).into_iter().collect(),
                ..reply
            })
        }
        Tool::Fork => {
            let Fork { name, branch } = arguments(tool, given)?;
            let Session { store, row, .. } = session(context, found)?;
            ensure_outside_session(&store, context.environment, Allowed::Checkpoint(&row.id))?;
            let target = wanted(context, &store, &row, name.as_ref())?;
            let request = ForkRequest {
                branch: branch.as_deref(),
                ..ForkRequest::of(row.id.as_str())
            };
            let forked = context
                .engine()
                .fork_of(store, &row, target.id.as_str(), &request)?;
            print_problems(context, &forked.written, true);
            let mut made = ForkDocument::of(forked, branch.as_deref());
            let text = text::forked(&made, &called_by(&target));
            made.failed.truncate(MOST);
            made.left_out.truncate(MOST);
            made.outside_git.truncate(MOST);
            Reply::new(text, &made)
        }
    }
}

fn arguments<T: DeserializeOwned>(tool: Tool, given: JsonObject) -> Result<T, CliError> {
    tools::arguments(given).map_err(|why| {
        CliError::new(
            ErrorKind::Usage,
            format!("invalid arguments of {}: {why}", tool.name()),
        )
    })
}

/// The paths that are meant; all of them when none is said. A list that names nothing does not mean everything.
fn only(paths: Option<Vec<String>>) -> Result<Vec<OsString>, CliError> {
    let Some(paths) = paths else {
        return Ok(Vec::new());
    };
    if paths.is_empty() || paths.iter().any(String::is_empty) {
        let why = "`paths` is empty or has an empty path; omit it to mean all";
        return Err(CliError::new(ErrorKind::Usage, why));
    }
    Ok(paths.into_iter().map(OsString::from).collect())
}

/// A result whose text is the JSON itself.
fn json(result: &impl serde::Serialize) -> Result<Reply, CliError> {
    let reply = Reply::new(String::new(), result)?;
    Ok(Reply {
        text: reply.structured.to_string(),
        ..reply
    })
}

fn session(context: &Context<'_>, found: Option<Session>) -> Result<Session, CliError> {
    found.ok_or_else(|| no_session(context))
}

/// Takes a checkpoint. The first one of an agent without a session starts the session.
fn create(
    bound: &Bound,
    context: &Context<'_>,
    found: Option<Session>,
    name: Option<&str>,
    message: Option<&str>,
) -> Result<SnapshotRecord, CliError> {
    if let Some(message) = message.filter(|message| message.chars().count() > LONGEST_MESSAGE) {
        let length = message.chars().count();
        let why = format!("a message has at most {LONGEST_MESSAGE} characters, not {length}");
        return Err(CliError::new(ErrorKind::Usage, why));
    }
    let row = match found {
        Some(found) => found.row,
        None => bound.find_or_begin(context)?,
    };
    let mark = CheckpointRequest {
        name,
        message,
        ..CheckpointRequest::default()
    };
    let taken = context.engine().checkpoint(row.id.as_str(), mark);
    let TakenCheckpoint { store, row, captured } = taken.map_err(|error| {
        let what = "for the operator";
        if_not_active(error, what, |id| format!("show {id}"))
    })?;
    warn_of_unsteady(context, &captured.record);
    tell_notes(context, Some(&captured));
    by_the_rules(context, &store, &row.id);
    leave(context.environment);
    Ok(captured.record)
}

fn list(found: Option<Session>) -> Result<Listed, CliError> {
    let Some(Session { store, row, .. }) = found else {
        return Ok(Listed {
            head: Head::default(),
            instance: None,
            total: 0,
            snapshots: Vec::new(),
        });
    };
    let all = store.catalog().snapshots(&row.id)?;
    let steps = steps(&store, &row, &all)?;
    let marked = || all.iter().filter(|row| row.kind == SnapshotKind::Checkpoint);
    Ok(Listed {
        head: Head::default(),
        instance: Some(row.id.to_string()),
        total: marked().count() as u64,
        snapshots: marked()
            .take(MOST)
            .map(|row| {
                let (changed, call) = (steps.counts.get(&row.id), steps.calls.get(&row.id));
                Snapshot::new(row.into(), changed.copied(), call.cloned())
            })
            .collect(),
    })
}

/// The snapshot that is meant: by name, id, kind, or the reference of a fork of this session; nothing: the newest checkpoint.
fn wanted(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
    given: Option<&Value>,
) -> Result<SnapshotRow, CliError> {
    let text = match given {
        None | Some(Value::Null) => return newest(store, row)?.ok_or_else(none_yet),
        Some(Value::String(text)) => text.clone(),
        Some(reference @ Value::Object(_)) => reference.to_string(),
        Some(other) => {
            let message = format!("a snapshot is a name, an id or the reference of a fork, not {other}");
            return Err(CliError::new(ErrorKind::Usage, message));
        }
    };
    if !text.trim_start().starts_with('{') {
        return Ok(find_snapshot(store, row, &text)?);
    }
    let (other, fork) = context.engine().session_or_fork(store, &text)?;
    match fork {
        Some(fork) if other.id == row.id => Ok(find_snapshot(store, row, fork.snapshot.as_str())?),
        _ => Err(CliError::new(
            ErrorKind::RefusedInside,
            "this reference is of a fork of another session",
        )),
    }
}

/// The newest checkpoint. A hook that does not know jackin's tools may have taken one just before this call;
/// that one is skipped.
fn newest(store: &Store, row: &InstanceRow) -> Result<Option<SnapshotRow>, CliError> {
    let taken = store.catalog().captures(&row.id)?;
    let is_ours = |capture: &CaptureRow| {
        let call = capture.call.as_ref();
        call.is_some_and(|call| agents::may_be_own(&call.tool))
    };
    let ours: HashSet<SnapshotId> = taken
        .into_iter()
        .filter(is_ours)
        .map(|row| row.snapshot)
        .collect();
    let all = store.catalog().snapshots(&row.id)?;
    let mut marked = all.into_iter().filter(|row| row.kind == SnapshotKind::Checkpoint);
    Ok(marked.find(|row| !ours.contains(&row.id)))
}

fn none_yet() -> CliError {
    CliError::new(
        ErrorKind::UnknownSnapshot,
        "no snapshots in this session yet; take one with snapshot_create",
    )
}

fn called_by(row: &SnapshotRow) -> String {
    row.name.clone().unwrap_or_else(|| row.id.to_string())
}

fn compare(context: &Context<'_>, found: Session, given: Diff) -> Result<Reply, CliError> {
    let Session { store, row, .. } = found;
    // Archives must not go while they are read.
    let _needed = store.share()?;
    let id = |row: SnapshotRow| row.id.to_string();
    let from = match given.name {
        Some(name) => Some(id(wanted(context, &store, &row, Some(&name))?)),
        None => newest(&store, &row)?.map(id),
    };
    let to = match given.to {
        None => Until::Now,
        Some(Value::String(text)) if text == "now" => Until::Now,
        Some(to) => Until::Snapshot(id(wanted(context, &store, &row, Some(&to))?)),
    };
    let paths = only(given.paths)?;
    let question = Question {
        from: from.as_deref(),
        later_row: None,
        to: &to,
        paths: &paths,
        excluded: &[],
        check_content: false,
        show_secrets: false,
        pairs_renames: true,
        marks_since: false,
    };
    let found = context.engine().compare(&store, &row, &question)?;
    let told = diff_document(&row, &found);
    let text = text::differing(&told, &Sources::of(&found, true));
    Reply::new(text, &Differing::from(told))
}

/// Puts the files back. A session goes back to what it marked itself, and only while it lives.
fn go_back(
    context: &Context<'_>,
    row: &InstanceRow,
    target: &SnapshotRow,
    paths: Vec<OsString>,
    dry_run: bool,
) -> Result<Restored, CliError> {
    let planned = context.engine().plan(&RestoreRequest {
        paths: &paths,
        from: Some(target.id.as_str()),
        dry_run,
        ..RestoreRequest::of(row.id.as_str())
    })?;
    // Whoever is inside a session finds it alive.
    if planned.caller != Caller::Inside {
        return Err(ended(&row.id));
    }
    if dry_run {
        return Ok(restore_document(&planned.row, &planned.proposal, None).into());
    }
    refuse_in_use(&planned.proposal)?;
    let report = act(context, &planned)?;
    Ok(restore_document(&planned.row, &planned.proposal, Some(&report)).into())
}

fn ended(id: &impl Display) -> CliError {
    CliError::new(
        ErrorKind::RefusedInside,
        format!("{id} is not active, so only the operator can restore it: restore {id}"),
    )
}
