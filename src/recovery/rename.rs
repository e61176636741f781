//! Name and message of a session.

use super::{Recovery, RecoveryError};
use crate::model::{Operation, SessionTitle};
use crate::session::{Allowed, check_session_name, ensure_outside_session, find_called};
use crate::store::InstanceRow;

/// Change of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// It stays.
    Keep,
    /// It is removed.
    Remove,
    /// It is replaced.
    Set(&'a str),
}

impl Text<'_> {
    fn of(self, before: Option<String>) -> Option<String> {
        match self {
            Self::Keep => before,
            Self::Remove => None,
            Self::Set(text) => Some(text.to_owned()),
        }
    }
}

/// Session with other texts.
#[derive(Clone, Debug)]
pub struct RenamedSession {
    /// The session, with its new texts.
    pub row: InstanceRow,
    /// Texts that it had before.
    pub before: SessionTitle,
    /// All sessions with its new name, newest first; empty if the name stayed or was removed.
    pub namesakes: Vec<InstanceRow>,
}

impl Recovery<'_> {
    /// Gives a session another name or message, and returns it. The receipt of its start keeps the first ones.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if no session or several go by this name, the name cannot be used, or the caller runs in a session.
    pub fn rename(
        &self,
        session: &str,
        name: Text<'_>,
        message: Text<'_>,
    ) -> Result<RenamedSession, RecoveryError> {
        if let Text::Set(name) = name {
            check_session_name(name)?;
        }
        if !self.has_store()? {
            return Err(RecoveryError::no_store(session));
        }
        let store = self.store_for_writing()?;
        ensure_outside_session(&store, self.environment, Allowed::Nothing)?;
        let mut row = find_called(&store, self.environment, session)?;
        let title = SessionTitle {
            name: name.of(row.title.name.clone()),
            message: message.of(row.title.message.clone()),
            arguments: Vec::new(),
        };
        let is_renamed = title.name != row.title.name;
        // Asked before the receipt: whatever fails behind it, the session is renamed.
        let mut namesakes = match title.name.as_ref().filter(|_| is_renamed) {
            Some(name) => store.catalog().instances_named(name)?,
            None => Vec::new(),
        };
        if is_renamed || title.message != row.title.message {
            let act = Operation::Rename { title: title.clone() };
            store.append(self.services.clock.now(), self.services.uid, &row.id, act)?;
        }
        let before = row.title.clone();
        row.title.name = title.name;
        row.title.message = title.message;
        if is_renamed && row.title.name.is_some() {
            let newer = namesakes.partition_point(|other| other.started_at > row.started_at);
            namesakes.insert(newer, row.clone());
        }
        Ok(RenamedSession {
            row,
            before,
            namesakes,
        })
    }
}
