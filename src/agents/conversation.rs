//! Commands by which an agent's own client continues a conversation, as the clients of `tests/recovery/agents/versions` know them.

use super::Agent;

/// Maximum length of an id in a command, in bytes.
const LONGEST: usize = 128;

impl Agent {
    /// Returns the agent that `word` names; `None` if it has no hooks.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.word() == word)
    }

    /// Returns the command that continues the conversation `id`, as words of a shell; `None` if the client has none, or if it could read
    /// `id` as anything but a conversation.
    #[must_use]
    pub fn resume_command(self, id: &str) -> Option<String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        // A hook reports whatever id it was given: an option or a word of a shell is no conversation.
        if id.is_empty() || id.len() > LONGEST || id.starts_with('-') || !id.bytes().all(is_plain) {
            return None;
        }
        match self {
            Self::Claude => Some(format!("claude --resume {id}")),
            Self::Codex => Some(format!("codex resume {id}")),
            // It counts its conversations, and calls the last one `latest`.
            Self::Gemini if id == "latest" || id.bytes().all(|byte| byte.is_ascii_digit()) => None,
            Self::Gemini => Some(format!("gemini --resume {id}")),
            Self::Opencode => Some(format!("opencode --session {id}")),
            Self::Copilot => Some(format!("copilot --resume={id}")),
            // Its client could not be tried.
            Self::Cursor => None,
        }
    }

    /// Returns what to type in the client to roll back its conversation; `None` if that is unknown.
    #[must_use]
    pub fn rewinds_with(self) -> Option<&'static str> {
        match self {
            Self::Claude | Self::Gemini | Self::Copilot => Some("/rewind"),
            Self::Codex => Some("Esc Esc"),
            Self::Opencode => Some("/undo"),
            Self::Cursor => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Agent;

    #[test]
    fn an_id_that_could_mean_anything_else_is_in_no_command() {
        let hostile = [
            "",
            "--dangerously-skip-permissions",
            "a b",
            "a;b",
            "$(b)",
            "`b`",
            "a\nb",
            "a\u{202e}b",
            "../a",
            "a/b",
            "'",
            "ä",
        ];
        for agent in Agent::ALL {
            for id in hostile {
                assert_eq!(agent.resume_command(id), None, "{agent} {id:?}");
            }
            assert_eq!(agent.resume_command(&"a".repeat(129)), None);
            assert_eq!(Agent::of_word(agent.word()), Some(agent));
        }
        for id in ["latest", "12"] {
            assert_eq!(Agent::Gemini.resume_command(id), None);
        }
        assert_eq!(Agent::of_word("--help"), None);
    }
}
