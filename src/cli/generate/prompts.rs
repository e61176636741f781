//! The commands that the operator types inside an agent: one text each, in the words of each agent.

use crate::agents::Agent;

/// Placeholder for the words that the operator typed behind the command.
const ARGUMENTS: &str = "ARGUMENTS";
/// Placeholder for the name of the agent.
const AGENT: &str = "AGENT";
/// Begins a command of a shell in a text, whose output stands there instead; it ends at the last `)` of the line.
const SHELL: &str = "SHELL(";

/// A command.
pub(super) struct Prompt {
    pub(super) name: &'static str,
    description: &'static str,
    /// Arguments that it takes.
    hint: &'static str,
    /// Tools that Claude Code lets it use without a question.
    tools: &'static str,
    text: &'static str,
}

/// All of them.
pub(super) const ALL: [Prompt; 2] = [
    Prompt {
        name: "changes",
        description: "Show what changed in this session, with deleted and ignored files",
        hint: "[path ...]",
        // No other form: `--tool` runs any program.
        tools: "Bash(jackin-recovery diff --name-status:*)",
        text: include_str!("prompts/changes.md"),
    },
    Prompt {
        name: "undo",
        description: "Restore the files as they were before your last change, or before a named checkpoint",
        hint: "[checkpoint]",
        tools: "mcp__plugin_jackin-recovery_jackin-recovery__snapshot_list, \
                mcp__plugin_jackin-recovery_jackin-recovery__snapshot_diff",
        text: include_str!("prompts/undo.md"),
    },
];

/// Form of a command's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Markdown with a head in YAML.
    Claude,
    /// TOML.
    Gemini,
}

impl Prompt {
    /// Returns the file of the command.
    pub(super) fn write(&self, dialect: Dialect) -> String {
        let Self {
            description,
            hint,
            tools,
            ..
        } = self;
        match dialect {
            Dialect::Claude => {
                let text = self.text(Agent::Claude, "$ARGUMENTS", ("!`", "`"));
                format!(
                    "---\ndescription: {description}\nargument-hint: \"{hint}\"\nallowed-tools: {tools}\n---\n\n{text}"
                )
            }
            Dialect::Gemini => {
                let text = self.text(Agent::Gemini, "{{args}}", ("!{", "}"));
                format!("description = \"{description} {hint}\"\nprompt = '''\n{text}'''\n")
            }
        }
    }

    fn text(&self, agent: Agent, arguments: &str, (begin, end): (&str, &str)) -> String {
        let line = |line: &str| match line.strip_prefix(SHELL).and_then(|line| line.strip_suffix(')')) {
            Some(command) => format!("{begin}{command}{end}\n"),
            None => format!("{line}\n")
                .replace(ARGUMENTS, arguments)
                .replace(AGENT, agent.title()),
        };
        self.text.lines().map(line).collect()
    }
}
