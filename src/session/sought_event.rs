//! Lookup of the moment before a prompt or a tool call, by a part of its text.

use super::SessionError;
use crate::model::{AgentEvent, SnapshotId};
use crate::store::{InstanceRow, Store};

/// Finds the snapshot right before the prompt or tool call of a session that has `wanted` in its text, in upper or lower case. Of several
/// with the same text the newest counts.
///
/// # Errors
/// [`SessionError::NoEvent`]; [`SessionError::SeveralEvents`]; [`SessionError::EventWithoutSnapshot`]; [`SessionError::Store`].
pub fn find_before_event(store: &Store, row: &InstanceRow, wanted: &str) -> Result<SnapshotId, SessionError> {
    let folded = wanted.to_lowercase();
    let mut found: Vec<(String, Option<SnapshotId>)> = Vec::new();
    let events = store.catalog().agent_events(&row.id)?;
    let mut prompts = events.iter().filter_map(|event| match &event.event {
        AgentEvent::Prompt { text, .. } => Some(text),
        _ => None,
    });
    let is_silent = prompts.clone().next().is_some() && prompts.all(Option::is_none);
    for event in events.into_iter().rev() {
        let Some(text) = event.event.search_text() else {
            continue;
        };
        let is_new = found.iter().all(|(other, _)| *other != text);
        if is_new && text.to_lowercase().contains(&folded) {
            found.push((text, event.snapshot));
        }
    }
    // Those with one and the same moment are one answer.
    let first = found.first().map(|(_, snapshot)| snapshot.clone());
    let is_one = found.iter().all(|(_, snapshot)| Some(snapshot) == first.as_ref());
    match (found.as_slice(), first) {
        ([], _) | (_, None) => Err(SessionError::NoEvent {
            instance: row.id.clone(),
            wanted: wanted.to_owned(),
            is_silent,
        }),
        ([(text, _), ..], Some(None)) if is_one => Err(SessionError::EventWithoutSnapshot {
            instance: row.id.clone(),
            event: text.clone(),
        }),
        (_, Some(Some(snapshot))) if is_one => Ok(snapshot),
        _ => Err(SessionError::SeveralEvents {
            instance: row.id.clone(),
            wanted: wanted.to_owned(),
            found,
        }),
    }
}
