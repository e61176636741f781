//! The conversation of an agent that a session belongs to. A resumed conversation has several sessions.

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::Agent;
use crate::model::{AgentRef, InstanceId};
use crate::store::{Store, StoreError};

/// A conversation with an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ConversationDocument {
    /// Word for the agent on the command line, such as `claude`.
    pub(crate) agent: String,
    /// The agent's own id of the conversation.
    pub(crate) id: String,
    /// Command of a shell that continues the conversation in the directory of the agent; absent if its client has none, or if
    /// the id is none that a client gives.
    pub(crate) command: Option<String>,
    /// Text to type in the client to roll back the conversation: `/rewind`, `/undo` or `Esc Esc`; absent without a command.
    pub(crate) then: Option<String>,
}

impl ConversationDocument {
    /// Returns the conversation of a session; `None` if no agent reported one.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn of(store: &Store, session: &InstanceId) -> Result<Option<Self>, StoreError> {
        Ok(store.catalog().conversation(session)?.map(Self::from))
    }
}

impl From<AgentRef> for ConversationDocument {
    fn from(AgentRef { name, session }: AgentRef) -> Self {
        let agent = Agent::of_word(&name);
        let command = agent.and_then(|agent| agent.resume_command(&session));
        let then = agent.filter(|_| command.is_some()).and_then(Agent::rewinds_with);
        Self {
            agent: name,
            id: session,
            then: then.map(str::to_owned),
            command,
        }
    }
}
