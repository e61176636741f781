//! A call of a tool: allowed, carried out, and told in words.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rmcp::model::JsonObject;
use serde_json::Value;

use super::bound::{Bound, Found, Reply};
use super::tools::Tool;
use super::{act, text};
use crate::cli::context::Context;
use crate::cli::context::pending::warn_of_torn;
use crate::cli::error::{CliError, ErrorKind};
use crate::recovery::settings::opted_in;
use crate::session::is_active;
use crate::terminal::sanitize;

/// Longest error, in bytes: it may quote the arguments.
const LONGEST_ERROR: usize = 2_000;

/// Calls a tool until it returns or `stop` is set.
///
/// # Errors
/// The message of the error.
pub(super) fn call(
    bound: &Bound,
    tool: Tool,
    given: JsonObject,
    stop: Arc<AtomicBool>,
) -> Result<Reply, String> {
    let (done, said) = bound.within(stop, |context| {
        let found = bound.find(context)?;
        if !bound.allows(context, found.as_ref(), tool.needs()) {
            return Err(refused(context, bound, tool, found.as_ref()));
        }
        if let Some(Found { store, row, .. }) = &found {
            warn_of_torn(context, store, row);
        }
        act::perform(bound, context, tool, given, found)
    });
    let said = said.trim_end();
    match done {
        Ok(mut reply) => {
            reply.text = text::bounded(&reply.text);
            if !said.is_empty() {
                reply.beside.push(text::bounded(said));
            }
            complete(&mut reply);
            Ok(reply)
        }
        Err(error) => {
            let whole = format!("{}\n\n{said}", in_words(&error));
            Err(text::bounded(whole.trim_end()))
        }
    }
}

/// Adds the texts to the structured result: Claude Code and Codex give their models nothing else.
fn complete(reply: &mut Reply) {
    let written = reply.structured.to_string();
    let is_json = reply.text == written;
    let Value::Object(structured) = &mut reply.structured else {
        return;
    };
    if !is_json {
        structured.insert("text".to_owned(), reply.text.clone().into());
    }
    if !reply.beside.is_empty() {
        structured.insert("notes".to_owned(), reply.beside.clone().into());
    }
}

fn refused(context: &Context<'_>, bound: &Bound, tool: Tool, found: Option<&Found>) -> CliError {
    let name = tool.name();
    let refused = |why: String| {
        CliError::new(
            ErrorKind::RefusedInside,
            format!("{name} is not allowed here: {why}"),
        )
    };
    match found {
        _ if bound.read_only => refused("the server is read-only".to_owned()),
        Some(Found { store, row, is_own }) if !is_own => match is_active(store, row) {
            true => refused(format!(
                "this agent does not run in {}, so it can only read",
                row.id
            )),
            false => refused(format!("{} is not active, so it can only be read", row.id)),
        },
        _ => {
            // Before the first snapshot the directory tells.
            let workspace = match found {
                Some(found) => found.row.workspace.clone(),
                None => opted_in(context.environment)
                    .ok()
                    .flatten()
                    .and_then(|settings| settings.subject.workspace().map(str::to_owned)),
            };
            let file = match workspace {
                Some(workspace) => format!("for the workspace {workspace}"),
                None => "in config.toml, for this session belongs to no workspace".to_owned(),
            };
            refused(format!(
                "the operator has to allow it with restore = \"checkpoints\" in a table [recovery.agent], {file}; \
                nothing is lost, and the operator can restore it"
            ))
        }
    }
}

/// An error for a model: what, and why. Hints are for operators: they name commands to type, and processes to stop.
fn in_words(error: &CliError) -> String {
    let short = |words: &str| text::cut(sanitize::text(words), LONGEST_ERROR, "…");
    let mut lines = vec![short(&error.message)];
    lines.extend(
        error
            .causes
            .iter()
            .map(|cause| format!("because: {}", short(cause))),
    );
    lines.join("\n")
}
