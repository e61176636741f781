//! Conversations of agents that sessions belong to.

use crate::report::{ConversationDocument, InstanceDocument};
use crate::terminal::sanitize;

/// Returns the conversation in words: the agent, and its id.
pub(in crate::cli) fn words(conversation: &ConversationDocument) -> String {
    let [agent, id] = [&conversation.agent, &conversation.id].map(|text| sanitize::name(text.as_bytes()));
    format!("{agent} {id}")
}

/// Returns a line for each conversation that several of the sessions belong to.
pub(in crate::cli) fn resumed(sessions: &[&InstanceDocument]) -> Vec<String> {
    let mut all: Vec<(&ConversationDocument, Vec<&str>)> = Vec::new();
    for session in sessions {
        let Some(conversation) = &session.conversation else {
            continue;
        };
        match all.iter_mut().find(|(known, _)| *known == conversation) {
            Some((_, ids)) => ids.push(&session.id),
            None => all.push((conversation, vec![&session.id])),
        }
    }
    let several = all.into_iter().filter(|(_, ids)| ids.len() > 1);
    several
        .map(|(conversation, ids)| format!("one conversation of {}: {}", words(conversation), ids.join(", ")))
        .collect()
}
